/**
 * Access tokens by the client credentials grant of OAuth 2 (RFC 6749 section 4.4). A token is kept and renewed before it
 * expires, while the old one is still used; however many callers wait, one request is made at a time.
 */
import { reasonOf, TidegateError } from './errors.ts'
import { abortable, PLATFORM, type Platform, withDeadline } from './platform.ts'

/** The content of a credentials file, as `tidegate admin client create --credentials FILE` and the demo write it. */
export interface Credentials {
  readonly client_id: string
  readonly client_secret: string
  /** Base address of the token endpoint, such as `https://api.example.com`. */
  readonly auth_url: string
  /** Base address of the stream, such as `wss://api.example.com`. */
  readonly ws_url: string
  /** Base address of the REST API. */
  readonly base_url: string
  /** The scopes that the client holds. */
  readonly scopes?: readonly string[]
}

/** Gives access tokens. `ClientCredentials` is the usual one; write your own where tokens come from elsewhere. */
export interface TokenSource {
  /** A token that is valid now. Reject with a `TidegateError` to give up; anything else is tried again. */
  token(signal?: AbortSignal): Promise<string>
  /** Called with a token that the service rejected: never return it again. */
  discard(token: string): void
}

/** The service cannot answer at present. */
export class TokenUnavailable extends Error {
  override name = 'TokenUnavailable'
  /** 0 without `Retry-After`. */
  readonly retryAfterSeconds: number
  /** There was no answer at all. */
  readonly isUnreachable: boolean

  constructor(message: string, retryAfterSeconds: number, isUnreachable = false) {
    super(message)
    this.retryAfterSeconds = retryAfterSeconds
    this.isUnreachable = isUnreachable
  }
}

const ANSWER_MILLISECONDS_MAX = 10_000
/** Part of a token's life after which the next one is requested. */
const RENEWAL = 0.8
/** A token is not used in its last part of life, so that it is still valid when it arrives. */
const LAST_USE = 0.95

interface HeldToken {
  readonly text: string
  readonly renewAt: number
  readonly endAt: number
}

export class ClientCredentials implements TokenSource {
  readonly #credentials: Credentials
  readonly #scope: string
  readonly #platform: Platform
  #held: HeldToken | undefined
  #request: Promise<HeldToken> | undefined

  /** @param scopes the rights that the tokens shall have; the client must hold them all */
  constructor(credentials: Credentials, scopes: readonly string[], platform: Platform = PLATFORM) {
    for (const name of ['client_id', 'client_secret', 'auth_url'] as const) {
      if (credentials[name]) continue
      throw new TidegateError('INVALID_ARGUMENT', `the credentials have no ${name}: pass the whole credentials file`)
    }
    this.#credentials = credentials
    this.#scope = scopes.join(' ')
    this.#platform = platform
  }

  async token(signal?: AbortSignal): Promise<string> {
    const now = this.#platform.now()
    const held = this.#held
    if (held !== undefined && now < held.renewAt) return held.text
    const renewed = this.#renew()
    if (held === undefined || now >= held.endAt) return (await abortable(renewed, signal)).text
    // The held token still works: if the renewal fails, the next call makes another attempt.
    renewed.catch(() => undefined)
    return held.text
  }

  discard(token: string): void {
    if (this.#held?.text === token) this.#held = undefined
  }

  #renew(): Promise<HeldToken> {
    this.#request ??= this.#fetch().finally(() => {
      this.#request = undefined
    })
    return this.#request
  }

  async #fetch(): Promise<HeldToken> {
    const { auth_url, client_id, client_secret } = this.#credentials
    const url = `${auth_url.replace(/\/+$/, '')}/oauth2/token`
    const startedAt = this.#platform.now()
    const form = { grant_type: 'client_credentials', client_id, client_secret, scope: this.#scope }
    let response: Response
    let answer: Record<string, unknown>
    try {
      ;[response, answer] = await withDeadline(this.#platform, ANSWER_MILLISECONDS_MAX, undefined, async (signal) => {
        const body = new URLSearchParams(form)
        const given = await this.#platform.fetch(url, { method: 'POST', body, redirect: 'error', signal })
        return [given, (await given.json().catch(() => ({}))) as Record<string, unknown>]
      })
    } catch (error) {
      throw new TokenUnavailable(`cannot reach ${url}: ${reasonOf(error)}`, 0, true)
    }
    if (!response.ok) throw refusal(url, response, answer)
    const { access_token: text, expires_in: seconds } = answer
    if (typeof text !== 'string' || typeof seconds !== 'number')
      throw new TokenUnavailable(`${url} answered without access_token and expires_in`, 0)
    const life = seconds * 1_000
    this.#held = { text, renewAt: startedAt + life * RENEWAL, endAt: startedAt + life * LAST_USE }
    return this.#held
  }
}

/** 4xx: the same request would be refused again, except for 408 and 429. */
function refusal(url: string, { status, headers }: Response, answer: Record<string, unknown>): Error {
  const what = `${url} answered ${status} ${answer.error ?? ''}: ${answer.error_description ?? 'no description'}`
  if (status < 500 && status !== 408 && status !== 429)
    return new TidegateError('TOKEN_REFUSED', `${what}. Check client_id, client_secret and the scopes of the client`)
  return new TokenUnavailable(what, retryAfterSeconds(headers))
}

/** The seconds of `Retry-After`; 0 without one. */
export function retryAfterSeconds(headers: Headers): number {
  return Math.max(0, Number(headers.get('retry-after') ?? 0)) || 0
}

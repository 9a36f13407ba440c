/**
 * Access tokens from the OAuth 2 client credentials grant (RFC 6749 section 4.4). A token is kept and renewed before it
 * expires, and stays in use meanwhile. However many callers wait, only one request runs at a time.
 */
import { reasonOf, TidegateError } from './errors.ts'
import { abortable, PLATFORM, type Platform, withDeadline } from './platform.ts'

/** A credentials file's content, as `tidegate admin client create --credentials FILE` and the demo write it. */
export interface Credentials {
  readonly client_id: string
  readonly client_secret: string
  /** The token endpoint's base address, such as `https://api.example.com`. */
  readonly auth_url: string
  /** The stream's base address, such as `wss://api.example.com`. */
  readonly ws_url: string
  /** The REST API's base address. */
  readonly base_url: string
  /** The client's scopes. */
  readonly scopes?: readonly string[]
}

/** Gives access tokens. `ClientCredentials` is the usual one. Write your own where tokens come from elsewhere. */
export interface TokenSource {
  /** Resolves with a valid token. Reject with a `TidegateError` to give up. Any other rejection is retried. */
  token(signal?: AbortSignal): Promise<string>
  /** Called with a token after the service rejected it: never return it again. */
  discard(token: string): void
}

/** The token endpoint cannot answer at present. */
export class TokenUnavailable extends Error {
  override name = 'TokenUnavailable'
  /** 0 without `Retry-After`. */
  readonly retryAfterSeconds: number
  /** True when no answer arrived at all. */
  readonly isUnreachable: boolean

  constructor(message: string, retryAfterSeconds: number, isUnreachable = false) {
    super(message)
    this.retryAfterSeconds = retryAfterSeconds
    this.isUnreachable = isUnreachable
  }
}

const ANSWER_MILLISECONDS_MAX = 10_000
/** The fraction of a token's lifetime after which the next one is requested. */
const RENEWAL = 0.8
/** The fraction after which a token is no longer used, because it must still be valid when it arrives. */
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
  /** It has given a token, so the address is right. */
  #hasWorked = false

  /** @param scopes the scopes to request, all of which the client must hold */
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
        // A redirected request would take the secret to another address.
        const given = await this.#platform.fetch(url, { method: 'POST', body, redirect: 'manual', signal })
        return [given, membersOf(await given.text())]
      })
    } catch (error) {
      throw new TokenUnavailable(`cannot reach ${url}: ${reasonOf(error)}`, 0, true)
    }
    const { access_token: text, expires_in: seconds } = answer
    if (!response.ok || typeof text !== 'string' || typeof seconds !== 'number')
      throw refusal(url, response, answer, this.#hasWorked)
    this.#hasWorked = true
    const life = seconds * 1_000
    this.#held = { text, renewAt: startedAt + life * RENEWAL, endAt: startedAt + life * LAST_USE }
    return this.#held
  }
}

function membersOf(text: string): Record<string, unknown> {
  try {
    // JSON's `null` has no members. Other values have none with these names.
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}

/** Statuses that reject the request itself: a retry would be rejected too. */
const REFUSALS = [400, 401, 403]
/** Statuses below 500 that ask for a later retry. */
const BUSY = [408, 425, 429]
/** Statuses from 500 on where a retry never helps. */
const INCAPABLE = [501, 505]

/**
 * Explains why there is no token. A status that neither rejects the request nor is temporary means a wrong address.
 * Where tokens came from this address before, it means a proxy whose service is restarting.
 */
function refusal(url: string, response: Response, answer: Record<string, unknown>, hasWorked: boolean): Error {
  // Browsers hide a redirect's status.
  const status = response.status === 0 ? 302 : response.status
  const { error = '', error_description = 'no token' } = answer
  const what = `${url} answered ${status} ${error}: ${error_description}`
  if (REFUSALS.includes(status))
    return new TidegateError('TOKEN_REFUSED', `${what}. Check client_id, client_secret and the client's scopes`)
  const isTemporary = BUSY.includes(status) || (status >= 500 && !INCAPABLE.includes(status))
  if (!isTemporary && !hasWorked)
    return new TidegateError('TOKEN_REFUSED', `${what}. Check auth_url: there is no token endpoint at this address`)
  return new TokenUnavailable(what, retryAfterSeconds(response.headers))
}

/** The seconds in `Retry-After`, or 0 without one. */
export function retryAfterSeconds(headers: Headers): number {
  return Math.max(0, Number(headers.get('retry-after') ?? 0)) || 0
}

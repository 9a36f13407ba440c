/**
 * Gets an access token for the stream by the client credentials grant (RFC 6749 section 4.4). The secret travels in the
 * form body only and is in no error.
 */
import { type JsonObject, membersOf } from '../base/json-value.ts'
import { STREAM_SCOPE } from '../contract/scopes.ts'
import type { StreamCredentials } from './stream-credentials.ts'

export interface HeldToken {
  readonly accessToken: string
  /** On the monotonic clock, with a margin so that the token is still valid when the handshake arrives. */
  readonly expiresAtMilliseconds: number
}

/** The token endpoint rejected the request. */
export class TokenRefused extends Error {
  readonly status: number
  /** 0 without `Retry-After`. */
  readonly retryAfterSeconds: number

  constructor(status: number, retryAfterSeconds: number, message: string) {
    super(message)
    this.status = status
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** The token endpoint did not answer. */
export class TokenUnreachable extends Error {}

const ANSWER_MILLISECONDS_MAX = 10_000
const EXPIRY_MARGIN_MILLISECONDS = 30_000

/** `nowMilliseconds` is on the monotonic clock; `stop` ends the request. */
export async function fetchToken(
  credentials: StreamCredentials,
  nowMilliseconds: number,
  stop: AbortSignal,
): Promise<HeldToken> {
  const url = `${credentials.authUrl}/oauth2/token`
  const form = {
    grant_type: 'client_credentials',
    client_id: credentials.clientId,
    client_secret: credentials.clientSecret,
    scope: STREAM_SCOPE,
  }
  const response = await post(url, form, stop)
  const answer = await readJson(response)
  if (!response.ok) {
    const code = typeof answer.error === 'string' ? answer.error : 'no token'
    const description = typeof answer.error_description === 'string' ? `, ${answer.error_description}` : ''
    const retryAfterSeconds = Number(response.headers.get('retry-after') ?? 0) || 0
    throw new TokenRefused(
      response.status,
      retryAfterSeconds,
      `${url} answered ${response.status}: ${code}${description}`,
    )
  }
  if (typeof answer.access_token !== 'string') {
    throw new TokenRefused(response.status, 0, `${url} answered ${response.status} without an access_token`)
  }
  const lifetimeSeconds = typeof answer.expires_in === 'number' ? answer.expires_in : 0
  return {
    accessToken: answer.access_token,
    expiresAtMilliseconds: nowMilliseconds + lifetimeSeconds * 1000 - EXPIRY_MARGIN_MILLISECONDS,
  }
}

async function post(url: string, form: Record<string, string>, stop: AbortSignal): Promise<Response> {
  try {
    return await fetch(url, {
      method: 'POST',
      body: new URLSearchParams(form),
      redirect: 'error',
      signal: AbortSignal.any([stop, AbortSignal.timeout(ANSWER_MILLISECONDS_MAX)]),
    })
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    const { code, message } = cause as NodeJS.ErrnoException
    throw new TokenUnreachable(`cannot reach ${url}: ${typeof code === 'string' ? code : message}`)
  }
}

/** An answer that is not a JSON object is read as an empty one: the status is sufficient. */
async function readJson(response: Response): Promise<JsonObject> {
  try {
    return membersOf(await response.json())
  } catch {
    return {}
  }
}

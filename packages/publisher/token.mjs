/**
 * The access token of a publisher: requested with the OAuth 2.0 client credentials grant, and reused until shortly before
 * it expires. The secret and the token are in no error.
 */

/** @import { Clock } from './runtime.mjs' */

const SCOPE = 'exchange:publish_marketdata'
const REQUEST_MILLISECONDS_MAX = 10_000
/** A token is not used for a handshake in its last minute. */
const RESERVE_MILLISECONDS = 60_000

export class TokenSource {
  #credentials
  #clock
  /** @type {{ text: string, untilMilliseconds: number } | undefined} */
  #token

  /**
   * @param {{ authUrl: string, clientId: string, clientSecret: string }} credentials
   * @param {Clock} clock
   */
  constructor(credentials, clock) {
    this.#credentials = credentials
    this.#clock = clock
  }

  /**
   * Returns a token, requesting one if there is none that is still usable.
   * @returns {Promise<string>}
   */
  async get() {
    if (this.#token !== undefined && this.#clock.now() < this.#token.untilMilliseconds) return this.#token.text
    const { status, answer } = await this.#request()
    const reason = answer.error_description ?? answer.error ?? 'the answer has no access_token'
    if (status !== 200 || typeof answer.access_token !== 'string')
      throw new Error(`no token: status ${status}, ${reason}`)
    const seconds = typeof answer.expires_in === 'number' ? answer.expires_in : 0
    const untilMilliseconds = this.#clock.now() + seconds * 1_000 - RESERVE_MILLISECONDS
    this.#token = { text: answer.access_token, untilMilliseconds }
    return answer.access_token
  }

  async #request() {
    const { authUrl, clientId, clientSecret } = this.#credentials
    try {
      const response = await fetch(`${authUrl}/oauth2/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          client_id: clientId,
          client_secret: clientSecret,
          scope: SCOPE,
        }),
        // A redirected request would take the secret to another address.
        redirect: 'manual',
        signal: AbortSignal.timeout(REQUEST_MILLISECONDS_MAX),
      })
      return { status: response.status, answer: membersOf(await response.text()) }
    } catch (error) {
      const { message, cause } = /** @type {Error} */ (error)
      const reason = cause instanceof Error && cause.message !== '' ? cause.message : message
      throw new Error(`no token: the token endpoint does not answer: ${reason}`)
    }
  }

  /** Forgets the token: the server refused it. */
  discard() {
    this.#token = undefined
  }
}

/**
 * The members of a JSON object. None for a page that something before the service has answered.
 * @param {string} text
 * @returns {Record<string, unknown>}
 */
function membersOf(text) {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}

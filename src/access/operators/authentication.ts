/**
 * Authenticates a request's operator by its header fields. They carry the single token, compared in constant time, or
 * an API token, or the session for a page on this listener, which needs its cookie and the page's own token. Wrong
 * tokens over a rate per source address are answered with 429. A right one is always accepted, so guessing cannot lock
 * operators out.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { BEARER_SUBPROTOCOL_PREFIX } from '../../contract/channels.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { invalidToken, readBearerToken } from '../../platform/http/bearer.ts'
import { addressBlock } from '../../platform/http/client-address.ts'
import { Problem } from '../../platform/http/problem.ts'
import { RateLimiter, rateLimited } from '../../platform/http/rate-limit.ts'
import type { Db } from '../../platform/store/db.ts'
import { BUILT_IN_OPERATOR, type CallingOperator } from '../clients/operator-calls.ts'
import { API_TOKEN_PREFIX, ApiTokens } from './api-tokens.ts'
import { type ChannelOptions, channelOf, isOwnOrigin } from './channel.ts'
import { readSessionCookie } from './cookies.ts'
import { findSession, type SessionSecrets } from './sessions.ts'

export interface AuthenticationOptions {
  /** The single token: the setting `operator.token`. */
  readonly token: string
  /** Has the operators' API tokens and sessions. */
  readonly db: Db
  readonly clock: Clock
  readonly channel: ChannelOptions
  /** Called for every wrong token. */
  readonly onGuess: (clientAddress: string) => void
}

/** A typing error or a script with an old token gets a 401 with a reason. A guessing program gets mostly 429. */
const GUESSES = { name: 'operator-token', perSecond: 1, burst: 10 }

export class OperatorAuthentication {
  readonly #options: AuthenticationOptions
  readonly #expected: Buffer
  readonly #limiter: RateLimiter
  readonly #tokens: ApiTokens

  constructor(options: AuthenticationOptions) {
    this.#options = options
    this.#expected = digest(options.token)
    this.#limiter = new RateLimiter(options.clock, GUESSES)
    this.#tokens = new ApiTokens(options.db, options.clock)
  }

  /**
   * @param needsOrigin whether a request with a session must name this listener's origin: browsers send it with writes and
   * handshakes only
   * @throws {Problem} 401, 403 `csrf_failed`, 429
   */
  async authenticate(request: IncomingMessage, clientAddress: string, needsOrigin: boolean): Promise<CallingOperator> {
    const { authorization, cookie } = request.headers
    const { channel, onGuess } = this.#options
    const secret = authorization === undefined ? readSessionCookie(cookie, channelOf(request, channel)) : undefined
    if (secret !== undefined) {
      if (needsOrigin && !isOwnOrigin(request, channel)) {
        throw new Problem('csrf_failed', 'Origin: must be this listener’s origin')
      }
      return await this.#operatorOfSession({ secret, csrfToken: readCsrfToken(request) })
    }
    const sent = readBearerToken(authorization)
    if (sent instanceof Problem) throw sent
    // Digests, because the comparison requires equal lengths.
    if (timingSafeEqual(digest(sent), this.#expected)) {
      return { name: BUILT_IN_OPERATOR, role: 'admin', via: 'operator_token', issuers: [] }
    }
    const operator = sent.startsWith(API_TOKEN_PREFIX) ? await this.#tokens.operatorOf(sent) : undefined
    if (operator !== undefined) return operator
    onGuess(clientAddress)
    const verdict = this.#limiter.take(addressBlock(clientAddress))
    if (!verdict.allowed) throw rateLimited(verdict)
    throw invalidToken('Authorization: this is neither the operator token nor an operator’s valid token')
  }

  /**
   * When the credentials in an authenticated request end, in wall-clock milliseconds, unless they are used or ended
   * meanwhile. Infinity for a token, undefined when they have ended. Does not count as a use.
   */
  async validUntil({ headers }: IncomingMessage, { via, session }: CallingOperator): Promise<number | undefined> {
    if (session !== undefined) {
      const found = await this.#findSession(session, false)
      return found === 'foreign_page' ? undefined : found?.endsMilliseconds
    }
    const token = readBearerToken(headers.authorization)
    const isStillValid =
      via === 'operator_token' || (!(token instanceof Problem) && (await this.#tokens.operatorOf(token)) !== undefined)
    return isStillValid ? Number.POSITIVE_INFINITY : undefined
  }

  async #operatorOfSession(secrets: SessionSecrets): Promise<CallingOperator> {
    const { secret, csrfToken } = secrets
    const session = await this.#findSession(secrets, true)
    if (session === undefined) throw new Problem('session_ended', 'the session has ended: sign in again')
    if (session === 'foreign_page' || csrfToken === undefined) {
      throw new Problem('csrf_failed', 'X-CSRF-Token: must be the session’s csrf_token')
    }
    const { name, role, issuers } = session
    return { name, role, via: 'session', issuers, session: { secret, csrfToken, ...session } }
  }

  async #findSession(secrets: SessionSecrets, countsAsUse: boolean): ReturnType<typeof findSession> {
    const { db, clock } = this.#options
    return await findSession(db, secrets, clock.wallInstant().milliseconds, countsAsUse)
  }
}

/** The token that a page on this listener sends with every call, besides the cookie. */
function readCsrfToken({ headers }: IncomingMessage): string | undefined {
  const sent = headers['x-csrf-token']
  if (typeof sent === 'string') return sent
  // With a WebSocket handshake pages can send no other field.
  const names = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
  return names.find((name) => name.startsWith(BEARER_SUBPROTOCOL_PREFIX))?.slice(BEARER_SUBPROTOCOL_PREFIX.length)
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

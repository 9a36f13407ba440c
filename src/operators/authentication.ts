/**
 * Authenticates the operator of a request, by its header fields: the single token, compared in constant time; an API token; or
 * the session cookie of a page of this listener. Wrong tokens over a rate per source address are answered with 429; a right one
 * is always accepted, so guessing cannot lock operators out.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { BUILT_IN_OPERATOR, type CallingOperator } from '../auth/operator-calls.ts'
import type { Clock } from '../base/clock.ts'
import { invalidToken, readBearerToken } from '../http/bearer.ts'
import { addressBlock } from '../http/client-address.ts'
import { Problem } from '../http/problem.ts'
import { RateLimiter, rateLimited } from '../http/rate-limit.ts'
import type { Db } from '../store/db.ts'
import { API_TOKEN_PREFIX, operatorWithApiToken } from './api-tokens.ts'
import { type ChannelOptions, channelOf, isOwnOrigin } from './channel.ts'
import { readSessionCookie } from './cookies.ts'
import { findSession, isCsrfToken, type OperatorSession } from './sessions.ts'

export interface AuthenticationOptions {
  /** The single token: the setting `operator.token`. */
  readonly token: string
  /** Has the API tokens and the sessions of operators. */
  readonly db: Db
  readonly clock: Clock
  readonly channel: ChannelOptions
  /** Called for every wrong token. */
  readonly onGuess: (clientAddress: string) => void
}

/**
 * How a request must prove that a page of this listener sent it, if it has a session: `none` for one that changes nothing,
 * `origin` for a WebSocket, whose handshake browsers allow to every page, `token` for one that changes something.
 */
export type PageProof = 'none' | 'origin' | 'token'

/** A typing error or a script with an old token gets a 401 with a reason; a program that guesses gets mostly 429. */
const GUESSES = { name: 'operator-token', perSecond: 1, burst: 10 }

export class OperatorAuthentication {
  readonly #options: AuthenticationOptions
  readonly #expected: Buffer
  readonly #limiter: RateLimiter

  constructor(options: AuthenticationOptions) {
    this.#options = options
    this.#expected = digest(options.token)
    this.#limiter = new RateLimiter(options.clock, GUESSES)
  }

  /** @throws {Problem} 401, 403 `csrf_failed`, 429 */
  async authenticate(request: IncomingMessage, clientAddress: string, proof: PageProof): Promise<CallingOperator> {
    const { authorization, cookie } = request.headers
    const { channel, db, clock, onGuess } = this.#options
    const secret = authorization === undefined ? readSessionCookie(cookie, channelOf(request, channel)) : undefined
    if (secret !== undefined) {
      this.#requireProof(request, secret, proof)
      return (await this.#operatorOfSession(secret)) ?? sessionEnded()
    }
    const sent = readBearerToken(authorization)
    if (sent instanceof Problem) throw sent
    // Digests, because the comparison requires equal lengths.
    if (timingSafeEqual(digest(sent), this.#expected)) {
      return { name: BUILT_IN_OPERATOR, role: 'admin', via: 'operator_token' }
    }
    const operator = sent.startsWith(API_TOKEN_PREFIX) ? await operatorWithApiToken(db, clock, sent) : undefined
    if (operator !== undefined) return operator
    onGuess(clientAddress)
    const verdict = this.#limiter.take(addressBlock(clientAddress))
    if (!verdict.allowed) throw rateLimited(verdict)
    throw invalidToken('Authorization: this is not the operator token, and not a valid token of an operator')
  }

  /**
   * When the credentials of a request that was authenticated before end, in milliseconds of the wall clock, unless they are
   * used or ended meanwhile; Infinity for a token, undefined when they have ended. Does not count as a use.
   */
  async validUntil({ headers }: IncomingMessage, { via, session }: CallingOperator): Promise<number | undefined> {
    const { db, clock } = this.#options
    if (session !== undefined) return (await this.#findSession(session.secret, false))?.endsMilliseconds
    const token = readBearerToken(headers.authorization)
    const isStillValid =
      via === 'operator_token' ||
      (!(token instanceof Problem) && (await operatorWithApiToken(db, clock, token)) !== undefined)
    return isStillValid ? Number.POSITIVE_INFINITY : undefined
  }

  async #operatorOfSession(secret: string): Promise<CallingOperator | undefined> {
    const session = await this.#findSession(secret, true)
    if (session === undefined) return undefined
    const { name, role } = session
    return { name, role, via: 'session', session: { secret, ...session } }
  }

  async #findSession(secret: string, countsAsUse: boolean): Promise<OperatorSession | undefined> {
    const { db, clock } = this.#options
    return await findSession(db, secret, clock.wallInstant().milliseconds, countsAsUse)
  }

  #requireProof(request: IncomingMessage, secret: string, proof: PageProof): void {
    if (proof === 'none') return
    if (!isOwnOrigin(request, this.#options.channel)) {
      throw new Problem('csrf_failed', 'Origin: must be that of this listener')
    }
    if (proof === 'token' && !isCsrfToken(secret, request.headers['x-csrf-token'])) {
      throw new Problem('csrf_failed', 'X-CSRF-Token: must be the csrf_token of the session')
    }
  }
}

function sessionEnded(): never {
  throw new Problem('session_ended', 'the session has ended: sign in again')
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/**
 * The guard of the operator API: accepts requests with the operator token, compared in constant time. Wrong tokens over
 * a rate per source address are answered with 429; the right one is always accepted, so guessing cannot lock the
 * operator out.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { onRequestAsyncHookHandler } from 'fastify'
import type { Clock } from '../base/clock.ts'
import { invalidToken, readBearerToken } from './bearer.ts'
import { addressBlock } from './client-address.ts'
import { Problem } from './problem.ts'
import { RateLimiter, rateLimited } from './rate-limit.ts'

export interface OperatorGuardOptions {
  readonly token: string
  readonly clock: Clock
  /** Called for every wrong token. */
  readonly onGuess: (clientAddress: string) => void
}

/** A typing error or a script with an old token gets a 401 with a reason; a program that guesses gets mostly 429. */
const GUESSES = { name: 'operator-token', perSecond: 1, burst: 10 }

export function createOperatorGuard({ token, clock, onGuess }: OperatorGuardOptions): onRequestAsyncHookHandler {
  const expected = digest(token)
  const limiter = new RateLimiter(clock, GUESSES)
  return async (request) => {
    const { headers, clientAddress } = request
    const sent = readBearerToken(headers.authorization)
    if (sent instanceof Problem) throw sent
    // Digests, because the comparison requires equal lengths.
    if (timingSafeEqual(digest(sent), expected)) {
      request.answeredClient = 'operator'
      return
    }
    onGuess(clientAddress)
    const verdict = limiter.take(addressBlock(clientAddress))
    if (!verdict.allowed) throw rateLimited(verdict)
    throw invalidToken('Authorization: this is not the operator token')
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

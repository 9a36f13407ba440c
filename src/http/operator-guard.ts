/**
 * The guard of the operator API: lets in whoever sends the operator's token, compared in constant time. Wrong tokens are
 * limited by source address; the right one is never held up by them, so nobody can lock the operator out by guessing.
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
  /** Notified of every wrong token. */
  readonly onGuess: (clientAddress: string) => void
}

/** A person who mistypes, or a script with an old token, is told what is wrong; a guesser gets one answer a second. */
const GUESSES = { name: 'operator-token', perSecond: 1, burst: 10 }

export function createOperatorGuard({ token, clock, onGuess }: OperatorGuardOptions): onRequestAsyncHookHandler {
  const expected = digest(token)
  const limiter = new RateLimiter(clock, GUESSES)
  return async (request) => {
    const { headers, clientAddress } = request
    const sent = readBearerToken(headers.authorization)
    if (sent instanceof Problem) throw sent
    // Digests, because the comparison wants equal lengths.
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

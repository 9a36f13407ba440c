/** The guard of the operator API: lets in whoever sends the operator's token, compared in constant time. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { onRequestAsyncHookHandler } from 'fastify'
import { Problem } from './problem.ts'

export function createOperatorGuard(operatorToken: string): onRequestAsyncHookHandler {
  const expected = digest(operatorToken)
  return async (request) => {
    const token = /^bearer +([!-~]+) *$/i.exec(request.headers.authorization ?? '')?.[1]
    if (token === undefined) {
      throw new Problem('unauthorized', 'Authorization: the operator token is required as a bearer token', {
        headers: { 'www-authenticate': 'Bearer' },
      })
    }
    // Digests, because the comparison wants equal lengths.
    if (!timingSafeEqual(digest(token), expected)) {
      throw new Problem('invalid_token', 'Authorization: this is not the operator token', {
        headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
      })
    }
    request.answeredClient = 'operator'
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/**
 * This module's random secrets (API tokens, sessions, setup links): 256 bits, stored as SHA-256 and found by it. They
 * have no pepper, so they outlive a key replacement. Guessing 256 bits is not possible with or without one.
 */
import { createHash, randomBytes } from 'node:crypto'

const SECRET_BYTES = 32

/** A new secret. Its prefix lets secret scanners find it in leaked text. */
export function newRandomSecret(prefix: string): string {
  return `${prefix}${randomBytes(SECRET_BYTES).toString('base64url')}`
}

export function hashRandomSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}

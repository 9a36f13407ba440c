/**
 * Client secrets: 256 random bits, stored as SHA-256 keyed with a pepper, and compared in constant time. A slow hash
 * would add nothing against guessing 256 bits, and would limit the token endpoint to a dozen grants per second.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** Two per client, so one can be rotated while the other is in use. */
export const SECRETS_PER_CLIENT_MAX = 2

const SECRET_BYTES = 32
/** Compared in place of an absent secret, so each comparison takes the same steps. */
const NOTHING = Buffer.alloc(SECRET_BYTES)

/** A new secret. Its prefix lets secret scanners find it in leaked text. */
export function newSecret(): string {
  return `tgs_${randomBytes(SECRET_BYTES).toString('base64url')}`
}

export function newPepper(): Buffer {
  return randomBytes(SECRET_BYTES)
}

export function hashSecret(pepper: Uint8Array, secret: string): Buffer {
  return createHmac('sha256', pepper).update(secret).digest()
}

/** Whether `secret` has one of these hashes. Takes the same steps for none, one or two. */
export function matchesSecret(pepper: Uint8Array, secret: string, hashes: readonly Uint8Array[]): boolean {
  const hash = hashSecret(pepper, secret)
  let matches = false
  for (let slot = 0; slot < SECRETS_PER_CLIENT_MAX; slot++) {
    const candidate = hashes[slot]
    const equal = timingSafeEqual(hash, candidate ?? NOTHING)
    matches = (equal && candidate !== undefined) || matches
  }
  return matches
}

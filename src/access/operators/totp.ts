/**
 * One-time codes from an authenticator app: TOTP (RFC 6238) with SHA-1, 30 seconds and six digits, which every app
 * supports. A code is accepted one step early or late, for clocks that differ. Pure.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

const STEP_MILLISECONDS = 30_000
const DIGITS = 6
/** Steps before and after the current one whose codes are accepted. */
const STEPS_AROUND = 1
/** The length recommended by RFC 4226 section 4: a SHA-1 hash's. */
export const TOTP_SECRET_BYTES = 20

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** A time step's code (RFC 4226 section 5.3). */
function totpCode(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const hash = createHmac('sha1', secret).update(counter).digest()
  const offset = (hash.at(-1) as number) & 0x0f
  const number = hash.readUInt32BE(offset) & 0x7fffffff
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0')
}

/** A moment's time step. */
function totpStep(milliseconds: number): number {
  return Math.floor(milliseconds / STEP_MILLISECONDS)
}

/**
 * The time step with this code. Undefined when it is not an accepted one. The caller must refuse a step that is not
 * later than the last one used.
 */
export function matchingStep(secret: Uint8Array, code: string, nowMilliseconds: number): number | undefined {
  const sent = Buffer.from(code)
  const current = totpStep(nowMilliseconds)
  let matching: number | undefined
  for (let step = current - STEPS_AROUND; step <= current + STEPS_AROUND; step++) {
    const expected = Buffer.from(totpCode(secret, step))
    if (sent.length === expected.length && timingSafeEqual(sent, expected)) matching = step
  }
  return matching
}

/** The form in which people type a secret: base32 (RFC 4648) without padding. */
export function base32(bytes: Uint8Array): string {
  let text = ''
  let bits = 0
  let value = 0
  for (const byte of bytes) {
    value = (value << 8) | byte
    for (bits += 8; bits >= 5; bits -= 5) text += BASE32[(value >> (bits - 5)) & 31]
    value &= 0xff
  }
  return bits === 0 ? text : text + BASE32[(value << (5 - bits)) & 31]
}

/** The address that an authenticator app reads as a QR code. */
export function totpAddress(secret: Uint8Array, name: string): string {
  return `otpauth://totp/Tidegate:${encodeURIComponent(name)}?secret=${base32(secret)}&issuer=Tidegate`
}

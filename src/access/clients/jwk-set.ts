/**
 * Parses an external issuer's JWK Set (RFC 7517) and keeps the public keys that can verify a signature: asymmetric,
 * long enough, and well formed. Every other key is skipped with a reason, so one bad key affects only the tokens signed
 * with it. No message quotes a key.
 */
import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { isObject } from '../../platform/base/json-value.ts'

export interface SkippedKey {
  /** `kid`, as far as it can be shown. Absent when the key has none. */
  readonly keyId?: string
  readonly reason: string
}

export interface KeySet {
  readonly keys: readonly object[]
  readonly skipped: readonly SkippedKey[]
}

/** Keys examined in one set. An issuer has two or three. */
const KEYS_MAX = 100
const RSA_BITS_MIN = 2_048
/** Verifying with a longer one takes milliseconds. */
const RSA_BITS_MAX = 8_192
const RSA_EXPONENT_MAX = 2n ** 32n
/** Curves for the algorithms in RFC 7518 and RFC 8037. */
const CURVES: Readonly<Record<string, readonly unknown[]>> = {
  EC: ['P-256', 'P-384', 'P-521'],
  OKP: ['Ed25519'],
}
const KEY_ID_CHARACTERS_SHOWN = 100

/** @param algorithms the algorithms that a key may name. `undefined`: the document is not a JWK Set. */
export function readKeySet(document: unknown, algorithms: readonly string[]): KeySet | undefined {
  if (!isObject(document) || !Array.isArray(document.keys)) return undefined
  const keys: object[] = []
  const skipped: SkippedKey[] = []
  for (const key of document.keys.slice(0, KEYS_MAX)) {
    const reason = faultOf(key, algorithms)
    if (reason === undefined) keys.push(key)
    else skipped.push({ ...shownKeyId(key), reason })
  }
  const left = document.keys.length - KEYS_MAX
  if (left > 0) skipped.push({ reason: `${left} more: at most ${KEYS_MAX} keys are read` })
  return { keys, skipped }
}

function faultOf(key: unknown, algorithms: readonly string[]): string | undefined {
  if (!isObject(key)) return 'it is not an object'
  const { kty, kid, use, alg, crv, key_ops: operations } = key
  if (kty !== 'RSA' && kty !== 'EC' && kty !== 'OKP') return 'kty: must be RSA, EC or OKP'
  if (kid !== undefined && typeof kid !== 'string') return 'kid: must be text'
  if (use !== undefined && use !== 'sig') return 'use: must be sig'
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) {
    return 'key_ops: must contain verify'
  }
  if (alg !== undefined && !algorithms.includes(alg as string)) return 'alg: must be one of the accepted algorithms'
  if ('d' in key) return 'it contains its private part'
  if (kty !== 'RSA') {
    const curves = CURVES[kty] as readonly unknown[]
    if (!curves.includes(crv)) return `crv: must be ${curves.join(' or ')}`
  }
  const publicKey = readPublicKey(key)
  if (publicKey === undefined) return 'it is malformed'
  return kty === 'RSA' ? rsaFaultOf(publicKey) : undefined
}

function rsaFaultOf({ asymmetricKeyDetails: details }: KeyObject): string | undefined {
  const { modulusLength = 0, publicExponent = 0n } = details ?? {}
  if (modulusLength < RSA_BITS_MIN) return `n: has ${modulusLength} bits, fewer than ${RSA_BITS_MIN}`
  if (modulusLength > RSA_BITS_MAX) return `n: has ${modulusLength} bits, more than ${RSA_BITS_MAX}`
  if (publicExponent < 3n || publicExponent % 2n === 0n || publicExponent > RSA_EXPONENT_MAX) {
    return 'e: must be an odd number from 3 to 2^32'
  }
  return undefined
}

function readPublicKey(key: Readonly<Record<string, unknown>>): KeyObject | undefined {
  try {
    return createPublicKey({ key: key as JsonWebKey, format: 'jwk' })
  } catch {
    // Any error: the log reports the skipped key.
    return undefined
  }
}

function shownKeyId(key: unknown): { readonly keyId?: string } {
  if (!isObject(key) || typeof key.kid !== 'string') return {}
  return { keyId: key.kid.slice(0, KEY_ID_CHARACTERS_SHOWN).replace(/[^ -~]/g, '?') }
}

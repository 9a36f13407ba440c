/** Hand-made tokens: a JWT's parts as text, signatures of every kind, and keys unknown to the service. */
import { createHmac, createPublicKey, generateKeyPairSync, type JsonWebKey, type KeyObject, sign } from 'node:crypto'

export type TokenHeader = Readonly<Record<string, unknown>>

export function encoded(part: unknown): string {
  return Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url')
}

/** A signature with this kind of key, in JWS format. */
export function signature(input: string, key: KeyObject, hash: string | null = 'sha256'): string {
  return sign(hash, Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')
}

export function signedToken(
  header: TokenHeader,
  claims: unknown,
  key: KeyObject,
  hash: string | null = 'sha256',
): string {
  const input = `${encoded(header)}.${encoded(claims)}`
  return `${input}.${signature(input, key, hash)}`
}

/** A token authenticated with a shared secret. */
export function sharedSecretToken(header: TokenHeader, claims: unknown, secret: Buffer | string, hash: string): string {
  const input = `${encoded(header)}.${encoded(claims)}`
  return `${input}.${createHmac(hash, secret).update(input).digest('base64url')}`
}

/** The attacker's knowledge: one genuine token of its own, and the public key for its signature. */
export interface Genuine {
  readonly token: string
  readonly header: TokenHeader
  readonly claims: Readonly<Record<string, unknown>>
  /** The three parts as sent. */
  readonly parts: readonly [header: string, claims: string, signature: string]
  readonly publicJwk: JsonWebKey
  readonly publicKey: KeyObject
}

export function genuine(token: string, keySet: { readonly keys: readonly JsonWebKey[] }): Genuine {
  const parts = token.split('.') as [string, string, string]
  const [header, claims] = parts.slice(0, 2).map((part) => JSON.parse(Buffer.from(part, 'base64url').toString())) as [
    TokenHeader,
    Record<string, unknown>,
  ]
  const publicJwk = keySet.keys.find(({ kid }) => kid === header.kid)
  if (publicJwk === undefined) throw new Error('the key of a genuine token is not published')
  return { token, header, claims, parts, publicJwk, publicKey: createPublicKey({ key: publicJwk, format: 'jwk' }) }
}

/** The attacker's keys, one of each kind that a header could name. */
export const OWN_KEYS = {
  p256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  p384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  secp256k1: generateKeyPairSync('ec', { namedCurve: 'secp256k1' }),
  ed25519: generateKeyPairSync('ed25519'),
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
} as const

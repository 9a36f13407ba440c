/**
 * Signed JSON Web Tokens (RFC 7519): signing and checking our own, checking an external issuer's, and their keys. The
 * only file that knows the library. Errors are codes and never quote a token. It does not interpret claims.
 */
import { type KeyObject, verify } from 'node:crypto'
import {
  type CryptoKey,
  createLocalJWKSet,
  errors,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWTHeaderParameters,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from 'jose'
import { isObject, type JsonObject, parseJson } from '../../platform/base/json-value.ts'

/** The key named by a token. Throws a library error when there is none. */
export type KeySource = (header: JWTHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey>

export interface JwtRules {
  readonly keys: KeySource
  readonly algorithms: readonly string[]
  readonly issuer: string
  readonly audience: string
  /** How far the issuer's clock may differ from ours. */
  readonly toleranceSeconds: number
  readonly nowMilliseconds: number
}

export interface Jwt {
  readonly claims: Readonly<Record<string, unknown>> & { readonly exp: number }
  readonly type: string | undefined
  readonly keyId: string | undefined
}

/** `no-key`: the named key is unknown. `expired`: otherwise valid. `invalid`: anything else. */
export type JwtFault = 'no-key' | 'expired' | 'invalid'

export type JwtReading = { readonly ok: true; readonly jwt: Jwt } | { readonly ok: false; readonly fault: JwtFault }

export function signJwt(
  claims: Readonly<Record<string, unknown>>,
  header: { readonly alg: string; readonly typ: string; readonly kid: string },
  key: KeyObject,
): Promise<string> {
  return new SignJWT(claims as JWTPayload).setProtectedHeader(header).sign(key)
}

/** Checks signature, algorithm, issuer, audience and lifetime. */
export async function readJwt(text: string, rules: JwtRules): Promise<JwtReading> {
  try {
    const { payload, protectedHeader } = await jwtVerify(text, rules.keys, {
      algorithms: [...rules.algorithms],
      issuer: rules.issuer,
      audience: rules.audience,
      clockTolerance: rules.toleranceSeconds,
      currentDate: new Date(rules.nowMilliseconds),
      requiredClaims: ['exp'],
    })
    const { typ: type, kid: keyId } = protectedHeader
    return { ok: true, jwt: { claims: payload as Jwt['claims'], type, keyId } }
  } catch (error) {
    if (error instanceof errors.JWTExpired) return { ok: false, fault: 'expired' }
    if (error instanceof errors.JWKSNoMatchingKey) return { ok: false, fault: 'no-key' }
    // Every other library error is about the token. Its message may quote it.
    if (error instanceof errors.JOSEError) return { ok: false, fault: 'invalid' }
    throw error
  }
}

/** The keys from a checked JWK Set. A token whose key the library cannot use is invalid. */
export function keysOfSet(keys: readonly object[]): KeySource {
  const find = createLocalJWKSet({ keys } as JSONWebKeySet)
  return async (header, token) => {
    try {
      return await find(header, token)
    } catch (error) {
      if (error instanceof errors.JOSEError) throw error
      throw new errors.JWKSInvalid('a key cannot be used', { cause: error })
    }
  }
}

/** A P-256 signature is two numbers of 32 bytes: 86 characters without padding. */
const COMPACT_FORM = /^([\w-]+)\.([\w-]+)\.([\w-]{86})$/

interface SignedJwt {
  readonly keyId: string
  /** The header's `typ`. */
  readonly type: unknown
  readonly claims: JsonObject
}

/**
 * Reads our own token in the compact form (RFC 7515): ES256, one signature, no extension. It verifies on the calling
 * thread. The library verifies through WebCrypto, which takes three times the processor time (decision 1). Undefined
 * unless a key found by its id has signed exactly this header and these claims.
 */
export function readSignedJwt(text: string, keyOf: (keyId: string) => KeyObject | undefined): SignedJwt | undefined {
  const [, headerText, claimsText, signature] = COMPACT_FORM.exec(text) ?? []
  if (headerText === undefined || claimsText === undefined || signature === undefined) return undefined
  const { alg, crit, kid: keyId, typ: type } = objectOf(headerText) ?? {}
  if (alg !== 'ES256' || crit !== undefined || typeof keyId !== 'string') return undefined
  const key = keyOf(keyId)
  if (key === undefined) return undefined
  const signed = Buffer.from(text.slice(0, -signature.length - 1), 'latin1')
  const isSigned = verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'))
  const claims = isSigned ? objectOf(claimsText) : undefined
  return claims && { keyId, type, claims }
}

function objectOf(part: string): JsonObject | undefined {
  const value = parseJson(Buffer.from(part, 'base64url').toString())
  return isObject(value) ? value : undefined
}

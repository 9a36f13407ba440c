/**
 * Signed JSON Web Tokens (RFC 7519): signing, checking, and their keys. The only file that knows the library. Errors
 * are codes and never quote a token. It does not interpret claims.
 */
import type { KeyObject } from 'node:crypto'
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

/** The key named by a token. Throws a library error when there is none. */
export type KeySource = (
  header: JWTHeaderParameters,
  token: FlattenedJWSInput,
) => KeyObject | Promise<CryptoKey | KeyObject>

export interface JwtRules {
  readonly keys: KeySource
  readonly algorithms: readonly string[]
  readonly issuer: string
  readonly audience: string
  readonly requiredClaims: readonly string[]
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

/** Checks signature, algorithm, issuer, audience, lifetime and whether the claims are present. */
export async function readJwt(text: string, rules: JwtRules): Promise<JwtReading> {
  try {
    const { payload, protectedHeader } = await jwtVerify(text, rules.keys, {
      algorithms: [...rules.algorithms],
      issuer: rules.issuer,
      audience: rules.audience,
      clockTolerance: rules.toleranceSeconds,
      currentDate: new Date(rules.nowMilliseconds),
      requiredClaims: ['exp', ...rules.requiredClaims],
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

/** Keys by their ids alone. */
export function keysById(find: (keyId: string) => KeyObject | undefined): KeySource {
  return ({ kid }) => {
    const key = kid === undefined ? undefined : find(kid)
    if (key === undefined) throw new errors.JWKSNoMatchingKey()
    return key
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

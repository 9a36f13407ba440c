/**
 * The access tokens issued by this service: JWTs (RFC 9068) signed with ES256. The claims contain what a token grants.
 * The directory decides whether it has been revoked.
 */
import { randomUUID } from 'node:crypto'
import type { Directory } from './directory.ts'
import type { Authority, SigningKey } from './directory-records.ts'
import { readSignedJwt, signJwt } from './jwt.ts'

export interface AccessToken {
  /** The client's id. For an external issuer, the customer's id and the client's name there. */
  readonly clientId: string
  readonly customerId: string
  readonly scopes: ReadonlySet<string>
  /** `jti`: identifies the token in logs and revocations. Empty when its issuer set none. */
  readonly tokenId: string
  /** The key that signed it. Empty when an external issuer names none. */
  readonly keyId: string
  /** Seconds since the epoch. */
  readonly issuedAtSeconds: number
  readonly expiresAtMilliseconds: number
  /** The client's `tokensValidFromSeconds` that its issuer knew. Absent: an earlier version's, or an external one's. */
  readonly validFromSeconds?: number
  /** The client's name at an external issuer. Absent in our own tokens. */
  readonly outsideClientName?: string
}

/** Our keys' only algorithm. */
export const ALGORITHM = 'ES256'
/** A token's longest lifetime, and so how long a key must verify after it has signed its last token. */
export const TOKEN_SECONDS_MAX = 86_400

const TYPE = 'at+jwt'
/** The claim with the customer, private to this issuer. */
const CUSTOMER_CLAIM = 'customer_id'
/** The claim with the last revocation of all the client's tokens that this one follows, likewise. 0: there was none. */
const VALID_FROM_CLAIM = 'tokens_valid_from'

export interface NewToken {
  readonly clientId: string
  readonly customerId: string
  readonly scopes: readonly string[]
  /** Seconds since the epoch. */
  readonly issuedAtSeconds: number
  readonly lifetimeSeconds: number
  /** The client's `tokensValidFromSeconds`. */
  readonly validFromSeconds?: number
}

export function signAccessToken(authority: Authority, key: SigningKey, token: NewToken): Promise<string> {
  const claims = {
    client_id: token.clientId,
    scope: token.scopes.join(' '),
    [CUSTOMER_CLAIM]: token.customerId,
    [VALID_FROM_CLAIM]: token.validFromSeconds ?? 0,
    iss: authority.issuer,
    aud: authority.audience,
    sub: token.clientId,
    iat: token.issuedAtSeconds,
    exp: token.issuedAtSeconds + token.lifetimeSeconds,
    jti: randomUUID(),
  }
  return signJwt(claims, { alg: ALGORITHM, typ: TYPE, kid: key.keyId }, key.privateKey)
}

const INVALID = { ok: false, reason: 'this service did not issue it' } as const

export type TokenReading =
  | { readonly ok: true; readonly token: AccessToken }
  /** `reason` is for the client, after `the token is not valid:`. It never quotes the token. */
  | { readonly ok: false; readonly reason: string }

/** Checks a token's signature, type, issuer, audience, claims and lifetime against the directory's keys. */
export function readAccessToken(
  text: string,
  directory: Directory,
  authority: Authority,
  nowMilliseconds: number,
): TokenReading {
  const jwt = readSignedJwt(text, (keyId) => directory.verificationKey(keyId))
  if (jwt === undefined) return INVALID
  const { keyId, type, claims } = jwt
  const { client_id: clientId, scope, exp, iat, iss, aud, jti, sub } = claims
  const { [CUSTOMER_CLAIM]: customerId, [VALID_FROM_CLAIM]: validFrom } = claims
  if (
    type !== TYPE ||
    iss !== authority.issuer ||
    aud !== authority.audience ||
    typeof clientId !== 'string' ||
    typeof customerId !== 'string' ||
    typeof scope !== 'string' ||
    typeof jti !== 'string' ||
    typeof iat !== 'number' ||
    typeof exp !== 'number' ||
    clientId !== sub
  ) {
    return INVALID
  }
  const expiresAtMilliseconds = exp * 1000
  if (expiresAtMilliseconds <= nowMilliseconds) return { ok: false, reason: 'it has expired' }
  return {
    ok: true,
    token: {
      clientId,
      customerId,
      scopes: new Set(scope.split(' ')),
      tokenId: jti,
      keyId,
      issuedAtSeconds: iat,
      expiresAtMilliseconds,
      ...(typeof validFrom === 'number' ? { validFromSeconds: validFrom } : {}),
    },
  }
}

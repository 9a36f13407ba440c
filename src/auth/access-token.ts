/**
 * Access tokens on the wire: JWTs as RFC 9068 says, signed with ES256. The only file that knows the JWT library. What a
 * token grants is read from its claims alone; whether it still holds is for the directory to say.
 */
import { randomUUID } from 'node:crypto'
import { errors, jwtVerify, SignJWT } from 'jose'
import type { Authority, Directory, SigningKey } from './directory.ts'

export interface AccessToken {
  readonly clientId: string
  readonly customerId: string
  readonly scopes: ReadonlySet<string>
  /** `jti`: names the token in logs and revocations without being one. */
  readonly tokenId: string
  readonly expiresAtMilliseconds: number
}

const ALGORITHM = 'ES256'
const TYPE = 'at+jwt'
/** The claim that carries the customer, private to this issuer. */
const CUSTOMER_CLAIM = 'customer_id'

export interface NewToken {
  readonly clientId: string
  readonly customerId: string
  readonly scopes: readonly string[]
  /** Seconds since the epoch. */
  readonly issuedAtSeconds: number
  readonly lifetimeSeconds: number
}

export function signAccessToken(authority: Authority, key: SigningKey, token: NewToken): Promise<string> {
  return new SignJWT({
    client_id: token.clientId,
    scope: token.scopes.join(' '),
    [CUSTOMER_CLAIM]: token.customerId,
  })
    .setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid: key.keyId })
    .setIssuer(authority.issuer)
    .setAudience(authority.audience)
    .setSubject(token.clientId)
    .setIssuedAt(token.issuedAtSeconds)
    .setExpirationTime(token.issuedAtSeconds + token.lifetimeSeconds)
    .setJti(randomUUID())
    .sign(key.privateKey)
}

const INVALID = 'it is not one that this service issued'

export type TokenReading =
  | { readonly ok: true; readonly token: AccessToken; readonly keyId: string }
  | { readonly ok: false; readonly reason: string }

/** Checks signature, type, issuer, audience, lifetime and claims of a token against the directory's keys. */
export async function readAccessToken(
  text: string,
  directory: Directory,
  authority: Authority,
  nowMilliseconds: number,
): Promise<TokenReading> {
  try {
    const { payload, protectedHeader } = await jwtVerify(
      text,
      ({ kid }) => {
        const key = kid === undefined ? undefined : directory.verificationKey(kid)
        if (key === undefined) throw new errors.JWKSNoMatchingKey()
        return key
      },
      {
        algorithms: [ALGORITHM],
        typ: TYPE,
        issuer: authority.issuer,
        audience: authority.audience,
        currentDate: new Date(nowMilliseconds),
        requiredClaims: ['exp', 'iat', 'jti', 'sub', 'client_id', 'scope', CUSTOMER_CLAIM],
      },
    )
    const { client_id: clientId, scope, exp, jti, sub, [CUSTOMER_CLAIM]: customerId } = payload
    if (
      typeof clientId !== 'string' ||
      typeof customerId !== 'string' ||
      typeof scope !== 'string' ||
      clientId !== sub
    ) {
      return { ok: false, reason: INVALID }
    }
    return {
      ok: true,
      keyId: protectedHeader.kid as string,
      token: {
        clientId,
        customerId,
        scopes: new Set(scope.split(' ')),
        tokenId: jti as string,
        expiresAtMilliseconds: (exp as number) * 1000,
      },
    }
  } catch (error) {
    // Everything else the library throws is about a token that is not one of ours; its message may quote the token.
    if (error instanceof errors.JWTExpired) return { ok: false, reason: 'it has expired' }
    if (error instanceof errors.JOSEError) return { ok: false, reason: INVALID }
    throw error
  }
}

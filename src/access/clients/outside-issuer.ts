/**
 * Tokens from an external issuer trusted by the operator: JWTs signed with one of its published keys, for our audience,
 * whose claims contain one of our customers, a client and scopes. The directory decides whether customer and client are
 * enabled, as for our own tokens. Only asymmetric algorithms are accepted, with which a verifier cannot sign.
 */
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { clientKey } from './affected-tokens.ts'
import type { Directory } from './directory.ts'
import { type Jwt, type JwtRules, type KeySource, readJwt } from './jwt.ts'
import { KEYS_FRESH_MILLISECONDS, OutsideKeys } from './outside-keys.ts'
import type { TokenIssuer, TokenVerdict } from './token-verifier.ts'

export interface OutsideIssuerOptions {
  /** The settings `auth.issuer`, `auth.audience`, `auth.jwks_url`. */
  readonly issuer: string
  readonly audience: string
  readonly jwksUrl: string
  /** Names of claims, or paths to them with dots: the settings `auth.claims.*`. */
  readonly claims: { readonly client: string; readonly customer: string; readonly scope: string }
  readonly directory: Directory
  readonly clock: Clock
  readonly log: Log
}

const ALGORITHMS = ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519', 'PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512']
/** The first is from RFC 9068. Others use the second, or none. Other types are not access tokens. */
const TYPES = ['at+jwt', 'jwt']
/** How far the issuer's clock may differ from ours. */
const TOLERANCE_SECONDS = 30

const INVALID = refuse('its issuer is not the one this service trusts')

export function createOutsideIssuer(options: OutsideIssuerOptions): TokenIssuer {
  const { clock, log, directory } = options
  const keys = new OutsideKeys({ url: options.jwksUrl, algorithms: ALGORITHMS, clock, log })
  // Fetched at once, so the first request after the start need not wait for them.
  void keys.current()
  return {
    async read(text, nowMilliseconds) {
      const rules = (source: KeySource): JwtRules => ({
        keys: source,
        algorithms: ALGORITHMS,
        issuer: options.issuer,
        audience: options.audience,
        toleranceSeconds: TOLERANCE_SECONDS,
        nowMilliseconds,
      })
      const present = await keys.current()
      if (present === undefined) return { ...refuse('its issuer’s keys cannot be fetched'), unavailable: true }
      let reading = await readJwt(text, rules(present))
      if (!reading.ok && reading.fault === 'no-key') {
        const newer = await keys.newer()
        if (newer !== undefined) reading = await readJwt(text, rules(newer))
      }
      if (!reading.ok) return reading.fault === 'expired' ? refuse('it has expired') : INVALID
      return readClaims(reading.jwt, options.claims, directory)
    },
    remembers: (_token, verifiedMilliseconds, nowMilliseconds) =>
      nowMilliseconds - verifiedMilliseconds < KEYS_FRESH_MILLISECONDS,
  }
}

function readClaims(jwt: Jwt, names: OutsideIssuerOptions['claims'], directory: Directory): TokenVerdict {
  const { claims, type, keyId = '' } = jwt
  if (!TYPES.includes((type ?? 'jwt').toLowerCase().replace(/^application\//, ''))) return INVALID
  const clientName = textAt(claims, names.client)
  if (clientName === undefined) return refuse(`its claim ${names.client} is missing`)
  const customerName = textAt(claims, names.customer)
  const customer = customerName === undefined ? undefined : directory.customerNamed(customerName)
  if (customer === undefined) return refuse(`its claim ${names.customer} names no customer`)
  const scopes = scopesOf(valueAt(claims, names.scope))
  if (scopes === undefined) return refuse(`its claim ${names.scope} is neither text nor a list of texts`)
  return {
    ok: true,
    token: {
      clientId: clientKey({ customerId: customer.id, name: clientName }),
      customerId: customer.id,
      outsideClientName: clientName,
      scopes: new Set(scopes),
      tokenId: typeof claims.jti === 'string' ? claims.jti : '',
      keyId,
      issuedAtSeconds: typeof claims.iat === 'number' ? Math.floor(claims.iat) : 0,
      expiresAtMilliseconds: (claims.exp + TOLERANCE_SECONDS) * 1000,
    },
  }
}

/** A token without the claim grants nothing. */
function scopesOf(value: unknown): readonly string[] | undefined {
  if (value === undefined) return []
  if (typeof value === 'string') return value.split(' ').filter((scope) => scope !== '')
  return Array.isArray(value) && value.every((scope) => typeof scope === 'string') ? value : undefined
}

function textAt(claims: Jwt['claims'], path: string): string | undefined {
  const value = valueAt(claims, path)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/**
 * The claim with exactly this name, dots included, as some issuers name theirs like addresses. Else the one at the
 * path.
 */
function valueAt(claims: Jwt['claims'], path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path]
  let value: unknown = claims
  for (const step of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Record<string, unknown>)[step]
  }
  return value
}

function refuse(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason }
}

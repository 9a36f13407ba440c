/**
 * The client credentials grant (RFC 6749 section 4.4): ordered checks from an authenticated request's parameters to a
 * signed token. It reads only the directory, so tokens are granted while the store is down.
 */
import { isScope, type Scope } from '../../../contract/scopes.ts'
import type { Clock } from '../../../platform/base/clock.ts'
import { signAccessToken } from '../access-token.ts'
import type { Directory } from '../directory.ts'
import type { ClientRecord } from '../directory-records.ts'
import type { AuthenticatedRequest } from './client-authentication.ts'
import { printable, TokenError, unavailable } from './token-errors.ts'

/** The answer's members, as RFC 6749 section 5.1 names them. */
export interface TokenAnswer {
  readonly access_token: string
  readonly expires_in: number
  readonly token_type: 'bearer'
  readonly scope: string
}

export interface GrantContext {
  readonly directory: Directory
  readonly clock: Clock
  /** Token lifetime: the setting `auth.token_seconds`. */
  readonly tokenSeconds: number
  /** The served operations' scopes. */
  readonly scopes: readonly Scope[]
}

/** Grants a token or throws a `TokenError`. The checks run in call order. */
export async function grantToken(
  context: GrantContext,
  { client, parameters }: AuthenticatedRequest,
): Promise<TokenAnswer> {
  requireClientCredentialsGrant(parameters)
  const scopes = requestedScopes(parameters, client, context.scopes)
  return issueToken(context, client, scopes)
}

function requireClientCredentialsGrant(parameters: ReadonlyMap<string, string>): void {
  const grantType = parameters.get('grant_type')
  if (grantType === undefined) throw new TokenError('invalid_request', 'grant_type is required')
  if (grantType !== 'client_credentials') {
    throw new TokenError('unsupported_grant_type', 'grant_type must be client_credentials')
  }
}

/** The requested scopes in order, without duplicates. All or none are granted. */
function requestedScopes(
  parameters: ReadonlyMap<string, string>,
  client: ClientRecord,
  served: readonly Scope[],
): readonly Scope[] {
  const names = (parameters.get('scope') ?? '').split(' ').filter((name) => name !== '')
  if (names.length === 0)
    throw new TokenError('invalid_scope', 'scope is required: one scope, or several separated by spaces')
  const scopes = new Set<Scope>()
  for (const name of names) {
    if (!isScope(name) || !served.includes(name))
      throw new TokenError('invalid_scope', `this scope does not exist: ${printable(name)}`)
    if (!client.scopes.has(name)) throw new TokenError('invalid_scope', `the client does not hold the scope ${name}`)
    scopes.add(name)
  }
  return [...scopes]
}

/** Issues a token for an authenticated client, with scopes that the client has. */
export async function issueToken(
  context: Omit<GrantContext, 'scopes'>,
  client: ClientRecord,
  scopes: readonly Scope[],
): Promise<TokenAnswer> {
  const { directory, clock, tokenSeconds } = context
  const nowMilliseconds = clock.wallInstant().milliseconds
  const signingKey = directory.signingKeyAt(nowMilliseconds)
  const { authority } = directory
  if (authority === undefined || signingKey === undefined) throw unavailable('the signing keys are not loaded yet')
  const { clientId, customerId, tokensValidFromSeconds = 0 } = client
  const accessToken = await signAccessToken(authority, signingKey, {
    clientId,
    customerId,
    scopes,
    // For nodes with an earlier version, which compare it: within the second in which all the client's tokens were
    // revoked, a new one is issued at the end of that second.
    issuedAtSeconds: Math.max(Math.floor(nowMilliseconds / 1000), tokensValidFromSeconds),
    validFromSeconds: tokensValidFromSeconds,
    lifetimeSeconds: tokenSeconds,
  })
  return { access_token: accessToken, expires_in: tokenSeconds, token_type: 'bearer', scope: scopes.join(' ') }
}

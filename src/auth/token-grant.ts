/**
 * The client credentials grant (RFC 6749 section 4.4): ordered checks from a request's parameters to a signed token.
 * Who calls is checked before what it wants, so that nobody learns about grants or scopes without a right secret. It
 * reads the directory alone, so tokens are granted while the store is down; it knows no HTTP server.
 */
import type { Clock } from '../base/clock.ts'
import { isScope, type Scope } from '../contract/scopes.ts'
import { signAccessToken } from './access-token.ts'
import type { ClientRecord, Directory } from './directory.ts'
import { matchesSecret } from './secrets.ts'

/** Error codes of the token endpoint with the status each is sent with (RFC 6749 section 5.2). */
const TOKEN_ERRORS = {
  invalid_request: 400,
  invalid_client: 401,
  unsupported_grant_type: 400,
  invalid_scope: 400,
  server_error: 500,
  temporarily_unavailable: 503,
} as const

export type TokenErrorCode = keyof typeof TOKEN_ERRORS

export class TokenError extends Error {
  override name = 'TokenError'
  readonly code: TokenErrorCode
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  /** @param status where HTTP has a better one than the code's own */
  constructor(
    code: TokenErrorCode,
    description: string,
    headers: Readonly<Record<string, string>> = {},
    status: number = TOKEN_ERRORS[code],
  ) {
    super(description)
    this.code = code
    this.status = status
    this.headers = headers
  }
}

export interface TokenRequest {
  readonly authorization: string | undefined
  /** The body's parameters in the order sent, repeated ones repeated. */
  readonly parameters: readonly (readonly [name: string, value: string])[]
}

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
  /** Lifetime of a token: the setting `auth.token_seconds`. */
  readonly tokenSeconds: number
}

interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
  /** Whether they came in the Authorization header, which a refusal then has to challenge. */
  readonly isBasic: boolean
}

/** Grants a token or throws a `TokenError`; the order of the checks is the order of the calls. */
export async function grantToken(context: GrantContext, request: TokenRequest): Promise<TokenAnswer> {
  const parameters = singleParameters(request.parameters)
  const credentials = readCredentials(request.authorization, parameters)
  const client = authenticate(context.directory, credentials)
  requireClientCredentialsGrant(parameters)
  const scopes = requestedScopes(parameters, client)
  return issue(context, client, scopes)
}

/** A parameter may not be sent twice, and one without a value counts as not sent (RFC 6749 section 3.2). */
function singleParameters(sent: TokenRequest['parameters']): ReadonlyMap<string, string> {
  const names = new Set<string>()
  for (const [name] of sent) {
    if (names.has(name)) throw new TokenError('invalid_request', `a parameter is sent twice: ${printable(name)}`)
    names.add(name)
  }
  return new Map(sent.filter(([, value]) => value !== ''))
}

function readCredentials(authorization: string | undefined, parameters: ReadonlyMap<string, string>): Credentials {
  const clientId = parameters.get('client_id')
  const clientSecret = parameters.get('client_secret')
  const basic = /^basic(?: +(.*))?$/i.exec(authorization ?? '')
  if (basic === null) {
    if (clientId === undefined || clientSecret === undefined) {
      throw new TokenError('invalid_client', 'client_id and client_secret are required, in the body or as HTTP Basic')
    }
    return { clientId, clientSecret, isBasic: false }
  }
  if (clientSecret !== undefined) {
    throw new TokenError('invalid_request', 'credentials are sent both in the body and as HTTP Basic')
  }
  const credentials = decodeBasic(basic[1] ?? '')
  if (credentials === undefined) throw invalidClient(true)
  if (clientId !== undefined && clientId !== credentials.clientId) {
    throw new TokenError('invalid_request', 'client_id differs from the one sent as HTTP Basic')
  }
  return { ...credentials, isBasic: true }
}

/** RFC 6749 section 2.3.1: both halves are form-encoded before they are joined and base64 is applied. */
function decodeBasic(encoded: string): { clientId: string; clientSecret: string } | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2} *$/.test(encoded)) return undefined
  const [first, ...rest] = Buffer.from(encoded, 'base64').toString('utf8').split(':')
  const clientId = formDecoded(first as string)
  const clientSecret = formDecoded(rest.join(':'))
  return clientId === undefined || clientSecret === undefined ? undefined : { clientId, clientSecret }
}

function formDecoded(text: string): string | undefined {
  const pattern = /%(?![0-9A-Fa-f]{2})/
  if (pattern.test(text)) return undefined
  return new URLSearchParams(`_=${text.replaceAll('&', '%26')}`).get('_') ?? undefined
}

/**
 * A client that is not there costs the same steps as a wrong secret, and is answered the same; so is a disabled one,
 * because only its operator has to know.
 */
function authenticate(directory: Directory, { clientId, clientSecret, isBasic }: Credentials): ClientRecord {
  const { authority } = directory
  if (authority === undefined) throw notReady()
  const isSecretRight = matchesSecret(authority.pepper, clientSecret, directory.secretHashes(clientId))
  const client = directory.client(clientId)
  const customer = client && directory.customer(client.customerId)
  if (!isSecretRight || !client?.enabled || !customer?.enabled) throw invalidClient(isBasic)
  return client
}

function requireClientCredentialsGrant(parameters: ReadonlyMap<string, string>): void {
  const grantType = parameters.get('grant_type')
  if (grantType === undefined) throw new TokenError('invalid_request', 'grant_type is required')
  if (grantType !== 'client_credentials') {
    throw new TokenError('unsupported_grant_type', 'grant_type must be client_credentials')
  }
}

/** Scopes in the order asked for, each once; all or none. */
function requestedScopes(parameters: ReadonlyMap<string, string>, client: ClientRecord): readonly Scope[] {
  const names = (parameters.get('scope') ?? '').split(' ').filter((name) => name !== '')
  if (names.length === 0) throw new TokenError('invalid_scope', 'scope is required: one scope, or several with blanks')
  const scopes = new Set<Scope>()
  for (const name of names) {
    if (!isScope(name)) throw new TokenError('invalid_scope', `this scope does not exist: ${printable(name)}`)
    if (!client.scopes.has(name)) throw new TokenError('invalid_scope', `the client does not hold the scope ${name}`)
    scopes.add(name)
  }
  return [...scopes]
}

async function issue(context: GrantContext, client: ClientRecord, scopes: readonly Scope[]): Promise<TokenAnswer> {
  const { directory, clock, tokenSeconds } = context
  const { authority, signingKey } = directory
  if (authority === undefined || signingKey === undefined) throw notReady()
  const accessToken = await signAccessToken(authority, signingKey, {
    clientId: client.clientId,
    customerId: client.customerId,
    scopes,
    issuedAtSeconds: Math.floor(clock.wallInstant().milliseconds / 1000),
    lifetimeSeconds: tokenSeconds,
  })
  return { access_token: accessToken, expires_in: tokenSeconds, token_type: 'bearer', scope: scopes.join(' ') }
}

function invalidClient(isBasic: boolean): TokenError {
  const challenge: Record<string, string> = isBasic
    ? { 'www-authenticate': 'Basic realm="tidegate", charset="UTF-8"' }
    : {}
  return new TokenError('invalid_client', 'client authentication failed', challenge)
}

function notReady(): TokenError {
  return new TokenError('temporarily_unavailable', 'the clients are not loaded yet', { 'retry-after': '1' })
}

/** Text that a description may hold: RFC 6749 section 5.2 allows printable ASCII without quote and backslash. */
function printable(text: string): string {
  return text.slice(0, 100).replace(/[^ !#-[\]-~]/g, '?')
}

/**
 * Client authentication at the token and revocation endpoints: a request's parameters, the credentials in the body or
 * in the Authorization header, and the authenticated client (RFC 6749 sections 2.3 and 3.2). It reads only the
 * directory. An unknown client takes the same steps as a wrong secret.
 */
import type { AuthenticationFailures } from '../authentication-failures.ts'
import type { Directory } from '../directory.ts'
import type { ClientRecord } from '../directory-records.ts'
import type { SecretUses } from '../secret-uses.ts'
import { hashSecret, matchesSecret } from '../secrets.ts'
import type { LockoutNotices } from './lockout-notices.ts'
import { printable, TokenError, unavailable } from './token-errors.ts'

/** A request to one of the endpoints. */
export interface TokenRequest {
  readonly authorization: string | undefined
  /** The body's parameters in the order sent, repeated ones repeated. */
  readonly parameters: readonly (readonly [name: string, value: string])[]
  /** The source address, in the form in which limits count it. */
  readonly address: string
}

export interface AuthenticationContext {
  readonly directory: Directory
  readonly failures: AuthenticationFailures
  readonly uses: Pick<SecretUses, 'note'>
  readonly lockouts: Pick<LockoutNotices, 'note'>
}

export interface AuthenticatedRequest {
  readonly client: ClientRecord
  readonly parameters: ReadonlyMap<string, string>
}

/** An id and a secret have about 130 characters as HTTP Basic, or 400 when each is percent-encoded. */
const AUTHORIZATION_CHARACTERS_MAX = 4_096
/** Secrets have 47 characters. Longer text is not a secret, and only this part is hashed. */
const SECRET_CHARACTERS_MAX = 256

interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
  /** Whether they came in the Authorization header, which a refusal then has to challenge. */
  readonly isBasic: boolean
}

/** The client that sent the request, or a `TokenError`. */
export function authenticateRequest(context: AuthenticationContext, request: TokenRequest): AuthenticatedRequest {
  const parameters = singleParameters(request.parameters)
  const credentials = readCredentials(request.authorization, parameters)
  return { client: authenticate(context, credentials, request.address), parameters }
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
  // Longer than any credentials: rejected without decoding.
  if (authorization !== undefined && authorization.length > AUTHORIZATION_CHARACTERS_MAX) throw invalidClient(true)
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
 * The secret is checked first, so a correct one is accepted whatever other clients at the same address have sent. Only
 * failures are delayed. A disabled client gets the same answer as a wrong secret.
 */
function authenticate(
  { directory, failures, uses, lockouts }: AuthenticationContext,
  { clientId, clientSecret, isBasic }: Credentials,
  address: string,
): ClientRecord {
  const { authority } = directory
  if (authority === undefined) throw unavailable('the clients are not loaded yet')
  const secret = clientSecret.slice(0, SECRET_CHARACTERS_MAX)
  const isSecretRight = matchesSecret(authority.pepper, secret, directory.secretHashes(clientId))
  const client = directory.client(clientId)
  const customer = client && directory.customer(client.customerId)
  if (isSecretRight && client?.enabled && customer?.enabled) {
    uses.note(clientId, hashSecret(authority.pepper, secret))
    return client
  }
  const waitSeconds = failures.record(clientId, address)
  if (waitSeconds > 0 && client?.enabled && customer?.enabled) lockouts.note(client, address)
  throw waitSeconds > 0 ? tooManyFailures(waitSeconds) : invalidClient(isBasic)
}

function invalidClient(isBasic: boolean): TokenError {
  const challenge: Record<string, string> = isBasic
    ? { 'www-authenticate': 'Basic realm="tidegate", charset="UTF-8"' }
    : {}
  return new TokenError('invalid_client', 'client authentication failed', challenge)
}

function tooManyFailures(waitSeconds: number): TokenError {
  const seconds = `${waitSeconds} second${waitSeconds === 1 ? '' : 's'}`
  return unavailable(`client authentication failed too often: try again in ${seconds}`, waitSeconds, 429)
}

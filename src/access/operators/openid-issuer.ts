/**
 * An outside OpenID Connect issuer that proves an operator's identity: the authorization code flow with PKCE, state and
 * nonce. An ID token counts only when it is signed with the issuer's published key, for this client and for this login.
 * The library and the issuer's discovery document are loaded with the first login. The document is kept, and refreshed
 * in the background, so an issuer that fails meanwhile affects only its own logins. Every request to the issuer is
 * limited in time and size, and follows no redirect.
 */
import type * as OpenidClient from 'openid-client'
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { RefreshedValue } from '../../platform/base/refreshed-value.ts'
import { fileErrorText, readRegularFile } from '../../platform/base/regular-file.ts'
import { withDeadline } from '../../platform/base/time-limit.ts'

export interface OpenidIssuerOptions {
  /** The setting `operator.oidc.issuer`. */
  readonly issuer: string
  readonly clientId: string
  /** A file with the client secret, which is read for each login. */
  readonly clientSecretFile: string
  /** Where the issuer sends the browser back to. */
  readonly redirectUrl: string
  readonly clock: Clock
  readonly log: Log
}

/** Binds the issuer's answer to one login in one browser. */
export interface LoginChecks {
  readonly state: string
  readonly nonce: string
  /** The PKCE code verifier (RFC 7636). */
  readonly verifier: string
}

/** `denied`: the issuer refused. `unavailable`: it cannot be reached or used. `failed`: its answer is not accepted. */
export type IssuerFault = 'denied' | 'unavailable' | 'failed'

/** The issuer did not prove who the person is. The message is for the log. */
export class IssuerProblem extends Error {
  override name = 'IssuerProblem'
  readonly fault: IssuerFault

  constructor(fault: IssuerFault, message: string) {
    super(message)
    this.fault = fault
  }
}

/** Age from which the discovery document is fetched again. */
const FRESH_MILLISECONDS = 3_600_000
/** The least time between two requests for the discovery document. */
const PAUSE_MILLISECONDS = 5_000
const REQUEST_MILLISECONDS_MAX = 5_000
/** Discovery documents and key sets are a few kilobytes. */
const ANSWER_BYTES_MAX = 262_144
const SECRET_BYTES_MAX = 65_536
/** How far the issuer's clock may differ from ours. */
const TOLERANCE_SECONDS = 30
/** For the issuer's texts in the log. */
const TEXT_CHARACTERS_MAX = 100
/** Longest subject (OpenID Connect Core section 2). */
export const SUBJECT_CHARACTERS_MAX = 255

interface Provider {
  readonly library: typeof OpenidClient
  readonly configuration: OpenidClient.Configuration
}

/** The form in which issuers are compared and stored. */
export function issuerAddress(issuer: string): string {
  return new URL(issuer).href
}

export class OpenidIssuer {
  readonly #options: OpenidIssuerOptions
  readonly #provider: RefreshedValue<Provider>

  constructor(options: OpenidIssuerOptions) {
    this.#options = options
    const { issuer, clock, log } = options
    this.#provider = new RefreshedValue({
      clock,
      freshMilliseconds: FRESH_MILLISECONDS,
      pauseMilliseconds: PAUSE_MILLISECONDS,
      fetch: () => discover(options),
      onFailure: (error, kept) =>
        log.warn({ issuer, reason: problemOf(error).message, kept }, 'the OpenID issuer cannot be used'),
    })
  }

  /**
   * The address to which a browser is sent for a login.
   * @throws {IssuerProblem} `unavailable`
   */
  async loginAddress({ state, nonce, verifier }: LoginChecks): Promise<string> {
    const { library, configuration } = await this.#current()
    const address = library.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#options.redirectUrl,
      scope: 'openid',
      state,
      nonce,
      code_challenge: await library.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    return address.href
  }

  /**
   * Exchanges the code in the redirection's query for an ID token. Returns the subject.
   * @throws {IssuerProblem}
   */
  async subjectOf(query: string, { state, nonce, verifier }: LoginChecks): Promise<string> {
    const { library, configuration } = await this.#current()
    const url = new URL(this.#options.redirectUrl)
    url.search = query
    try {
      const tokens = await library.authorizationCodeGrant(configuration, url, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      })
      const claims = tokens.claims()
      // For some multi-tenant issuers the library accepts any tenant's tokens.
      if (claims === undefined || issuerAddress(claims.iss) !== issuerAddress(this.#options.issuer)) {
        throw new IssuerProblem('failed', 'the ID token comes from another issuer')
      }
      if (claims.sub.length < 1 || claims.sub.length > SUBJECT_CHARACTERS_MAX) {
        throw new IssuerProblem('failed', `the subject has ${claims.sub.length} characters`)
      }
      return claims.sub
    } catch (error) {
      if (error instanceof library.AuthorizationResponseError) {
        const fault = error.error === 'access_denied' ? 'denied' : 'failed'
        throw new IssuerProblem(
          fault,
          `the issuer answered ${JSON.stringify(error.error.slice(0, TEXT_CHARACTERS_MAX))}`,
        )
      }
      throw problemOf(error)
    }
  }

  /**
   * The address at which a person signs out at the issuer (OpenID Connect RP-Initiated Logout 1.0). Undefined when it
   * has none. It names only the client: no ID token is kept as a hint, so the issuer asks the person.
   * @throws {IssuerProblem} `unavailable`
   */
  async logoutAddress(): Promise<string | undefined> {
    const { library, configuration } = await this.#current()
    if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined
    try {
      return library.buildEndSessionUrl(configuration).href
    } catch (error) {
      throw problemOf(error)
    }
  }

  async #current(): Promise<Provider> {
    const provider = await this.#provider.current()
    if (provider === undefined) throw new IssuerProblem('unavailable', 'its discovery document was not fetched')
    return provider
  }
}

async function discover({ issuer, clientId, clientSecretFile, clock }: OpenidIssuerOptions): Promise<Provider> {
  const library = await import('openid-client')
  const authenticate: OpenidClient.ClientAuth = (server, client, body, headers) => {
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = server
    const method = methods.includes('client_secret_basic') ? library.ClientSecretBasic : library.ClientSecretPost
    method(readClientSecret(clientSecretFile))(server, client, body, headers)
  }
  const isLocal = issuer.startsWith('http:')
  const metadata = { [library.clockTolerance]: TOLERANCE_SECONDS }
  const configuration = await library.discovery(new URL(issuer), clientId, metadata, authenticate, {
    [library.customFetch]: (url, options) => fetchLimited(url, options as RequestInit, clock),
    // Without it the library relies on TLS, and does not verify the signature.
    execute: [library.enableNonRepudiationChecks, ...(isLocal ? [library.allowInsecureRequests] : [])],
  })
  return { library, configuration }
}

/** Throws an Error that names the file, and never its content. */
export function readClientSecret(path: string): string {
  let secret: string
  try {
    // Editors and `echo` end files with a line break outside the secret.
    secret = readRegularFile(path, SECRET_BYTES_MAX)
      .toString('utf8')
      .replace(/\r?\n$/, '')
  } catch (error) {
    throw new Error(`${path}, which cannot be read: ${fileErrorText(error)}`)
  }
  if (!/^[\x20-\x7e]+$/.test(secret)) throw new Error(`${path}, which does not contain one line of printable text`)
  return secret
}

/** The whole answer, within the limits. */
async function fetchLimited(url: string, options: RequestInit, clock: Clock): Promise<Response> {
  const late = () =>
    new IssuerProblem('unavailable', `${pathOf(url)} did not answer within ${REQUEST_MILLISECONDS_MAX / 1000} s`)
  const deadline = { clock, milliseconds: REQUEST_MILLISECONDS_MAX, stop: options.signal ?? undefined, late }
  return await withDeadline(deadline, (signal) => readAnswer(url, { ...options, redirect: 'manual', signal }))
}

async function readAnswer(url: string, options: RequestInit): Promise<Response> {
  const response = await fetch(url, options).catch((error) => {
    throw new IssuerProblem('unavailable', `${pathOf(url)} cannot be reached: ${causeOf(error)}`)
  })
  if (response.status >= 300 && response.status !== 400 && response.status !== 401) {
    await response.body?.cancel()
    throw new IssuerProblem('unavailable', `${pathOf(url)} answered with status ${response.status}`)
  }
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of response.body ?? []) {
    length += part.length
    if (length > ANSWER_BYTES_MAX) throw new IssuerProblem('unavailable', `the answer of ${pathOf(url)} is too long`)
    parts.push(part)
  }
  const { status, headers } = response
  return new Response(Buffer.concat(parts), { status, headers })
}

/** Without the query. */
function pathOf(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

function causeOf(error: unknown): string {
  const { cause, message } = error as Error
  return cause instanceof Error ? `${message}: ${(cause as NodeJS.ErrnoException).code ?? cause.message}` : message
}

/** The problem inside a library error. The library's own messages name no value from the answer. */
function problemOf(error: unknown): IssuerProblem {
  for (let inner: unknown = error; inner instanceof Error; inner = inner.cause) {
    if (inner instanceof IssuerProblem) return inner
  }
  if (!(error instanceof Error)) throw error
  // A token endpoint error names itself in `error`.
  const details = [error.cause instanceof Error ? error.cause.message : '', 'error' in error ? String(error.error) : '']
  const shown = details.filter((text) => text !== '').map((text) => `: ${text.slice(0, TEXT_CHARACTERS_MAX)}`)
  return new IssuerProblem('failed', error.message + shown.join(''))
}

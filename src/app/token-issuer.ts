/**
 * Who issues the tokens of this service, as the configuration says: the service itself, or an outside issuer that it
 * trusts, and then nothing of its own is issued.
 */
import type { Directory } from '../auth/directory.ts'
import { createOutsideIssuer } from '../auth/outside-issuer.ts'
import { createTokenVerifier, type TokenVerifier } from '../auth/token-verifier.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Config } from '../config/settings.ts'

export function issuesTokens(config: Config): boolean {
  return config['auth.issuer'] === ''
}

export function createVerifier(options: {
  readonly config: Config
  readonly directory: Directory
  readonly clock: Clock
  readonly log: Log
}): TokenVerifier {
  const { config, directory, clock, log } = options
  if (issuesTokens(config)) return createTokenVerifier({ directory, clock })
  const issuer = createOutsideIssuer({
    issuer: config['auth.issuer'],
    audience: config['auth.audience'],
    jwksUrl: config['auth.jwks_url'],
    claims: {
      client: config['auth.claims.client'],
      customer: config['auth.claims.customer'],
      scope: config['auth.claims.scope'],
    },
    directory,
    clock,
    log,
  })
  return createTokenVerifier({ directory, clock, issuer })
}

/**
 * The issuer that a new store gets, for ever: the address that customers use. Without a configured one that is the
 * listener's, unless it is not known before the start or nobody could use it; empty then, for a random name.
 */
export function issuerOfNewStore(config: Config): string {
  const { 'http.public_url': publicUrl, 'http.host': host, 'http.port': port } = config
  if (publicUrl !== '' || port === 0 || host === '0.0.0.0' || host === '::') return publicUrl
  const scheme = config['http.tls.cert_file'] === '' ? 'http' : 'https'
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

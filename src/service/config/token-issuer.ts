/**
 * Selects the access tokens' issuer from the configuration: the service itself, or an external issuer (`auth.issuer`).
 * With an external issuer the service issues no tokens.
 */
import type { Directory } from '../../access/clients/directory.ts'
import { createOutsideIssuer } from '../../access/clients/outside-issuer.ts'
import { createTokenVerifier, type TokenVerifier } from '../../access/clients/token-verifier.ts'
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { Config, SettingKey } from './settings.ts'

export function issuesTokens(config: Pick<Config, 'auth.issuer'>): boolean {
  return config['auth.issuer'] === ''
}

export function createVerifier(options: {
  readonly config: Pick<Config, Extract<SettingKey, `auth.${string}`>>
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
 * A new store's issuer, which never changes afterwards: `http.public_url`, else the listener's address. Empty when the
 * system chooses the port or the listener is bound to all interfaces. The store then makes a random URN.
 */
export function issuerOfNewStore(config: Config): string {
  const { 'http.public_url': publicUrl, 'http.host': host, 'http.port': port } = config
  if (publicUrl !== '' || port === 0 || host === '0.0.0.0' || host === '::') return publicUrl
  const scheme = config['http.tls.cert_file'] === '' ? 'http' : 'https'
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/**
 * The operator listener's parts for people: how they reach it and sign in, the first admin's setup link, and the
 * records about failed attempts. It has no routes.
 */
import type { EncryptionKey } from '../../../access/clients/encryption-key.ts'
import { Access } from '../../../access/operators/access.ts'
import type { ChannelOptions } from '../../../access/operators/channel.ts'
import { LoginAttempts } from '../../../access/operators/login-attempts.ts'
import { OpenidIssuer } from '../../../access/operators/openid-issuer.ts'
import { OpenidLogin } from '../../../access/operators/openid-login.ts'
import { OPENID_CALLBACK_PATH } from '../../../access/operators/openid-routes.ts'
import { Passwords } from '../../../access/operators/passwords.ts'
import type { NewLink } from '../../../access/operators/setup-links.ts'
import type { Changer } from '../../../access/operators/store.ts'
import { OPERATOR_PREFIX } from '../../../contract/operator-calls.ts'
import type { Clock } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import { createProxyTrust } from '../../../platform/http/client-address.ts'
import type { TlsFiles } from '../../../platform/http/tls.ts'
import type { Db } from '../../../platform/store/db.ts'
import type { Config } from '../../config/settings.ts'
import type { Origins } from '../../config/settings-in-force.ts'
import { checkIssuerSecret } from '../../doctor/issuer-secret.ts'
import { ConsoleSetup } from '../../keys/console-setup.ts'
import { readOperatorToken } from '../../keys/operator-token.ts'
import { passwordRefusal } from '../../listeners/password-refusal.ts'
import { operatorTlsFilesOf } from '../../listeners/tls-settings.ts'
import type { Lifecycle } from '../../process/lifecycle.ts'
import { OperatorGuesses } from './operator-guesses.ts'

interface OperatorParts {
  readonly config: Config
  /** The current configuration, which a reload replaces. */
  readonly current: { readonly config: Config; readonly origins: Origins }
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly lifecycle: Lifecycle
}

export interface Operators {
  readonly db: Db
  /** The single token. */
  readonly token: string
  /** The settings `operator.tls.*`, absent = plain HTTP. */
  readonly tls?: TlsFiles
  /** The setting `http.trusted_proxies`. */
  readonly trustedProxies: readonly string[]
  /** `operator.four_eyes` as currently configured. */
  fourEyes(): readonly string[]
  readonly channel: ChannelOptions
  readonly access: Access
  /** Logins at the issuer `operator.oidc.issuer`. Absent without one. */
  readonly openid?: OpenidLogin
  readonly setup: ConsoleSetup
  /** Called for every wrong token. */
  readonly onGuess: (clientAddress: string) => void
  /** Encrypts the parties in requested calls. */
  readonly encryptionKey: EncryptionKey | undefined
  /** A setup link's address. */
  linkAddress(token: string): string
  renewFirstLink(changer: Changer): Promise<NewLink & { readonly file: string }>
  /** Notes the listener's address, which links name unless there is a public one. */
  listensAt(url: string): void
}

export function startOperators(parts: OperatorParts, db: Db, encryptionKey: EncryptionKey | undefined): Operators {
  const { config, clock, log, metrics, lifecycle } = parts
  const guesses = new OperatorGuesses({ db, clock, log, kind: 'token' })
  const failedLogins = new OperatorGuesses({ db, clock, log, kind: 'login' })
  lifecycle.started('operator guesses', async () => {
    await guesses.stop()
    await failedLogins.stop()
  })
  const refusal = passwordRefusal(config)
  if (refusal !== undefined) log.warn({ key: 'operator.host', host: config['operator.host'] }, refusal)
  const publicUrl = config['operator.public_url']
  let listenerUrl = ''
  const linkAddress = (token: string) => `${publicUrl || listenerUrl}/console/#setup=${token}`
  const setup = new ConsoleSetup({ db, clock, log, folder: config.data_dir, linkAddress })
  const channel = { publicUrl, isTrustedProxy: createProxyTrust(config['http.trusted_proxies']) }
  const attempts = new LoginAttempts({
    clock,
    metrics,
    onFailedLogin: (clientAddress, operator) => failedLogins.record(clientAddress, operator),
    recordFailures: () => failedLogins.write(),
  })
  const openid = createOpenidLogin(parts, db, attempts)
  const access = new Access({
    db,
    clock,
    attempts,
    encryptionKey,
    channel,
    passwords: new Passwords(),
    onFirstAdmin: () => setup.remove(),
  })
  const tls = operatorTlsFilesOf(config)
  return {
    db,
    ...(tls === undefined ? {} : { tls }),
    trustedProxies: config['http.trusted_proxies'],
    fourEyes: () => parts.current.config['operator.four_eyes'],
    encryptionKey,
    token: readOperatorToken(config.data_dir, config['operator.token']),
    channel,
    access,
    ...(openid === undefined ? {} : { openid }),
    setup,
    onGuess: (clientAddress) => guesses.record(clientAddress),
    linkAddress,
    renewFirstLink: (changer) => setup.renew(changer),
    listensAt(url) {
      listenerUrl = url
    },
  }
}

/** Throws when the file of the client secret cannot be used. The issuer is asked with the first login. */
function createOpenidLogin(
  { config, current: { origins }, clock, log }: OperatorParts,
  db: Db,
  attempts: LoginAttempts,
): OpenidLogin | undefined {
  const issuerUrl = config['operator.oidc.issuer']
  if (issuerUrl === '') return undefined
  const publicUrl = config['operator.public_url']
  const clientSecretFile = config['operator.oidc.client_secret_file']
  const { problems, warnings } = checkIssuerSecret(config, origins)
  for (const { key, message } of problems) throw new Error(`${key} ${message}`)
  for (const warning of warnings) log.warn({ key: 'operator.oidc.client_secret_file' }, `${warning}: chmod 600`)
  const issuer = new OpenidIssuer({
    issuer: issuerUrl,
    clientId: config['operator.oidc.client_id'],
    clientSecretFile,
    redirectUrl: publicUrl + OPERATOR_PREFIX + OPENID_CALLBACK_PATH,
    clock,
    log,
  })
  return new OpenidLogin({ issuer, issuerUrl, publicUrl, db, clock, attempts, log })
}

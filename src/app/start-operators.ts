/**
 * The parts of the operator listener that concern people: how they reach it and sign in, the setup link of the first admin,
 * and the records of failed attempts. It has no routes.
 */
import type { EncryptionKey } from '../auth/encryption-key.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { MetricsRegistry } from '../base/metrics.ts'
import type { Config } from '../config/settings.ts'
import { createProxyTrust } from '../http/client-address.ts'
import type { TlsFiles } from '../http/tls.ts'
import { Access } from '../operators/access.ts'
import type { ChannelOptions } from '../operators/channel.ts'
import { Passwords } from '../operators/passwords.ts'
import type { NewLink } from '../operators/setup-links.ts'
import type { Db } from '../store/db.ts'
import { ConsoleSetup } from './console-setup.ts'
import type { Lifecycle } from './lifecycle.ts'
import { OperatorGuesses } from './operator-guesses.ts'
import { readOperatorToken } from './operator-token.ts'
import { operatorTlsFilesOf } from './tls-settings.ts'

interface OperatorParts {
  readonly config: Config
  /** The current configuration, which a reload replaces. */
  readonly current: { readonly config: Config }
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly lifecycle: Lifecycle
}

export interface Operators {
  readonly db: Db
  /** The single token. */
  readonly token: string
  /** The settings `operator.tls.*`; absent = plain HTTP. */
  readonly tls?: TlsFiles
  /** The setting `http.trusted_proxies`. */
  readonly trustedProxies: readonly string[]
  /** The current value of `operator.four_eyes`. */
  fourEyes(): readonly string[]
  readonly channel: ChannelOptions
  readonly access: Access
  readonly setup: ConsoleSetup
  /** Called for every wrong token. */
  readonly onGuess: (clientAddress: string) => void
  /** The address of a setup link. */
  linkAddress(token: string): string
  renewFirstLink(actor: string): Promise<NewLink & { readonly file: string }>
  /** Notes the address of the listener, which links name unless there is a public one. */
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
  const publicUrl = config['operator.public_url']
  let listenerUrl = ''
  const linkAddress = (token: string) => `${publicUrl || listenerUrl}/console/#setup=${token}`
  const setup = new ConsoleSetup({ db, clock, log, folder: config.data_dir, linkAddress })
  const channel = { publicUrl, isTrustedProxy: createProxyTrust(config['http.trusted_proxies']) }
  const access = new Access({
    db,
    clock,
    metrics,
    encryptionKey,
    channel,
    passwords: new Passwords(),
    onFailedLogin: (clientAddress) => failedLogins.record(clientAddress),
    onFirstAdmin: () => setup.remove(),
  })
  const tls = operatorTlsFilesOf(config)
  return {
    db,
    ...(tls === undefined ? {} : { tls }),
    trustedProxies: config['http.trusted_proxies'],
    fourEyes: () => parts.current.config['operator.four_eyes'],
    token: readOperatorToken(config.data_dir, config['operator.token']),
    channel,
    access,
    setup,
    onGuess: (clientAddress) => guesses.record(clientAddress),
    linkAddress,
    renewFirstLink: (actor) => setup.renew(actor),
    listensAt(url) {
      listenerUrl = url
    },
  }
}

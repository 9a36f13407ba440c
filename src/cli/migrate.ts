/**
 * `tidegate migrate`: applies missing migrations. An embedded store must not be in use. With `--replace-keys` it also
 * creates new signing keys for a store with a lost encryption key, which no running node could do.
 */
import type { Command } from 'commander'
import { type ReplacedKeys, replaceKeys } from '../access/clients/authority.ts'
import type { AuthTables } from '../access/clients/tables.ts'
import { createSystemClock } from '../platform/base/clock.ts'
import { createLog } from '../platform/base/log.ts'
import type { Db } from '../platform/store/db.ts'
import { createEncryptionKey } from '../service/keys/encryption-key.ts'
import { Lifecycle } from '../service/process/lifecycle.ts'
import type { StoreOptions } from '../service/process/open-store.ts'
import { addConfigFlags, addTakeOverFlag, isTakeOver, readConfig } from './options/config-flags.ts'

/** The actor in the audit trail. */
const ACTOR = 'migrate'

export function registerMigrate(program: Command): void {
  const command = program
    .command('migrate')
    .description('applies missing migrations (serve does so itself with an embedded store)')
    .option(
      '--replace-keys',
      'when the encryption key is lost or leaked: revokes every token and client secret, and creates new keys',
    )
    .addHelpText(
      'after',
      `
Examples:
  $ tidegate migrate
  $ tidegate migrate --data_dir /var/lib/tidegate
  $ tidegate migrate --replace-keys    # the encryption key is lost: docs/how-to/custody.md
  $ TIDEGATE_STORE_URL_FILE=/run/secrets/store-url tidegate migrate`,
    )
  addConfigFlags(addTakeOverFlag(command)).action(async () => {
    const { config } = readConfig(command, {}, (warning) => process.stderr.write(`tidegate: ${warning}\n`))
    const { migrateStore } = await import('../service/process/open-store.ts')
    const log = createLog('warn')
    const lifecycle = new Lifecycle(log)
    try {
      const takeOver = isTakeOver(command)
      const options = { config, log, clock: createSystemClock(), random: Math.random, lifecycle, takeOver }
      const { db, applied } = await migrateStore(options)
      process.stdout.write(applied.length === 0 ? 'the schema is current\n' : `${applied.join('\n')}\n`)
      if (command.opts<{ replaceKeys?: boolean }>().replaceKeys === true) await replaceKeysOf(db, options)
    } finally {
      await lifecycle.stop()
    }
  })
}

async function replaceKeysOf(db: Db, { config, clock }: StoreOptions): Promise<void> {
  const key = createEncryptionKey(config)
  const nowMilliseconds = clock.wallInstant().milliseconds
  const { signingKeys, secrets } = await db.transaction<AuthTables, ReplacedKeys>((transaction) =>
    replaceKeys(transaction, ACTOR, nowMilliseconds, key),
  )
  process.stdout.write(
    `${signingKeys} signing keys ended and ${secrets} client secrets deleted. The new keys are ` +
      `${key === undefined ? 'stored unencrypted' : `encrypted with the key ${key.id}`}\n`,
  )
}

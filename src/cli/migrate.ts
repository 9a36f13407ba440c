/** `tidegate migrate`: brings the schema of the store up to this version; an embedded one must be free. */
import type { Command } from 'commander'
import { Lifecycle } from '../app/lifecycle.ts'
import { createSystemClock } from '../base/clock.ts'
import { createLog } from '../base/log.ts'
import { addConfigFlags, addTakeOverFlag, isTakeOver, readConfig } from './config-flags.ts'

export function registerMigrate(program: Command): void {
  const command = program
    .command('migrate')
    .description('applies what is missing to the schema of the store; serve does so itself on the embedded one')
    .addHelpText(
      'after',
      `
Examples:
  $ tidegate migrate
  $ tidegate migrate --data_dir /var/lib/tidegate
  $ TIDEGATE_STORE_URL_FILE=/run/secrets/store-url tidegate migrate`,
    )
  addConfigFlags(addTakeOverFlag(command)).action(async () => {
    const { config } = readConfig(command, {}, (warning) => process.stderr.write(`tidegate: ${warning}\n`))
    const { migrateStore } = await import('../app/open-store.ts')
    const log = createLog('warn')
    const lifecycle = new Lifecycle(log)
    try {
      const takeOver = isTakeOver(command)
      const options = { config, log, clock: createSystemClock(), random: Math.random, lifecycle, takeOver }
      const applied = await migrateStore(options)
      process.stdout.write(applied.length === 0 ? 'the schema is current\n' : `${applied.join('\n')}\n`)
    } finally {
      await lifecycle.stop()
    }
  })
}

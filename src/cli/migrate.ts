/** `tidegate migrate`: brings the schema of the store up to this version, when nothing else has the store open. */
import type { Command } from 'commander'
import { Lifecycle } from '../app/lifecycle.ts'
import { createSystemClock } from '../base/clock.ts'
import { createLog } from '../base/log.ts'
import { addConfigFlags, readConfig } from './config-flags.ts'

export function registerMigrate(program: Command): void {
  const command = program
    .command('migrate')
    .description('applies what is missing to the schema of the store; serve does so itself')
    .addHelpText(
      'after',
      `
Examples:
  $ tidegate migrate
  $ tidegate migrate --data_dir /var/lib/tidegate`,
    )
  addConfigFlags(command).action(async () => {
    const { config } = readConfig(command, {}, (warning) => process.stderr.write(`tidegate: ${warning}\n`))
    const { openStore } = await import('../app/open-store.ts')
    const log = createLog('warn')
    const lifecycle = new Lifecycle(log)
    try {
      const { applied } = await openStore({ config, log, clock: createSystemClock(), lifecycle })
      process.stdout.write(applied.length === 0 ? 'the schema is current\n' : `${applied.join('\n')}\n`)
    } finally {
      await lifecycle.stop()
    }
  })
}

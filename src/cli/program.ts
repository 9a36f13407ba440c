/**
 * The command-line program: its verbs, and how usage errors are shown. It runs nothing and ends no process.
 */
import { Command } from 'commander'
import { programVersion } from '../platform/base/version.ts'
import { registerAdmin } from './admin/admin.ts'
import { registerCheckConfig } from './check-config.ts'
import { registerCheckExecutor } from './check-executor.ts'
import { registerCheckPublisher } from './check-publisher.ts'
import { registerCheckScreening } from './check-screening.ts'
import { registerCheckWebhook } from './check-webhook.ts'
import { registerDemo } from './demo.ts'
import { registerDoctor } from './doctor.ts'
import { registerExport } from './export.ts'
import { registerMigrate } from './migrate.ts'
import { addFeedFlags } from './options/config-flags.ts'
import { registerProve } from './prove.ts'
import { registerRecord } from './record.ts'
import { registerReplay } from './replay.ts'
import { registerServe } from './serve.ts'
import { printable } from './terminal/styled-line.ts'
import { registerTorture } from './torture.ts'
import { registerVerify } from './verify.ts'
import { registerWatch } from './watch.ts'

const HELP = `
The examples write tidegate for the installed program. In a checkout it is: node dist/main.js <verb>`

export function createProgram(): Command {
  const program = new Command('tidegate')
    .description('Streams live order books to authenticated customers.')
    .version(programVersion())
    .addHelpText('after', HELP)
    // Before the verbs: they inherit how errors are shown, and never exit by themselves.
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(`${oneLine(text).replace(/^error: /, 'tidegate: ')}\n`) })
    .showSuggestionAfterError(true)
    .hook('preSubcommand', ({ args }, verb) => addFeedFlags(verb, args))
  registerDemo(program)
  registerServe(program)
  registerCheckConfig(program)
  registerCheckExecutor(program)
  registerCheckPublisher(program)
  registerCheckScreening(program)
  registerCheckWebhook(program)
  registerMigrate(program)
  registerDoctor(program)
  registerWatch(program)
  registerVerify(program)
  registerTorture(program)
  registerRecord(program)
  registerReplay(program)
  registerExport(program)
  registerProve(program)
  registerAdmin(program)
  return program
}

/** The text on one line. It may come from another program, such as a service's error. */
export function oneLine(text: string): string {
  return printable(text.trim().replace(/\s*[\n\r]\s*|\t/g, ' '))
}

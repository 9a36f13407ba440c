/**
 * The command-line program: its verbs, and how it reports failures. An unknown verb or flag exits with 2, any other failure
 * with 1, both with one line on stderr. A closed pipe on stdout, as with `head`, is not a failure.
 */
import { Command, CommanderError } from 'commander'
import { programVersion } from '../base/version.ts'
import { registerAdmin } from './admin.ts'
import { registerCheckConfig } from './check-config.ts'
import { registerCheckExecutor } from './check-executor.ts'
import { addFeedFlags } from './config-flags.ts'
import { registerDemo } from './demo.ts'
import { registerDoctor } from './doctor.ts'
import { registerMigrate } from './migrate.ts'
import { registerRecord } from './record.ts'
import { registerReplay } from './replay.ts'
import { registerServe } from './serve.ts'
import { registerTorture } from './torture.ts'
import { registerVerify } from './verify.ts'
import { registerWatch } from './watch.ts'

/** commander's codes for an unknown verb or flag; `help` is a call without a verb. */
const WRONG_NAME_CODES = ['commander.unknownOption', 'commander.unknownCommand', 'commander.help']

const HELP = `
The examples write tidegate for the installed program; in a checkout it is: node dist/main.js <verb>`

export function createProgram(): Command {
  const program = new Command('tidegate')
    .description('Streams live order books to authenticated customers.')
    .version(programVersion())
    .addHelpText('after', HELP)
    // Before the verbs: they inherit how errors are shown and that nothing exits by itself.
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(`${oneLine(text).replace(/^error: /, 'tidegate: ')}\n`) })
    .showSuggestionAfterError(true)
    .hook('preSubcommand', ({ args }, verb) => addFeedFlags(verb, args))
  registerDemo(program)
  registerServe(program)
  registerCheckConfig(program)
  registerCheckExecutor(program)
  registerMigrate(program)
  registerDoctor(program)
  registerWatch(program)
  registerVerify(program)
  registerTorture(program)
  registerRecord(program)
  registerReplay(program)
  registerAdmin(program)
  return program
}

/** Runs a command line and sets the exit code. `argv` is `process.argv`: the first two entries are Node and the program. */
export async function runCommandLine(argv: readonly string[]): Promise<void> {
  for (const output of [process.stdout, process.stderr]) output.on('error', onOutputError)
  try {
    await createProgram().parseAsync(argv)
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = WRONG_NAME_CODES.includes(error.code) ? 2 : error.exitCode
      return
    }
    process.stderr.write(`tidegate: ${oneLine(withCauses(error))}\n`)
    // A worker or listener that was started before the failure must not keep the process alive.
    process.exit(1)
  }
}

/** A closed pipe is ignored here; verbs that only produce output end by their own listener. */
function onOutputError(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}

/** The message of an error and of its causes. */
function withCauses(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message}: ${withCauses(error.cause)}`
}

function oneLine(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, ' ')
}

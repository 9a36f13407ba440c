/**
 * The command line: which verbs there are, and what a failure looks like. A wrong verb or flag name exits with 2,
 * anything else wrong with 1; either way with one line on stderr.
 */
import { Command, CommanderError } from 'commander'
import { programVersion } from '../base/version.ts'
import { registerAdmin } from './admin.ts'
import { registerCheckConfig } from './check-config.ts'
import { registerDemo } from './demo.ts'
import { registerDoctor } from './doctor.ts'
import { registerMigrate } from './migrate.ts'
import { registerRecord } from './record.ts'
import { registerReplay } from './replay.ts'
import { registerServe } from './serve.ts'
import { registerVerify } from './verify.ts'
import { registerWatch } from './watch.ts'

/** What commander calls a verb or flag that does not exist; `help` is a call without a verb. */
const WRONG_NAME_CODES = ['commander.unknownOption', 'commander.unknownCommand', 'commander.help']

/** `argv` as the process has it: the first two entries are the program. Sets the exit code. */
export async function runCommandLine(argv: readonly string[]): Promise<void> {
  try {
    await createProgram().parseAsync(argv)
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = WRONG_NAME_CODES.includes(error.code) ? 2 : error.exitCode
      return
    }
    process.stderr.write(`tidegate: ${oneLine(withCauses(error))}\n`)
    // What was started before the failure (a worker, a listener) must not keep a failed process alive.
    process.exit(1)
  }
}

function createProgram(): Command {
  const program = new Command('tidegate')
    .description('Streams live order books to authenticated customers.')
    .version(programVersion())
    // Before the verbs: they inherit how errors are shown and that nothing exits by itself.
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(`${oneLine(text).replace(/^error: /, 'tidegate: ')}\n`) })
    .showSuggestionAfterError(true)
  registerDemo(program)
  registerServe(program)
  registerCheckConfig(program)
  registerMigrate(program)
  registerDoctor(program)
  registerWatch(program)
  registerVerify(program)
  registerRecord(program)
  registerReplay(program)
  registerAdmin(program)
  return program
}

/** What failed, and below it why. */
function withCauses(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message}: ${withCauses(error.cause)}`
}

function oneLine(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, ' ')
}

/**
 * The command line: what a failure looks like. A wrong verb or flag name exits with 2, anything else wrong with 1;
 * either way with one line on stderr. A reader of the output that has left, as `head` does, is no failure.
 */
import { CommanderError } from 'commander'
import { createProgram, oneLine } from './program.ts'

/** What commander calls a verb or flag that does not exist; `help` is a call without a verb. */
const WRONG_NAME_CODES = ['commander.unknownOption', 'commander.unknownCommand', 'commander.help']

/** `argv` as the process has it: the first two entries are the program. Sets the exit code. */
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
    // What was started before the failure (a worker, a listener) must not keep a failed process alive.
    process.exit(1)
  }
}

/** Nothing can be reported to a reader that has left; a verb that works for its output alone ends by a listener of its own. */
function onOutputError(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}

/** What failed, and below it why. */
function withCauses(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message}: ${withCauses(error.cause)}`
}

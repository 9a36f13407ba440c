/**
 * Runs the command line and reports failures: an unknown verb or flag exits with 2, any other failure with 1, both with one
 * line on stderr. A closed pipe on stdout, as with `head`, is not a failure.
 */
import { CommanderError } from 'commander'
import { createProgram, oneLine } from './program.ts'

/** commander's codes for an unknown verb or flag. `help` is a call without a verb. */
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
    // An exit discards what a full pipe has not taken yet, such as the end of a JSON document.
    await new Promise<void>((resolve) => process.stdout.write('', () => resolve()))
    // A worker or listener started before the failure must not keep the process alive.
    process.exit(1)
  }
}

/** A closed pipe is ignored here. Verbs which only produce output end by their own listener. */
function onOutputError(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}

/** The messages of an error and its causes. */
function withCauses(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message}: ${withCauses(error.cause)}`
}

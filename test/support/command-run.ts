/** Runs one command-line verb in this process, with an output, a clock and signals owned by the test. */
import { EventEmitter } from 'node:events'
import { Command } from 'commander'
import type { CommandEnvironment, Output } from '../../src/cli/terminal/environment.ts'
import { VirtualClock } from './virtual-clock.ts'
import { Waiters } from './waiters.ts'

/** An output that keeps everything written, and pretends to be a terminal when it has a size. */
export class CapturedOutput extends EventEmitter implements Output {
  readonly isTTY: boolean
  columns: number
  rows: number
  text = ''
  writes = 0
  /** False makes every write report that the output is not drained. */
  isReaderFast = true
  readonly #waiters = new Waiters()

  constructor(size: { columns: number; rows: number } | undefined) {
    super()
    this.isTTY = size !== undefined
    this.columns = size?.columns ?? 80
    this.rows = size?.rows ?? 24
  }

  hasColors(): boolean {
    return false
  }

  write(text: string): boolean {
    this.text += text
    this.writes++
    this.#waiters.notify()
    return this.isReaderFast
  }

  lines(): string[] {
    return this.text.split('\n').slice(0, -1)
  }

  until(what: string, predicate: () => boolean): Promise<void> {
    return this.#waiters.until(what, predicate)
  }
}

export interface CommandRun {
  readonly stdout: CapturedOutput
  readonly stderr: CapturedOutput
  readonly clock: VirtualClock
  /** Sends the signal of Ctrl-C. */
  interrupt(): void
  /** The exit code that was set, and the error's message. */
  readonly ended: Promise<{ readonly exitCode: number; readonly error: string }>
}

export interface CommandRunOptions {
  readonly terminal?: { readonly columns: number; readonly rows: number }
  readonly variables?: Readonly<Record<string, string>>
  readonly clock?: VirtualClock
}

export function runCommand(
  register: (program: Command, environment: CommandEnvironment) => void,
  args: readonly string[],
  options: CommandRunOptions = {},
): CommandRun {
  const stdout = new CapturedOutput(options.terminal)
  const stderr = new CapturedOutput(options.terminal)
  const { clock = new VirtualClock() } = options
  const signals = new Set<() => void>()
  let exitCode = 0
  const program = new Command().exitOverride().configureOutput({
    writeOut: (text) => stdout.write(text),
    writeErr: (text) => stderr.write(text),
  })
  register(program, {
    stdout,
    stderr,
    variables: options.variables ?? {},
    clock,
    random: () => 0.5,
    onStopSignal(stop) {
      signals.add(stop)
      return () => void signals.delete(stop)
    },
    setExitCode(code) {
      exitCode = code
    },
  })
  const ended = program.parseAsync([...args], { from: 'user' }).then(
    () => ({ exitCode, error: '' }),
    (error: Error) => ({ exitCode: 1, error: error.message }),
  )
  return {
    stdout,
    stderr,
    clock,
    interrupt() {
      for (const stop of [...signals]) stop()
    },
    ended,
  }
}

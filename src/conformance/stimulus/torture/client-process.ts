/**
 * The program under test as a process, if `torture` starts it. It keeps the end of the program's stderr for the report.
 * The program's output is not shown.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Clock } from '../../../platform/base/clock.ts'

/** How long a program may take to stop after SIGTERM. */
const STOP_MILLISECONDS_MAX = 5_000
const STDERR_CHARACTERS_KEPT = 8_000
/** The error line of a program in JavaScript, Python, Java or Go, and the line after a stack. */
const ERROR_LINE =
  /^(?:Caused by: |Uncaught |Exception in thread \S+ )?(?:[\w.$]*(?:Error|Exception)|panic)(?: \[\w+\])?(?::|$)/
const VERSION_LINE = /^(?:Node\.js|Bun) v/

export class ClientProcess {
  readonly #command: readonly string[]
  readonly #variables: Readonly<Record<string, string | undefined>>
  readonly #clock: Clock
  readonly #onEnd: () => void
  #child: ChildProcess | undefined
  #stderr = ''
  #ending: string | undefined

  /** `onEnd` is called when the program has ended. */
  constructor(
    command: readonly string[],
    variables: Readonly<Record<string, string | undefined>>,
    clock: Clock,
    onEnd: () => void,
  ) {
    this.#command = command
    this.#variables = variables
    this.#clock = clock
    this.#onEnd = onEnd
  }

  get isRunning(): boolean {
    return this.#child !== undefined
  }

  /** How the program ended last, with the error on its stderr. Undefined while it runs. */
  get ending(): string | undefined {
    return this.#ending
  }

  start(): void {
    const [file = '', ...args] = this.#command
    this.#stderr = ''
    this.#ending = undefined
    // In its own process group, so a wrapper such as `npm start` or a shell is stopped with the client it has started.
    const child = spawn(file, args, { env: this.#variables, stdio: ['ignore', 'ignore', 'pipe'], detached: true })
    this.#child = child
    child.stderr.on('data', (chunk: Buffer) => {
      this.#stderr = (this.#stderr + String(chunk)).slice(-STDERR_CHARACTERS_KEPT)
    })
    const end = (how: string): void => {
      if (this.#child !== child) return
      this.#child = undefined
      const line = errorLine(this.#stderr)
      this.#ending = line === undefined ? how : `${how}: ${line}`
      this.#onEnd()
    }
    child.once('error', (error) => end(`it could not be started (${error.message})`))
    // 'close' and not 'exit': by then all its output has been read.
    child.once('close', (code, signal) =>
      end(signal === null ? `it ended with exit code ${code}` : `it ended by ${signal}`),
    )
  }

  /** Resolves when the program and everything in its process group have ended. */
  async stop(): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    const ended = new Promise<void>((resolve) => {
      child.once('close', () => resolve())
    })
    signalGroup(child, 'SIGTERM')
    const kill = this.#clock.schedule(STOP_MILLISECONDS_MAX, () => {
      signalGroup(child, 'SIGKILL')
      // A process that has left the group may keep the pipe open. Without this, 'close' would never come.
      child.stderr?.destroy()
    })
    await ended
    kill.cancel()
  }
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // The group has ended.
  }
}

/** The error line, which an indented stack can follow. Without one, the last line. */
function errorLine(stderr: string): string | undefined {
  const lines = stderr.split('\n').filter((line) => /^[^\s{}]/.test(line) && !VERSION_LINE.test(line))
  return lines.findLast((line) => ERROR_LINE.test(line)) ?? lines.at(-1)
}

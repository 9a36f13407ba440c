/** A verb's environment: output, variables, clock, randomness and signals. Tests pass their own. */
import { type Clock, createSystemClock } from '../../platform/base/clock.ts'

/** An output stream. A terminal has `isTTY`, `columns` and `rows`. */
export interface Output {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
  hasColors?(): boolean
  /** False when the buffer is full. 'drain' follows when it is empty again. */
  write(text: string): boolean
  on(event: 'drain' | 'resize', listener: () => void): unknown
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown
  off(event: 'drain' | 'resize', listener: () => void): unknown
  off(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown
}

export interface CommandEnvironment {
  readonly stdout: Output
  readonly stderr: Output
  readonly variables: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  /** In [0, 1). */
  readonly random: () => number
  /** Calls `stop` on SIGINT or SIGTERM. The returned function removes the handler. */
  onStopSignal(stop: () => void): () => void
  setExitCode(code: number): void
}

export function processEnvironment(): CommandEnvironment {
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    variables: process.env,
    clock: createSystemClock(),
    random: Math.random,
    onStopSignal(stop) {
      process.on('SIGINT', stop)
      process.on('SIGTERM', stop)
      return () => {
        process.off('SIGINT', stop)
        process.off('SIGTERM', stop)
      }
    },
    setExitCode(code) {
      process.exitCode = code
    },
  }
}

/** Keeps the process alive while `work` runs: a clock's timers alone do not. */
export async function stayAlive<Result>(work: Promise<Result>): Promise<Result> {
  const handle = setInterval(() => undefined, 60_000)
  try {
    return await work
  } finally {
    clearInterval(handle)
  }
}

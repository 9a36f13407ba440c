/**
 * What a verb that talks to a service from outside takes from its process: output, variables, time, chance and the
 * signals that end it. A test hands in its own; nothing here knows a verb.
 */
import { type Clock, createSystemClock } from '../base/clock.ts'

/** Where a verb writes. `isTTY`, `columns` and `rows` are what a terminal's stream has. */
export interface Output {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
  hasColors?(): boolean
  /** False when the reader is behind; 'drain' tells when it is not. */
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
  /** Calls `stop` at SIGINT or SIGTERM; the returned function takes it away. */
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

/** Waiting on a clock's timers alone does not keep the process alive; a verb that reconnects needs this around it. */
export async function stayAlive<Result>(work: Promise<Result>): Promise<Result> {
  const handle = setInterval(() => undefined, 60_000)
  try {
    return await work
  } finally {
    clearInterval(handle)
  }
}

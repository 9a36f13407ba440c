/** Runs `tidegate torture` in this process, with a clock chosen by the test and real sockets. */
import { join } from 'node:path'
import { Command } from 'commander'
import { registerTorture } from '../../src/cli/torture.ts'
import type { ScenarioResult } from '../../src/conformance/stimulus/torture/scenarios.ts'
import { type Clock, createSystemClock } from '../../src/platform/base/clock.ts'
import { CapturedOutput } from './command-run.ts'

export interface TortureRun {
  readonly stdout: CapturedOutput
  /** The output with the addresses and the requests to start the client. */
  readonly stderr: CapturedOutput
  readonly credentialsPath: string
  /** Sends the signal of Ctrl-C. */
  interrupt(): void
  readonly ended: Promise<{
    readonly exitCode: number
    readonly error: string
    readonly results: readonly ScenarioResult[]
  }>
}

/** A clock that runs faster than the real one by this factor: waits are shorter, and measured times longer. */
export function clockOfSpeed(factor: number): Clock {
  const real = createSystemClock()
  return {
    ...real,
    monotonicMilliseconds: () => real.monotonicMilliseconds() * factor,
    schedule: (milliseconds, callback) => real.schedule(milliseconds / factor, callback),
  }
}

/** `folder`: for its credentials. `args`: appended to `torture --json`. */
export function runTorture(folder: string, args: readonly string[], clock: Clock = createSystemClock()): TortureRun {
  const [stdout, stderr] = [new CapturedOutput(undefined), new CapturedOutput(undefined)]
  const credentialsPath = join(folder, `torture-${Math.random()}.json`)
  let exitCode = 0
  let stop: () => void = () => undefined
  const program = new Command().exitOverride().configureOutput({ writeErr: (text) => stderr.write(text) })
  registerTorture(program, {
    stdout,
    stderr,
    variables: process.env,
    clock,
    random: Math.random,
    onStopSignal(listener) {
      stop = listener
      return () => undefined
    },
    setExitCode(code) {
      exitCode = code
    },
  })
  const ended = program
    .parseAsync(['torture', '--json', '--credentials', credentialsPath, ...args], { from: 'user' })
    .then(
      () => ({ exitCode, error: '', results: (JSON.parse(stdout.text) as { results: ScenarioResult[] }).results }),
      (error: Error) => ({ exitCode: 1, error: error.message, results: [] }),
    )
  return { stdout, stderr, credentialsPath, interrupt: () => stop(), ended }
}

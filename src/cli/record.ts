/**
 * `tidegate record FILE`: connects to the configured markets' sources and writes their commits to a file, until a
 * signal, the end of the duration, or a failure to write the file. It opens no store and no listener.
 */
import type { Command } from 'commander'
import { createLog } from '../platform/base/log.ts'
import type { Recorder } from '../streaming/markets/recorder.ts'
import { addConfigFlags, readConfig } from './options/config-flags.ts'
import { durationSeconds } from './options/option-values.ts'
import { type CommandEnvironment, processEnvironment, stayAlive } from './terminal/environment.ts'
import { CLEAR_LINE } from './terminal/progress-line.ts'
import { printable, printableJson } from './terminal/styled-line.ts'

interface RecordOptions {
  readonly duration?: number
  readonly force?: boolean
  readonly json?: boolean
}

interface Summary {
  readonly file: string
  readonly seconds: number
  readonly entries: number
  readonly bytes: number
  readonly markets: readonly string[]
  /** Markets which were not live at the end. */
  readonly lost: Recorder['lost']
  /** Why the recording ended early. */
  readonly problem?: string
}

const PROGRESS_MILLISECONDS = 2_000

const HELP = `
The file can be read while it is written, and after a crash up to about the last second.

Exit code 0: recorded until a signal or for the whole time. 1: the recording could not begin or continue. The file is
complete up to this point.

Examples:
  $ tidegate record btc.recording --config tidegate.yaml --duration 10m
  $ tidegate record btc.recording --config tidegate.yaml --force --json
  $ tidegate replay btc.recording --info`

export function registerRecord(program: Command, environment: CommandEnvironment = processEnvironment()): void {
  const command = program
    .command('record')
    .summary('records the markets’ sources to a file')
    .description('Records the configured markets, commit by commit, to a file for `replay`.')
    .argument('<file>', 'file to write')
    .option('--duration <time>', 'duration, like 90s, 10m, 2h (default: until a signal)', durationSeconds)
    .option('--force', 'replaces an existing file')
    .option('--json', 'a summary as JSON at the end')
    .addHelpText('after', HELP)
  addConfigFlags(command).action((file: string) => stayAlive(record(command, file, environment)))
}

async function record(command: Command, file: string, environment: CommandEnvironment): Promise<void> {
  const { clock, random, stdout, stderr } = environment
  const { duration, force, json } = command.opts<RecordOptions>()
  const warnings: string[] = []
  // On a terminal, logs would break the progress line.
  const verbDefaults = stderr.isTTY === true ? { 'log.level': 'warn' } : {}
  const { config } = readConfig(command, verbDefaults, (warning) => warnings.push(warning))
  if (config.markets.length === 0) throw new Error('markets is empty: there is nothing to record')
  const log = createLog(config['log.level'])
  for (const warning of warnings) log.warn({ warning }, 'configuration warning')
  let end: () => void = () => undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  // The last block, or the file's sync, can fail after the end.
  let problem: string | undefined
  const start = clock.monotonicMilliseconds()
  const { startRecorder } = await import('../streaming/markets/recorder.ts')
  const recorder = await startRecorder({
    config,
    path: file,
    overwrites: force === true,
    clock,
    random,
    log,
    onFailure(error) {
      problem = error.message
      end()
    },
  })
  const removeSignals = environment.onStopSignal(() => end())
  const timer = duration === undefined ? undefined : clock.schedule(duration * 1_000, () => end())
  const endProgress = showProgress(recorder, start, environment)
  await ended
  timer?.cancel()
  endProgress()
  const { lost } = recorder
  await recorder.stop()
  removeSignals()
  const summary: Summary = {
    file,
    seconds: Math.round(clock.monotonicMilliseconds() - start) / 1_000,
    ...recorder.counts,
    markets: config.markets.map(({ definition }) => definition.symbol),
    lost,
    ...(problem === undefined ? {} : { problem }),
  }
  stdout.write(json === true ? `${printableJson(summary)}\n` : summaryText(summary))
  if (problem !== undefined) throw new Error(`the recording has ended early: ${problem}`)
}

/** Shows the progress on a terminal. The returned function removes the line. */
function showProgress(
  recorder: Recorder,
  startMilliseconds: number,
  { stderr, clock }: CommandEnvironment,
): () => void {
  if (stderr.isTTY !== true) return () => undefined
  let entriesBefore = 0
  let next = clock.schedule(PROGRESS_MILLISECONDS, tick)
  function tick(): void {
    const seconds = Math.floor((clock.monotonicMilliseconds() - startMilliseconds) / 1_000)
    const { entries, bytes } = recorder.counts
    const rate = Math.round(((entries - entriesBefore) * 1_000) / PROGRESS_MILLISECONDS)
    entriesBefore = entries
    const lost = recorder.lost.map(({ market, reason }) => `, ${market} lost: ${printable(reason)}`).join('')
    stderr.write(`${CLEAR_LINE}${seconds} s, ${entries} entries (${rate}/s), ${sizeText(bytes)}${lost}`)
    next = clock.schedule(PROGRESS_MILLISECONDS, tick)
  }
  return () => {
    next.cancel()
    stderr.write(CLEAR_LINE)
  }
}

function summaryText({ file, seconds, entries, bytes, lost }: Summary): string {
  const lines = [`${file}: ${seconds} s, ${entries} entries, ${sizeText(bytes)}`]
  for (const { market, reason } of lost) lines.push(`  ${market} was not live at the end: ${printable(reason)}`)
  return `${lines.join('\n')}\n`
}

/** Bytes in the unit with one to four digits before the point. */
export function sizeText(bytes: number): string {
  if (bytes < 10_000) return `${bytes} bytes`
  return bytes < 10_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}

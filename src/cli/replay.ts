/**
 * `tidegate replay FILE`: the demo with a recording's markets in place of simulated ones, or a description of the file.
 * The markets and the speed are ordinary settings, which this verb sets from the file and its options.
 */
import type { Command } from 'commander'
import { readInstant } from '../platform/http/list-times.ts'
import { openRecording, type RecordingReader } from '../streaming/recordings/reader.ts'
import { marketsOf, type RecordingInfo, readRecordingInfo } from '../streaming/recordings/recording-info.ts'
import { runDemo } from './demo.ts'
import { addConfigFlags } from './options/config-flags.ts'
import { sizeText } from './record.ts'
import { printable, printableJson } from './terminal/styled-line.ts'

interface ReplayOptions {
  readonly speed?: string
  readonly from?: string
  readonly loop?: boolean
  readonly info?: boolean
  readonly json?: boolean
  readonly markets?: string
}

export function registerReplay(program: Command): void {
  const command = program
    .command('replay')
    .summary('serves a recording, or describes it')
    .description('Serves recorded markets as `demo` serves simulated ones.')
    .argument('<file>', 'a file written by `record`')
    .option('--speed <number>', 'multiple of real time')
    .option('--from <place>', 'start: a time like 2026-01-31T12:00:00Z, or seconds after the first entry')
    .option('--loop', 'restarts at the end')
    .option('--info', 'describes the file and serves nothing')
    .option('--json', 'with --info: as JSON')
    .addHelpText(
      'after',
      `
Examples:
  $ tidegate replay btc.recording --speed 10
  $ tidegate replay btc.recording --from 2026-01-31T12:00:00Z --loop
  $ tidegate replay btc.recording --info`,
    )
  addConfigFlags(command).action(async (file: string) => {
    const options = command.opts<ReplayOptions>()
    if (options.info === true) {
      const info = await readRecordingInfo(file)
      process.stdout.write(options.json === true ? `${printableJson(info)}\n` : infoText(info))
      return
    }
    if (options.json === true) throw new Error('--json is for --info')
    const reader = await openRecording(file)
    await reader.close()
    for (const [key, value] of settingsOf(options, reader)) command.setOptionValue(key, value)
    await runDemo(command, 'replay')
  })
}

/** The settings for the options and the file. */
function settingsOf({ speed, from, loop, markets }: ReplayOptions, reader: RecordingReader): [string, string][] {
  const settings: [string, string][] = []
  if (markets === undefined) settings.push(['markets', JSON.stringify(marketsOf(reader))])
  if (speed !== undefined) settings.push(['replay.speed', speed])
  if (from !== undefined) settings.push(['replay.from_seconds', String(secondsOf(from, reader))])
  if (loop === true) settings.push(['replay.loop', 'true'])
  return settings
}

function secondsOf(from: string, { firstMilliseconds, lastMilliseconds }: RecordingReader): number {
  const isSeconds = /^[0-9]{1,9}(\.[0-9]{1,3})?$/.test(from)
  const atMilliseconds = isSeconds ? firstMilliseconds + Number(from) * 1_000 : readInstant(from)?.milliseconds
  // Also a time without a zone, which Date.parse would take for one of this machine's.
  if (atMilliseconds === undefined) throw new Error(`--from is ${from}, neither a time nor a number of seconds`)
  const milliseconds = atMilliseconds - firstMilliseconds
  if (milliseconds >= 0 && milliseconds <= lastMilliseconds - firstMilliseconds) return Math.round(milliseconds) / 1_000
  const [first, last] = [firstMilliseconds, lastMilliseconds].map((time) => new Date(time).toISOString())
  throw new Error(`--from is ${from}, but the recording contains ${first} to ${last}`)
}

function infoText(info: RecordingInfo): string {
  const lines = [
    `${info.file}: format ${info.format}, written by ${info.written_by}`,
    `  from        ${info.first_at}`,
    `  to          ${info.last_at} (${info.seconds} s)`,
    `  size        ${sizeText(info.bytes)}, ${info.entries} entries, ${info.keyframes} keyframes`,
    ...info.recorded.map(
      ({ market, sources, entries, executions, losses }) =>
        `  ${market.padEnd(12)}${entries} entries, ${executions} executions, lost ${losses} times, from ${sources.join(' + ')}`,
    ),
  ]
  if (info.torn_bytes > 0) lines.push(`  torn end    ${info.torn_bytes} bytes, ignored`)
  for (const damage of info.damage) lines.push(`  damage      ${damage}`)
  lines.push('', 'The configuration for its replay:', 'markets:')
  for (const market of info.markets) lines.push(`  - ${JSON.stringify(market)}`)
  return lines.map((line) => `${printable(line)}\n`).join('')
}

/**
 * `tidegate export FILE|DIR`: writes recorded books and trades as CSV or Parquet, one file per table, market and UTC
 * day, in its own columns or exactly those of tardis.dev. It reads files only, and replaces an exported file as a
 * whole.
 */
import { mkdir, stat } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { readInstant } from '../platform/http/list-times.ts'
import type { ExportProgress, ExportResult } from '../streaming/recordings/export/exporter.ts'
import type { Layout } from '../streaming/recordings/export/tables.ts'
import { listRecordings } from '../streaming/recordings/recording-folder.ts'
import { type CommandEnvironment, processEnvironment } from './terminal/environment.ts'
import { CLEAR_LINE } from './terminal/progress-line.ts'
import { printable, printableJson } from './terminal/styled-line.ts'

interface ExportFlags {
  readonly format: 'csv' | 'parquet'
  readonly out: string
  readonly layout: Layout
  readonly exchange?: string
  readonly market?: string
  readonly from?: string
  readonly to?: string
  readonly gzip?: boolean
  readonly json?: boolean
}

const PROGRESS_MILLISECONDS = 500
/** The column `exchange`, unless the user names one. */
const EXCHANGE = 'tidegate'
/** It is used in file names. */
const EXCHANGE_NAME = /^[a-z0-9-]{1,64}$/

const HELP = `
Tables: incremental_book_L2 (book changes, where amount 0 removes a level), trades, instrument_state (OPEN,
HALTED, AUCTION or CLOSED), and losses (when a book was lost, and which times were not recorded). docs/how-to/recordings.md describes the columns.
The layout tardis has the first two alone, with exactly the columns of tardis.dev's CSV files, for programs which read them.

Exit code 0: the whole recording was exported. 1: a recording could not be read, or a file not written.

Examples:
  $ tidegate export /var/lib/tidegate/recordings --format parquet --out ./export
  $ tidegate export btc.recording --format csv --gzip --out ./export --market BTCUSD
  $ tidegate export btc.recording --format csv --gzip --out ./export --layout tardis --exchange kraken
  $ tidegate export recordings --format csv --out . --from 2026-11-23T14:00:00Z --to 2026-11-23T15:00:00Z --json`

export function registerExport(program: Command, environment: CommandEnvironment = processEnvironment()): void {
  const command = program
    .command('export')
    .summary('writes recordings as CSV or Parquet')
    .description('Writes recorded books and trades as CSV or Parquet, one file per market and day.')
    .argument('<path>', 'a recording, or a service’s recording folder')
    .addOption(new Option('--format <format>', 'format of the files').choices(['csv', 'parquet']).makeOptionMandatory())
    .requiredOption('--out <folder>', 'folder for the files, created if missing')
    .addOption(
      new Option('--layout <layout>', 'columns of the files').choices(['tidegate', 'tardis']).default('tidegate'),
    )
    .option(
      '--exchange <name>',
      `with --layout tardis: the exchange in the files and their names (default: ${EXCHANGE})`,
    )
    .option('--market <symbol>', 'only this market')
    .option('--from <time>', 'first time, like 2026-01-31T12:00:00Z')
    .option('--to <time>', 'end, not included')
    .option('--gzip', 'with csv: compressed files')
    .option('--json', 'the result as JSON')
    .addHelpText('after', HELP)
  command.action((path: string) => runExport(path, command.opts<ExportFlags>(), environment))
}

async function runExport(path: string, flags: ExportFlags, environment: CommandEnvironment): Promise<void> {
  const { format, out, layout, exchange = EXCHANGE, market, gzip, json } = flags
  if (gzip === true && format !== 'csv') throw new Error('--gzip is for csv: Parquet files are compressed anyway')
  if (layout === 'tardis' && format !== 'csv')
    throw new Error('--layout tardis is for csv: tardis.dev has no Parquet files')
  if (flags.exchange !== undefined && layout !== 'tardis') throw new Error('--exchange is for --layout tardis')
  if (!EXCHANGE_NAME.test(exchange)) {
    throw new Error(`--exchange is ${exchange}, not 1 to 64 lower-case letters, digits and hyphens`)
  }
  const [fromMilliseconds, toMilliseconds] = [timeOf(flags.from, '--from'), timeOf(flags.to, '--to')]
  const paths = await pathsOf(path)
  const aborter = new AbortController()
  const removeSignals = environment.onStopSignal(() =>
    aborter.abort(new Error('interrupted: no incomplete file is left')),
  )
  await mkdir(out, { recursive: true })
  const progress = showProgress(paths, environment)
  try {
    const { exportRecordings } = await import('../streaming/recordings/export/exporter.ts')
    const result = await exportRecordings({
      paths,
      format,
      layout,
      exchange,
      isZipped: gzip === true,
      folder: out,
      symbol: market,
      fromMilliseconds: fromMilliseconds ?? Number.NEGATIVE_INFINITY,
      toMilliseconds: toMilliseconds ?? Number.POSITIVE_INFINITY,
      onProgress: progress.note,
      signal: aborter.signal,
    })
    progress.end()
    environment.stdout.write(json === true ? `${printableJson(result)}\n` : resultText(result))
  } finally {
    progress.end()
    removeSignals()
  }
}

function timeOf(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined
  const instant = readInstant(text)
  if (instant === undefined) throw new Error(`${option} is ${text}, not a time such as 2026-01-31T12:00:00Z`)
  return instant.milliseconds
}

async function pathsOf(path: string): Promise<string[]> {
  const stats = await stat(path).catch(({ code, message }: NodeJS.ErrnoException) => {
    throw new Error(`${path} cannot be read (${code ?? message})`)
  })
  if (!stats.isDirectory()) return [path]
  const files = await listRecordings(path)
  if (files.length === 0) throw new Error(`${path} contains no service recordings`)
  return files.map((file) => file.path)
}

/** One line on a terminal. */
function showProgress(
  paths: readonly string[],
  { stderr, clock }: CommandEnvironment,
): { readonly note: (progress: ExportProgress) => void; readonly end: () => void } {
  if (stderr.isTTY !== true) return { note: () => undefined, end: () => undefined }
  let shownMilliseconds = Number.NEGATIVE_INFINITY
  return {
    note({ path, rows }) {
      const now = clock.monotonicMilliseconds()
      if (now - shownMilliseconds < PROGRESS_MILLISECONDS) return
      shownMilliseconds = now
      stderr.write(`${CLEAR_LINE}file ${paths.indexOf(path) + 1} of ${paths.length}, ${rows} rows`)
    },
    end: () => void stderr.write(CLEAR_LINE),
  }
}

function resultText({ files, rows, gaps }: ExportResult): string {
  const lines = files.map(({ file, rows: count }) => `${file}: ${count} rows`)
  for (const { from, to, reason } of gaps) lines.push(`not recorded from ${from} to ${to}: ${reason}`)
  lines.push(`${rows} rows in ${files.length} files`)
  return lines.map((line) => `${printable(line)}\n`).join('')
}

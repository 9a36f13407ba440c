/**
 * Exported files as other programs read them: markets with different decimals together, and the layout of tardis.dev by
 * the rules of the readers of that layout. The programs themselves run where they are installed.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { registerExport } from '../../../src/cli/export.ts'
import { formatDecimal } from '../../../src/platform/base/decimal.ts'
import { ASK, BID } from '../../../src/streaming/market/event.ts'
import type { RecordedEntry } from '../../../src/streaming/recordings/recording.ts'
import { runCommand } from '../../support/command-run.ts'
import { pythonWith, runPython } from '../../support/python.ts'
import { RECORDING_START, recordedMarket, writeRecording } from '../../support/recording-file.ts'

const root = mkdtempSync(join(tmpdir(), 'tidegate-export-readers-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const recording = join(root, 'three.recording')

/** Decimals of price and amount. The last has more digits than a floating-point number. */
const MARKETS = [
  ['SHIB', 8, 0],
  ['BTC', 2, 8],
  ['ETH', 5, 18],
] as const
const ROUNDS = 200
const amountOf = (round: number): bigint => 10n ** 19n + BigInt(round)
const priceOf = (market: number, round: number): number => 1_000_000 + 7 * round + market

beforeAll(async () => {
  const entries = MARKETS.flatMap((_, market): RecordedEntry[] => {
    const levels = [
      { side: BID, price: 999, amount: 5 },
      { side: BID, price: 998, amount: 6 },
      { side: ASK, price: 9_000_000, amount: 7 },
    ] as const
    const start = { market, atMilliseconds: RECORDING_START, events: [{ type: 'snapshot' as const, levels }] }
    const updates = Array.from({ length: ROUNDS }, (_, round): RecordedEntry => {
      const [price, amount] = [priceOf(market, round), amountOf(round)]
      const trade = { price, amount, id: `trade-${round}`, venue: 'kraken' }
      const side = (['buy', 'sell', undefined] as const)[round % 3]
      const executions = [side === undefined ? trade : { ...trade, side }]
      const changes = [{ side: ASK, price, amount: round % 2 === 0 ? amount : 0 }] as const
      return { market, atMilliseconds: RECORDING_START + 1 + round, events: [{ type: 'update', changes, executions }] }
    })
    return [start, ...updates]
  })
  const markets = MARKETS.map(([base, price, amount]) => recordedMarket(base, price, amount))
  const header = { writtenBy: 'tidegate 0.0.0', startedAtMilliseconds: RECORDING_START, markets }
  const inOrder = entries.toSorted((left, right) => left.atMilliseconds - right.atMilliseconds)
  await writeRecording(recording, [{ entries: inOrder }], header)
})

async function exported(name: string, ...args: string[]): Promise<string[]> {
  const run = runCommand(registerExport, ['export', recording, '--out', join(root, name), ...args])
  expect(await run.ended).toEqual({ exitCode: 0, error: '' })
  return readdirSync(join(root, name)).sort()
}

const errorOf = async (...args: string[]) =>
  (await runCommand(registerExport, ['export', recording, '--out', join(root, 'none'), ...args]).ended).error

/** Prices and amounts of all trades with 18 decimals, ordered by symbol and time. */
const TRADES = MARKETS.map(
  ([base, priceDecimals, amountDecimals], market) => [base, priceDecimals, amountDecimals, market] as const,
)
  .toSorted(([left], [right]) => (left < right ? -1 : 1))
  .flatMap(([base, priceDecimals, amountDecimals, market]) =>
    Array.from({ length: ROUNDS }, (_, round) => {
      const scaled = (value: bigint, decimals: number): string =>
        formatDecimal(value * 10n ** BigInt(18 - decimals), 18)
      return [
        `${base}USD`,
        scaled(BigInt(priceOf(market, round)), priceDecimals),
        scaled(amountOf(round), amountDecimals),
      ]
    }),
  )

/** The integer of a DECIMAL of 16 bytes, which is big-endian. */
const unscaled = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString('hex')}`)

describe('Parquet files of markets with different decimals', () => {
  it('Parquet files of markets with different decimals have the same columns with the same scale, and exact numbers', async () => {
    const names = (await exported('parquet', '--format', 'parquet')).filter((name) => name.includes('_trades_'))
    expect(names).toHaveLength(MARKETS.length)
    const schemas = new Set<string>()
    const found: string[][] = []
    for (const name of names) {
      const file = await asyncBufferFromFile(join(root, 'parquet', name))
      const metadata = await parquetMetadataAsync(file)
      schemas.add(JSON.stringify(metadata.schema))
      for (const element of metadata.schema) {
        if (element.converted_type !== 'DECIMAL') continue
        expect(element).toMatchObject({ precision: 38, scale: 18 })
        // The reader would convert it to a floating-point number.
        delete element.converted_type
        delete element.logical_type
      }
      for (const { symbol, price, amount } of await parquetReadObjects({ file, metadata })) {
        found.push([symbol, formatDecimal(unscaled(price), 18), formatDecimal(unscaled(amount), 18)])
      }
    }
    expect(schemas.size).toBe(1)
    expect(found).toEqual(TRADES)
  })

  const READERS = {
    duckdb: `import duckdb
for row in duckdb.sql("select symbol, price, amount from 'parquet/*_trades_*.parquet' order by symbol, timestamp").fetchall(): print(*row)`,
    pandas: `import glob, pandas
trades = pandas.concat(pandas.read_parquet(f) for f in glob.glob('parquet/*_trades_*.parquet')).sort_values(['symbol', 'timestamp'])
for row in trades[['symbol', 'price', 'amount']].itertuples(index=False): print(*row)`,
    polars: `import polars
trades = polars.read_parquet('parquet/*_trades_*.parquet').sort('symbol', 'timestamp')
for row in trades.select('symbol', 'price', 'amount').iter_rows(): print(*row)`,
  }
  for (const [name, code] of Object.entries(READERS)) {
    const packages = name === 'pandas' ? ['pandas', 'pyarrow'] : [name]
    const python = pythonWith(...packages)
    it.skipIf(python === undefined)(
      `Parquet files of markets with different decimals are read exactly by one call (needs Python with ${packages.join(', ')})`,
      async () => {
        await exported('parquet', '--format', 'parquet')
        expect(runPython(python, code, root)).toBe(TRADES.map((row) => `${row.join(' ')}\n`).join(''))
      },
    )
  }

  it('an export to Parquet refuses a number of more than 20 digits before the decimal point, which the error names', async () => {
    const path = join(root, 'large.recording')
    const levels = [{ side: BID, price: 1, amount: 10n ** 20n }] as const
    const markets = [recordedMarket('BIG', 0, 0)]
    const header = { writtenBy: 'tidegate 0.0.0', startedAtMilliseconds: RECORDING_START, markets }
    const entries: RecordedEntry[] = [
      { market: 0, atMilliseconds: RECORDING_START, events: [{ type: 'snapshot', levels }] },
    ]
    await writeRecording(path, [{ entries }], header)
    const args = ['export', path, '--format', 'parquet', '--out', join(root, 'large')]
    expect(await runCommand(registerExport, args).ended).toEqual({
      exitCode: 1,
      error: '100000000000000000000 has more than 20 digits before the decimal point: export it as csv',
    })
    expect(readdirSync(join(root, 'large'))).toEqual([])
  })
})

const INTEGER = /^\d{1,18}$/
const NUMBER = /^\d+(\.\d+)?$/
const COMMON = { exchange: /^.+$/, symbol: /^.+$/, timestamp: INTEGER, local_timestamp: INTEGER }
/** The columns of tardis.dev in their order, and what its readers parse each one as. */
const BOOK = { ...COMMON, is_snapshot: /^(true|false)$/, side: /^(bid|ask)$/, price: NUMBER, amount: NUMBER }
const TRADE = { ...COMMON, id: /^[^,"]*$/, side: /^(buy|sell|unknown)$/, price: NUMBER, amount: NUMBER }

/** The rows of a file by the rules of hftbacktest's converter, which takes the schema from the file's name. */
function tardisRows(path: string): Record<string, string>[] {
  const schema: Readonly<Record<string, RegExp>> = basename(path).includes('trades') ? TRADE : BOOK
  const [header, ...lines] = gunzipSync(readFileSync(path)).toString().trimEnd().split('\n')
  expect(header).toBe(Object.keys(schema).join(','))
  return lines.map((line) => {
    const cells = line.split(',')
    expect(cells).toHaveLength(Object.keys(schema).length)
    const row = Object.fromEntries(Object.keys(schema).map((name, index) => [name, cells[index] as string]))
    for (const [name, form] of Object.entries(schema)) expect(row[name]).toMatch(form)
    return row
  })
}

const TARDIS = ['--format', 'csv', '--gzip', '--layout', 'tardis', '--market', 'BTCUSD']

describe('the layout of tardis.dev', () => {
  it('the layout of tardis.dev has the names, the columns and the values that its readers require, and no other file', async () => {
    const names = await exported('tardis', ...TARDIS, '--exchange', 'kraken')
    expect(names).toEqual(['incremental_book_L2', 'trades'].map((table) => `kraken_${table}_2026-06-01_BTCUSD.csv.gz`))
    const [book = [], trades = []] = names.map((name) => tardisRows(join(root, 'tardis', name)))
    expect(book).toHaveLength(3 + ROUNDS)
    expect(trades).toHaveLength(ROUNDS)
    for (const rows of [book, trades]) {
      // NautilusTrader knows the exchanges of tardis.dev alone, and expects symbols in upper case.
      expect(new Set(rows.map(({ exchange, symbol }) => `${exchange} ${symbol}`))).toEqual(new Set(['kraken BTCUSD']))
      const times = rows.map((row) => Number(row.local_timestamp))
      expect(times).toEqual(times.toSorted((left, right) => left - right))
    }
    // Readers replace the book within the range of a snapshot, which ends with the last of each side: best levels first.
    const snapshot = book.filter((row) => row.is_snapshot === 'true')
    expect(book.slice(0, snapshot.length)).toEqual(snapshot)
    expect(snapshot.map(({ side, price }) => `${side} ${price}`)).toEqual(['bid 9.99', 'bid 9.98', 'ask 90000.00'])
    expect(trades.map(({ price, amount }) => `${price} ${amount}`)).toEqual(
      Array.from(
        { length: ROUNDS },
        (_, round) => `${formatDecimal(priceOf(1, round), 2)} ${formatDecimal(amountOf(round), 8)}`,
      ),
    )
  })

  it('the layout of tardis.dev names the exchange tidegate by default, and rejects data that it cannot write', async () => {
    expect(await exported('default', ...TARDIS)).toContain('tidegate_trades_2026-06-01_BTCUSD.csv.gz')
    expect(await errorOf('--format', 'parquet', '--layout', 'tardis')).toBe(
      '--layout tardis is for csv: tardis.dev has no Parquet files',
    )
    expect(await errorOf('--format', 'csv', '--exchange', 'kraken')).toBe('--exchange is for --layout tardis')
    expect(await errorOf(...TARDIS, '--exchange', '../kraken')).toMatch(
      '--exchange is ../kraken, not 1 to 64 lower-case',
    )
  })

  const HFTBACKTEST = pythonWith('hftbacktest')
  it.skipIf(HFTBACKTEST === undefined)(
    'the layout of tardis.dev is converted by hftbacktest (needs Python with hftbacktest)',
    async () => {
      const [book, trades] = await exported('tardis', ...TARDIS, '--exchange', 'kraken')
      const code = `from hftbacktest.data.utils import tardis
events = tardis.convert(['tardis/${trades}', 'tardis/${book}'], buffer_size=10000, ss_buffer_size=10000)
print(sum(1 for event in events if event['ev'] & 0xff == 2))`
      expect(runPython(HFTBACKTEST, code, root)).toMatch(new RegExp(`\\n${ROUNDS}\\n$`))
    },
  )

  const NAUTILUS = pythonWith('nautilus_trader')
  it.skipIf(NAUTILUS === undefined)(
    'the layout of tardis.dev is loaded by NautilusTrader (needs Python with nautilus_trader)',
    async () => {
      const [book, trades] = await exported('tardis', ...TARDIS, '--exchange', 'kraken')
      const code = `from nautilus_trader.adapters.tardis import TardisCSVDataLoader
loader = TardisCSVDataLoader(price_precision=2, size_precision=8)
print(len(loader.load_trades('tardis/${trades}')), len(loader.load_deltas('tardis/${book}')) >= ${ROUNDS})`
      expect(runPython(NAUTILUS, code, root)).toBe(`${ROUNDS} True\n`)
    },
  )
})

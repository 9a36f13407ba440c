/**
 * Exported tables of a service that recorded over midnight, read by other programs: the books that their rows lead to are
 * those that a replica had, and the trades are those that were published.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { registerExport } from '../../../src/cli/export.ts'
import { runCommand } from '../../support/command-run.ts'
import { pythonWith, runPython } from '../../support/python.ts'
import { Random } from '../../support/random.ts'
import { type Moment, RECORDED_DEPTH, recordService } from '../../support/recorded-service.ts'

const MINUTE = 60_000
const START = Date.UTC(2026, 10, 23, 23, 40, 0)
const SECOND_START = START + 50 * MINUTE
const root = mkdtempSync(join(tmpdir(), 'tidegate-export-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const recordings = join(root, 'recordings')
let parts: Moment[][]

interface Row {
  readonly symbol: string
  readonly timestamp: string
  readonly local_timestamp: string
  readonly is_snapshot: string
  readonly side: string
  readonly price: string
  readonly amount: string
  readonly id: string
  readonly kind: string
  readonly until: string
  readonly state: string
  readonly reason: string
  readonly simulated: string
}

beforeAll(async () => {
  mkdirSync(recordings)
  const random = new Random(7)
  const next = (): number => random.next()
  parts = [await recordService(recordings, START, 40, next), await recordService(recordings, SECOND_START, 10, next)]
})

async function exported(out: string, ...args: string[]) {
  const run = runCommand(registerExport, ['export', recordings, '--out', join(root, out), '--json', ...args])
  const { error } = await run.ended
  expect(error).toBe('')
  return JSON.parse(run.stdout.text) as { files: { file: string; rows: number }[]; rows: number; gaps: object[] }
}

/** The rows of a table, in the order of its files. */
function csvRows(folder: string, table: string): Row[] {
  const names = readdirSync(join(root, folder)).filter((name) => name.includes(`_${table}_`))
  return names.sort().flatMap((name) => {
    const bytes = readFileSync(join(root, folder, name))
    const [header = '', ...lines] = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString().trimEnd().split('\n')
    const columns = header.split(',')
    return lines.map((line) => {
      const cells = line.split(',')
      return Object.fromEntries(columns.map((column, index) => [column, cells[index]])) as unknown as Row
    })
  })
}

/** The best levels of the book after the rows up to a time, as `side price amount`. */
function bookAt(rows: readonly Row[], microseconds: number): string[] {
  const book = new Map<string, Row>()
  let snapshotTime: string | undefined
  for (const row of rows) {
    if (Number(row.timestamp) > microseconds) break
    const isSnapshot = row.is_snapshot === 'true'
    if (isSnapshot && snapshotTime !== row.timestamp) book.clear()
    snapshotTime = isSnapshot ? row.timestamp : undefined
    const key = `${row.side} ${row.price}`
    if (Number(row.amount) === 0) book.delete(key)
    else book.set(key, row)
  }
  const best = (side: string, sign: number) =>
    [...book.values()]
      .filter((row) => row.side === side)
      .sort((left, right) => sign * (Number(left.price) - Number(right.price)))
      .slice(0, RECORDED_DEPTH)
  return [...best('bid', -1), ...best('ask', 1)].map(({ side, price, amount }) => `${side} ${price} ${amount}`)
}

function levelsOf({ book }: Moment): string[] {
  return book.levels.map(
    ({ side, price, amount }) =>
      `${side === 0 ? 'bid' : 'ask'} ${(Number(price) / 100).toFixed(2)} 0.${String(amount).padStart(8, '0')}`,
  )
}

const microsecondsOf = ({ atMilliseconds, atNanoseconds }: Moment) => atMilliseconds * 1_000 + atNanoseconds / 1_000

describe('export', () => {
  it('export writes books, trades and losses as CSV, a file per day, each beginning with the book', async () => {
    const { files, rows, gaps } = await exported('csv', '--format', 'csv')
    const names = ['incremental_book_L2', 'instrument_state', 'losses', 'trades'].flatMap((table) =>
      ['2026-11-23', '2026-11-24'].map((day) => `tidegate_${table}_${day}_BTCUSD.csv`),
    )
    expect(readdirSync(join(root, 'csv')).sort()).toEqual(names)
    const [book, trades, losses] = [
      csvRows('csv', 'incremental_book_L2'),
      csvRows('csv', 'trades'),
      csvRows('csv', 'losses'),
    ]
    const states = csvRows('csv', 'instrument_state')
    expect(book.length + trades.length + losses.length + states.length).toBe(rows)
    for (const { atMilliseconds, book: published } of parts.flat()) {
      const row = states.findLast(({ timestamp }) => Number(timestamp) <= atMilliseconds * 1_000 + 999)
      expect(row?.state ?? 'unknown', String(atMilliseconds)).toBe(published.instrument?.state ?? 'unknown')
    }
    expect(files.reduce((sum, file) => sum + file.rows, 0)).toBe(rows)
    expect(gaps).toHaveLength(1)
    expect(losses.filter(({ kind }) => kind === 'not_recorded').map(({ until }) => until)).toEqual([
      String(SECOND_START * 1_000),
    ])
    const published = parts.flatMap((moments) => moments.at(-1)?.executions ?? [])
    expect(trades.map(({ id, price, amount }) => [id, price, amount])).toEqual(
      published.map(({ id }) => [id, '9.50', '0.00000001']),
    )
    const random = new Random(8)
    for (const moments of parts) {
      for (let count = 0; count < 60; count++) {
        const moment = random.pick(moments)
        expect(bookAt(book, microsecondsOf(moment)), String(moment.atMilliseconds)).toEqual(levelsOf(moment))
      }
    }
    const [firstOfDay] = book.filter(({ timestamp }) => Number(timestamp) >= Date.UTC(2026, 10, 24) * 1_000)
    expect(firstOfDay?.is_snapshot).toBe('true')
    expect(losses.filter(({ kind }) => kind === 'lost').length).toBeGreaterThan(2)
    expect(losses.filter(({ kind }) => kind === 'withdrawn').length).toBeGreaterThan(0)
  })

  it('export begins at a time with the book of that time, and ends before another', async () => {
    const live = parts[0]?.find(
      ({ atMilliseconds, book }) => atMilliseconds > START + 5 * MINUTE && book.levels.length > 0,
    )
    const from = (live as Moment).atMilliseconds + 1
    const to = from + 4 * MINUTE
    const range = ['--from', new Date(from).toISOString(), '--to', new Date(to).toISOString()]
    await exported('range', '--format', 'csv', '--gzip', '--market', 'BTCUSD', ...range)
    const book = csvRows('range', 'incremental_book_L2')
    expect(Number(book[0]?.timestamp)).toBe(from * 1_000)
    expect(Number(book.at(-1)?.timestamp)).toBeLessThan(to * 1_000)
    for (const at of [from, from + MINUTE, to - 1]) {
      const moment = parts[0]?.findLast(({ atMilliseconds }) => atMilliseconds <= at) as Moment
      expect(bookAt(book, at * 1_000 + 999)).toEqual(levelsOf(moment))
    }
    const all = csvRows('csv', 'trades').filter(({ local_timestamp: time }) => Number(time) >= from * 1_000)
    expect(csvRows('range', 'trades')).toEqual(all.filter(({ local_timestamp: time }) => Number(time) < to * 1_000))
  })

  it('export writes the same rows as Parquet, with exact decimals', async () => {
    await exported('parquet', '--format', 'parquet')
    for (const table of ['incremental_book_L2', 'trades', 'losses']) {
      const found: string[] = []
      for (const name of readdirSync(join(root, 'parquet')).sort()) {
        if (!name.includes(`_${table}_`)) continue
        const file = await asyncBufferFromFile(join(root, 'parquet', name))
        const { schema } = await parquetMetadataAsync(file)
        const price = schema.find((element) => element.name === 'price')
        if (table !== 'losses') {
          expect(price).toMatchObject({
            type: 'FIXED_LEN_BYTE_ARRAY',
            converted_type: 'DECIMAL',
            precision: 38,
            scale: 18,
          })
        }
        for (const row of await parquetReadObjects({ file })) {
          const { price: level, amount, until, ...rest } = row
          const exact = table === 'losses' ? [until ?? ''] : [Number(level).toFixed(2), Number(amount).toFixed(8)]
          found.push([...Object.values(rest), ...exact].join(' '))
        }
      }
      const expected = csvRows('csv', table).map((row) => {
        const { price, amount, until, ...rest } = row
        return [...Object.values(rest), ...(table === 'losses' ? [until] : [price, amount])].join(' ')
      })
      expect(found).toEqual(expected)
    }
  })

  it('export leaves no incomplete file, and reports what cannot be exported', async () => {
    const errorOf = async (...args: string[]) => {
      const { exitCode, error } = await runCommand(registerExport, ['export', ...args]).ended
      return [exitCode, error]
    }
    const out = join(root, 'none')
    const format = ['--format', 'csv', '--out', out]
    expect(await errorOf(join(root, 'missing'), ...format)).toEqual([
      1,
      `${join(root, 'missing')} cannot be read (ENOENT)`,
    ])
    expect(await errorOf(root, ...format)).toEqual([1, `${root} contains no service recordings`])
    expect(await errorOf(recordings, ...format, '--from', 'noon')).toEqual([
      1,
      '--from is noon, not a time such as 2026-01-31T12:00:00Z',
    ])
    const elsewhere = ['--format', 'csv', '--out', join(root, 'elsewhere')]
    expect(await errorOf(recordings, ...elsewhere, '--market', 'BTCUSDT')).toEqual([
      1,
      'no recording has the market BTCUSDT',
    ])
    const run = runCommand(registerExport, ['export', recordings, ...format])
    await vi.waitFor(() => readdirSync(out), { interval: 1 })
    run.interrupt()
    expect(await run.ended).toEqual({ exitCode: 1, error: 'interrupted: no incomplete file is left' })
    expect(readdirSync(out)).toEqual([])
  })
})

const [PANDAS, DUCKDB, POLARS] = ['pandas', 'duckdb', 'polars'].map((name) => pythonWith(name))

/** The code of docs/how-to/recordings.md in this language that contains a word. */
function documented(language: string, word: string): string {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/how-to/recordings.md'), 'utf8')
  const blocks = [...page.matchAll(new RegExp(`\`\`\`${language}\n([^\`]+)\`\`\``, 'g'))].map(([, code = '']) => code)
  return blocks.find((code) => code.includes(word)) ?? ''
}

/** `side count amount` of the trades, by side. */
function tradesBySide(): string {
  const trades = csvRows('csv', 'trades')
  const sides = [...new Set(trades.map(({ side }) => side))].sort()
  const lines = sides.map((side) => {
    const amounts = trades.filter((trade) => trade.side === side).map(({ amount }) => BigInt(amount.replace('.', '')))
    const sum = String(amounts.reduce((left, right) => left + right)).padStart(9, '0')
    return `${side} ${amounts.length} ${sum.slice(0, -8)}.${sum.slice(-8)}${'0'.repeat(10)}\n`
  })
  return lines.join('')
}

describe.skipIf(PANDAS === undefined)('the lines of the documentation (needs Python with pandas)', () => {
  it('pandas reads the exported book with the lines of the documentation', async () => {
    await exported('export', '--format', 'csv', '--gzip')
    const book = csvRows('csv', 'incremental_book_L2')
    const prices = book.map(({ price }) => price).sort()
    const snapshots = book.filter((row) => row.is_snapshot === 'true').length
    const due = `${book.length} ${snapshots} ${prices.at(-1)}\n`
    expect(runPython(PANDAS, documented('python', 'pandas'), root)).toBe(due)
  })
})

describe.skipIf(DUCKDB === undefined)('the lines of the documentation (needs Python with duckdb)', () => {
  it('duckdb sums the exported trades exactly with the lines of the documentation', async () => {
    await exported('export', '--format', 'parquet')
    const code = `import duckdb\nfor row in duckdb.sql("""${documented('sql', 'trades')}""").fetchall(): print(*row)`
    expect(runPython(DUCKDB, code, root)).toBe(tradesBySide())
  })
})

describe.skipIf(POLARS === undefined)('the lines of the documentation (needs Python with polars)', () => {
  it('polars sums the exported trades exactly with the lines of the documentation', async () => {
    await exported('export', '--format', 'parquet')
    expect(runPython(POLARS, documented('python', 'polars'), root)).toBe(tradesBySide())
  })
})

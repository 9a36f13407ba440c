/**
 * Reads recordings in time order and writes their markets' rows to one file per table, market and UTC day. A file has a
 * temporary name until it is complete. Memory use does not depend on the recordings' length: it holds one block, the
 * books, and a bounded number of rows.
 */
import { lstat, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { MarketDefinition } from '../../market/event.ts'
import { type ExportRow, MarketRows, timeOf } from '../export-rows.ts'
import { openRecording, type RecordingReader } from '../reader.ts'
import { type RecordedEntry, UnwrittenRecording } from '../recording.ts'
import { RecordingSteps } from '../steps.ts'
import { createCsvFile, type TableFile } from './csv-file.ts'
import { createParquetFile } from './parquet-file.ts'
import { type Column, cellsOf, LAYOUTS, type Layout, TABLE_TITLES, type TableName } from './tables.ts'

export interface ExportOptions {
  /** Recordings, the earliest first. */
  readonly paths: readonly string[]
  readonly format: 'csv' | 'parquet'
  readonly layout: Layout
  /** The column `exchange`, and the prefix for file names. */
  readonly exchange: string
  readonly isZipped: boolean
  readonly folder: string
  /** Undefined: all markets. */
  readonly symbol: string | undefined
  /** Milliseconds since the epoch. The first is included, the last is not. */
  readonly fromMilliseconds: number
  readonly toMilliseconds: number
  /** Called after each block. */
  readonly onProgress: (progress: ExportProgress) => void
  readonly signal: AbortSignal
}

export interface ExportProgress {
  readonly path: string
  readonly rows: number
}

export interface ExportedFile {
  readonly file: string
  readonly table: string
  readonly market: string
  readonly day: string
  readonly rows: number
}

export interface ExportResult {
  readonly files: readonly ExportedFile[]
  readonly rows: number
  /** Times without a recording, with the reason. */
  readonly gaps: readonly { readonly from: string; readonly to: string; readonly reason: string }[]
}

/** Rows waiting for their row groups in all open Parquet files. */
const WAITING_ROWS_MAX = 300_000
const ROW_GROUP_MIN = 1_000
const ROW_GROUP_MAX = 100_000
/** Consecutive recordings from one service begin within this time. */
const JOIN_MILLISECONDS_MAX = 100
/** Entries can be this much before their commit times. */
const SKEW_MILLISECONDS_MAX = 5_000
const MICROSECONDS = 1_000

interface OpenTable {
  readonly day: string
  readonly path: string
  readonly partialPath: string
  /** The partial file's inode, by which it is distinguished from another export's with the same name. */
  readonly inode: bigint | undefined
  readonly file: TableFile
  rows: number
}

/** @throws {Error} when a recording cannot be read, a file cannot be written, or the signal aborts it */
export async function exportRecordings(options: ExportOptions): Promise<ExportResult> {
  const exporter = new Exporter(options)
  try {
    for (const path of options.paths) await exporter.read(path)
    return await exporter.finish()
  } catch (error) {
    await exporter.discard()
    throw error
  }
}

class Exporter {
  readonly #options: ExportOptions
  readonly #markets = new Map<string, MarketRows>()
  /** Whether a recording has the requested market, at any time. */
  #hasMarket = false
  /** By table and market. */
  readonly #tables = new Map<string, OpenTable>()
  readonly #done: ExportedFile[] = []
  readonly #gaps: { from: string; to: string; reason: string }[] = []
  /** Rows from the present block that are not in their files yet. */
  #emitted: { readonly row: ExportRow; readonly market: MarketDefinition }[] = []
  #rows = 0
  #hasBegun: boolean
  /** The last entry's time, milliseconds since the epoch. */
  #lastMilliseconds: number | undefined

  constructor(options: ExportOptions) {
    this.#options = options
    this.#hasBegun = options.fromMilliseconds === Number.NEGATIVE_INFINITY
  }

  async read(path: string): Promise<void> {
    const reader = await this.#open(path)
    if (reader === undefined) return
    const { symbol = '' } = this.#options
    this.#hasMarket ||= reader.header.markets.some(({ definition }) => definition.symbol === symbol)
    try {
      await this.#readAll(reader)
    } finally {
      await reader.close()
    }
  }

  /** Undefined for a file that a power loss left without its header, among others. */
  async #open(path: string): Promise<RecordingReader | undefined> {
    try {
      return await openRecording(path)
    } catch (error) {
      if (error instanceof UnwrittenRecording && this.#options.paths.length > 1) return undefined
      throw error
    }
  }

  async finish(): Promise<ExportResult> {
    const { symbol } = this.#options
    if (symbol !== undefined && !this.#hasMarket) throw new Error(`no recording has the market ${symbol}`)
    for (const key of [...this.#tables.keys()]) await this.#complete(key)
    return { files: this.#done, rows: this.#rows, gaps: this.#gaps }
  }

  /** Removes incomplete files. */
  async discard(): Promise<void> {
    for (const { file, partialPath, inode } of this.#tables.values()) {
      const isOurs = (await inodeOf(partialPath)) === inode
      // Report the error that ended the export.
      await file.close().catch(() => undefined)
      if (isOurs) await unlink(partialPath).catch(() => undefined)
    }
  }

  async #readAll(reader: RecordingReader): Promise<void> {
    const { fromMilliseconds, toMilliseconds, onProgress, signal } = this.#options
    const { firstMilliseconds, lastMilliseconds, header, path } = reader
    if (reader.blocks.length === 0 || lastMilliseconds < fromMilliseconds) return
    const previous = this.#lastMilliseconds
    const isJoined = previous !== undefined && header.gap === undefined
    if (previous !== undefined && !(isJoined && firstMilliseconds - previous <= JOIN_MILLISECONDS_MAX)) {
      this.#gap(previous, firstMilliseconds, header.gap?.reason ?? 'no recorder was running')
    }
    const markets = header.markets.map(({ definition }) => this.#marketOf(definition, reader))
    this.#absent(new Set(markets), firstMilliseconds, lastMilliseconds)
    const steps = new RecordingSteps(reader, fromMilliseconds)
    let damage: string | undefined
    for (let step = await steps.next(); step !== undefined; step = await steps.next()) {
      signal.throwIfAborted()
      if (step.kind === 'gap') {
        damage ??= step.reason
        continue
      }
      const first = step.entries[0]?.atMilliseconds
      if (first !== undefined && first > toMilliseconds + SKEW_MILLISECONDS_MAX) break
      if (damage !== undefined && first !== undefined) this.#gap(this.#lastMilliseconds ?? first, first, damage)
      damage = undefined
      this.#apply(step.entries, step.isState, markets)
      await this.#write()
      onProgress({ path, rows: this.#rows })
    }
    if (damage !== undefined) this.#gap(this.#lastMilliseconds ?? firstMilliseconds, lastMilliseconds, damage)
    this.#lastMilliseconds = Math.max(lastMilliseconds, this.#lastMilliseconds ?? 0)
    await this.#write()
  }

  #marketOf(definition: MarketDefinition, { path, firstMilliseconds }: RecordingReader): MarketRows | undefined {
    const { symbol, priceDecimals, amountDecimals } = definition
    const { symbol: wanted, toMilliseconds } = this.#options
    if (wanted !== undefined && wanted !== symbol) return undefined
    const known = this.#markets.get(symbol)
    if (known === undefined) {
      const rows = new MarketRows(definition, (row) => this.#emitted.push({ row, market: definition }))
      this.#markets.set(symbol, rows)
      return rows
    }
    const decimals = [known.definition.priceDecimals, known.definition.amountDecimals]
    if (isDeepStrictEqual(decimals, [priceDecimals, amountDecimals])) return known
    // Nothing of it is exported.
    if (firstMilliseconds >= toMilliseconds) return undefined
    throw new Error(`${path} has different decimals for ${symbol} than the recordings before it: use --from or --to`)
  }

  /** This time's recording has other markets only, so nothing is known about these. */
  #absent(present: ReadonlySet<MarketRows | undefined>, from: number, to: number): void {
    for (const [symbol, market] of this.#markets) {
      if (!present.has(market)) this.#gap(from, to, `${symbol} was not among the recorded markets`, [market])
    }
  }

  #gap(from: number, to: number, reason: string, markets: Iterable<MarketRows> = this.#markets.values()): void {
    const { fromMilliseconds, toMilliseconds } = this.#options
    const [start, end] = [Math.max(from, fromMilliseconds), Math.min(to, toMilliseconds)]
    if (end <= start) return
    const known = this.#gaps.findLast((gap) => gap.reason === reason)
    // One gap, although each recording in it has its own rows.
    if (known !== undefined && Math.abs(start - Date.parse(known.to)) <= JOIN_MILLISECONDS_MAX) {
      known.to = new Date(end).toISOString()
    } else this.#gaps.push({ from: new Date(start).toISOString(), to: new Date(end).toISOString(), reason })
    for (const market of markets) market.gap(start, end, reason)
  }

  #apply(entries: readonly RecordedEntry[], isState: boolean, markets: readonly (MarketRows | undefined)[]): void {
    const { fromMilliseconds, toMilliseconds } = this.#options
    const byMarket = new Map<MarketRows, RecordedEntry[]>()
    for (const entry of entries) {
      const market = markets[entry.market]
      this.#lastMilliseconds = Math.max(this.#lastMilliseconds ?? 0, entry.atMilliseconds)
      if (market === undefined || timeOf(entry) >= toMilliseconds * MICROSECONDS) continue
      if (
        entry.atMilliseconds < fromMilliseconds ||
        (!this.#hasBegun && timeOf(entry) < fromMilliseconds * MICROSECONDS)
      ) {
        market.skip(entry, isState)
        continue
      }
      if (!this.#hasBegun) for (const one of this.#markets.values()) one.begin(fromMilliseconds * MICROSECONDS)
      this.#hasBegun = true
      this.#beginDay(market, entry)
      if (isState) byMarket.set(market, [...(byMarket.get(market) ?? []), entry])
      else market.entry(entry)
    }
    for (const [market, states] of byMarket) market.keyframe(states)
  }

  /** A day's rows begin with the book, so that its file can be read alone. */
  #beginDay(market: MarketRows, entry: RecordedEntry): void {
    const last = this.#days.get(market)
    const day = dayOf(timeOf(entry))
    // A snapshot at the same time takes its place.
    const hasSnapshot = entry.events.some(({ type }) => type === 'snapshot')
    if (last !== undefined && last < day && hasSnapshot) market.renew()
    else if (last !== undefined && last < day) market.begin(timeOf(entry))
    if (last === undefined || last < day) this.#days.set(market, day)
  }

  readonly #days = new Map<MarketRows, string>()

  async #write(): Promise<void> {
    const { layout, exchange } = this.#options
    const emitted = this.#emitted
    this.#emitted = []
    for (const { row, market } of emitted) {
      const columns = LAYOUTS[layout][row.table]
      if (columns === undefined) continue
      const table = await this.#tableOf(row, market, columns)
      table.file.add(cellsOf(row, market, exchange).slice(0, columns.length))
      table.rows += 1
      this.#rows += 1
      if (table.file.isFull) await table.file.flush()
    }
  }

  async #tableOf(row: ExportRow, market: MarketDefinition, columns: readonly Column[]): Promise<OpenTable> {
    const key = `${row.table} ${market.symbol}`
    const day = dayOf(row.table === 'trades' ? row.localTimestamp : row.timestamp)
    const open = this.#tables.get(key)
    // A late row, after a clock was set back, stays in the later file.
    if (open !== undefined && open.day >= day) return open
    if (open !== undefined) await this.#complete(key)
    const table = await this.#create(row.table, market, day, columns)
    this.#tables.set(key, table)
    return table
  }

  async #create(
    name: TableName,
    { symbol }: MarketDefinition,
    day: string,
    columns: readonly Column[],
  ): Promise<OpenTable> {
    const { folder, format, layout, exchange, isZipped } = this.#options
    const suffix = format === 'csv' ? `csv${isZipped ? '.gz' : ''}` : 'parquet'
    const path = join(folder, `${exchange}_${TABLE_TITLES[name]}_${day}_${symbol}.${suffix}`)
    const partialPath = `${path}.partial`
    // Left behind when an export was killed.
    await unlink(partialPath).catch(() => undefined)
    const share = Math.floor(WAITING_ROWS_MAX / (this.#markets.size * Object.keys(LAYOUTS[layout]).length))
    const rowsMax = Math.min(ROW_GROUP_MAX, Math.max(ROW_GROUP_MIN, share))
    const file =
      format === 'csv'
        ? await createCsvFile(partialPath, columns, isZipped)
        : await createParquetFile(partialPath, columns, rowsMax)
    return { day, path, partialPath, inode: await inodeOf(partialPath), file, rows: 0 }
  }

  async #complete(key: string): Promise<void> {
    const table = this.#tables.get(key) as OpenTable
    if ((await inodeOf(table.partialPath)) !== table.inode) {
      throw new Error(`${table.partialPath} was replaced: another export writes to this folder`)
    }
    await table.file.close()
    await rename(table.partialPath, table.path)
    this.#tables.delete(key)
    const [name, market] = key.split(' ') as [TableName, string]
    const { path: file, day, rows } = table
    this.#done.push({ file, table: TABLE_TITLES[name], market, day, rows })
  }
}

async function inodeOf(path: string): Promise<bigint | undefined> {
  return (await lstat(path, { bigint: true }).catch(() => undefined))?.ino
}

function dayOf(microseconds: number): string {
  return new Date(microseconds / MICROSECONDS).toISOString().slice(0, 10)
}

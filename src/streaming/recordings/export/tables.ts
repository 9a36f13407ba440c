/**
 * The exported tables' columns in each layout, and a row's values in each. Prices and amounts are exact: text with the
 * market's decimals, or unscaled integers with their scale.
 */
import { csvField } from '../../../platform/base/csv.ts'
import { formatDecimal, type Scaled } from '../../../platform/base/decimal.ts'
import type { MarketDefinition } from '../../market/event.ts'
import { type ExportRow, sideText } from '../export-rows.ts'

export type TableName = ExportRow['table']

/** Names in files. */
export const TABLE_TITLES: Readonly<Record<TableName, string>> = {
  book: 'incremental_book_L2',
  trades: 'trades',
  instrument: 'instrument_state',
  losses: 'losses',
}

/** `tardis`: CSV files as from tardis.dev, whose readers reject any other column. */
export type Layout = 'tidegate' | 'tardis'

export interface DecimalValue {
  readonly unscaled: Scaled
  readonly scale: number
}

/** Times are integers: microseconds since the epoch. */
export type CellValue = string | boolean | number | DecimalValue | undefined

export type ColumnKind = 'text' | 'boolean' | 'microseconds' | 'decimal'

export interface Column {
  readonly name: string
  readonly kind: ColumnKind
  /** Whether it can be without a value. */
  readonly isOptional?: true
}

const COMMON: readonly Column[] = [
  { name: 'exchange', kind: 'text' },
  { name: 'symbol', kind: 'text' },
  { name: 'timestamp', kind: 'microseconds' },
]
const PRICED: readonly Column[] = [
  { name: 'side', kind: 'text' },
  { name: 'price', kind: 'decimal' },
  { name: 'amount', kind: 'decimal' },
]
const LOCAL: Column = { name: 'local_timestamp', kind: 'microseconds' }

const BOOK: readonly Column[] = [...COMMON, LOCAL, { name: 'is_snapshot', kind: 'boolean' }, ...PRICED]
const TRADES: readonly Column[] = [...COMMON, LOCAL, { name: 'id', kind: 'text' }, ...PRICED]

const COLUMNS: Readonly<Record<TableName, readonly Column[]>> = {
  book: BOOK,
  trades: [...TRADES, { name: 'venue', kind: 'text' }],
  instrument: [
    ...COMMON,
    { name: 'state', kind: 'text' },
    { name: 'reason', kind: 'text' },
    { name: 'simulated', kind: 'boolean' },
  ],
  losses: [
    ...COMMON,
    { name: 'until', kind: 'microseconds', isOptional: true },
    { name: 'kind', kind: 'text' },
    { name: 'reason', kind: 'text' },
  ],
}

/** Each layout's tables. */
export const LAYOUTS: Readonly<Record<Layout, Readonly<Partial<Record<TableName, readonly Column[]>>>>> = {
  tidegate: COLUMNS,
  tardis: { book: BOOK, trades: TRADES },
}

/** A row's values, in column order for its table in the layout `tidegate`, which begins with the `tardis` columns. */
export function cellsOf(row: ExportRow, market: MarketDefinition, exchange: string): CellValue[] {
  const { symbol, priceDecimals, amountDecimals } = market
  const common = [exchange, symbol, row.timestamp]
  if (row.table === 'losses') return [...common, row.until, row.kind, row.reason]
  if (row.table === 'instrument') {
    const { state = 'unknown', reason = '', simulated = false } = row.instrument ?? {}
    return [...common, state, reason, simulated]
  }
  const price = { unscaled: row.price, scale: priceDecimals }
  const amount = { unscaled: row.amount, scale: amountDecimals }
  if (row.table === 'trades') return [...common, row.localTimestamp, row.id, row.side, price, amount, row.venue]
  return [...common, row.timestamp, row.isSnapshot, sideText(row.side), price, amount]
}

/** One CSV line (RFC 4180, ended by a line feed). */
export function csvLine(cells: readonly CellValue[]): string {
  return `${cells.map(csvText).join(',')}\n`
}

function csvText(value: CellValue): string {
  if (value === undefined) return ''
  if (typeof value === 'object') return formatDecimal(value.unscaled, value.scale)
  return typeof value === 'string' ? csvField(value) : String(value)
}

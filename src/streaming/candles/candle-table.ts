/**
 * Bars in the store, with their fencing. A market's position, bars and gaps change together: what is stored includes each
 * execution up to the position, and none after it. A write states the position that it continues, and its lease's epoch. A
 * claim with a later epoch makes every write with an earlier one fail. So an execution is counted once, whatever is
 * repeated, and whoever else believes to lead. Prices are stored as decimals: bars with more fraction digits than the
 * market has now are read as gaps.
 */
import { formatDecimal, parseDecimal, type Scaled } from '../../platform/base/decimal.ts'
import type { Db } from '../../platform/store/db.ts'
import { sql, type Transaction } from '../../platform/store/sql.ts'
import { type Column, inserting, namesOf, unnested } from '../../platform/store/unnested.ts'
import type { MarketDefinition } from '../market/event.ts'
import type { Continuation } from '../sequencing/bus.ts'
import { type Bar, type Bars, DAY_MILLISECONDS, STEPS, type Step } from './bar.ts'
import { type CandleSource, endedBefore, type Gap, mergedGaps } from './candles.ts'

/** Everything up to this execution is counted. */
export interface CandlePosition extends Continuation {
  /** The time of the last commit that is included. */
  readonly countedMilliseconds: number
}

export interface CandleClaim {
  /** With which the market is to be written. */
  readonly leaseEpoch: number
  /** Undefined: nothing has been written. */
  readonly position: CandlePosition | undefined
  /** Every source's executions before it are stored, or in a gap. Undefined: there are none. */
  readonly completeMilliseconds: number | undefined
}

/** A market's changes since the last write. */
export interface CandleBatch {
  readonly market: MarketDefinition
  readonly leaseEpoch: number
  /** The stored position. Undefined: none. */
  readonly from: CandlePosition | undefined
  readonly to: CandlePosition
  /** As in a claim, once the batch is stored. */
  readonly completeMilliseconds: number
  readonly bars: Bars
  readonly gaps: readonly Gap[]
  /** The executions' earliest and latest times. Undefined: there are none. */
  readonly executed: readonly [first: number, last: number] | undefined
}

interface PositionRow {
  readonly market: string
  readonly epoch: string | null
  readonly execution_number: string | null
  readonly counted_at: string | null
}

/**
 * Claims markets for writes with a lease's epoch. Markets that were claimed with a later epoch are missing. An epoch of 0
 * stands for no lease: no other process writes the market any more, and the stored epoch is continued.
 */
export async function claimCandles(
  db: Db,
  claims: readonly { readonly market: string; readonly leaseEpoch: number }[],
): Promise<ReadonlyMap<string, CandleClaim>> {
  const columns: readonly Column<(typeof claims)[number]>[] = [
    ['market', 'text', ({ market }) => market],
    ['lease_epoch', 'bigint', ({ leaseEpoch }) => leaseEpoch],
  ]
  const { rows } = await sql<PositionRow & { lease_epoch: string; complete: string | null }>`
    ${inserting(
      'candle_markets',
      bySymbol(claims, ({ market }) => market),
      columns,
    )}
    on conflict (market) do update set lease_epoch = greatest(candle_markets.lease_epoch, excluded.lease_epoch)
    where candle_markets.lease_epoch <= excluded.lease_epoch or excluded.lease_epoch = 0
    returning market, lease_epoch, epoch, execution_number, counted_at,
      least(counted_at, coalesce(complete_at, last_executed_at)) as complete
  `.execute(db.tables())
  return new Map(
    rows.map((row) => {
      const completeMilliseconds = optional(row.complete)
      return [row.market, { leaseEpoch: Number(row.lease_epoch), position: positionOf(row), completeMilliseconds }]
    }),
  )
}

/**
 * Writes each market's batch, in one transaction. Returns the markets whose batch is stored, now or by an earlier
 * attempt. The others' batches do not continue the stored position, or another process has claimed them: their position
 * has to be read again.
 */
export function writeCandles(db: Db, batches: readonly CandleBatch[]): Promise<ReadonlySet<string>> {
  return db.transaction<object, ReadonlySet<string>>(async (transaction) => {
    const moved = new Set(await movePositions(transaction, bySymbol(batches, symbolOf)))
    const written = batches.filter((batch) => moved.has(symbolOf(batch)))
    await addBars(transaction, written)
    await addGaps(transaction, written)
    for (const market of await alreadyMoved(transaction, batches, moved)) moved.add(market)
    return moved
  })
}

const symbolOf = ({ market }: CandleBatch): string => market.symbol

/** In one order for all writers, so that they never wait for each other in a circle. */
function bySymbol<Item>(items: readonly Item[], symbol: (item: Item) => string): Item[] {
  return items.toSorted((left, right) => (symbol(left) < symbol(right) ? -1 : 1))
}

const POSITION_COLUMNS: readonly Column<CandleBatch>[] = [
  ['market', 'text', symbolOf],
  ['lease_epoch', 'bigint', ({ leaseEpoch }) => leaseEpoch],
  ['from_epoch', 'text', ({ from }) => from?.epoch ?? null],
  ['from_number', 'bigint', ({ from }) => from?.executionNumber ?? null],
  ['epoch', 'text', ({ to }) => to.epoch],
  ['execution_number', 'bigint', ({ to }) => to.executionNumber],
  ['counted_at', 'bigint', ({ to }) => to.countedMilliseconds],
  ['complete_at', 'bigint', ({ completeMilliseconds }) => completeMilliseconds],
  ['first_at', 'bigint', ({ executed }) => executed?.[0] ?? null],
  ['last_at', 'bigint', ({ executed }) => executed?.[1] ?? null],
]

async function movePositions(transaction: Transaction<object>, batches: readonly CandleBatch[]): Promise<string[]> {
  const { rows } = await sql<{ market: string }>`
    update candle_markets as stored set
      epoch = wanted.epoch, execution_number = wanted.execution_number, counted_at = wanted.counted_at,
      complete_at = wanted.complete_at,
      first_executed_at = least(stored.first_executed_at, wanted.first_at),
      last_executed_at = greatest(stored.last_executed_at, wanted.last_at)
    from ${unnested(batches, POSITION_COLUMNS)}
    where stored.market = wanted.market and stored.lease_epoch = wanted.lease_epoch
      and stored.epoch is not distinct from wanted.from_epoch
      and stored.execution_number is not distinct from wanted.from_number
    returning stored.market
  `.execute(transaction)
  return rows.map(({ market }) => market)
}

interface StepBar {
  readonly market: MarketDefinition
  readonly step: Step
  readonly bar: Bar
}

const price =
  (read: (bar: Bar) => number) =>
  ({ market, bar }: StepBar) =>
    formatDecimal(read(bar), market.priceDecimals)

const BAR_COLUMNS: readonly Column<StepBar>[] = [
  ['market', 'text', ({ market }) => market.symbol],
  ['step', 'integer', ({ step }) => step],
  ['start', 'bigint', ({ bar }) => bar.start],
  ['opened_at', 'bigint', ({ bar }) => bar.openedAt],
  ['closed_at', 'bigint', ({ bar }) => bar.closedAt],
  ['open', 'numeric', price((bar) => bar.open)],
  ['high', 'numeric', price((bar) => bar.high)],
  ['low', 'numeric', price((bar) => bar.low)],
  ['close', 'numeric', price((bar) => bar.close)],
  ['first_id', 'text', ({ bar }) => bar.firstId],
  ['last_id', 'text', ({ bar }) => bar.lastId],
  ['volume', 'numeric', ({ market, bar }) => formatDecimal(bar.volume, market.amountDecimals)],
  ['quote_volume', 'numeric', ({ market, bar }) => formatDecimal(bar.quoteVolume, quoteDecimals(market))],
  ['trades', 'bigint', ({ bar }) => bar.trades],
  ['revision', 'bigint', ({ bar }) => bar.revision],
]

/** Adds the bars to the stored ones, as `addBar` does. */
async function addBars(transaction: Transaction<object>, batches: readonly CandleBatch[]): Promise<void> {
  const bars = batches.flatMap(({ market, bars }) =>
    STEPS.flatMap((step) => [...bars.of(step).values()].map((bar): StepBar => ({ market, step, bar }))),
  )
  if (bars.length === 0) return
  const opens = (column: string) =>
    sql`${sql.ref(column)} = case when excluded.opened_at < candles.opened_at
      then excluded.${sql.ref(column)} else candles.${sql.ref(column)} end`
  const closes = (column: string) =>
    sql`${sql.ref(column)} = case when excluded.closed_at >= candles.closed_at
      then excluded.${sql.ref(column)} else candles.${sql.ref(column)} end`
  const sums = (column: string) => sql`${sql.ref(column)} = candles.${sql.ref(column)} + excluded.${sql.ref(column)}`
  const set = [
    ...['open', 'first_id', 'opened_at'].map(opens),
    ...['close', 'last_id', 'closed_at'].map(closes),
    ...['volume', 'quote_volume', 'trades', 'revision'].map(sums),
    sql`high = greatest(candles.high, excluded.high)`,
    sql`low = least(candles.low, excluded.low)`,
  ]
  await sql`
    ${inserting('candles', bars, BAR_COLUMNS)}
    on conflict (market, step, start) do update set ${sql.join(set)}
  `.execute(transaction)
}

async function addGaps(transaction: Transaction<object>, batches: readonly CandleBatch[]): Promise<void> {
  const gaps = batches.flatMap(({ market, gaps }) => gaps.map((gap) => ({ ...gap, market: market.symbol })))
  if (gaps.length === 0) return
  const columns: readonly Column<(typeof gaps)[number]>[] = [
    ['market', 'text', ({ market }) => market],
    ['from_at', 'bigint', ({ fromMilliseconds }) => fromMilliseconds],
    ['until_at', 'bigint', ({ untilMilliseconds }) => untilMilliseconds],
  ]
  await sql`
    ${inserting('candle_gaps', gaps, columns)}
    on conflict (market, from_at) do update set until_at = greatest(candle_gaps.until_at, excluded.until_at)
  `.execute(transaction)
}

/** The batches stored by an earlier attempt whose answer was lost. */
async function alreadyMoved(
  transaction: Transaction<object>,
  batches: readonly CandleBatch[],
  moved: ReadonlySet<string>,
): Promise<string[]> {
  const others = batches.filter((batch) => !moved.has(symbolOf(batch)))
  if (others.length === 0) return []
  const { rows } = await sql<{ market: string }>`
    select stored.market from candle_markets as stored join ${unnested(others, POSITION_COLUMNS)}
      on stored.market = wanted.market and stored.lease_epoch = wanted.lease_epoch
        and stored.epoch = wanted.epoch and stored.execution_number = wanted.execution_number
        and stored.counted_at = wanted.counted_at
  `.execute(transaction)
  return rows.map(({ market }) => market)
}

/** A market's stored bars since some time. */
export interface StoredCandles {
  readonly position: CandlePosition
  readonly firstExecutedMilliseconds: number | undefined
  /** Bars that start earlier were not read. */
  readonly floors: ReadonlyMap<Step, number>
  readonly bars: readonly (readonly [step: Step, bar: Bar])[]
  readonly gaps: readonly Gap[]
}

interface BarRow {
  readonly step: number
  readonly start: string
  readonly opened_at: string
  readonly closed_at: string
  readonly open: string
  readonly high: string
  readonly low: string
  readonly close: string
  readonly first_id: string
  readonly last_id: string
  readonly volume: string
  readonly quote_volume: string
  readonly trades: string
  readonly revision: string
}

interface MarketRow extends PositionRow {
  readonly first_executed_at: string | null
  readonly last_executed_at: string | null
}

/** The minutes before an older execution may be deleted already. The close before the floor then comes from an hour. */
const LAST_EXECUTION_DAYS_MAX = 28

/**
 * Reads a market's last bars. Undefined: nothing has been written for it.
 * @param kept how many bars of each step are read, counted back from the last execution or from 28 days ago
 */
export async function readCandles(
  db: Db,
  market: MarketDefinition,
  kept: ReadonlyMap<Step, number>,
  nowMilliseconds: number,
): Promise<StoredCandles | undefined> {
  const earliest = nowMilliseconds - LAST_EXECUTION_DAYS_MAX * DAY_MILLISECONDS
  const executed = sql`coalesce(stored.last_executed_at, ${nowMilliseconds}::bigint)`
  const last = sql`greatest(least(${executed}, ${nowMilliseconds}::bigint), ${earliest}::bigint)`
  const floorOf = (step: Step) =>
    sql`(${last} / ${step}::bigint - ${(kept.get(step) ?? 0) - 1}::bigint) * ${step}::bigint`
  const isKept = STEPS.map((step) => sql`(candles.step = ${step} and candles.start >= ${floorOf(step)})`)
  // One statement, so that the bars are those of the position.
  const { rows } = await sql<MarketRow & BarRow & { readonly step: number | null }>`
    select stored.market, epoch, execution_number, counted_at, first_executed_at, last_executed_at,
      ${sql.raw(namesOf(BAR_COLUMNS.slice(1)))}
    from candle_markets as stored left join candles on candles.market = stored.market and (${sql.join(isKept, sql` or `)})
    where stored.market = ${market.symbol}
  `.execute(db.tables())
  const [row] = rows
  const position = row && positionOf(row)
  if (row === undefined || position === undefined) return undefined
  const stored = readBars(market, row.step === null ? [] : rows)
  const recorded = await readGaps(db, market.symbol)
  const executedMilliseconds = optional(row.last_executed_at) ?? nowMilliseconds
  const lastMilliseconds = Math.max(Math.min(executedMilliseconds, nowMilliseconds), earliest)
  return {
    position,
    firstExecutedMilliseconds: optional(row.first_executed_at),
    floors: new Map(
      STEPS.map((step) => [step, (Math.floor(lastMilliseconds / step) - (kept.get(step) ?? 0) + 1) * step]),
    ),
    bars: stored.bars,
    gaps: mergedGaps([...recorded, ...endedBefore(stored.gaps, position.countedMilliseconds)]),
  }
}

async function readGaps(db: Db, market: string): Promise<Gap[]> {
  const { rows } = await sql<{ from_at: string; until_at: string }>`
    select from_at, until_at from candle_gaps where market = ${market}
  `.execute(db.tables())
  return rows.map((row) => ({ fromMilliseconds: Number(row.from_at), untilMilliseconds: Number(row.until_at) }))
}

/** An interval's bars in a range, the gaps of those that cannot be read, and the close before it. */
export async function readOlderCandles(
  db: Db,
  market: MarketDefinition,
  { milliseconds, step }: { readonly milliseconds: number; readonly step: Step },
  { fromMilliseconds, untilMilliseconds }: { readonly fromMilliseconds: number; readonly untilMilliseconds: number },
): Promise<Pick<CandleSource, 'bars' | 'gaps' | 'previousClose'>> {
  const { rows } = await sql<BarRow>`
    select ${step}::integer as step, start / ${milliseconds}::bigint * ${milliseconds}::bigint as start,
      min(opened_at) as opened_at, max(closed_at) as closed_at,
      (array_agg(open order by candles.start))[1] as open, max(high) as high, min(low) as low,
      (array_agg(close order by candles.start desc))[1] as close,
      (array_agg(first_id order by candles.start))[1] as first_id,
      (array_agg(last_id order by candles.start desc))[1] as last_id,
      sum(volume) as volume, sum(quote_volume) as quote_volume,
      sum(trades)::bigint as trades, sum(revision)::bigint as revision
    from candles
    where market = ${market.symbol} and candles.step = ${step}
      and candles.start >= ${fromMilliseconds}::bigint and candles.start < ${untilMilliseconds}::bigint
    group by 2
  `.execute(db.tables())
  const { bars, gaps } = readBars(market, rows, milliseconds)
  const previousClose = await readCloseBefore(db, market, fromMilliseconds)
  return { bars: new Map(bars.map(([, bar]) => [bar.start, bar])), gaps, previousClose }
}

/** The last close before a time, from minutes or, where those are deleted, from hours. */
export async function readCloseBefore(
  db: Db,
  market: MarketDefinition,
  milliseconds: number,
): Promise<number | undefined> {
  for (const step of STEPS) {
    const { rows } = await sql<{ close: string }>`
      select close from candles
      where market = ${market.symbol} and step = ${step} and start <= ${milliseconds - step}::bigint
      order by start desc limit 1
    `.execute(db.tables())
    const [row] = rows
    if (row !== undefined) return readPrice(market, row.close)
  }
  return undefined
}

function positionOf({ epoch, execution_number, counted_at }: PositionRow): CandlePosition | undefined {
  if (epoch === null) return undefined
  return { epoch, executionNumber: Number(execution_number), countedMilliseconds: Number(counted_at) }
}

function optional(text: string | null): number | undefined {
  return text === null ? undefined : Number(text)
}

/** Bars, and the gaps of those with numbers finer than the market's. @param length where it is not the rows' step */
function readBars(
  market: MarketDefinition,
  rows: readonly BarRow[],
  length?: number,
): Pick<StoredCandles, 'bars' | 'gaps'> {
  const bars: (readonly [step: Step, bar: Bar])[] = []
  const gaps: Gap[] = []
  for (const row of rows) {
    const bar = readBar(market, row)
    const fromMilliseconds = Number(row.start)
    if (bar !== undefined) bars.push([row.step as Step, bar])
    else gaps.push({ fromMilliseconds, untilMilliseconds: fromMilliseconds + (length ?? row.step) - 1 })
  }
  return { bars, gaps }
}

function readBar(market: MarketDefinition, row: BarRow): Bar | undefined {
  const [open, high, low, close] = [row.open, row.high, row.low, row.close].map((text) => readPrice(market, text))
  const volume = readScaled(row.volume, market.amountDecimals)
  const quoteVolume = readScaled(row.quote_volume, quoteDecimals(market))
  if (open === undefined || high === undefined || low === undefined || close === undefined) return undefined
  if (volume === undefined || quoteVolume === undefined) return undefined
  const times = { start: Number(row.start), openedAt: Number(row.opened_at), closedAt: Number(row.closed_at) }
  const ids = { firstId: row.first_id, lastId: row.last_id }
  const counts = { trades: Number(row.trades), revision: Number(row.revision) }
  return { ...times, open, high, low, close, ...ids, volume, quoteVolume, ...counts }
}

function readPrice({ priceDecimals }: MarketDefinition, text: string): number | undefined {
  const price = readScaled(text, priceDecimals)
  return typeof price === 'number' ? price : undefined
}

function readScaled(text: string, decimals: number): Scaled | undefined {
  const value = parseDecimal(text, decimals)
  return typeof value === 'string' ? undefined : value
}

function quoteDecimals({ priceDecimals, amountDecimals }: MarketDefinition): number {
  return priceDecimals + amountDecimals
}

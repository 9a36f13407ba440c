/**
 * Candles and totals for requests, from memory. A market's memory is read from the store when the market is first asked
 * for, and is kept as long as requests come. Bars older than the memory are read from the store with each request. It is
 * read again once a new leader has written, or a gap has ended, so that every node has the leader's view of the change.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import { type Db, StoreUnavailable } from '../../platform/store/db.ts'
import type { Replica } from '../sequencing/replica.ts'
import { DAY_MILLISECONDS, MINUTE_MILLISECONDS, type Step, startOf } from './bar.ts'
import { BARS_KEPT, CandleMemory } from './candle-memory.ts'
import { readCandles, readCloseBefore, readOlderCandles } from './candle-table.ts'
import {
  type Candle,
  type CandleRange,
  type CandleSource,
  candlesIn,
  type DayTotals,
  type Gap,
  INTERVALS,
  type Interval,
  mergedGaps,
} from './candles.ts'

/** Executions are included once a second, so that they are still in the log. */
const FOLLOW_MILLISECONDS = 1_000
/** How long a memory is kept after its last request. */
const KEPT_MILLISECONDS = 600_000
/** Time between two reads of one market from the store. */
const READ_MILLISECONDS = 1_000

export const MINUTE_BARS_DAYS = 30

export interface CandleReaderOptions {
  readonly db: Db
  readonly clock: Clock
  /** How long a commit from the market's sequencer takes at most: 0 in its own process. */
  readonly delayMilliseconds: number
  /** The setting `candles.retention_days`. */
  retentionDays(): number
}

export interface CandleQuery {
  readonly interval: Interval
  /** The first candles at or after this time. Absent: the last ones. */
  readonly fromMilliseconds?: number | undefined
  /** Only candles that start before this time. */
  readonly toMilliseconds?: number | undefined
  readonly limit: number
}

export interface CandleAnswer {
  /** Answers with equal keys are equal. Undefined: it comes from the store. */
  readonly key: string | undefined
  /** The earliest first. To be called before the next wait. */
  candles(): readonly Candle[]
}

interface OlderCandles {
  readonly range: CandleRange
  readonly stored: Pick<CandleSource, 'bars' | 'gaps' | 'previousClose'>
}

interface FollowedMarket {
  readonly memory: CandleMemory
  readonly load: number
  /** The memory has every commit before this time. */
  readonly completeMilliseconds: number
}

interface KnownMarket {
  memory: CandleMemory | undefined
  loading: Promise<void> | undefined
  readMilliseconds: number
  askedMilliseconds: number
  /** Which read of the store the memory comes from: unique in this process. */
  load: number
}

export class CandleReader {
  readonly #options: CandleReaderOptions
  readonly #markets = new Map<string, KnownMarket>()
  #loads = 0
  #timer: Timer | undefined

  constructor(options: CandleReaderOptions) {
    this.#options = options
    this.#followAll()
  }

  stop(): void {
    this.#timer?.cancel()
  }

  /** Undefined: the market's executions are not known yet. */
  async candles(replica: Replica, query: CandleQuery): Promise<CandleAnswer | undefined> {
    const known = await this.#known(replica)
    if (known === undefined) return undefined
    const { memory, load, completeMilliseconds } = known
    const nowMilliseconds = this.#now(replica)
    const range = this.#rangeOf(query, memory, nowMilliseconds)
    if (range === undefined) return { key: undefined, candles: () => [] }
    const { interval, fromMilliseconds, untilMilliseconds } = range
    const { milliseconds, step } = INTERVALS[interval]
    const floorNow = () => startOf(memory.floor(step) + milliseconds - 1, milliseconds)
    let floor: number
    let older: OlderCandles | undefined
    do {
      floor = floorNow()
      older = await this.#older(replica, { ...range, untilMilliseconds: Math.min(floor, untilMilliseconds) })
      // Bars may have been dropped while the store was read.
    } while (floor !== floorNow())
    const { gaps } = memory
    const candles = (): readonly Candle[] => {
      const before = older === undefined ? [] : olderCandles(older, gaps, completeMilliseconds)
      const from = Math.max(floor, fromMilliseconds)
      const previousClose = before.at(-1)?.lastClose ?? memory.closeBefore(step, from)
      const source = { bars: memory.bars(step), previousClose, gaps, completeMilliseconds }
      return [...before, ...candlesIn({ interval, fromMilliseconds: from, untilMilliseconds }, source)]
    }
    const minute = startOf(completeMilliseconds, MINUTE_MILLISECONDS)
    const key = [load, memory.version, interval, fromMilliseconds, untilMilliseconds, minute].join(' ')
    return { key: older === undefined ? key : undefined, candles }
  }

  /** The candles before the memory. Undefined: there are none. */
  async #older({ market }: Replica, range: CandleRange): Promise<OlderCandles | undefined> {
    if (range.fromMilliseconds >= range.untilMilliseconds) return undefined
    return { range, stored: await readOlderCandles(this.#options.db, market, INTERVALS[range.interval], range) }
  }

  /** The executions of the last 24 hours. Undefined: they are not known yet. */
  async lastDay(replica: Replica): Promise<DayTotals | undefined> {
    const known = await this.#known(replica)
    if (known === undefined) return undefined
    return known.memory.lastDay(this.#now(replica))
  }

  /** Commit times may be ahead of the wall clock. */
  #now({ instant }: Replica): number {
    return Math.max(this.#options.clock.wallInstant().milliseconds, instant.milliseconds)
  }

  /** Every commit before this time has arrived here. */
  #complete({ instant }: Replica): number {
    const { clock, delayMilliseconds } = this.#options
    return Math.max(clock.wallInstant().milliseconds - delayMilliseconds, instant.milliseconds)
  }

  #rangeOf(query: CandleQuery, memory: CandleMemory, nowMilliseconds: number): CandleRange | undefined {
    const { interval, fromMilliseconds, toMilliseconds, limit } = query
    const { milliseconds, step } = INTERVALS[interval]
    const alignUp = (time: number) => startOf(time + milliseconds - 1, milliseconds)
    const first = memory.firstExecutedMilliseconds
    if (first === undefined) return undefined
    const keptDays = step === MINUTE_MILLISECONDS ? MINUTE_BARS_DAYS : this.#options.retentionDays()
    const earliest = Math.max(startOf(first, milliseconds), alignUp(nowMilliseconds - keptDays * DAY_MILLISECONDS))
    const end = startOf(nowMilliseconds, milliseconds) + milliseconds
    const to = Math.min(end, toMilliseconds === undefined ? end : alignUp(toMilliseconds))
    const length = limit * milliseconds
    const from = fromMilliseconds === undefined ? to - length : alignUp(fromMilliseconds)
    const start = Math.max(earliest, from)
    const until = Math.min(to, start + length)
    return start < until ? { interval, fromMilliseconds: start, untilMilliseconds: until } : undefined
  }

  /** The market's memory with everything that its replica has. */
  async #known(replica: Replica): Promise<FollowedMarket | undefined> {
    const { symbol } = replica.market
    const now = this.#options.clock.monotonicMilliseconds()
    let known = this.#markets.get(symbol)
    if (known === undefined) {
      known = {
        memory: undefined,
        loading: undefined,
        readMilliseconds: -READ_MILLISECONDS,
        askedMilliseconds: 0,
        load: 0,
      }
      this.#markets.set(symbol, known)
    }
    known.askedMilliseconds = now
    if (known.memory?.follow(replica) === false) known.memory = undefined
    if (known.memory?.isOutdated !== false) await this.#read(known, replica)
    // Executions came while the store was read.
    const { memory, load } = known
    return memory?.follow(replica) ? { memory, load, completeMilliseconds: this.#complete(replica) } : undefined
  }

  /** Reads the store, once for all requests, and not more than once a second. */
  async #read(known: KnownMarket, replica: Replica): Promise<void> {
    const now = this.#options.clock.monotonicMilliseconds()
    if (known.loading === undefined) {
      if (now - known.readMilliseconds < READ_MILLISECONDS) return
      known.readMilliseconds = now
      known.loading = this.#load(known, replica).finally(() => {
        known.loading = undefined
      })
    }
    try {
      await known.loading
    } catch (error) {
      // The earlier leader's view stays until the store answers.
      if (!(error instanceof StoreUnavailable) || known.memory === undefined) throw error
    }
  }

  async #load(known: KnownMarket, replica: Replica): Promise<void> {
    const { db } = this.#options
    const stored = await readCandles(db, replica.market, BARS_KEPT, this.#now(replica))
    if (stored === undefined) return
    const closes = new Map<Step, number | undefined>()
    for (const [step, floor] of stored.floors) closes.set(step, await readCloseBefore(db, replica.market, floor))
    const memory = CandleMemory.after(replica, stored, closes)
    if (memory === undefined) return
    known.memory = memory
    known.load = ++this.#loads
  }

  #followAll(): void {
    const now = this.#options.clock.monotonicMilliseconds()
    for (const [symbol, known] of this.#markets) {
      const isForgotten = now - known.askedMilliseconds > KEPT_MILLISECONDS && known.loading === undefined
      if (isForgotten) this.#markets.delete(symbol)
      else if (known.memory?.follow(known.memory.replica) === false) known.memory = undefined
      else known.memory?.dropOld()
    }
    this.#timer = this.#options.clock.schedule(FOLLOW_MILLISECONDS, () => this.#followAll())
  }
}

function olderCandles({ range, stored }: OlderCandles, gaps: readonly Gap[], completeMilliseconds: number): Candle[] {
  return candlesIn(range, { ...stored, gaps: mergedGaps([...gaps, ...stored.gaps]), completeMilliseconds })
}

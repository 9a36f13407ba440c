/**
 * Several sources' books as one, implemented literally from the rule: Maps, sorted on every read, every level compared
 * with every level shown before it. It is the aggregate's oracle, and shares no code with it.
 */
import type { Scaled } from '../../src/platform/base/decimal.ts'
import type { AggregationPolicy } from '../../src/streaming/market/aggregate.ts'
import {
  ASK,
  BID,
  type Execution,
  type LevelChange,
  type LevelVenues,
  type MarketEvent,
} from '../../src/streaming/market/event.ts'
import { NaiveBook } from './naive-book.ts'

interface NaiveSource {
  /** Undefined while the source has no valid book. */
  book: NaiveBook | undefined
  isExcluded: boolean
  readonly name: string
  readonly maxAge: number
  /** Its last book message's time. */
  heardAt: number
  /** The time of its last best-price change, or of its last trade. */
  movedAt: number
}

/** A message's effects besides its level changes. */
export interface NaiveStep {
  readonly violates: boolean
  readonly executions: readonly Execution[]
  readonly missed: boolean
}

export class NaiveAggregate {
  readonly #sources: NaiveSource[]
  readonly #policy: AggregationPolicy
  /** Levels that the last read omitted because they cross. */
  hiddenCount = 0

  /** @param maxAges in milliseconds, one per source, in configuration order */
  constructor(maxAges: readonly number[], policy: AggregationPolicy = 'recency') {
    this.#policy = policy
    this.#sources = maxAges.map((maxAge, index) => {
      return { name: `venue${index}`, book: undefined, isExcluded: false, maxAge, heardAt: 0, movedAt: 0 }
    })
  }

  get liveCount(): number {
    return this.#sources.filter(({ book }) => book !== undefined).length
  }

  get excludedCount(): number {
    return this.#sources.filter(({ isExcluded }) => isExcluded).length
  }

  offer(sourceNumber: number, event: MarketEvent, now: number): NaiveStep {
    const step = this.#offer(this.#sources[sourceNumber]!, event, now)
    const live = this.#sources.filter(({ book }) => book !== undefined)
    for (const source of this.#sources) if (source.book === undefined) source.isExcluded = false
    if (live.every(({ isExcluded }) => isExcluded)) for (const source of live) source.isExcluded = false
    return step
  }

  #offer(source: NaiveSource, event: MarketEvent, now: number): NaiveStep {
    if (event.type === 'missed') return { violates: false, executions: [], missed: true }
    if (event.type === 'lost') {
      source.book = undefined
      return { violates: false, executions: [], missed: false }
    }
    const executions = event.type === 'update' ? event.executions : []
    const before = source.book
    if (event.type === 'update' && before === undefined) return { violates: false, executions, missed: false }
    const levels = event.type === 'snapshot' ? event.levels : event.changes
    const after = event.type === 'snapshot' ? new NaiveBook() : before!.copy()
    after.apply(levels)
    const violates = levels.some(({ price, amount }) => amount < 0 || price < 1) || isCrossed(after.levels(0))
    if (violates) {
      source.book = undefined
      return { violates, executions, missed: false }
    }
    source.book = after
    const isNew = before === undefined
    if (isNew || executions.length > 0 || bestOf(before) !== bestOf(after)) source.movedAt = now
    if (event.type === 'snapshot' || levels.length > 0) {
      source.heardAt = now
      source.isExcluded = false
    }
    if (isNew || text(before.levels(0)) !== text(after.levels(0))) {
      for (const other of this.#sources) {
        if (other.book !== undefined && now - other.heardAt > other.maxAge) other.isExcluded = true
      }
    }
    return { violates, executions, missed: false }
  }

  /** All shown levels, in book order. */
  levels(): LevelChange[] {
    const total = new NaiveBook()
    for (const { side, price, amount } of this.#shown()) {
      total.apply([{ side, price, amount: sum(total.amount(side, price), amount) }])
    }
    return total.levels(0)
  }

  /** Each source's share (`venue0` and so on) of the shown levels, in book order and then source order. */
  shares(): LevelVenues[] {
    const shown = this.#shown()
    return this.levels().map(({ side, price }) => {
      const parts = shown.filter((level) => level.side === side && level.price === price)
      const names = this.#sources.map(({ name }) => name).filter((name) => parts.some((part) => part.name === name))
      return { side, price, venues: names.map((name) => [name, parts.find((part) => part.name === name)!.amount]) }
    })
  }

  /** Each source's shown levels. */
  #shown(): (LevelChange & { name: string })[] {
    const shown: (LevelChange & { name: string })[] = []
    this.hiddenCount = 0
    const ranked = this.#policy === 'priority' ? this.#sources : this.#sources.toSorted((a, b) => b.movedAt - a.movedAt)
    for (const { name, book, isExcluded } of ranked) {
      if (isExcluded) continue
      const before = [...shown]
      for (const level of book?.levels(0) ?? []) {
        if (before.some((other) => crosses(level, other))) this.hiddenCount += 1
        else shown.push({ ...level, name })
      }
    }
    return shown
  }
}

/** A book's best prices. */
function bestOf(book: NaiveBook): string {
  return book
    .levels(1)
    .map(({ side, price }) => `${side} ${price}`)
    .join()
}

function crosses(left: LevelChange, right: LevelChange): boolean {
  if (left.side === right.side) return false
  return left.side === BID ? left.price >= right.price : right.price >= left.price
}

export function isCrossed(levels: readonly LevelChange[]): boolean {
  return levels.some((bid) => bid.side === BID && levels.some((ask) => ask.side === ASK && bid.price >= ask.price))
}

function sum(left: Scaled, right: Scaled): Scaled {
  const exact = BigInt(left) + BigInt(right)
  return exact > BigInt(Number.MAX_SAFE_INTEGER) ? exact : Number(exact)
}

function text(levels: readonly LevelChange[]): string {
  return levels.map(({ side, price, amount }) => `${side} ${price} ${amount}`).join()
}

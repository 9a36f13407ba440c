/**
 * Several sources' books as one, as the rule is written: Maps, sorted whenever they are read, every level compared with
 * every level shown before it. The oracle of the real one; it shares no code with it.
 */
import type { Scaled } from '../../src/base/decimal.ts'
import { ASK, BID, type Execution, type LevelChange, type MarketEvent } from '../../src/market/event.ts'
import { NaiveBook } from './naive-book.ts'

interface NaiveSource {
  /** Undefined while nobody vouches for it. */
  book: NaiveBook | undefined
  /** Number of the message that last changed its book. */
  changedAt: number
}

/** What a message should do beside what it does to the levels. */
export interface NaiveStep {
  readonly violates: boolean
  readonly executions: readonly Execution[]
  readonly missed: boolean
}

export class NaiveAggregate {
  readonly #sources: NaiveSource[]
  #messageNumber = 0
  /** Levels that the last reading left out because they cross. */
  hiddenCount = 0

  constructor(sourceCount: number) {
    this.#sources = Array.from({ length: sourceCount }, () => ({ book: undefined, changedAt: 0 }))
  }

  get liveCount(): number {
    return this.#sources.filter(({ book }) => book !== undefined).length
  }

  offer(sourceNumber: number, event: MarketEvent): NaiveStep {
    this.#messageNumber += 1
    const source = this.#sources[sourceNumber]!
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
    source.book = violates ? undefined : after
    if (before === undefined || text(before.levels(0)) !== text(after.levels(0))) source.changedAt = this.#messageNumber
    return { violates, executions, missed: false }
  }

  /** All levels that are shown, in book order. */
  levels(): LevelChange[] {
    const shown: LevelChange[] = []
    this.hiddenCount = 0
    const newestFirst = this.#sources.toSorted((left, right) => right.changedAt - left.changedAt)
    for (const { book } of newestFirst) {
      const newer = [...shown]
      for (const level of book?.levels(0) ?? []) {
        if (newer.some((other) => crosses(level, other))) this.hiddenCount += 1
        else shown.push(level)
      }
    }
    const total = new NaiveBook()
    for (const { side, price, amount } of shown) {
      total.apply([{ side, price, amount: sum(total.amount(side, price), amount) }])
    }
    return total.levels(0)
  }
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

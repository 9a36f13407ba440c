/** The history of a market, commit by commit, kept with the naive book: the oracle of the stream. */
import { millisecondText } from '../../src/base/clock.ts'
import { formatDecimal } from '../../src/base/decimal.ts'
import type { Bus } from '../../src/channel/bus.ts'
import { BID, type LevelChange, type MarketDefinition } from '../../src/market/event.ts'
import { NaiveBook } from './naive-book.ts'

export class MarketHistory {
  #market: MarketDefinition
  #book = new NaiveBook()
  readonly #books = new Map<string, string>()
  readonly #tops = new Map<string, string>()
  readonly #executions = new Map<string, number>()
  /** Gaps are numbered too, so that executions after a gap are never expected before earlier ones. */
  #executionCount = 0
  gapCount = 0
  readonly #times: string[] = []
  lastTime = ''
  /** Whether a source is connected, and whether the book was withdrawn because none is. */
  isLive = false
  isWithdrawn = false
  withdrawals = 0

  constructor(market: MarketDefinition, bus: Bus) {
    this.#market = market
    bus.subscribe(market.symbol, (message) => {
      if (message.type === 'state' || message.type === 'withdrawal') throw new Error('nothing is lost in one process')
      if (message.type === 'status') {
        this.isLive = message.live
        if (message.live) this.isWithdrawn = false
        return
      }
      this.#book.apply(message.changes)
      if (message.withdraws) this.#withdraw()
      this.lastTime = millisecondText(message.milliseconds)
      this.#times.push(this.lastTime)
      const levels = this.#book.levels(this.#market.depth)
      this.#books.set(this.lastTime, JSON.stringify([this.#side(levels, true), this.#side(levels, false)]))
      const best = (isBid: boolean) =>
        this.#side(levels, isBid)
          .slice(0, 1)
          .map(([price, amount]) => ({ price, amount }))
      this.#tops.set(this.lastTime, JSON.stringify([best(true), best(false)]))
      for (const [place, execution] of message.executions.entries()) {
        if (place === message.missedAt) this.#miss()
        this.#executions.set(formatDecimal(execution.amount, this.#market.amountDecimals), this.#executionCount++)
      }
      if (message.missedAt === message.executions.length) this.#miss()
    })
  }

  /** Restarts the market after its removal: the book is empty, and the earlier history is kept. */
  restart(market: MarketDefinition): void {
    this.#market = market
    this.#book = new NaiveBook()
    this.isLive = false
    this.isWithdrawn = false
  }

  /** Only a book without a source is withdrawn; it becomes empty, whatever the commit contains. */
  #withdraw(): void {
    if (this.isLive) throw new Error('a live book was withdrawn')
    this.isWithdrawn = true
    this.withdrawals += 1
    this.#book = new NaiveBook()
  }

  /** The published view right after the commit of that time, in the verifiers' notation. */
  bookAt(time: string): string | undefined {
    return this.#books.get(time)
  }

  topAt(time: string): string | undefined {
    return this.#tops.get(time)
  }

  /** How many commits after one time, up to another, changed what `what` reads out of the published view or top. */
  changesBetween(after: string, until: string, kind: 'books' | 'tops', what: (text: string) => string): number {
    let later: string | undefined
    let changes = 0
    for (let index = this.#times.length - 1; index >= 0; index--) {
      const time = this.#times[index] as string
      if (time > until) continue
      const text = what((kind === 'books' ? this.#books : this.#tops).get(time) as string)
      if (later !== undefined && text !== later) changes += 1
      if (time <= after) break
      later = text
    }
    return changes
  }

  executionIndex(amount: string): number {
    const index = this.#executions.get(amount)
    if (index === undefined) throw new Error(`no execution of ${amount} ever happened`)
    return index
  }

  /** The number of executions and gaps so far. */
  get executionCount(): number {
    return this.#executionCount
  }

  get bookNow(): string | undefined {
    return this.#books.get(this.lastTime)
  }

  #miss(): void {
    this.#executionCount += 1
    this.gapCount += 1
  }

  #side(levels: readonly LevelChange[], isBid: boolean): [string, string][] {
    return levels
      .filter(({ side }) => (side === BID) === isBid)
      .map(({ price, amount }) => [
        formatDecimal(price, this.#market.priceDecimals),
        formatDecimal(amount, this.#market.amountDecimals),
      ])
  }
}

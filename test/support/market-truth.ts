/** What really happened to a market, commit by commit, kept with the naive book: the oracle of the stream. */
import { millisecondText } from '../../src/base/clock.ts'
import { formatDecimal } from '../../src/base/decimal.ts'
import type { Bus } from '../../src/channel/bus.ts'
import { BID, type LevelChange, type MarketDefinition } from '../../src/market/event.ts'
import { NaiveBook } from './naive-book.ts'

export class MarketTruth {
  readonly market: MarketDefinition
  readonly #book = new NaiveBook()
  readonly #books = new Map<string, string>()
  readonly #tops = new Map<string, string>()
  readonly #executions = new Map<string, number>()
  lastTime = ''

  constructor(market: MarketDefinition, bus: Bus) {
    this.market = market
    bus.subscribe(market.symbol, (message) => {
      if (message.type !== 'commit') return
      this.#book.apply(message.changes)
      this.lastTime = millisecondText(message.milliseconds)
      const levels = this.#book.levels(market.depth)
      this.#books.set(this.lastTime, JSON.stringify([this.#side(levels, true), this.#side(levels, false)]))
      const best = (isBid: boolean) =>
        this.#side(levels, isBid)
          .slice(0, 1)
          .map(([price, amount]) => ({ price, amount }))
      this.#tops.set(this.lastTime, JSON.stringify([best(true), best(false)]))
      for (const execution of message.executions) {
        this.#executions.set(formatDecimal(execution.amount, market.amountDecimals), this.#executions.size)
      }
    })
  }

  /** The published view right after the commit of that time, as the witness writes it. */
  bookAt(time: string): string | undefined {
    return this.#books.get(time)
  }

  topAt(time: string): string | undefined {
    return this.#tops.get(time)
  }

  executionIndex(amount: string): number {
    const index = this.#executions.get(amount)
    if (index === undefined) throw new Error(`no execution of ${amount} ever happened`)
    return index
  }

  get executionCount(): number {
    return this.#executions.size
  }

  get bookNow(): string | undefined {
    return this.#books.get(this.lastTime)
  }

  #side(levels: readonly LevelChange[], isBid: boolean): [string, string][] {
    return levels
      .filter(({ side }) => (side === BID) === isBid)
      .map(({ price, amount }) => [
        formatDecimal(price, this.market.priceDecimals),
        formatDecimal(amount, this.market.amountDecimals),
      ])
  }
}

/**
 * Follows the events of a market fed by a `PublishingEngine`, as a sequencer and an execution subscriber would: the
 * book while it is trusted, and the execution numbers. None may be repeated, or skipped without `missed`.
 */
import { formatDecimal, type Scaled } from '../../src/platform/base/decimal.ts'
import { BID, type MarketDefinition, type MarketEvent } from '../../src/streaming/market/event.ts'
import { NaiveBook } from './naive-book.ts'
import { ENGINE_DECIMALS } from './publishing-engine.ts'

export class PublicationFollower {
  readonly #market: MarketDefinition
  readonly book = new NaiveBook()
  isLive = false
  /** The last execution's number. Undefined after a reported gap. */
  #last: number | undefined
  #highest = 0
  missed = 0
  executions = 0

  /** @param market its decimals must be at least the engine's */
  constructor(market: MarketDefinition) {
    this.#market = market
  }

  apply(events: readonly MarketEvent[]): void {
    for (const event of events) {
      if (event.type === 'lost') this.isLive = false
      if (event.type === 'missed') {
        this.missed++
        this.#last = undefined
      }
      if (event.type === 'snapshot') {
        this.book.replace(event.levels)
        this.isLive = true
      }
      if (event.type === 'update') {
        if (this.isLive) this.book.apply(event.changes)
        for (const { id } of event.executions) this.#execute(Number(/\d+$/.exec(id ?? '')?.[0]))
      }
    }
  }

  /** The first SNAPSHOT: executions after this one must not be skipped. */
  start(tradeNumber: number): void {
    if (this.executions === 0) this.#last = tradeNumber
  }

  #execute(number: number): void {
    this.executions++
    if (number <= this.#highest) throw new Error(`execution ${number} followed ${this.#highest}`)
    if (this.#last !== undefined && number !== this.#last + 1) throw new Error(`${number} followed ${this.#last}`)
    this.#last = number
    this.#highest = number
  }

  /** As `PublishingEngine.levels`. */
  levels(): ReadonlyMap<string, string> {
    const { priceDecimals, amountDecimals } = this.#market
    const text = (value: Scaled, decimals: number, cut: number) => {
      const exact = formatDecimal(value, decimals)
      return exact.slice(0, exact.length - (decimals - cut))
    }
    return new Map(
      this.book
        .levels(0)
        .map(({ side, price, amount }) => [
          `${side === BID ? 'bids' : 'asks'} ${text(price, priceDecimals, ENGINE_DECIMALS.price)}`,
          text(amount, amountDecimals, ENGINE_DECIMALS.amount),
        ]),
    )
  }
}

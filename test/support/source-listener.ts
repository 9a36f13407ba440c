/** Listens to one of a source's markets like the sequencer: keeps the events and the resulting book. */
import { formatDecimal, type Scaled } from '../../src/platform/base/decimal.ts'
import {
  BID,
  type LevelChange,
  type MarketDefinition,
  type MarketEvent,
  type Side,
} from '../../src/streaming/market/event.ts'
import type { SourceMarket } from '../../src/streaming/sources/source.ts'
import { Waiters } from './waiters.ts'

export class SourceListener {
  readonly market: MarketDefinition
  readonly sourceMarket: SourceMarket
  readonly events: MarketEvent[] = []
  /** The book after each event that changes the book, as text. */
  readonly states: string[] = []
  readonly #levels = [new Map<number, Scaled>(), new Map<number, Scaled>()] as const
  readonly #waiters = new Waiters()

  constructor(venueSymbol: string, market: Partial<MarketDefinition> = {}) {
    this.market = {
      symbol: venueSymbol.replace('/', ''),
      baseAsset: venueSymbol.split('/')[0] ?? '',
      quoteAsset: venueSymbol.split('/')[1] ?? '',
      priceDecimals: 2,
      amountDecimals: 8,
      depth: 10,
      ...market,
    }
    this.sourceMarket = { market: this.market, venueSymbol, listener: (event) => this.#take(event) }
  }

  /** Resolves as soon as the condition holds. It is checked after every event. */
  until(what: string, isMet: () => boolean): Promise<void> {
    return this.#waiters.until(what, isMet)
  }

  /** All `lost` events' reasons. */
  reasons(): string[] {
    return this.events.flatMap((event) => (event.type === 'lost' ? [event.reason] : []))
  }

  count(type: MarketEvent['type']): number {
    return this.events.filter((event) => event.type === type).length
  }

  /** One side's levels as `price:amount`, best first. */
  side(side: Side): string[] {
    const { priceDecimals, amountDecimals } = this.market
    const sign = side === BID ? -1 : 1
    return [...this.#levels[side]]
      .sort(([left], [right]) => sign * (left - right))
      .map(([price, amount]) => `${formatDecimal(price, priceDecimals)}:${formatDecimal(amount, amountDecimals)}`)
  }

  #take(event: MarketEvent): void {
    this.events.push(event)
    if (event.type === 'snapshot' || event.type === 'update') {
      if (event.type === 'snapshot') for (const side of this.#levels) side.clear()
      for (const change of event.type === 'snapshot' ? event.levels : event.changes) this.#apply(change)
      this.states.push(`${this.side(0).join(' ')} | ${this.side(1).join(' ')}`)
    }
    this.#waiters.notify()
  }

  #apply({ side, price, amount }: LevelChange): void {
    if (amount === 0) this.#levels[side].delete(price)
    else this.#levels[side].set(price, amount)
  }
}

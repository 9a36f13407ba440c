/** One of a source's markets, compared with the venue's history after every event. */
import { formatDecimal } from '../../../src/platform/base/decimal.ts'
import { BID, type LevelChange, type MarketEvent } from '../../../src/streaming/market/event.ts'
import type { SourceMarket } from '../../../src/streaming/sources/source.ts'
import { Waiters } from '../waiters.ts'
import { type LevelText, PlainBook } from './plain-book.ts'
import { SymbolVerifier, type VenueHistory } from './venue-history.ts'

/** Precise enough for every recorded pair. */
const DECIMALS = 8

export class FedMarket {
  readonly source: SourceMarket
  readonly verifier: SymbolVerifier
  isLive = false
  readonly reasons: string[] = []
  /** The reports about missing executions. */
  readonly missed: string[] = []
  readonly #depth: number
  readonly #book = new PlainBook()
  readonly #waiters = new Waiters()

  /** `depth`: levels per side in the market and in the comparison. */
  constructor(symbol: string, history: VenueHistory, depth: number) {
    this.#depth = depth
    this.verifier = new SymbolVerifier(symbol, history)
    const name = symbol.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')
    this.source = {
      venueSymbol: symbol,
      market: {
        symbol: name,
        baseAsset: name,
        quoteAsset: 'USD',
        priceDecimals: DECIMALS,
        amountDecimals: DECIMALS,
        depth,
      },
      listener: (event) => {
        this.#take(event)
        this.#waiters.notify()
      },
    }
  }

  /** Resolves as soon as the condition holds. It is checked after every event. */
  until(what: string, isMet: () => boolean): Promise<void> {
    return this.#waiters.until(`${this.verifier.symbol}: ${what}`, isMet)
  }

  #take(event: MarketEvent): void {
    switch (event.type) {
      case 'snapshot':
        this.#book.clear()
        this.isLive = true
        this.#apply(event.levels)
        break
      case 'update':
        for (const { price, amount, executedAtMilliseconds } of event.executions) {
          this.verifier.execute(text(price), text(amount), executedAtMilliseconds ?? 0)
        }
        if (event.changes.length > 0) this.#apply(event.changes)
        break
      case 'lost':
        this.isLive = false
        this.reasons.push(event.reason)
        break
      case 'missed':
        this.missed.push(event.reason)
        this.verifier.missed()
        break
    }
  }

  #apply(changes: readonly LevelChange[]): void {
    if (!this.isLive) this.verifier.problems.push(`${this.verifier.symbol}: an update of a book that is lost`)
    const levels = { bids: [] as LevelText[], asks: [] as LevelText[] }
    for (const { side, price, amount } of changes) {
      levels[side === BID ? 'bids' : 'asks'].push([text(price), text(amount)])
    }
    this.#book.apply(levels)
    this.verifier.look(this.#book.levels(this.#depth))
  }
}

function text(value: number | bigint): string {
  return formatDecimal(value, DECIMALS)
}

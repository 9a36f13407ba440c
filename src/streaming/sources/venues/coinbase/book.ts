/**
 * One Coinbase book: changes are passed on as they arrive, and nothing is trusted before a snapshot. No value is
 * rounded. The connection's frame numbers (`conversation`) prove the changes complete. Levels are not tracked here,
 * because the venue sends neither a checksum nor a depth that would require it. Pure.
 *
 * A complete book has asks at hundreds of millions of times the best price. Asks that the markets cannot hold are kept
 * but not passed on. All asks beyond them are higher still, so the known asks end before them.
 */
import { parseDecimal, type Scaled } from '../../../../platform/base/decimal.ts'
import { ASK, BID, type LevelChange } from '../../../market/event.ts'
import type { BookStep, UnfitLevel, VenueBook, VenueBookOptions } from '../venue.ts'

/** One level as the venue sends it. The quantity is absolute; 0 removes the level. */
export interface CoinbaseLevel {
  readonly side: 'bid' | 'offer'
  readonly price_level: string
  readonly new_quantity: string
}

/** One book message. */
export interface CoinbaseBookData {
  readonly isSnapshot: boolean
  readonly levels: readonly CoinbaseLevel[]
}

/** Digits shown for an invalid price or size. */
const DIGITS_SHOWN_MAX = 40

export class CoinbaseBook implements VenueBook<CoinbaseBookData> {
  readonly #options: VenueBookOptions
  /** Asks that the markets cannot hold, by price. */
  readonly #unfit = new Map<Scaled, UnfitLevel>()
  #isComplete = false

  constructor(options: VenueBookOptions) {
    this.#options = options
  }

  get unfit(): readonly UnfitLevel[] {
    let best: Scaled | undefined
    for (const price of this.#unfit.keys()) if (best === undefined || price < best) best = price
    const level = best === undefined ? undefined : this.#unfit.get(best)
    return level === undefined ? [] : [level]
  }

  apply({ isSnapshot, levels }: CoinbaseBookData): BookStep {
    if (!isSnapshot && !this.#isComplete) return { kind: 'waiting' }
    if (isSnapshot) this.#unfit.clear()
    const changes: LevelChange[] = []
    for (const level of levels) {
      const problem = this.#take(level, changes)
      if (problem === undefined) continue
      this.#isComplete = false
      return { kind: 'wrong', reason: problem }
    }
    if (!isSnapshot) return { kind: 'update', changes }
    this.#isComplete = true
    return { kind: 'snapshot', levels: changes }
  }

  #take({ side, price_level, new_quantity }: CoinbaseLevel, changes: LevelChange[]): string | undefined {
    const { listing, priceMaximum } = this.#options
    const price = parseDecimal(price_level, listing.priceDecimals)
    const amount = parseDecimal(new_quantity, listing.amountDecimals)
    if (typeof price === 'string' || price <= 0) return `cannot take price ${price_level.slice(0, DIGITS_SHOWN_MAX)}`
    if (typeof amount === 'string' || amount < 0) return `cannot take size ${new_quantity.slice(0, DIGITS_SHOWN_MAX)}`
    if (typeof price === 'bigint' || price > priceMaximum) {
      // A bid this high would be the best one: no bid could be reported.
      if (side === 'bid') return `cannot take the best price ${price_level.slice(0, DIGITS_SHOWN_MAX)}`
      if (amount === 0) this.#unfit.delete(price)
      else this.#unfit.set(price, { side: ASK, price: price_level, amount: new_quantity })
      return undefined
    }
    changes.push({ side: side === 'bid' ? BID : ASK, price, amount })
    return undefined
  }
}

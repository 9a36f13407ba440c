/**
 * One Coinbase book: all its levels, whose changes are passed on as they arrive. No value is rounded, and nothing is
 * trusted before a snapshot. The numbers of the frames of the connection (`conversation`) prove that no change is
 * missing; levels are not tracked here, because the venue sends neither a checksum nor a depth that would require it.
 * Pure.
 *
 * A complete book has asks at hundreds of millions of times the best price. Those that the markets cannot hold are kept
 * and not passed on: all asks beyond them are higher still, so the known asks end before them.
 */
import { parseDecimal, type Scaled } from '../../../../platform/base/decimal.ts'
import { ASK, BID, type LevelChange } from '../../../market/event.ts'
import type { BookStep, UnfitLevel, VenueBook, VenueBookOptions } from '../venue.ts'

/** One level as the venue sends it; the quantity is absolute, 0 = removed. */
export interface CoinbaseLevel {
  readonly side: 'bid' | 'offer'
  readonly price_level: string
  readonly new_quantity: string
}

/** One message of a book. */
export interface CoinbaseBookData {
  readonly isSnapshot: boolean
  readonly levels: readonly CoinbaseLevel[]
}

/** Digits that are shown of an invalid price or size. */
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

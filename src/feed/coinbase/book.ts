/**
 * One subscription's book of Coinbase: all its levels, whose changes are handed on as they come. It promises that no
 * value is rounded, and vouches for nothing before a snapshot. It does not follow levels, because the venue sends
 * neither checksum nor depth to follow them for. Pure.
 *
 * `l2update` bears no number. The venue promises every change of a book on one connection, TCP loses none on the way,
 * and a new connection begins with a snapshot, so there is nothing to repair; but a change that the venue itself left
 * out can be seen only when it leaves the book crossed, which the book's reader judges after each whole message.
 */
import { parseDecimal } from '../../base/decimal.ts'
import { ASK, BID, type LevelChange, type Side } from '../../market/event.ts'
import type { BookStep, VenueBook, VenueBookOptions } from '../venue.ts'

export type CoinbaseLevel = readonly [price: string, size: string]
export type CoinbaseChange = readonly [side: 'buy' | 'sell', price: string, size: string]

/** What one message says of a book; sizes are absolute, 0 = gone. */
export type CoinbaseBookData =
  | { readonly isSnapshot: true; readonly bids: readonly CoinbaseLevel[]; readonly asks: readonly CoinbaseLevel[] }
  | { readonly isSnapshot: false; readonly changes: readonly CoinbaseChange[] }

/** A price that cannot be taken is shown so far. */
const DIGITS_SHOWN_MAX = 40

export class CoinbaseBook implements VenueBook<CoinbaseBookData> {
  readonly #options: VenueBookOptions
  #isComplete = false

  constructor(options: VenueBookOptions) {
    this.#options = options
  }

  apply(data: CoinbaseBookData): BookStep {
    if (!data.isSnapshot && !this.#isComplete) return { kind: 'waiting' }
    const changes: LevelChange[] = []
    const problem = data.isSnapshot
      ? (this.#take(BID, data.bids, changes) ?? this.#take(ASK, data.asks, changes))
      : this.#takeChanges(data.changes, changes)
    if (problem !== undefined) {
      this.#isComplete = false
      return { kind: 'wrong', reason: problem }
    }
    if (!data.isSnapshot) return { kind: 'update', changes }
    this.#isComplete = true
    return { kind: 'snapshot', levels: changes }
  }

  #take(side: Side, levels: readonly CoinbaseLevel[], changes: LevelChange[]): string | undefined {
    for (const [price, size] of levels) {
      const problem = this.#takeLevel(side, price, size, changes)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  #takeChanges(all: readonly CoinbaseChange[], changes: LevelChange[]): string | undefined {
    for (const [side, price, size] of all) {
      const problem = this.#takeLevel(side === 'buy' ? BID : ASK, price, size, changes)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  #takeLevel(side: Side, priceText: string, sizeText: string, changes: LevelChange[]): string | undefined {
    const { listing, priceMaximum } = this.#options
    const price = parseDecimal(priceText, listing.priceDecimals)
    const amount = parseDecimal(sizeText, listing.amountDecimals)
    if (typeof price === 'string' || price <= 0) return `cannot take price ${priceText.slice(0, DIGITS_SHOWN_MAX)}`
    // A full book has asks at hundreds of millions of times the best price.
    if (typeof price === 'bigint' || price > priceMaximum) {
      return `price ${priceText.slice(0, DIGITS_SHOWN_MAX)} has no place in a market of so many price decimals`
    }
    if (typeof amount === 'string' || amount < 0) return `cannot take size ${sizeText.slice(0, DIGITS_SHOWN_MAX)}`
    changes.push({ side, price, amount })
    return undefined
  }
}

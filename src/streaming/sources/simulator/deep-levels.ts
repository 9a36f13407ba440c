/**
 * Levels far from the price, for the scenario `deep`: 22,000 bids from three quarters of the starting price down and
 * 22,000 asks from five quarters up, beyond the prices that the traders reach. With those of the traders a book has up
 * to 46,000 levels. Amounts change now and then; no level is removed and none trades. Deterministic.
 */
import { ASK, BID, type LevelChange, type MarketDefinition, type Side } from '../../market/event.ts'
import type { RandomStream } from './random.ts'

/** Levels per side. */
const LEVELS = 22_000
/** One far level changes with one of this number of updates. */
const CHANGE_PARTS = 4

export class DeepLevels {
  readonly #random: RandomStream
  readonly #unit: number
  readonly #start: number
  readonly #step: number
  readonly #amounts: readonly [number[], number[]]

  /** @param start price of the market at its start, in units of its prices */
  constructor({ amountDecimals }: MarketDefinition, start: number, random: RandomStream) {
    this.#random = random
    this.#unit = 10 ** amountDecimals
    this.#start = start
    // The levels of a side lie within half of the starting price; a coarse market has fewer.
    const half = Math.floor(start / 2)
    this.#step = Math.max(1, Math.floor(half / LEVELS))
    const count = Math.min(LEVELS, Math.floor(half / this.#step))
    const amounts = () => Array.from({ length: count }, () => this.#drawAmount())
    this.#amounts = [amounts(), amounts()]
  }

  /** All of them. */
  snapshot(): LevelChange[] {
    return ([BID, ASK] as const).flatMap((side) =>
      this.#amounts[side].map((amount, rank) => ({ side, price: this.#price(side, rank), amount })),
    )
  }

  /** The changes that come with an update; mostly none. */
  step(): LevelChange[] {
    if (!this.#random.chance(1, CHANGE_PARTS)) return []
    const side = this.#random.below(2) as Side
    const amounts = this.#amounts[side]
    if (amounts.length === 0) return []
    const rank = this.#random.below(amounts.length)
    const amount = this.#drawAmount()
    amounts[rank] = amount
    return [{ side, price: this.#price(side, rank), amount }]
  }

  #price(side: Side, rank: number): number {
    const quarters = side === BID ? 3 : 5
    const from = Math.floor((this.#start * quarters) / 4)
    return side === BID ? from - rank * this.#step : from + rank * this.#step
  }

  #drawAmount(): number {
    return 1 + this.#random.below(10 * this.#unit)
  }
}

/**
 * Levels far from the price, for the scenario `deep`: 22,000 bids from three quarters of the starting price down and
 * 22,000 asks from five quarters up, beyond the traders' prices. Together with the traders' levels a book has up to
 * 46,000. Amounts change now and then. No level is removed and none trades. Deterministic.
 */
import { ASK, BID, type LevelChange, type MarketDefinition, type Side } from '../../market/event.ts'
import type { RandomStream } from './random.ts'

/** Levels per side. */
const LEVELS = 22_000
/** One in this many updates changes a far level. */
const CHANGE_PARTS = 4

export class DeepLevels {
  readonly #random: RandomStream
  readonly #unit: number
  readonly #start: number
  readonly #step: number
  readonly #amounts: readonly [number[], number[]]

  /** @param start the market's starting price, in units of its prices */
  constructor({ amountDecimals }: MarketDefinition, start: number, random: RandomStream) {
    this.#random = random
    this.#unit = 10 ** amountDecimals
    this.#start = start
    // A side's levels lie within half the starting price. A coarse market has fewer.
    const half = Math.floor(start / 2)
    this.#step = Math.max(1, Math.floor(half / LEVELS))
    const count = Math.min(LEVELS, Math.floor(half / this.#step))
    const amounts = () => Array.from({ length: count }, () => this.#drawAmount())
    this.#amounts = [amounts(), amounts()]
  }

  /** All far levels. */
  snapshot(): LevelChange[] {
    return ([BID, ASK] as const).flatMap((side) =>
      this.#amounts[side].map((amount, rank) => ({ side, price: this.#price(side, rank), amount })),
    )
  }

  /** The changes for one update, usually none. */
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

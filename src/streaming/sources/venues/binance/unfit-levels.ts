/**
 * One side's levels that the book's integers cannot hold: finer than the book's decimals, or too high. The reported
 * side ends before the best such level. Pure.
 */
import { parseDecimal, type Scaled } from '../../../../platform/base/decimal.ts'
import { BID, type Side } from '../../../market/event.ts'
import type { UnfitLevel, VenueLevel } from '../venue.ts'

/** The most decimals accepted by `parseDecimal`. */
const FINEST_DECIMALS = 40

interface Kept {
  readonly level: UnfitLevel
  /** The last price before it that can be held. */
  readonly end: number
}

export class UnfitLevels {
  readonly #side: Side
  /** Units at the finest decimals per book unit. */
  readonly #unit: bigint
  /** By price at the finest decimals: several texts may denote one price. */
  readonly #levels = new Map<Scaled, Kept>()
  #best: Kept | undefined

  constructor(side: Side, priceDecimals: number) {
    this.#side = side
    this.#unit = 10n ** BigInt(FINEST_DECIMALS - priceDecimals)
  }

  get size(): number {
    return this.#levels.size
  }

  get best(): UnfitLevel | undefined {
    return this.#best?.level
  }

  /** The last reported price; infinite when all levels can be held. */
  get end(): number {
    return this.#best?.end ?? (this.#side === BID ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY)
  }

  /** Each level's `end`. */
  get ends(): number[] {
    return Array.from(this.#levels.values(), ({ end }) => end)
  }

  /** Adds or removes a level. Levels beyond `reach` are not kept. Returns the reason when its price is invalid. */
  change({ price, amount }: VenueLevel, isUnfit: boolean, reach: number): string | undefined {
    const exact = parseDecimal(price, FINEST_DECIMALS)
    if (typeof exact === 'string' || exact <= 0) return `cannot take price ${price}`
    if (isUnfit) {
      const kept = { level: { side: this.#side, price, amount }, end: this.#endBefore(exact) }
      if (isBehind(this.#side, kept.end, reach)) return undefined
      this.#levels.set(exact, kept)
      if (this.#best === undefined || isBehind(this.#side, this.#best.end, kept.end)) this.#best = kept
    } else if (this.#levels.delete(exact)) {
      this.#best = undefined
      for (const kept of this.#levels.values()) {
        if (this.#best === undefined || isBehind(this.#side, this.#best.end, kept.end)) this.#best = kept
      }
    }
    return undefined
  }

  #endBefore(exact: Scaled): number {
    const price = BigInt(exact)
    const end = this.#side === BID ? price / this.#unit + 1n : (price - 1n) / this.#unit
    return end > Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : Number(end)
  }
}

/** Whether a price is worse than another on its side. */
export function isBehind(side: Side, price: number, other: number): boolean {
  return side === BID ? price < other : price > other
}

/**
 * One pair's levels for venues that send the best N per side: at the venue's precision, sorted, cut to the depth after
 * each message. Each call returns exactly the levels that differ, including those that fell out of the depth. Each
 * level is kept as the text the venue sent, because checksums are computed over it. The venue's folder checks a
 * message's checksum or number. Pure.
 *
 * A price that a market cannot hold (an ask a million times the best one, in a market with many decimals) is kept for
 * the checksum and counts towards the depth, but is not reported. All levels beyond it are higher still, so the known
 * book ends there on its side.
 */
import { parseDecimal, type Scaled } from '../../../platform/base/decimal.ts'
import { ASK, BID, type LevelChange, type Side } from '../../market/event.ts'
import type { BestPrices, UnfitLevel, VenueBookOptions, VenueLevel } from './venue.ts'

/** Parallel arrays, best level first. */
interface LevelsSide {
  /** Ascending on both sides: an ask's price, or minus a bid's price. */
  readonly keys: Scaled[]
  readonly amounts: Scaled[]
  /** The text last sent by the venue for each level. */
  readonly sent: VenueLevel[]
}

export class VenueLevels {
  readonly #options: VenueBookOptions
  readonly #sides: readonly [LevelsSide, LevelsSide] = [
    { keys: [], amounts: [], sent: [] },
    { keys: [], amounts: [], sent: [] },
  ]

  constructor(options: VenueBookOptions) {
    this.#options = options
  }

  /** Each side's best level that a market cannot hold. */
  get unfit(): readonly UnfitLevel[] {
    const unfit: UnfitLevel[] = []
    for (const side of [BID, ASK] as const) {
      const { keys, sent } = this.#sides[side]
      const level = sent[keys.findIndex((key) => !this.#fits(key))]
      if (level !== undefined) unfit.push({ ...level, side })
    }
    return unfit
  }

  /** The best prices that every market can hold. */
  get best(): BestPrices {
    const [[bid], [ask]] = [this.#sides[BID].keys, this.#sides[ASK].keys]
    return { ...(bid === undefined ? {} : { bid: priceOf(bid) }), ...(ask === undefined ? {} : { ask: priceOf(ask) }) }
  }

  clear(): void {
    for (const side of this.#sides) cut(side, 0)
  }

  /**
   * Replaces the whole book with a snapshot. Returns all its levels, and the levels that differ from the book before.
   * Otherwise returns the reason why the snapshot is invalid, and the levels are undefined.
   */
  replace(
    bids: readonly VenueLevel[],
    asks: readonly VenueLevel[],
  ): { readonly levels: readonly LevelChange[]; readonly changes: readonly LevelChange[] } | string {
    const before = [BID, ASK].map((side) => this.#amounts(side as Side))
    this.clear()
    const levels = this.apply(bids, asks)
    if (typeof levels === 'string') return levels
    const changes = levels.filter(({ side, price, amount }) => before[side]?.get(price) !== amount)
    const after = [BID, ASK].map((side) => this.#amounts(side as Side))
    for (const side of [BID, ASK] as const) {
      for (const price of before[side]?.keys() ?? []) {
        if (after[side]?.has(price) !== true) changes.push({ side, price, amount: 0 })
      }
    }
    return { levels, changes }
  }

  /**
   * Applies one message (the last entry for a price wins), cuts to the depth, and returns the levels that differ. After
   * `clear` this is the complete book. Returns the reason when the message is invalid; the levels are then undefined.
   */
  apply(bids: readonly VenueLevel[], asks: readonly VenueLevel[]): LevelChange[] | string {
    const changes: LevelChange[] = []
    const problem = this.#applySide(BID, bids, changes) ?? this.#applySide(ASK, asks, changes)
    return problem ?? changes
  }

  /** One side's current levels, for checksums. */
  side(side: Side): { readonly [Name in keyof LevelsSide]: Readonly<LevelsSide[Name]> } {
    return this.#sides[side]
  }

  #applySide(side: Side, levels: readonly VenueLevel[], changes: LevelChange[]): string | undefined {
    if (levels.length === 0) return undefined
    const { depth } = this.#options
    const own = this.#sides[side]
    const { keys, amounts } = own
    const amountsBefore = new Map<Scaled, Scaled>()
    for (const level of levels) {
      const problem = this.#applyLevel(side, level, amountsBefore)
      if (problem !== undefined) return problem
    }
    for (let index = depth; index < keys.length; index++) {
      const key = keys[index] as Scaled
      if (!amountsBefore.has(key)) amountsBefore.set(key, amounts[index] as Scaled)
    }
    if (keys.length > depth) cut(own, depth)
    // Every bid below a bid that fits also fits, and so does every ask below an ask that fits.
    const [best] = keys
    if (best !== undefined && !this.#fits(best)) return `cannot take the best price ${own.sent[0]?.price}`
    for (const [key, before] of amountsBefore) {
      if (!this.#fits(key)) continue
      const index = lowerBound(keys, key)
      const amount = keys[index] === key ? (amounts[index] as Scaled) : 0
      if (amount !== before) changes.push({ side, price: priceOf(key) as number, amount })
    }
    return undefined
  }

  #applyLevel(side: Side, level: VenueLevel, amountsBefore: Map<Scaled, Scaled>): string | undefined {
    const { listing } = this.#options
    const { keys, amounts, sent } = this.#sides[side]
    const price = parseDecimal(level.price, listing.priceDecimals)
    const amount = parseDecimal(level.amount, listing.amountDecimals)
    if (typeof price === 'string' || price <= 0) return `cannot take price ${level.price}`
    if (typeof amount === 'string' || amount < 0) return `cannot take amount ${level.amount}`
    const key = side === ASK ? price : -price
    const index = lowerBound(keys, key)
    const isKnown = keys[index] === key
    if (!amountsBefore.has(key)) amountsBefore.set(key, isKnown ? (amounts[index] as Scaled) : 0)
    if (isKnown && amount !== 0) {
      amounts[index] = amount
      sent[index] = level
    } else if (isKnown) {
      keys.splice(index, 1)
      amounts.splice(index, 1)
      sent.splice(index, 1)
    } else if (amount !== 0) {
      keys.splice(index, 0, key)
      amounts.splice(index, 0, amount)
      sent.splice(index, 0, level)
    }
    return undefined
  }

  /** One side's amounts that the markets hold, by price. */
  #amounts(side: Side): Map<number, Scaled> {
    const { keys, amounts } = this.#sides[side]
    const held = keys.flatMap((key, index) =>
      this.#fits(key) ? [[priceOf(key) as number, amounts[index] as Scaled] as const] : [],
    )
    return new Map(held)
  }

  #fits(key: Scaled): boolean {
    return priceOf(key) <= this.#options.priceMaximum
  }
}

/** A key's price, on either side. */
export function priceOf(key: Scaled): Scaled {
  return key < 0 ? -key : key
}

function cut({ keys, amounts, sent }: LevelsSide, length: number): void {
  keys.length = length
  amounts.length = length
  sent.length = length
}

/** First index whose key is not below `key`. */
function lowerBound(keys: readonly Scaled[], key: Scaled): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((keys[middle] as Scaled) < key) low = middle + 1
    else high = middle
  }
  return low
}

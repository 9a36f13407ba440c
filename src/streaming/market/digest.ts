/**
 * A view's digest: a sum over its levels. A client computes the same sum from its own levels to detect a missing
 * update. Digests are computed lazily: a request costs the levels changed since the last one, found in the view's
 * journal. Digests of earlier versions are available as far as the journal reaches. The sum over a whole large view is
 * needed at first, and when the journal does not reach back to the last request. It is computed in slices, which the
 * caller schedules.
 *
 * digest = the sum, modulo 2^64, of a hash of `side|price|amount` over all levels, as 16 hexadecimal digits. The side
 * is `bid` or `ask`, and the numbers are written as in the messages. The hash is 64-bit FNV-1a (draft-eastlake-fnv),
 * followed by MurmurHash3's finaliser fmix64: sums of bare FNV-1a hashes collide when last digits are exchanged. Pure.
 */
import { formatDecimal, type Scaled } from '../../platform/base/decimal.ts'
import { BID, type LevelChange, type MarketDefinition, type Side } from './event.ts'
import type { View } from './view.ts'

/** Levels hashed per slice: about 0.3 us each, 1.1 to 1.5 ms together. */
const SLICE_LEVELS = 4_096

/** How many digests of earlier versions are cached until the view changes. */
const ANSWERS_KEPT = 256

const TWO_TO_32 = 0x1_0000_0000

/** The sum of level hashes modulo 2^64, in two 32-bit halves. */
export class LevelSum {
  readonly #market: Pick<MarketDefinition, 'priceDecimals' | 'amountDecimals'>
  #high = 0
  #low = 0

  constructor(market: Pick<MarketDefinition, 'priceDecimals' | 'amountDecimals'>) {
    this.#market = market
  }

  copy(): LevelSum {
    const copy = new LevelSum(this.#market)
    copy.#high = this.#high
    copy.#low = this.#low
    return copy
  }

  /** Adds (1) or subtracts (-1) a level's hash. A level with amount 0 does not count. */
  count(side: Side, price: number, amount: Scaled, sign: 1 | -1): void {
    if (amount === 0) return
    const { priceDecimals, amountDecimals } = this.#market
    const name = side === BID ? 'bid' : 'ask'
    const { high, low } = hash(
      `${name}|${formatDecimal(price, priceDecimals)}|${formatDecimal(amount, amountDecimals)}`,
    )
    const sum = this.#low + sign * low
    this.#low = sum >>> 0
    this.#high = (this.#high + sign * high + Math.floor(sum / TWO_TO_32)) >>> 0
  }

  /** 16 lower-case hexadecimal digits. */
  toString(): string {
    return half(this.#high) + half(this.#low)
  }
}

interface Seeding {
  readonly version: number
  readonly levels: readonly LevelChange[]
  readonly sum: LevelSum
  position: number
}

export class ViewDigest {
  readonly #view: View
  readonly #market: MarketDefinition
  /** The sum over the view's levels at `#version`. Undefined until it is computed. */
  #sum: LevelSum | undefined
  #version = 0
  #seeding: Seeding | undefined
  readonly #answers = new Map<number, string | undefined>()

  constructor(view: View, market: MarketDefinition) {
    this.#view = view
    this.#market = market
  }

  /** True while the sum over a whole large view is being computed. `seed` must be called then. */
  get seeding(): boolean {
    return this.#seeding !== undefined
  }

  /** Adds the next slice of the levels. */
  seed(): void {
    const seeding = this.#seeding
    if (seeding === undefined) return
    const end = Math.min(seeding.position + SLICE_LEVELS, seeding.levels.length)
    for (; seeding.position < end; seeding.position++) {
      const { side, price, amount } = seeding.levels[seeding.position] as LevelChange
      seeding.sum.count(side, price, amount, 1)
    }
    if (seeding.position < seeding.levels.length) return
    this.#sum = seeding.sum
    this.#version = seeding.version
    this.#seeding = undefined
  }

  /**
   * The view's digest at `version`. Undefined while it is being computed, or when the journal does not reach back that
   * far.
   */
  at(version: number): string | undefined {
    if (!this.#follow()) return undefined
    if (this.#answers.has(version)) return this.#answers.get(version)
    if (this.#answers.size >= ANSWERS_KEPT) this.#answers.clear()
    const answer = this.#digestAt(version)
    this.#answers.set(version, answer)
    return answer
  }

  /** Updates the sum to the current view. False when it has to be computed from the levels first. */
  #follow(): boolean {
    if (this.#sum !== undefined && this.#version === this.#view.version) return true
    this.#answers.clear()
    if (this.#seeding !== undefined) return false
    if (this.#sum !== undefined && this.#move(this.#sum, this.#version, 1)) {
      this.#version = this.#view.version
      return true
    }
    this.#sum = undefined
    const levels = this.#view.levels()
    this.#seeding = { version: this.#view.version, levels, sum: new LevelSum(this.#market), position: 0 }
    if (levels.length <= SLICE_LEVELS) this.seed()
    return this.#sum !== undefined
  }

  #digestAt(version: number): string | undefined {
    const sum = (this.#sum as LevelSum).copy()
    return this.#move(sum, version, -1) ? sum.toString() : undefined
  }

  /**
   * Updates a sum from `version` to the current one (1), or back to `version` (-1). False when the journal does not
   * reach that far.
   */
  #move(sum: LevelSum, version: number, direction: 1 | -1): boolean {
    const differences = this.#view.differencesSince(version)
    if (differences === 'too-old') return false
    for (const { side, price, before, after } of differences) {
      sum.count(side, price, before, direction === 1 ? -1 : 1)
      sum.count(side, price, after, direction)
    }
    return true
  }
}

/** FNV-1a and fmix64 in 32-bit halves: 64-bit arithmetic with bigint took 30 times as long. */
function hash(text: string): { high: number; low: number } {
  let high = 0xcbf29ce4
  let low = 0x84222325
  for (let index = 0; index < text.length; index++) {
    low = (low ^ text.charCodeAt(index)) >>> 0
    // The prime is 2^40 + 0x1b3.
    const product = low * 0x1b3
    high = (Math.imul(high, 0x1b3) + (low << 8) + Math.floor(product / TWO_TO_32)) >>> 0
    low = product >>> 0
  }
  const once = multiply(high, (low ^ (high >>> 1)) >>> 0, 0xff51afd7, 0xed558ccd)
  const twice = multiply(once.high, (once.low ^ (once.high >>> 1)) >>> 0, 0xc4ceb9fe, 0x1a85ec53)
  return { high: twice.high, low: (twice.low ^ (twice.high >>> 1)) >>> 0 }
}

/** The product of two 64-bit numbers, modulo 2^64. */
function multiply(high: number, low: number, byHigh: number, byLow: number): { high: number; low: number } {
  const cross = Math.imul(high, byLow) + Math.imul(low, byHigh) + highProduct(low, byLow)
  return { high: cross >>> 0, low: Math.imul(low, byLow) >>> 0 }
}

/** The upper 32 bits of two 32-bit numbers' product. */
function highProduct(left: number, right: number): number {
  const leftLow = left & 0xffff
  const leftHigh = left >>> 16
  const rightLow = right & 0xffff
  const rightHigh = right >>> 16
  const first = leftHigh * rightLow
  const second = leftLow * rightHigh
  const middle = ((leftLow * rightLow) >>> 16) + (first & 0xffff) + (second & 0xffff)
  return leftHigh * rightHigh + (first >>> 16) + (second >>> 16) + (middle >>> 16)
}

function half(value: number): string {
  return value.toString(16).padStart(8, '0')
}

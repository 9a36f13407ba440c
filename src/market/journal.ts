/**
 * The journal of one view: for every change, the version that made it and the amount the level had BEFORE. The first
 * entry of a level after a version is therefore its amount at that version, which together with the view now gives the
 * exact difference of the two. The journal forgets its oldest entries when it is full, and a version of which one
 * entry is forgotten counts as forgotten whole: it never answers from half a version. It never holds amounts of now.
 *
 * Entries lie in parallel arrays used as a ring, so that writing one allocates nothing.
 */
import { assert } from '../base/assert.ts'
import type { Scaled } from '../base/decimal.ts'
import type { Side } from './event.ts'

/** 2^32 divided by the golden ratio: spreads neighbouring prices over the table (Knuth, volume 3, section 6.4). */
const HASH_FACTOR = 0x9e3779b1
const INT32_MAX = 2 ** 31 - 1

/** Receives one level that changed, with the amount it had at the version asked for. */
export type AmountBeforeVisitor = (side: Side, price: number, before: Scaled) => void

export class Journal {
  #versions: Float64Array
  #sides: Uint8Array
  #prices: Float64Array
  #befores: Scaled[]
  /** Capacity - 1; the capacity is a power of two, so a position wraps by masking. */
  #mask: number
  #oldest = 0
  #count = 0
  #version = 0
  /** The earliest version that `visitSince` can start from: everything that changed later is still here. */
  #reach = 0
  /**
   * Hash table of the levels that one `visitSince` has met: a slot holds `#seenBase` + the position of the entry, and
   * what is below the base is left over from earlier calls, so nothing is cleared between them.
   */
  #seen: Int32Array | undefined
  #seenBase = 0

  /** Keeps at least `entriesMinimum` entries, which is brought up to a power of two. */
  constructor(entriesMinimum: number) {
    const capacity = powerOfTwo(entriesMinimum)
    this.#mask = capacity - 1
    this.#versions = new Float64Array(capacity)
    this.#sides = new Uint8Array(capacity)
    this.#prices = new Float64Array(capacity)
    this.#befores = new Array<Scaled>(capacity).fill(0)
  }

  get version(): number {
    return this.#version
  }

  /** Forgets everything and stands at `version`. */
  reset(version: number): void {
    this.#version = version
    this.#reach = version
    this.#oldest = 0
    this.#count = 0
  }

  /** Moves to a later version, with room for `entries` entries in all. What `record` gets next belongs to it. */
  advance(version: number, entries: number): void {
    assert(version > this.#version, 'a journal only moves to a later version')
    this.#version = version
    if (entries > this.#mask + 1) this.#grow(entries)
  }

  record(side: Side, price: number, before: Scaled): void {
    if (this.#count > this.#mask) {
      this.#reach = this.#versions[this.#oldest]!
      this.#oldest = (this.#oldest + 1) & this.#mask
      this.#count--
    }
    const position = (this.#oldest + this.#count) & this.#mask
    this.#versions[position] = this.#version
    this.#sides[position] = side
    this.#prices[position] = price
    this.#befores[position] = before
    this.#count++
  }

  /**
   * Visits every level that has an entry after `version`, once, with its amount at that version; in no order.
   * False, and nothing visited, when the journal does not reach back that far.
   */
  visitSince(version: number, visit: AmountBeforeVisitor): boolean {
    assert(version <= this.#version, 'a journal knows nothing of a version to come')
    if (version < this.#reach) return false
    const start = this.#firstAfter(version)
    const seen = this.#emptySeen()
    for (let index = start; index < this.#count; index++) {
      const position = (this.#oldest + index) & this.#mask
      const side = this.#sides[position] as Side
      const price = this.#prices[position]!
      if (this.#note(seen, position, side, price)) visit(side, price, this.#befores[position]!)
    }
    return true
  }

  /** Index, counted from the oldest entry, of the first entry later than `version`. */
  #firstAfter(version: number): number {
    let low = 0
    let high = this.#count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#versions[(this.#oldest + middle) & this.#mask]! <= version) low = middle + 1
      else high = middle
    }
    return low
  }

  /** A table without a level in it, of twice the capacity so that chains stay short. */
  #emptySeen(): Int32Array {
    const capacity = this.#mask + 1
    const next = this.#seenBase + capacity
    if (this.#seen?.length === capacity * 2 && next + capacity <= INT32_MAX) {
      this.#seenBase = next
      return this.#seen
    }
    this.#seenBase = 1
    this.#seen = new Int32Array(capacity * 2)
    return this.#seen
  }

  /** Notes the level of an entry; false when an entry of the same level was noted before. */
  #note(seen: Int32Array, position: number, side: Side, price: number): boolean {
    const last = seen.length - 1
    let slot = (Math.imul(price | 0, HASH_FACTOR) >>> Math.clz32(last)) ^ side
    for (let other = seen[slot]! - this.#seenBase; other >= 0; other = seen[slot]! - this.#seenBase) {
      if (this.#prices[other] === price && this.#sides[other] === side) return false
      slot = (slot + 1) & last
    }
    seen[slot] = this.#seenBase + position
    return true
  }

  #grow(entries: number): void {
    const capacity = powerOfTwo(entries)
    const versions = new Float64Array(capacity)
    const sides = new Uint8Array(capacity)
    const prices = new Float64Array(capacity)
    const befores = new Array<Scaled>(capacity).fill(0)
    for (let index = 0; index < this.#count; index++) {
      const position = (this.#oldest + index) & this.#mask
      versions[index] = this.#versions[position]!
      sides[index] = this.#sides[position]!
      prices[index] = this.#prices[position]!
      befores[index] = this.#befores[position]!
    }
    this.#versions = versions
    this.#sides = sides
    this.#prices = prices
    this.#befores = befores
    this.#mask = capacity - 1
    this.#oldest = 0
  }
}

function powerOfTwo(minimum: number): number {
  let value = 1
  while (value < minimum) value *= 2
  return value
}

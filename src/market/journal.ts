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
  /** The earliest version that `amountsAt` can go back to: everything that changed later is still here. */
  #reach = 0

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
   * Every level that has an entry after `version`, with its amount at that version, by price: bids, then asks.
   * 'too-old' when the journal does not reach back that far.
   */
  amountsAt(version: number): readonly [bids: Map<number, Scaled>, asks: Map<number, Scaled>] | 'too-old' {
    const amounts = [new Map<number, Scaled>(), new Map<number, Scaled>()] as const
    // Latest first, so that of each level the first entry after the version is what stays.
    const entries = this.readBack(version, 0, (side, price, before) => amounts[side].set(price, before))
    return entries === 'too-old' ? 'too-old' : amounts
  }

  /**
   * Visits the entries after `version`, the latest first, without the `skipped` latest. Returns how many there are with
   * these, or 'too-old' when the journal does not reach back that far.
   */
  readBack(
    version: number,
    skipped: number,
    visit: (side: Side, price: number, before: Scaled, version: number) => void,
  ): number | 'too-old' {
    assert(version <= this.#version, 'a journal knows nothing of a version to come')
    if (version < this.#reach) return 'too-old'
    const first = this.#firstAfter(version)
    for (let index = this.#count - skipped - 1; index >= first; index--) {
      const position = (this.#oldest + index) & this.#mask
      visit(this.#sides[position] as Side, this.#prices[position]!, this.#befores[position]!, this.#versions[position]!)
    }
    return this.#count - first
  }

  /** How many entries are later than `version`, of those that are kept. */
  entriesSince(version: number): number {
    return this.#count - this.#firstAfter(version)
  }

  /** How many later versions than `version` have an entry; 'too-old' when the journal does not reach back that far. */
  commitsSince(version: number): number | 'too-old' {
    if (version < this.#reach) return 'too-old'
    let commits = 0
    let last = version
    for (let index = this.#firstAfter(version); index < this.#count; index++) {
      const entryVersion = this.#versions[(this.#oldest + index) & this.#mask]!
      if (entryVersion !== last) commits += 1
      last = entryVersion
    }
    return commits
  }

  /** Index, from the oldest, of the first entry after `version`. */
  #firstAfter(version: number): number {
    let low = 0
    let high = this.#count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#versions[(this.#oldest + middle) & this.#mask]! > version) high = middle
      else low = middle + 1
    }
    return low
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

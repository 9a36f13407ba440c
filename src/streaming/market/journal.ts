/**
 * One view's journal: for every change, its version and the level's amount BEFORE it. So a level's first entry after a
 * version is its amount at that version. Together with the current view, this gives the exact difference. A full
 * journal drops its oldest entries. A version with a dropped entry counts as dropped completely, so no answer is built
 * from an incomplete version. Current amounts are not stored.
 *
 * Entries are in parallel arrays used as a ring, so that writing one allocates nothing. The arrays are allocated with
 * the first version, so a market without commits takes no memory for them. Pure.
 */
import { assert } from '../../platform/base/assert.ts'
import type { Scaled } from '../../platform/base/decimal.ts'
import type { Side } from './event.ts'

const NONE = new Float64Array()
const NO_SIDES = new Uint8Array()

export class Journal {
  readonly #entriesMinimum: number
  #versions = NONE
  #sides = NO_SIDES
  #prices = NONE
  #befores: Scaled[] = []
  /** Capacity - 1. The capacity is a power of two, so a position wraps by masking. -1 before the first version. */
  #mask = -1
  #oldest = 0
  #count = 0
  #version = 0
  /** The earliest version that `amountsAt` can return: all later changes are still stored. */
  #reach = 0

  /** @param entriesMinimum the least number of entries to keep, rounded up to a power of two */
  constructor(entriesMinimum: number) {
    this.#entriesMinimum = entriesMinimum
  }

  get version(): number {
    return this.#version
  }

  /** Drops all entries. The current version becomes `version`. */
  reset(version: number): void {
    this.#version = version
    this.#reach = version
    this.#oldest = 0
    this.#count = 0
  }

  /** Begins a later version, which the next recorded entries belong to. The capacity becomes at least `entries`. */
  advance(version: number, entries: number): void {
    assert(version > this.#version, 'a journal only moves to a later version')
    this.#version = version
    if (entries > this.#mask + 1 || this.#mask < 0) this.#grow(Math.max(entries, this.#entriesMinimum))
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
   * Every level with an entry after `version`, with its amount at that version, by price: bids, then asks. `too-old`
   * when the journal does not reach back that far.
   */
  amountsAt(version: number): readonly [bids: Map<number, Scaled>, asks: Map<number, Scaled>] | 'too-old' {
    const amounts = [new Map<number, Scaled>(), new Map<number, Scaled>()] as const
    // Latest first, so each level's first entry after the version remains.
    const entries = this.readBack(version, 0, (side, price, before) => amounts[side].set(price, before))
    return entries === 'too-old' ? 'too-old' : amounts
  }

  /**
   * Visits the entries after `version`, latest first, except the `skipped` latest ones. Returns the entry count
   * including the skipped ones, or `too-old` when the journal does not reach back that far.
   */
  readBack(
    version: number,
    skipped: number,
    visit: (side: Side, price: number, before: Scaled, version: number) => void,
  ): number | 'too-old' {
    assert(version <= this.#version, 'a version later than the current one was requested')
    if (version < this.#reach) return 'too-old'
    const first = this.#firstAfter(version)
    for (let index = this.#count - skipped - 1; index >= first; index--) {
      const position = (this.#oldest + index) & this.#mask
      visit(this.#sides[position] as Side, this.#prices[position]!, this.#befores[position]!, this.#versions[position]!)
    }
    return this.#count - first
  }

  /** How many stored entries are later than `version`. */
  entriesSince(version: number): number {
    return this.#count - this.#firstAfter(version)
  }

  /** How many versions after `version` have an entry; `too-old` when the journal does not reach back that far. */
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

  /** The first entry after `version`, as an index from the oldest. */
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

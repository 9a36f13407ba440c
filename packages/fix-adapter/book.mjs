/**
 * One market's book: its entries (price levels or orders) by key, the published entries, and the difference between
 * them. The published book is never crossed: where orders may cross, entries at crossing prices are held back. The file
 * knows neither FIX nor the publisher's messages.
 */
import { compareDecimals } from './decimal.mjs'

/** Per market. With more entries, the book is lost. */
export const ENTRIES_MAX = 100_000

/**
 * @typedef {'buy' | 'sell'} Side
 * @typedef {{ readonly side: Side, readonly price: string, readonly amount: string }} Entry
 * @typedef {{ readonly key: string, readonly before: Entry | undefined, readonly after: Entry | undefined }} Change
 */

export class Book {
  /** @type {Map<string, Entry>} */
  #entries = new Map()
  /** @type {Map<string, Entry>} */
  #published = new Map()
  /** Keys whose entry may differ from the published one. @type {Set<string>} */
  #changed = new Set()
  #bids = new Prices()
  #asks = new Prices()
  #isHolding = false

  /** @returns {number} All entries, including those held back. */
  get size() {
    return this.#entries.size
  }

  /** A copy of all entries' keys. */
  keys() {
    return [...this.#entries.keys()]
  }

  /** @param {string} key */
  get(key) {
    return this.#entries.get(key)
  }

  /** Adds an entry, or replaces the entry with this key. @param {string} key @param {Entry} entry */
  set(key, entry) {
    const known = this.#entries.get(key)
    // Most changes are to the amount alone, and leave the price order as it is.
    if (known?.side !== entry.side || known.price !== entry.price) {
      this.delete(key)
      this.#pricesOf(entry.side).add(entry.price)
    }
    this.#entries.set(key, entry)
    this.#changed.add(key)
  }

  /** @param {string} key @returns {boolean} Whether there was one. */
  delete(key) {
    const entry = this.#entries.get(key)
    if (entry === undefined) return false
    this.#entries.delete(key)
    this.#pricesOf(entry.side).remove(entry.price)
    this.#changed.add(key)
    return true
  }

  clear() {
    for (const key of this.keys()) this.delete(key)
  }

  /** Whether the best bid is at or above the best ask, including entries held back. */
  get isCrossed() {
    const { highest } = this.#bids
    const { lowest } = this.#asks
    return highest !== undefined && lowest !== undefined && compareDecimals(highest, lowest) >= 0
  }

  /** Publishes the differences and returns them, at most one change per key. */
  publish() {
    const isHolding = this.isCrossed
    const keys = isHolding || this.#isHolding ? this.#allKeys() : this.#changed
    /** @type {Change[]} */
    const changes = []
    for (const key of keys) {
      const before = this.#published.get(key)
      const entry = this.#entries.get(key)
      const after = entry !== undefined && isHolding && this.#isCrossing(entry) ? undefined : entry
      if (isSame(before, after)) continue
      if (after === undefined) this.#published.delete(key)
      else this.#published.set(key, after)
      changes.push({ key, before, after })
    }
    this.#changed.clear()
    this.#isHolding = isHolding
    return changes
  }

  /** The published entries. @returns {IterableIterator<[string, Entry]>} */
  published() {
    return this.#published.entries()
  }

  #allKeys() {
    return new Set([...this.#entries.keys(), ...this.#published.keys()])
  }

  /** @param {Entry} entry */
  #isCrossing({ side, price }) {
    const other = side === 'buy' ? this.#asks.lowest : this.#bids.highest
    if (other === undefined) return false
    return side === 'buy' ? compareDecimals(price, other) >= 0 : compareDecimals(price, other) <= 0
  }

  /** @param {Side} side */
  #pricesOf(side) {
    return side === 'buy' ? this.#bids : this.#asks
  }
}

/** The distinct prices on one side in order, with the number of entries at each. */
class Prices {
  /** Ascending. @type {string[]} */
  #ordered = []
  /** @type {Map<string, number>} */
  #counts = new Map()

  get lowest() {
    return this.#ordered[0]
  }

  get highest() {
    return this.#ordered[this.#ordered.length - 1]
  }

  /** @param {string} price */
  add(price) {
    const count = this.#counts.get(price) ?? 0
    this.#counts.set(price, count + 1)
    if (count === 0) this.#ordered.splice(this.#placeOf(price), 0, price)
  }

  /** @param {string} price */
  remove(price) {
    const count = this.#counts.get(price) ?? 0
    if (count > 1) {
      this.#counts.set(price, count - 1)
      return
    }
    this.#counts.delete(price)
    this.#ordered.splice(this.#placeOf(price), 1)
  }

  /** The price's index, or the index where it would be inserted. @param {string} price */
  #placeOf(price) {
    let low = 0
    let high = this.#ordered.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (compareDecimals(/** @type {string} */ (this.#ordered[middle]), price) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** @param {Entry | undefined} left @param {Entry | undefined} right */
function isSame(left, right) {
  if (left === undefined || right === undefined) return left === right
  return left.side === right.side && left.price === right.price && left.amount === right.amount
}

/**
 * The book of one market: entries (price levels, or orders) by key, what of them is published, and the difference
 * between both. It guarantees that what it publishes is never crossed: while orders may cross, entries at crossing prices
 * are held back. It knows neither FIX nor the messages of the publisher.
 */
import { compareDecimals } from './decimal.mjs'

/** Of one market. Beyond it, the book is lost. */
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
  /** Keys whose entry may differ from what is published. @type {Set<string>} */
  #changed = new Set()
  #bids = new Prices()
  #asks = new Prices()
  #isHolding = false

  /** @returns {number} Entries, also those that are held back. */
  get size() {
    return this.#entries.size
  }

  /** The keys of all entries, at this moment. */
  keys() {
    return [...this.#entries.keys()]
  }

  /** @param {string} key */
  get(key) {
    return this.#entries.get(key)
  }

  /** Adds an entry, or replaces the one of this key. @param {string} key @param {Entry} entry */
  set(key, entry) {
    const known = this.#entries.get(key)
    // Most changes are of the amount alone, and leave the order of the prices as it is.
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

  /** Whether the best bid is at or above the best ask, entries held back included. */
  get isCrossed() {
    const { highest } = this.#bids
    const { lowest } = this.#asks
    return highest !== undefined && lowest !== undefined && compareDecimals(highest, lowest) >= 0
  }

  /** Publishes what differs: returns the changes, at most one of each key. */
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

  /** What is published. @returns {IterableIterator<[string, Entry]>} */
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

/** The distinct prices of one side in order, with the number of entries at each. */
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

  /** Where the price is, or would be. @param {string} price */
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

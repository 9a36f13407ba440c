/**
 * Applies the entries from market data messages (35=W and 35=X) to a book, in one of three ways: `price` (a level is
 * its price), `position` (a level is its place from the best, MDPriceLevel or MDEntryPositionNo) and `order` (an entry
 * has an identifier, MDEntryID or OrderID). It throws a `FeedFault` where an entry contradicts the book. The book must
 * then not be used before the next full refresh.
 */
import { ENTRIES_MAX } from './book.mjs'
import { canonicalDecimal } from './decimal.mjs'

/** @import { Book, Entry, Side } from './book.mjs' */

/**
 * @typedef {Map<number, string>} Fields One entry's fields.
 * @typedef {'price' | 'position' | 'order'} KeyedBy
 * @typedef {object} EntrySettings
 * @property {number} priceDecimals
 * @property {number} amountDecimals
 * @property {KeyedBy} keyedBy
 * @property {number} depth Levels per side requested from the engine, or 0 for all.
 */

/** An engine message that cannot be applied. */
export class FeedFault extends Error {}

const NEW = '0'
const CHANGE = '1'
const DELETE = '2'
const DELETE_THRU = '3'
const DELETE_FROM = '4'
const OVERLAY = '5'

/** MDEntryType: the book's sides, and the empty book. */
const SIDES = new Map(
  /** @type {[string, Side][]} */ ([
    ['0', 'buy'],
    ['1', 'sell'],
  ]),
)
const EMPTY_BOOK = 'J'
/** Orders without an amount that are remembered. */
const EMPTY_ORDERS_MAX = 10_000

export class Entries {
  #settings
  #book
  /** For books by position: from the best price outwards. @type {Record<Side, { price: string, amount: string }[]>} */
  #positions = { buy: [], sell: [] }
  /** Orders without an amount. They are not in the book, but may be changed or deleted. @type {Map<string, Entry>} */
  #emptyOrders = new Map()

  /** @param {EntrySettings} settings @param {Book} book */
  constructor(settings, book) {
    this.#settings = settings
    this.#book = book
  }

  /** Replaces the book with a full refresh's entries. @param {readonly Fields[]} entries */
  replace(entries) {
    this.#book.clear()
    this.#positions = { buy: [], sell: [] }
    this.#emptyOrders.clear()
    const { keyedBy } = this.#settings
    const levels = entries.filter((fields) => SIDES.has(fields.get(269) ?? ''))
    const ordered = keyedBy === 'position' ? levels.sort((left, right) => placeOf(left) - placeOf(right)) : levels
    for (const fields of ordered) {
      if (keyedBy === 'position') this.#sideOf(fields).push(this.#level(fields))
      else if (keyedBy === 'order') this.#addOrder(fields, sideOf(fields))
      else this.#addLevel(fields, sideOf(fields))
    }
    if (keyedBy === 'position') this.#copyPositions()
    this.#checkSize()
  }

  /** Applies an incremental refresh's entries, in order. @param {readonly Fields[]} entries */
  change(entries) {
    const { keyedBy } = this.#settings
    for (const fields of entries) {
      const type = fields.get(269) ?? this.#typeOfOrder(fields)
      // FIX lets changes and deletions name only 278. If they were skipped, deleted levels would stay in the book.
      if (type === undefined) throw new FeedFault('MDEntryType is missing, and the entry names no known order')
      if (type === EMPTY_BOOK) this.replace([])
      const side = SIDES.get(type)
      if (side === undefined) continue
      if (keyedBy === 'position') this.#changePosition(fields, side)
      else if (keyedBy === 'order') this.#changeOrder(fields, side)
      else this.#changeLevel(fields, side)
    }
    if (keyedBy === 'position') this.#copyPositions()
    this.#checkSize()
  }

  /** @param {Fields} fields @param {Side} side */
  #changeLevel(fields, side) {
    const action = fields.get(279)
    const key = `${side} ${this.#price(fields)}`
    // The engine may delete a level twice, or one beyond its published depth. It is gone in either case.
    if (action === DELETE || (isSet(action) && this.#amount(fields) === '0')) this.#book.delete(key)
    else if (isSet(action)) this.#book.set(key, { side, ...this.#level(fields) })
    else throw new FeedFault(`MDUpdateAction ${action} in a book by price`)
  }

  /** @param {Fields} fields @param {Side} side */
  #addLevel(fields, side) {
    const level = this.#level(fields)
    const key = `${side} ${level.price}`
    if (this.#book.get(key) !== undefined) throw new FeedFault(`two entries at the price ${level.price}`)
    if (level.amount !== '0') this.#book.set(key, { side, ...level })
  }

  /** @param {Fields} fields @param {Side} side */
  #addOrder(fields, side) {
    const key = idOf(fields)
    if (this.#book.get(key) !== undefined) throw new FeedFault(`the order ${key} is added twice`)
    this.#setOrder(key, { side, ...this.#level(fields) })
  }

  /** @param {string} key */
  #orderOf(key) {
    return this.#book.get(key) ?? this.#emptyOrders.get(key)
  }

  /** @param {string} key */
  #deleteOrder(key) {
    this.#book.delete(key)
    this.#emptyOrders.delete(key)
  }

  /** @param {string} key @param {Entry} entry */
  #setOrder(key, entry) {
    this.#deleteOrder(key)
    if (entry.amount !== '0') return this.#book.set(key, entry)
    this.#emptyOrders.set(key, entry)
    const [oldest] = this.#emptyOrders.keys()
    if (this.#emptyOrders.size > EMPTY_ORDERS_MAX) this.#emptyOrders.delete(/** @type {string} */ (oldest))
  }

  /** @param {Fields} fields @param {Side} side */
  #changeOrder(fields, side) {
    const action = fields.get(279)
    if (action === NEW) return this.#addOrder(fields, side)
    const key = idOf(fields)
    const previous = action === CHANGE ? (fields.get(280) ?? key) : key
    const entry = this.#orderOf(previous)
    if (entry === undefined) throw new FeedFault(`the order ${previous} is unknown`)
    if (action === DELETE) return this.#deleteOrder(previous)
    if (action !== CHANGE) throw new FeedFault(`MDUpdateAction ${action} in a book by order`)
    if (previous !== key && this.#book.get(key) !== undefined) throw new FeedFault(`the order ${key} is added twice`)
    const price = fields.has(270) ? this.#price(fields) : entry.price
    const amount = fields.has(271) ? this.#amount(fields) : entry.amount
    if (previous !== key) this.#deleteOrder(previous)
    this.#setOrder(key, { side, price, amount })
  }

  /** @param {Fields} fields @param {Side} side */
  #changePosition(fields, side) {
    const { depth } = this.#settings
    const levels = this.#positions[side]
    const action = fields.get(279)
    const index = placeOf(fields) - 1
    if (index < 0 || index > levels.length - (action === NEW ? 0 : 1)) {
      throw new FeedFault(`position ${index + 1} of ${levels.length}`)
    }
    if (action === NEW) levels.splice(index, 0, this.#level(fields))
    else if (action === CHANGE || action === OVERLAY) levels[index] = this.#level(fields)
    else if (action === DELETE) levels.splice(index, 1)
    else if (action === DELETE_THRU) levels.splice(0, index + 1)
    else if (action === DELETE_FROM) levels.splice(index)
    else throw new FeedFault(`MDUpdateAction ${action}`)
    // At the requested depth, the engine does not delete the level pushed out by a new one.
    if (depth > 0 && levels.length > depth) levels.length = depth
  }

  #copyPositions() {
    /** @type {Map<string, Entry>} */
    const wanted = new Map()
    for (const side of /** @type {const} */ (['buy', 'sell'])) {
      for (const { price, amount } of this.#positions[side]) {
        const key = `${side} ${price}`
        if (wanted.has(key)) throw new FeedFault(`two positions have the price ${price}`)
        if (amount !== '0') wanted.set(key, { side, price, amount })
      }
    }
    for (const key of this.#book.keys()) if (!wanted.has(key)) this.#book.delete(key)
    for (const [key, entry] of wanted) if (this.#book.get(key)?.amount !== entry.amount) this.#book.set(key, entry)
  }

  /** A change or delete by identifier may omit unchanging fields. @param {Fields} fields */
  #typeOfOrder(fields) {
    if (this.#settings.keyedBy !== 'order') return undefined
    const side = this.#orderOf(fields.get(280) ?? fields.get(278) ?? fields.get(37) ?? '')?.side
    return side === undefined ? undefined : side === 'buy' ? '0' : '1'
  }

  /** @param {Fields} fields */
  #sideOf(fields) {
    return this.#positions[sideOf(fields)]
  }

  /** @param {Fields} fields */
  #level(fields) {
    return { price: this.#price(fields), amount: this.#amount(fields) }
  }

  /** @param {Fields} fields */
  #price(fields) {
    const price = canonicalDecimal(fields.get(270), this.#settings.priceDecimals)
    if (price === undefined || price === '0') throw new FeedFault('MDEntryPx is missing, or not a price of the market')
    return price
  }

  /** @param {Fields} fields */
  #amount(fields) {
    const amount = canonicalDecimal(fields.get(271), this.#settings.amountDecimals)
    if (amount === undefined) throw new FeedFault('MDEntrySize is missing, or not an amount of the market')
    return amount
  }

  #checkSize() {
    if (this.#book.size > ENTRIES_MAX) throw new FeedFault(`more than ${ENTRIES_MAX} entries`)
  }
}

/** @param {string | undefined} action */
function isSet(action) {
  return action === NEW || action === CHANGE
}

/** @param {Fields} fields @returns {Side} */
function sideOf(fields) {
  return /** @type {Side} */ (SIDES.get(fields.get(269) ?? ''))
}

/** MDPriceLevel, or MDEntryPositionNo: 1 is the best. @param {Fields} fields */
function placeOf(fields) {
  const text = fields.get(1023) ?? fields.get(290) ?? ''
  if (!/^[0-9]{1,6}$/.test(text)) throw new FeedFault('neither MDPriceLevel nor MDEntryPositionNo')
  return Number(text)
}

/** @param {Fields} fields */
function idOf(fields) {
  const id = fields.get(278) ?? fields.get(37)
  if (id === undefined || !/^[ -~]{1,64}$/.test(id))
    throw new FeedFault('neither MDEntryID nor OrderID of 1 to 64 characters')
  return id
}

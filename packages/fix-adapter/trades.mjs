/**
 * The trades in market data messages as executions: each one once, with an identifier that is unique within the market.
 * It remembers past trades' identifiers up to a limit, even across sessions, because engines repeat trades.
 */
import { canonicalDecimal } from './decimal.mjs'
import { rfc3339Of } from './message.mjs'

/** @import { Execution } from '../publisher/publisher.mjs' */
/** @import { Fields } from './entries.mjs' */

/** Per market. A trade repeated after more than this many others is published twice. */
const REMEMBERED_MAX = 20_000
const TRADE = '2'

/**
 * @typedef {object} TradeSettings
 * @property {number} priceDecimals
 * @property {number} amountDecimals
 * @property {number} tradeSideTag
 * @property {'incremental' | 'full'} refresh
 *
 * @typedef {object} Trades
 * @property {Execution[]} executions In order, without those seen before.
 * @property {string | undefined} missed Why a trade could not be published.
 */

export class TradeReader {
  #settings
  /** By identifier, or what stands for one: price, amount and date. @type {Map<string, string>} */
  #seen = new Map()

  /** @param {TradeSettings} settings */
  constructor(settings) {
    this.#settings = settings
  }

  /**
   * Reads the trades among one message's entries.
   * @param {readonly Fields[]} entries
   * @param {{ time: string, prefix: string }} message Its time, and a prefix unique to it.
   * @returns {Trades}
   */
  read(entries, { time, prefix }) {
    /** @type {Trades} */
    const trades = { executions: [], missed: undefined }
    /** @type {Set<string>} */
    const unnamed = new Set()
    for (const [index, fields] of entries.entries()) {
      if (fields.get(269) !== TRADE) continue
      if ((fields.get(279) ?? '0') !== '0') {
        trades.missed ??= 'the engine changed or deleted a trade that was published'
        continue
      }
      const named = fields.get(1003) ?? fields.get(278)
      const made = `${prefix}-${index}`
      // Each full refresh repeats the trades of the one before.
      const key = named ?? (this.#settings.refresh === 'full' ? this.#content(fields, unnamed) : made)
      const isKnown = this.#seen.has(key)
      if (this.#remember(key, fields)) continue
      const execution = this.#execution(isKnown ? made : (named ?? made), fields, time)
      if (execution === undefined)
        trades.missed ??= 'the engine sent a trade without a usable price, amount or identifier'
      else trades.executions.push(execution)
    }
    return trades
  }

  /** @param {string} id @param {Fields} fields @param {string} time @returns {Execution | undefined} */
  #execution(id, fields, time) {
    const { priceDecimals, amountDecimals, tradeSideTag } = this.#settings
    const price = canonicalDecimal(fields.get(270), priceDecimals)
    const amount = canonicalDecimal(fields.get(271), amountDecimals)
    if (price === undefined || price === '0' || amount === undefined || amount === '0') return undefined
    if (!/^[ -~]{1,64}$/.test(id)) return undefined
    const side = { 1: 'buy', 2: 'sell' }[fields.get(tradeSideTag) ?? '']
    const executedAt = rfc3339Of(`${fields.get(272)}-${fields.get(273)}`) ?? time
    return {
      id,
      ...(side === undefined ? {} : { side: /** @type {'buy' | 'sell'} */ (side) }),
      price,
      amount,
      executed_at: executedAt,
    }
  }

  /**
   * What distinguishes a trade without an identifier: its fields, and its place among equal ones in the message.
   * @param {Fields} fields @param {Set<string>} others In the message. The trade is added.
   */
  #content(fields, others) {
    const tags = [270, 271, 272, 273, this.#settings.tradeSideTag]
    let content = tags.map((tag) => fields.get(tag)).join('|')
    while (others.has(content)) content += '|'
    others.add(content)
    return content
  }

  /**
   * Returns whether this trade was seen before. An engine may begin its identifiers again, as every day: with another
   * price, amount or date, it is another trade.
   * @param {string} key @param {Fields} fields
   */
  #remember(key, fields) {
    const content = `${fields.get(270)} ${fields.get(271)} ${fields.get(272) ?? ''}`
    const known = this.#seen.get(key)
    // An entry without a date may repeat one with it.
    if (known?.startsWith(content) || (known !== undefined && content.startsWith(known))) return true
    // As the newest, also where the key is known.
    this.#seen.delete(key)
    this.#seen.set(key, content)
    if (this.#seen.size > REMEMBERED_MAX) this.#seen.delete(/** @type {string} */ (this.#seen.keys().next().value))
    return false
  }
}

/**
 * The current connection's state: missing frames, refused requests, and the symbols that use each subscribed product.
 * All frames on a connection share one number sequence, and a frame is accepted only when every earlier frame was. This
 * file uses no socket and no clock, and never throws. Pure.
 *
 * Products may share a feed: the venue sends `BTC-USD` data for `BTC-USDC` too (`Listing.feedSymbol`). The feed is
 * subscribed once, and each message is returned for every symbol that uses it.
 */
import { isObject, type JsonObject } from '../../../../platform/base/json-value.ts'
import type { Listing } from '../venue.ts'
import { notJson } from '../venue-frame.ts'
import { type CoinbaseMessage, readBookEvent, readTradesEvent } from './message.ts'

type Channel = 'book' | 'trades'

/** An unanswered request. The heartbeat request names no product. */
interface Request {
  readonly action: 'subscribe' | 'unsubscribe'
  readonly channel: Channel | 'heartbeats'
  readonly products: readonly string[]
}

/**
 * Books per connection: a request beyond this is refused as a whole. The limit is not documented; clients that measured
 * it (2026-01, 2026-09) had 30 accepted and 31 refused.
 */
export const COINBASE_BOOKS_MAX = 30

const CHANNELS = { book: 'level2', trades: 'market_trades' } as const
/** Limit for kept unanswered requests: the oldest are dropped first. */
const UNANSWERED_MAX = 1_000
/** Longest venue text quoted in a reason. */
const REASON_CHARACTERS_MAX = 200

export class Conversation {
  /** The last frame's number; absent before the first. */
  #lastNumber: number | undefined
  /** In sending order, which is also the answers' order. */
  #unanswered: Request[] = []
  /** The symbols that use each product, by channel and product. */
  readonly #symbolsByProduct: Readonly<Record<Channel, Map<string, Set<string>>>> = {
    book: new Map(),
    trades: new Map(),
  }
  /** By symbol, the product whose feed it shares. */
  readonly #feedSymbols = new Map<string, string>()

  /** A new connection without subscriptions: the requests to send first. */
  begin(): readonly object[] {
    this.#lastNumber = undefined
    this.#unanswered = []
    for (const readers of Object.values(this.#symbolsByProduct)) readers.clear()
    this.#note({ action: 'subscribe', channel: 'heartbeats', products: [] })
    // A connection without subscriptions is closed after 5 s, a subscription without updates after 60 to 90 s.
    return [{ type: 'subscribe', channel: 'heartbeats' }]
  }

  noteListings(listings: readonly Listing[]): void {
    for (const { symbol, feedSymbol } of listings) {
      if (feedSymbol === undefined) this.#feedSymbols.delete(symbol)
      else this.#feedSymbols.set(symbol, feedSymbol)
    }
  }

  /** The requests that subscribe or unsubscribe these symbols, each with as many products as one may name. */
  requests(action: 'subscribe' | 'unsubscribe', channel: Channel, symbols: readonly string[]): readonly object[] {
    const readers = this.#symbolsByProduct[channel]
    const products = new Set<string>()
    /** Already subscribed products: a second subscription brings no snapshot, so the first must end before it. */
    const renewed = new Set<string>()
    for (const symbol of symbols) {
      const product = this.#feedSymbols.get(symbol) ?? symbol
      const known = readers.get(product) ?? new Set()
      if (action === 'subscribe') {
        if (!products.has(product) && [...known].some((other) => other !== symbol)) renewed.add(product)
        products.add(product)
        readers.set(product, known.add(symbol))
      } else {
        known.delete(symbol)
        if (known.size > 0) continue
        readers.delete(product)
        products.add(product)
      }
    }
    return [
      ...this.#requestsOf('unsubscribe', channel, [...renewed]),
      ...this.#requestsOf(action, channel, [...products]),
    ]
  }

  /** A frame's messages; empty for a repeated frame. */
  read(text: string): readonly CoinbaseMessage[] {
    let frame: unknown
    try {
      frame = JSON.parse(text)
    } catch (error) {
      // The frame's number is lost with it, so later frames could not be checked.
      return [{ kind: 'unreadable', reason: notJson(error) }]
    }
    if (!isObject(frame)) return [{ kind: 'unreadable', reason: 'a frame that is no object' }]
    // Refusals have neither a channel nor a number.
    if (frame.type === 'error') return this.#readRefusal(frame)
    const { channel, sequence_num: number, events } = frame
    if (typeof channel !== 'string' || !Number.isSafeInteger(number) || !Array.isArray(events)) {
      return [{ kind: 'unreadable', reason: 'a frame without a channel, a number or events' }]
    }
    const last = this.#lastNumber
    if (number === last) return []
    if (last !== undefined && number !== last + 1) {
      return [{ kind: 'restart', reason: `frame ${String(number)} came where frame ${last + 1} is due` }]
    }
    this.#lastNumber = number as number
    return this.#readEvents(channel, events)
  }

  #readEvents(channel: string, events: readonly unknown[]): readonly CoinbaseMessage[] {
    switch (channel) {
      case 'l2_data':
        return events.flatMap((event) => this.#forSymbols('book', readBookEvent(event)))
      case 'market_trades':
        return events.flatMap((event) => readTradesEvent(event).flatMap((one) => this.#forSymbols('trades', one)))
      case 'subscriptions':
        return this.#readSubscriptions(events)
      default:
        // Heartbeat numbers have been checked above. Unknown channels are ignored.
        return []
    }
  }

  /**
   * The message for each symbol that uses its product. Empty for an unused product, unless the message is malformed:
   * its name may be damaged too.
   */
  #forSymbols(channel: Channel, message: CoinbaseMessage): readonly CoinbaseMessage[] {
    if (!('symbol' in message) || message.symbol === undefined) return [message]
    const readers = this.#symbolsByProduct[channel].get(message.symbol)
    if (readers !== undefined) return [...readers].map((symbol) => ({ ...message, symbol }))
    return message.kind === 'unreadable-book' || message.kind === 'unreadable-trades' ? [message] : []
  }

  /** The answer to a request lists all current subscriptions. A requested product missing from it was refused. */
  #readSubscriptions([event]: readonly unknown[]): readonly CoinbaseMessage[] {
    const request = this.#unanswered.shift()
    if (request === undefined || request.action === 'unsubscribe' || request.channel === 'heartbeats') return []
    const { channel, products } = request
    const subscribed = isObject(event) && isObject(event.subscriptions) ? event.subscriptions[CHANNELS[channel]] : []
    const names = new Set<unknown>(Array.isArray(subscribed) ? (subscribed as unknown[]) : [])
    const missing = products.filter((product) => !names.has(product))
    return this.#refusals(channel, missing, 'it is not among what is subscribed', false)
  }

  /**
   * A refusal names neither its request nor, reliably, a product: it belongs to the oldest request. If this request
   * named several products, any may be meant, and the others were refused with it.
   */
  #readRefusal({ message }: JsonObject): readonly CoinbaseMessage[] {
    const reason =
      typeof message === 'string' && message !== '' ? message.slice(0, REASON_CHARACTERS_MAX) : 'no reason given'
    const { action, channel, products = [] } = this.#unanswered.shift() ?? {}
    if (action !== 'subscribe' || channel === 'heartbeats' || channel === undefined) {
      return [{ kind: 'refused', reason }]
    }
    return this.#refusals(channel, products, reason, products.length > 1)
  }

  #refusals(
    channel: Channel,
    products: readonly string[],
    reason: string,
    isOfGroup: boolean,
  ): readonly CoinbaseMessage[] {
    return products.flatMap((symbol) =>
      this.#forSymbols(channel, { kind: 'refused', symbol, channel, reason, isOfGroup }),
    )
  }

  #requestsOf(action: Request['action'], channel: Channel, products: readonly string[]): readonly object[] {
    const requests: object[] = []
    const size = channel === 'book' ? COINBASE_BOOKS_MAX : Math.max(1, products.length)
    for (let begin = 0; begin < products.length; begin += size) {
      const some = products.slice(begin, begin + size)
      this.#note({ action, channel, products: some })
      requests.push({ type: action, product_ids: some, channel: CHANNELS[channel] })
    }
    return requests
  }

  #note(request: Request): void {
    this.#unanswered.push(request)
    if (this.#unanswered.length > UNANSWERED_MAX) this.#unanswered.shift()
  }
}

/**
 * What was asked for on the present connection to Coinbase, and what its frames say in the light of that: which trades
 * were refused, and which a heartbeat proves to have been sent. It knows no socket and no clock, and never throws.
 */
import {
  type CoinbaseMessage,
  isObject,
  isTradeId,
  type Members,
  readError,
  readSnapshot,
  readStatus,
  readTrade,
  readUpdate,
  unreadable,
} from './message.ts'

/** The trades of one product that were asked for. */
interface AskedTrades {
  isAcknowledged: boolean
  /** Lists of products that have come since; the second tells that the request was refused. */
  listsSince: number
  /** The last trade that a heartbeat has counted. */
  countedId: number | undefined
}

export class Conversation {
  /** The last list of products, which the venue repeats every few seconds: long, and rarely different. */
  #status: { readonly text: string; readonly messages: readonly CoinbaseMessage[] } | undefined
  /** By product. */
  readonly #trades = new Map<string, AskedTrades>()

  /** A new connection, on which nothing is subscribed. */
  begin(): void {
    this.#trades.clear()
  }

  noteRequest(action: 'subscribe' | 'unsubscribe', symbols: readonly string[]): void {
    for (const symbol of symbols) {
      if (action === 'unsubscribe') this.#trades.delete(symbol)
      else this.#trades.set(symbol, { isAcknowledged: false, listsSince: 0, countedId: undefined })
    }
  }

  read(text: string): readonly CoinbaseMessage[] {
    if (text === this.#status?.text) return this.#withRefusals(this.#status.messages)
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch (error) {
      return [{ kind: 'restart', reason: `no JSON: ${error instanceof Error ? error.name : 'unknown error'}` }]
    }
    if (!isObject(value) || typeof value.type !== 'string')
      return [{ kind: 'restart', reason: 'no message with a type' }]
    switch (value.type) {
      case 'l2update':
        return readUpdate(value)
      case 'snapshot':
        return readSnapshot(value)
      case 'match':
      case 'last_match':
        return readTrade(value)
      case 'heartbeat':
        return this.#readHeartbeat(value)
      case 'status': {
        const messages = readStatus(value)
        this.#status = { text, messages }
        return this.#withRefusals(messages)
      }
      case 'subscriptions':
        this.#noteSubscriptions(value)
        return []
      case 'error':
        return readError(value)
      default:
        // New types may come at any time and are to be ignored.
        return []
    }
  }

  /**
   * A heartbeat counts the trades of the matching engine, and comes over a channel of its own: nothing says that it
   * cannot overtake the match that it counts, and a trade wrongly taken for missing costs its readers their connection.
   * So it proves what the heartbeat before it counted, a second ago. One that comes before its product is acknowledged,
   * as first messages of a channel do, proves nothing.
   */
  #readHeartbeat(message: Members): readonly CoinbaseMessage[] {
    const { product_id: symbol, last_trade_id: lastId } = message
    if (typeof symbol !== 'string' || !isTradeId(lastId)) return unreadable('heartbeat')
    const asked = this.#trades.get(symbol)
    if (asked?.isAcknowledged !== true) return []
    const proved = asked.countedId
    asked.countedId = lastId
    return proved === undefined ? [] : [{ kind: 'traded-up-to', symbol, lastId: proved }]
  }

  /**
   * The answer to every request lists all that is subscribed now. It does not tell which book it was for, and after a
   * snapshot no other comes, so it acknowledges none: a book that is not there shows by the snapshot that stays away.
   */
  #noteSubscriptions({ channels }: Members): void {
    const subscribed = new Set<unknown>()
    for (const channel of Array.isArray(channels) ? (channels as unknown[]) : []) {
      if (!isObject(channel) || channel.name !== 'matches' || !Array.isArray(channel.product_ids)) continue
      for (const symbol of channel.product_ids as unknown[]) subscribed.add(symbol)
    }
    for (const [symbol, asked] of this.#trades) {
      asked.isAcknowledged = subscribed.has(symbol)
      if (!asked.isAcknowledged) asked.countedId = undefined
    }
  }

  /**
   * A refusal names neither the channel nor all products of its request, and trades that stay away look like no trades
   * at all. So trades that are not among what is subscribed after two lists of products, seconds later, were refused.
   */
  #withRefusals(messages: readonly CoinbaseMessage[]): readonly CoinbaseMessage[] {
    const refusals: CoinbaseMessage[] = []
    for (const [symbol, asked] of this.#trades) {
      if (asked.isAcknowledged) continue
      asked.listsSince += 1
      if (asked.listsSince !== 2) continue
      refusals.push({ kind: 'refused', symbol, channel: 'trades', reason: 'they are not among what is subscribed' })
    }
    return refusals.length === 0 ? messages : [...messages, ...refusals]
  }
}

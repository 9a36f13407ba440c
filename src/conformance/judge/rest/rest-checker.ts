/**
 * Compares a service's REST view with its stream (`tidegate.v1`): books at the same cursor or time, trades with the
 * executions seen, and closed candles with ones made from them. It does no I/O: the caller passes messages and answers.
 */
import { isObject, type JsonObject, membersOf, parseJson } from '../../../platform/base/json-value.ts'
import type { ViolationName } from '../stream/violations.ts'
import { type AwaitedBook, KeptBooks, levelsOf } from './kept-books.ts'
import { type Minutes, SeenExecutions } from './seen-executions.ts'

/** What was compared. */
export interface RestCounts {
  books: number
  /** Answers 304. */
  unchanged: number
  trades: number
  candles: number
}

type Report = (name: ViolationName, market: string, detail: string) => void

interface CheckedMarket {
  readonly books: KeptBooks
  readonly executions: SeenExecutions
  hasComparedBook: boolean
  /** Each endpoint's last status. 200 is kept. */
  readonly statuses: Map<string, number>
}

/** Answers that ask for a wait or a new token, also from a proxy. */
const PASSING_STATUSES = [401, 429, 502, 503, 504]

export class RestChecker {
  readonly counts: RestCounts = { books: 0, unchanged: 0, trades: 0, candles: 0 }
  readonly #markets: ReadonlyMap<string, CheckedMarket>
  readonly #report: Report

  constructor(markets: readonly string[], report: Report) {
    this.#report = report
    this.#markets = new Map(markets.map((market) => [market, this.#newMarket(market)]))
  }

  /** A new connection. */
  onConnect(): void {
    for (const { books, executions } of this.#markets.values()) {
      books.reset()
      executions.reset()
    }
  }

  /** Malformed messages are reported by `StreamChecker`. */
  onMessage(text: string): void {
    const { type, channels, channel, payload: sent, stream } = membersOf(parseJson(text))
    if (type === 'unsubscribe' && Array.isArray(channels)) this.#onEnd(channels)
    const payload = membersOf(sent)
    if (channel === 'heartbeat') {
      const milliseconds = Date.parse(String(payload.timestamp).replace(/(\.\d{3})\d*/, '$1'))
      for (const { executions } of this.#markets.values()) executions.onTime(milliseconds)
    }
    const market = this.#markets.get(String(payload.market))
    const { cursor } = membersOf(stream)
    if (market === undefined || typeof cursor !== 'string') return
    if (channel === 'market_data') {
      market.executions.onTime(Date.parse(String(payload.time)))
      market.books.onMessage(payload, cursor)
    } else if (channel === 'execution_data') {
      market.executions.onExecution(payload, cursor)
    }
  }

  /** Must be called before a request for the book. Undefined: the stream has none to compare with. */
  expectBook(market: string): AwaitedBook | undefined {
    return this.#of(market).books.expect()
  }

  forgetBook(market: string, awaited: AwaitedBook): void {
    this.#of(market).books.forget(awaited)
  }

  /** An endpoint's answer, whatever it contains. */
  onStatus(market: string, name: string, status: number): void {
    const { statuses } = this.#of(market)
    const isPassing = PASSING_STATUSES.includes(status) || status === 304
    if (!isPassing && statuses.get(name) !== 200) statuses.set(name, status)
  }

  /** @param wantedDepth 0 = all published levels. Returns whether the answer has its documented form */
  onBook(market: string, wantedDepth: number, body: unknown, awaited: AwaitedBook): boolean {
    const { cursor, time, depth, digest, bids: sentBids, asks: sentAsks, market: named } = membersOf(body)
    const [bids, asks] = [levelsOf(sentBids), levelsOf(sentAsks)]
    const isText = typeof cursor === 'string' && typeof time === 'string' && typeof digest === 'string'
    if (!isText || typeof depth !== 'number' || bids === undefined || asks === undefined || named !== market) {
      this.#report('rest-malformed', market, `order-book: ${excerpt(body)}`)
      this.forgetBook(market, awaited)
      return false
    }
    // A plan may allow fewer levels than were wanted, never more.
    if (wantedDepth !== 0 && (depth === 0 || depth > wantedDepth))
      this.#report('rest-malformed', market, `order-book?depth=${wantedDepth} has the depth ${depth}`)
    this.#of(market).books.answered(awaited, { cursor, time, depth, digest, bids, asks }, wantedDepth === 0)
    return true
  }

  /** The answer to a request with the tag of an earlier answer. */
  onTagged(market: string, sentTag: string | null, status: number, tag: string | null): void {
    if (sentTag === null || sentTag.startsWith('W/')) {
      this.#report('rest-entity-tag', market, `the book's entity tag is ${sentTag}`)
    } else if (status === 304) {
      this.counts.unchanged++
    } else if (status === 200 && tag === sentTag) {
      this.#report('rest-entity-tag', market, `the book with the tag ${tag} was sent again instead of 304`)
    }
  }

  onTrades(market: string, body: unknown): void {
    const items = this.#itemsOf(market, 'trades', body)
    if (items === undefined) return
    const { count, differences } = this.#of(market).executions.compareTrades(items)
    this.counts.trades += count
    for (const detail of differences) this.#report('rest-trade-differs', market, detail)
  }

  /** The whole minutes to ask for. */
  minutesOf(market: string): Minutes | undefined {
    return this.#of(market).executions.minutes
  }

  /** @param minutes those asked for */
  onCandles(market: string, body: unknown, minutes: Minutes): void {
    const items = this.#itemsOf(market, 'candles', body)
    if (items === undefined) return
    const { count, differences } = this.#of(market).executions.compareCandles(items, minutes)
    this.counts.candles += count
    for (const detail of differences) this.#report('rest-candle-differs', market, detail)
  }

  onEnd(isRemoved: (market: string) => boolean): void {
    for (const [market, { hasComparedBook, statuses }] of this.#markets) {
      if (isRemoved(market)) continue
      if (!hasComparedBook) this.#report('rest-not-compared', market, 'no REST book had a cursor or time of the stream')
      for (const [name, status] of statuses) {
        if (status !== 200) this.#report('rest-malformed', market, `${name}: it was answered ${status} only`)
      }
    }
  }

  #newMarket(market: string): CheckedMarket {
    const checked: CheckedMarket = {
      books: new KeptBooks((differences) => {
        if (differences === undefined) return
        checked.hasComparedBook = true
        this.counts.books++
        for (const detail of differences) this.#report('rest-book-differs', market, detail)
      }),
      executions: new SeenExecutions(),
      hasComparedBook: false,
      statuses: new Map(),
    }
    return checked
  }

  /** The service ended a market's subscriptions. */
  #onEnd(channels: readonly unknown[]): void {
    for (const entry of channels) {
      const market = this.#markets.get(String(membersOf(membersOf(entry).params).market))
      market?.books.reset()
      market?.executions.reset()
    }
  }

  #itemsOf(market: string, name: string, body: unknown): readonly JsonObject[] | undefined {
    const { items } = membersOf(body)
    if (Array.isArray(items) && items.every(isObject)) return items
    this.#report('rest-malformed', market, `${name}: ${excerpt(body)}`)
    return undefined
  }

  #of(market: string): CheckedMarket {
    return this.#markets.get(market) as CheckedMarket
  }
}

function excerpt(body: unknown): string {
  return String(JSON.stringify(body)).slice(0, 200)
}

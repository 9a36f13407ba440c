/**
 * Checks one client's stream: keeps a simple book per market, built from the messages alone, and reports every violated
 * rule of the API by name (`violations`). It continues after a violation. It also reports which subscriptions the
 * service ended, because markets may be removed and changed. It does no I/O and reads no clock: the caller passes
 * times.
 */
import { CHANNELS, PAYLOAD_TYPES, REQUEST_TYPES } from '../../../contract/channels.ts'
import { isObject } from '../../../platform/base/json-value.ts'
import { BookChecker } from './book-checker.ts'
import { isDecimal, isTimeText, isZero, type Report } from './checker-forms.ts'
import { HeartbeatChecker } from './heartbeat-checker.ts'
import { SequenceChecker } from './sequence-checker.ts'
import type { Violation, ViolationName } from './violations.ts'

export interface StreamCheckerOptions {
  /** The heartbeat interval. Absent = the median of the first gaps. */
  readonly heartbeatMilliseconds?: number
  /** Whether the messages follow `tidegate.v1`. */
  readonly isExtended?: boolean
  /** The subscriptions requested on each connection. At the end each must be answered. Absent = none is expected. */
  readonly requested?: readonly RequestedChannel[]
}

export interface RequestedChannel {
  readonly type: string
  readonly params?: { readonly market: string }
}

/** A service that was started again may need this long to be reached, and after a new connection to have a book. */
const BOOK_MILLISECONDS_MAX = 30_000

export interface StreamCounts {
  messages: number
  snapshots: number
  updates: number
  tops: number
  executions: number
  heartbeats: number
}

export class StreamChecker {
  readonly counts: StreamCounts = { messages: 0, snapshots: 0, updates: 0, tops: 0, executions: 0, heartbeats: 0 }
  readonly #heartbeat: HeartbeatChecker
  readonly #isExtended: boolean
  readonly #requested: readonly RequestedChannel[]
  readonly #sequence = new SequenceChecker((...found) => this.#report(...found))
  readonly #books = new Map<string, BookChecker>()
  /** Subscriptions by channel and market: true = acknowledged, false = ended. */
  readonly #subscriptions = new Map<string, boolean>()
  /** Subscriptions that were acknowledged or refused on this connection. */
  readonly #answered = new Set<string>()
  /** When each market's book was subscribed on this connection. */
  readonly #bookSince = new Map<string, number>()
  /** Markets with a SNAPSHOT on any connection. */
  readonly #withBook = new Set<string>()
  /** When those markets' connection was lost, until their next SNAPSHOT. */
  readonly #withoutBookSince = new Map<string, number>()
  #ended: object[] = []
  /** Markets whose subscriptions the service ended, until they are acknowledged again. */
  readonly #endedMarkets = new Set<string>()
  readonly #removed = new Set<string>()
  /** Since when there is no connection. */
  #lostSince: number | undefined
  #found: Violation[] = []
  #now = 0

  constructor(options: StreamCheckerOptions = {}) {
    this.#heartbeat = new HeartbeatChecker(options.heartbeatMilliseconds)
    this.#isExtended = options.isExtended === true
    this.#requested = options.requested ?? []
  }

  /** The size of a market's book. Undefined before its first SNAPSHOT on this connection. */
  levels(market: string): { bids: number; asks: number } | undefined {
    return this.#books.get(market)?.levels()
  }

  /** The channels ended by the service since the last call, as entries for a new subscribe request. */
  takeEnded(): readonly object[] {
    const ended = this.#ended
    this.#ended = []
    return ended
  }

  /** Whether the service removed the market, and therefore rejected the repeated subscription. */
  isRemoved(market: string): boolean {
    return this.#removed.has(market)
  }

  /** A new connection. */
  onConnect(): void {
    this.#lostSince = undefined
    this.#reset()
  }

  /** The connection was lost, or another attempt has failed: nothing more of it is due. */
  onDisconnect(nowMilliseconds: number): void {
    // Where heartbeats were already late, it is lost since its last message.
    this.#lostSince ??= this.#heartbeat.check(nowMilliseconds) === undefined ? nowMilliseconds : this.#now
    for (const market of this.#withBook) {
      if (!this.#withoutBookSince.has(market)) this.#withoutBookSince.set(market, nowMilliseconds)
    }
    this.#reset()
  }

  onMessage(text: string, receivedAtMilliseconds: number): Violation[] {
    this.#begin(receivedAtMilliseconds)
    this.counts.messages++
    const message = parse(text)
    if (message === undefined) {
      this.#report('message-malformed', undefined, excerpt(text))
    } else if (typeof message.channel === 'string') {
      this.#onData(message.channel, message, text)
    } else {
      this.#onReply(message, text)
    }
    this.#checkHeartbeat()
    return this.#found
  }

  /**
   * The checks which depend only on time. `markets` must have a SNAPSHOT by now, except shortly after the loss of a
   * connection with a SNAPSHOT, and after the next connection.
   */
  onEnd(nowMilliseconds: number, markets: readonly string[]): Violation[] {
    this.#begin(nowMilliseconds)
    this.#checkAnswers()
    const lostMilliseconds = this.#now - (this.#lostSince ?? this.#now)
    for (const market of markets) {
      if (lostMilliseconds > BOOK_MILLISECONDS_MAX && !this.#removed.has(market)) {
        this.#report('snapshot-missing', market, `no connection for ${Math.floor(lostMilliseconds / 1_000)} s`)
      } else if (this.#books.get(market)?.levels() === undefined && this.#isBookOverdue(market)) {
        const since = this.#withoutBookSince.get(market)
        const detail = since === undefined ? 'on this connection' : `for ${Math.floor((this.#now - since) / 1_000)} s`
        this.#report('snapshot-missing', market, `no SNAPSHOT ${detail}`)
      }
    }
    for (const book of this.#books.values()) book.checkTop(nowMilliseconds)
    this.#checkHeartbeat()
    return this.#found
  }

  /** Resets subscriptions, books and times. Markets' decimals are kept. */
  #reset(): void {
    this.#subscriptions.clear()
    this.#answered.clear()
    this.#bookSince.clear()
    this.#ended = []
    this.#sequence.reset()
    for (const book of this.#books.values()) book.reset()
    this.#heartbeat.reset()
  }

  /** A request has one answer with all entries, so one entry shows that it has arrived. */
  #checkAnswers(): void {
    if (this.#answered.size === 0) return
    for (const { type, params } of this.#requested) {
      const isAnswered = this.#answered.has(subscriptionKey(type, params?.market))
      if (!isAnswered) this.#report('request-refused', params?.market, `${type}: its request was not answered`)
    }
  }

  #isBookOverdue(market: string): boolean {
    if (!this.#withBook.has(market)) return true
    if (this.#removed.has(market)) return false
    const lost = this.#withoutBookSince.get(market)
    // Connections without an answer, or lost again and again, bring no book either.
    if (lost !== undefined && this.#now - lost > 2 * BOOK_MILLISECONDS_MAX) return true
    const since = this.#bookSince.get(market)
    return since !== undefined && this.#now - since > BOOK_MILLISECONDS_MAX
  }

  #begin(nowMilliseconds: number): void {
    this.#found = []
    this.#now = nowMilliseconds
  }

  readonly #report: Report = (name: ViolationName, market: string | undefined, detail: string) => {
    const where = market === undefined ? {} : { market }
    this.#found.push({ name, ...where, detail, receivedAtMilliseconds: this.#now })
  }

  #onReply(message: Record<string, unknown>, text: string): void {
    if (message.type === 'error') {
      this.#report('request-refused', undefined, excerpt(text))
    } else if (!(REQUEST_TYPES as readonly unknown[]).includes(message.type)) {
      this.#report('message-unknown', undefined, excerpt(text))
    } else if (!Array.isArray(message.channels)) {
      this.#report('field-missing', undefined, `channels in ${excerpt(text)}`)
    } else if (message.type !== 'subscription_list') {
      for (const entry of message.channels) this.#onReplyEntry(message.type === 'subscribe', entry)
    }
  }

  #onReplyEntry(isSubscribed: boolean, entry: unknown): void {
    if (!isObject(entry) || typeof entry.type !== 'string' || typeof entry.success !== 'boolean') {
      this.#report('field-missing', undefined, `type or success in ${JSON.stringify(entry)}`)
      return
    }
    const market = isObject(entry.params) && typeof entry.params.market === 'string' ? entry.params.market : undefined
    this.#answered.add(subscriptionKey(entry.type, market))
    if (!entry.success) {
      const isUnknown = entry.error === 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION'
      if (isUnknown && market !== undefined && this.#endedMarkets.has(market)) this.#removed.add(market)
      else this.#report('request-refused', market, `${entry.type}: ${entry.error} ${entry.message ?? ''}`.trimEnd())
      return
    }
    if (!isSubscribed) this.#ended.push({ type: entry.type, params: entry.params })
    if (market !== undefined) this.#endedMarkets[isSubscribed ? 'delete' : 'add'](market)
    if (market !== undefined && isSubscribed) this.#removed.delete(market)
    this.#subscriptions.set(subscriptionKey(entry.type, market), isSubscribed)
    if (entry.type === 'heartbeat') this.#heartbeat.onSubscription(isSubscribed, this.#now)
    if (market === undefined) return
    if (entry.type === 'market_data') this.#bookSince.set(market, this.#now)
    this.#sequence.onSubscription(entry.type, market)
    this.#book(market).onSubscription(entry.type, isSubscribed)
  }

  #onData(channel: string, { payload, stream }: Record<string, unknown>, text: string): void {
    if (!Object.hasOwn(CHANNELS, channel)) {
      this.#report('channel-unknown', undefined, excerpt(text))
    } else if (!isObject(payload)) {
      this.#report('field-missing', undefined, `payload in ${excerpt(text)}`)
    } else if (channel === 'heartbeat') {
      if (this.#mayCome(channel, undefined)) this.#onHeartbeat(payload)
    } else if (channel === 'events') {
      this.#mayCome(channel, undefined)
    } else if (typeof payload.market !== 'string') {
      this.#report('field-missing', undefined, `market in ${excerpt(text)}`)
    } else if (this.#mayCome(channel, payload.market)) {
      const { market } = payload
      const book = this.#book(market)
      if (this.#isExtended) this.#sequence.onMessage({ channel, market, payload, stream }, book)
      if (channel === 'market_data') this.#onBook(book, payload, market)
      else if (channel === 'market_data.top_of_book') this.#onTop(book, payload)
      else this.#onExecution(book, payload, market)
    }
  }

  /** Whether the channel is subscribed now. Reports when it is not. */
  #mayCome(type: string, market: string | undefined): boolean {
    const state = this.#subscriptions.get(subscriptionKey(type, market))
    if (state === undefined) this.#report('not-subscribed', market, `${type} without an acknowledged subscription`)
    if (state === false) this.#report('after-unsubscribe', market, `${type} after its unsubscription`)
    return state === true
  }

  #onBook(book: BookChecker, payload: Record<string, unknown>, market: string): void {
    if (payload.type === PAYLOAD_TYPES.snapshot) {
      this.counts.snapshots++
      this.#withBook.add(market)
      this.#withoutBookSince.delete(market)
      book.onSnapshot(payload, this.#now)
    } else if (payload.type === PAYLOAD_TYPES.update) {
      this.counts.updates++
      book.onUpdate(payload, this.#now)
    } else {
      this.#report('field-missing', market, `type is neither SNAPSHOT nor UPDATE but ${JSON.stringify(payload.type)}`)
    }
  }

  #onTop(book: BookChecker, payload: Record<string, unknown>): void {
    this.counts.tops++
    book.onTop(payload, this.#now)
  }

  #onExecution(book: BookChecker, payload: Record<string, unknown>, market: string): void {
    this.counts.executions++
    const wrong: string[] = []
    for (const field of ['price', 'amount'] as const) {
      const number = payload[field]
      if (!isDecimal(number)) wrong.push(`${field} is ${JSON.stringify(number)}`)
      else if (isZero(number)) wrong.push(`${field} is zero`)
      else book.checkDecimals(field, number)
    }
    if (!isTimeText(payload.executed_at, 3)) wrong.push(`executed_at is ${JSON.stringify(payload.executed_at)}`)
    if (this.#isExtended) wrong.push(...identityProblems(payload))
    if (wrong.length > 0) this.#report('execution-malformed', market, wrong.join(', '))
  }

  #onHeartbeat(payload: Record<string, unknown>): void {
    this.counts.heartbeats++
    if (!isTimeText(payload.timestamp, 9)) {
      this.#report('time-form', undefined, `heartbeat timestamp is ${JSON.stringify(payload.timestamp)}`)
    }
    if (this.#isExtended) this.#sequence.onHeartbeat(payload, (market) => this.#books.get(market))
    this.#checkHeartbeat()
    this.#heartbeat.onBeat(this.#now)
  }

  #checkHeartbeat(): void {
    const late = this.#heartbeat.check(this.#now)
    if (late !== undefined) this.#report('heartbeat-late', undefined, late)
  }

  #book(market: string): BookChecker {
    let book = this.#books.get(market)
    if (book === undefined) {
      book = new BookChecker(market, this.#report)
      this.#books.set(market, book)
    }
    return book
  }
}

/** Problems with the members which only `tidegate.v1` executions have. */
function identityProblems({ id, side, venue }: Record<string, unknown>): string[] {
  const isNamed = (value: unknown) => typeof value === 'string' && value !== ''
  return [
    ...(isNamed(id) ? [] : [`id is ${JSON.stringify(id)}`]),
    ...(isNamed(venue) ? [] : [`venue is ${JSON.stringify(venue)}`]),
    ...([undefined, 'buy', 'sell'].includes(side as string) ? [] : [`side is ${JSON.stringify(side)}`]),
  ]
}

function subscriptionKey(type: string, market: string | undefined): string {
  return market === undefined ? type : `${type} ${market}`
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function excerpt(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

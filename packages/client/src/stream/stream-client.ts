/**
 * A stream client: one connection and its subscriptions. It requests all subscriptions whenever the connection opens,
 * and passes each message to its subscription. It begins a subscription again when a message is wrong or the service
 * has ended it.
 */
import { TidegateError } from '../errors.ts'
import type { EventOptions } from '../events/event.ts'
import { type Events, StreamedEvents } from '../events/streamed-events.ts'
import { abortable, PLATFORM, type Platform } from '../platform.ts'
import { type Book, type BookOptions, LiveBook } from './book.ts'
import { Connection, type ConnectionLost } from './connection.ts'
import { type ExecutionOptions, type Executions, LiveExecutions } from './executions.ts'
import {
  CHANNELS,
  type ChannelType,
  Fault,
  type Message,
  parseMessage,
  type ReplyEntry,
  subscriptionKey,
} from './messages.ts'
import {
  checkBoolean,
  checkMarket,
  checkWhole,
  EVENT_SCOPES,
  type StreamEvent,
  type StreamOptions,
  serviceOf,
} from './stream-options.ts'
import type { Subscription } from './subscription.ts'
import { LiveTopOfBook, type TopOfBook, type TopOfBookOptions } from './top-of-book.ts'

/** `requested`: anything that arrives before the acknowledgement belongs to an earlier subscription. */
type Stage = 'requested' | 'active'

interface Row {
  readonly subscription: Subscription
  /** Absent: not requested on this connection. */
  stage?: Stage
  /** How often the subscription was begun again in short succession, and when last. */
  repairs: number
  repairedAt: number
  cancelRepair: () => void
  readonly ignoreSignal: () => void
}

/** Wait before restarting a subscription that has just been restarted. */
const REPAIR_MILLISECONDS = 1_000
const REPAIR_MILLISECONDS_MAX = 30_000
/**
 * Entries per request. A service rejects messages over 64 KiB (`stream.inbound_bytes_max`), and an entry has less than
 * 256 bytes. It also rejects a request with more entries than `stream.subscriptions_max` permits, a limit it does not
 * announce.
 */
const ENTRIES_MAX = 200
/** After this time without a fault, the next one is repaired at once. */
const TRUST_MILLISECONDS = 60_000

export class StreamClient {
  readonly #platform: Platform
  readonly #connection: Connection
  readonly #onEvent: (event: StreamEvent) => void
  readonly #onHeartbeat: (time: string) => void
  readonly #url: string
  readonly #options: StreamOptions
  readonly #events = new Set<Events>()
  readonly #rows = new Map<string, Row>()
  #isOpen = false
  #hasHeartbeat = false
  #lastHeartbeat: number | undefined
  /** Our unanswered unsubscribe requests. An unsubscribe reply beyond them is the service's own notice. */
  readonly #unsubscribing = new Map<string, number>()
  /** The unanswered subscribe request. There is only one at a time, because errors name no request. */
  #unanswered: { readonly rows: readonly Row[]; readonly entryCount: number } | undefined
  /** The next request's limit. */
  #entriesMax = ENTRIES_MAX
  /** A request is due at the end of this tick, for everything the program subscribes together. */
  #isFlushing = false
  #lastLoss: string | undefined

  constructor(options: StreamOptions, platform: Platform = PLATFORM) {
    const { url, tokens } = serviceOf(options, platform)
    this.#options = options
    this.#platform = platform
    this.#url = url
    this.#onEvent = options.onEvent ?? (() => undefined)
    this.#onHeartbeat = options.onHeartbeat ?? (() => undefined)
    this.#connection = new Connection({
      url,
      tokens,
      platform,
      onOpen: () => this.#opened(),
      onText: (text) => this.#receive(text),
      onLost: (lost) => this.#lost(lost),
      onFailed: (error) => this.#endAll(error),
    })
  }

  /**
   * A market's live book. Resolves when the book is complete. Rejects when the service refuses the subscription, when
   * the first connection fails, or when `signal` is aborted. While the service has no source for the market, or cannot
   * be reached again after the first connection, the client waits.
   */
  async book(market: string, options: BookOptions = {}): Promise<Book> {
    checkWhole('depth', options.depth)
    checkWhole('interval', options.interval)
    checkBoolean('attribution', options.attribution)
    const book = new LiveBook(market, options, () => this.#remove(book))
    return this.#add(book, book.ready, options.signal)
  }

  /**
   * The best price on each side of a market, which costs less than its book. Resolves with the first prices. It rejects
   * and waits as `book` does.
   */
  async topOfBook(market: string, options: TopOfBookOptions = {}): Promise<TopOfBook> {
    checkWhole('interval', options.interval)
    const top = new LiveTopOfBook(market, options, () => this.#remove(top))
    return this.#add(top, top.ready, options.signal)
  }

  /** A market's executions from now on. Resolves when the service has accepted the subscription. */
  async executions(market: string, options: ExecutionOptions = {}): Promise<Executions> {
    const executions = new LiveExecutions(market, () => this.#remove(executions))
    return this.#add(executions, executions.ready, options.signal)
  }

  /**
   * The customer's events in order, each once, on a connection of their own. The client needs the scope
   * `events:read_event`. The loop throws `EventsExpired` when events after `after` are no longer kept.
   */
  events(options: EventOptions = {}): Events {
    const service = serviceOf(this.#options, this.#platform, EVENT_SCOPES)
    const events = new StreamedEvents({
      ...options,
      ...service,
      platform: this.#platform,
      onClose: () => this.#events.delete(events),
    })
    this.#events.add(events)
    return events
  }

  /** Ends all subscriptions and the connections. */
  close(): void {
    this.#endAll(undefined)
    for (const events of [...this.#events]) events.close()
  }

  async #add<S extends Subscription>(subscription: S, ready: Promise<void>, signal: AbortSignal | undefined) {
    signal?.throwIfAborted()
    checkMarket(subscription.market)
    const key = keyOf(subscription)
    if (this.#rows.has(key)) {
      const what = `${subscription.channel} of ${subscription.market}`
      throw new TidegateError(
        'INVALID_ARGUMENT',
        `${what} is subscribed already: share it, or use another StreamClient`,
      )
    }
    const abort = (): void => this.#remove(subscription, signal?.reason)
    signal?.addEventListener('abort', abort)
    const ignoreSignal = (): void => signal?.removeEventListener('abort', abort)
    this.#rows.set(key, { subscription, repairs: 0, repairedAt: 0, cancelRepair: () => undefined, ignoreSignal })
    this.#connection.open()
    this.#request()
    try {
      await abortable(ready, signal)
    } catch (error) {
      if (!signal?.aborted || this.#lastLoss === undefined) throw error
      throw new TidegateError('UNREACHABLE', `gave up on ${subscription.market}: ${this.#lastLoss}`, { cause: error })
    }
    return subscription
  }

  #remove(subscription: Subscription, error?: unknown): void {
    const key = keyOf(subscription)
    const row = this.#rows.get(key)
    if (row?.subscription !== subscription) return
    if (row.stage !== undefined) this.#unsubscribe(subscription)
    this.#end(row, error)
    if (this.#rows.size === 0) this.#close()
  }

  #end(row: Row, error: unknown): void {
    this.#rows.delete(keyOf(row.subscription))
    row.cancelRepair()
    row.ignoreSignal()
    row.subscription.end(error)
  }

  #endAll(error: unknown): void {
    for (const row of [...this.#rows.values()]) this.#end(row, error)
    this.#close()
  }

  #close(): void {
    this.#forgetConnection()
    this.#connection.close()
  }

  #opened(): void {
    this.#isOpen = true
    this.#lastLoss = undefined
    const protocol = this.#connection.isExtended ? 'tidegate.v1' : 'tidegate.default'
    this.#onEvent({ type: 'CONNECTED', url: this.#url, protocol })
    this.#request()
  }

  #lost(lost: ConnectionLost): void {
    this.#lastLoss = lost.reason
    this.#forgetConnection()
    for (const { subscription } of this.#rows.values()) subscription.suspend(lost.reason)
    this.#onEvent({ type: 'DISCONNECTED', ...lost })
  }

  #forgetConnection(): void {
    this.#isOpen = false
    this.#hasHeartbeat = false
    this.#lastHeartbeat = undefined
    this.#unanswered = undefined
    this.#unsubscribing.clear()
    for (const row of this.#rows.values()) {
      row.cancelRepair()
      delete row.stage
    }
  }

  /**
   * At the end of the tick, subscribes whatever the open connection has not requested yet, as much as fits into one
   * request. Its answer triggers the next request.
   */
  #request(): void {
    if (this.#isFlushing || !this.#isOpen) return
    this.#isFlushing = true
    queueMicrotask(() => {
      this.#isFlushing = false
      if (!this.#isOpen || this.#unanswered !== undefined) return
      const waiting = [...this.#rows.values()].filter(({ stage }) => stage === undefined)
      if (waiting.length === 0) return
      // The heartbeat goes first, so that the service never refuses it when there are too many subscriptions.
      const channels: object[] = this.#hasHeartbeat ? [] : [{ type: 'heartbeat' }]
      const rows = waiting.slice(0, this.#entriesMax - channels.length)
      const isExtended = this.#connection.isExtended
      for (const row of rows) {
        const { subscription } = row
        channels.push({ type: subscription.channel, params: subscription.params(isExtended) })
        row.stage = 'requested'
      }
      this.#unanswered = { rows, entryCount: channels.length }
      this.#connection.send({ type: 'subscribe', channels })
    })
  }

  #receive(data: unknown): void {
    try {
      this.#dispatch(parseMessage(data))
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      this.#connection.restart(error.message)
    }
  }

  #dispatch(message: Message): void {
    if (message.kind === 'book' || message.kind === 'top' || message.kind === 'execution') {
      this.#pass(CHANNELS[message.kind], message.market, (subscription) => subscription.receive(message))
    } else if (message.kind === 'heartbeat') {
      this.#noteHeartbeat(message.milliseconds)
      this.#onHeartbeat(message.time)
      for (const statement of message.books)
        this.#pass(CHANNELS.book, statement.market, (subscription) => subscription.confirm(statement))
    } else if (message.kind === 'reply') {
      for (const entry of message.entries) this.#receiveReply(message.isSubscribe, entry)
      if (message.isSubscribe) this.#receiveAnswer()
    } else if (message.kind === 'error') {
      this.#receiveError(message.error, message.text)
    }
  }

  /** The service has answered the last subscribe request. */
  #receiveAnswer(): void {
    this.#hasHeartbeat = true
    this.#unanswered = undefined
    this.#request()
  }

  /** The service has rejected a whole request. */
  #receiveError(error: string, text: string): void {
    if (error === 'INTERNAL_SERVER_ERROR') throw new Fault(text)
    const { rows, entryCount } = this.#unanswered ?? { rows: [], entryCount: 0 }
    if (error !== 'MALFORMED_REQUEST' || entryCount < 2) {
      this.#endAll(new TidegateError('PROTOCOL_ERROR', `a request was rejected: ${error}, ${text}`))
      return
    }
    // It may have had too many entries: in smaller requests, each entry gets its own answer.
    this.#entriesMax = Math.floor(entryCount / 2)
    for (const row of rows) if (row.stage === 'requested') delete row.stage
    this.#unanswered = undefined
    this.#request()
  }

  #pass(channel: ChannelType, market: string, deliver: (subscription: Subscription) => void): void {
    const row = this.#rows.get(subscriptionKey(channel, market))
    if (row?.stage !== 'active') return
    try {
      deliver(row.subscription)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      this.#repair(row, error.message)
      return
    }
    this.#connection.confirm()
  }

  #noteHeartbeat(milliseconds: number): void {
    if (this.#lastHeartbeat !== undefined) this.#connection.noteHeartbeats(milliseconds - this.#lastHeartbeat)
    this.#lastHeartbeat = milliseconds
  }

  #receiveReply(isSubscribe: boolean, entry: ReplyEntry): void {
    const key = subscriptionKey(entry.channel, entry.market)
    const row = this.#rows.get(key)
    const unsubscribing = this.#unsubscribing.get(key) ?? 0
    if (isSubscribe) {
      // Replies come in request order. Before the reply to our last unsubscribe, they belong to an earlier subscribe. A
      // second acknowledgement for the same request adds nothing.
      if (row?.stage === 'requested' && unsubscribing === 0) this.#receiveAcknowledgement(row, entry)
    } else if (unsubscribing > 0) {
      this.#unsubscribing.set(key, unsubscribing - 1)
    } else if (row !== undefined && entry.isSuccess) {
      // The market was removed or changed. If it was removed, the new subscription is refused.
      this.#begin(row, entry.text)
    }
  }

  #receiveAcknowledgement(row: Row, { isSuccess, resumed, error, text }: ReplyEntry): void {
    if (isSuccess) {
      row.stage = 'active'
      row.subscription.acknowledge(resumed)
    } else if (error === 'INTERNAL_SERVER_ERROR') {
      this.#connection.restart(text)
    } else {
      const what = `${row.subscription.market}: ${text} (${error}). ${ADVICE[error] ?? 'Report it to the operator'}`
      this.#end(row, new TidegateError('SUBSCRIPTION_REFUSED', what))
      if (this.#rows.size === 0) this.#close()
    }
  }

  /** Unsubscribes and subscribes again, which brings a new SNAPSHOT. */
  #repair(row: Row, reason: string): void {
    this.#unsubscribe(row.subscription)
    this.#begin(row, reason)
  }

  #unsubscribe(subscription: Subscription): void {
    const key = keyOf(subscription)
    this.#unsubscribing.set(key, (this.#unsubscribing.get(key) ?? 0) + 1)
    const { channel: type, market } = subscription
    this.#connection.send({ type: 'unsubscribe', channels: [{ type, params: { market } }] })
  }

  /** Begins an ended subscription again: at once the first time, and with a growing delay after that. */
  #begin(row: Row, reason: string): void {
    const { subscription } = row
    const { market, channel } = subscription
    this.#onEvent({ type: 'RESYNC', market, channel, reason })
    row.stage = 'requested'
    subscription.reset(reason)
    const now = this.#platform.now()
    if (now - row.repairedAt > TRUST_MILLISECONDS) row.repairs = 0
    const delay = row.repairs === 0 ? 0 : Math.min(REPAIR_MILLISECONDS_MAX, REPAIR_MILLISECONDS * 2 ** row.repairs)
    row.repairs++
    row.repairedAt = now
    row.cancelRepair = this.#platform.after(delay * (0.5 + this.#platform.random()), () => {
      delete row.stage
      this.#request()
    })
  }
}

/** What to do about a refused subscription. */
const ADVICE: Readonly<Record<string, string>> = {
  UNKNOWN_CHANNEL_PARAMS_CONFIGURATION: 'GET /v2/markets lists the markets; also check the options',
  UNKNOWN_CHANNEL: 'The service does not have this channel',
  NO_EFFECT_ACTION: 'Close others, or use one more StreamClient',
}

function keyOf({ channel, market }: Subscription): string {
  return subscriptionKey(channel, market)
}

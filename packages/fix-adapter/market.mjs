/**
 * One market: its subscription at the engine, its book and trading state, and their publication. A book is published as
 * trusted only while the engine's messages prove it. After a gap, a fault or a disconnection it is lost, and a new
 * subscription restores it. Trades are published in the meantime too.
 */
import { randomBytes } from 'node:crypto'
import { backoffMilliseconds, printable } from '../publisher/runtime.mjs'
import { Book } from './book.mjs'
import { Entries, FeedFault } from './entries.mjs'
import { TradeReader } from './trades.mjs'
import { stateOf } from './trading-state.mjs'

/** @import { Execution, Publisher, Snapshot } from '../publisher/publisher.mjs' */
/** @import { Clock, Log, Timer } from '../publisher/runtime.mjs' */
/** @import { Change, Entry } from './book.mjs' */
/** @import { EntrySettings, Fields } from './entries.mjs' */
/** @import { Fields as MessageFields } from './message.mjs' */
/** @import { State, States } from './trading-state.mjs' */
/** @import { TradeSettings, Trades } from './trades.mjs' */

/** Without a full refresh for this long, the subscription is repeated. */
const REFRESH_MILLISECONDS = 10_000
const RETRY_MILLISECONDS_MAX = 30_000
/** A book crossed in continuous trading for this long is requested again. */
const CROSSED_MILLISECONDS = 5_000
const CALM_MILLISECONDS = 60_000
/** Requests that are remembered as unanswered. One proves as much as all. */
const UNANSWERED_MAX = 10

/**
 * @typedef {object} MarketSettings
 * @property {string} market The symbol at Tidegate.
 * @property {string} symbol The engine's symbol (55).
 * @property {'incremental' | 'full'} refresh
 * @property {boolean} securityStatus Whether the trading state is requested, and waited for.
 * @property {{ tradingStatus: States, sessionPhase: States }} states
 *
 * @typedef {object} MarketMeans
 * @property {Publisher} publisher
 * @property {(type: string, fields: MessageFields) => void} request Sends a message to the engine.
 * @property {Clock} clock
 * @property {Log} log
 *
 * @typedef {{ time: string, prefix: string, requestId: string | undefined }} About The message that carried the
 * entries.
 */

export class Market {
  #settings
  #means
  #book = new Book()
  #entries
  #trades
  /** `waiting`: for a full refresh or the trading state. `crossed`: the book is applied, but not published. */
  #phase = /** @type {'waiting' | 'trusted' | 'crossed'} */ ('waiting')
  #isLoaded = false
  /** Whether this session has brought a full refresh. */
  #isRefreshed = false
  /** @type {State | undefined} */
  #state
  #reason = ''
  /** What this market's request identifiers begin with. An engine may remember those of earlier runs. */
  #requestPrefix
  #requests = 0
  #requestId = ''
  #stateRequestId = ''
  /** The requests that the engine has not answered with a book. @type {Set<string>} */
  #unanswered = new Set()
  #time = ''
  #failures = 0
  #failedMilliseconds = 0
  /** @type {Timer | undefined} */
  #timer

  /** @param {MarketSettings & EntrySettings & TradeSettings} settings @param {MarketMeans} means */
  constructor(settings, means) {
    this.#settings = settings
    this.#means = means
    this.#requestPrefix = `${settings.market}-${randomBytes(4).toString('hex')}-`
    this.#entries = new Entries(settings, this.#book)
    this.#trades = new TradeReader(settings)
  }

  /** The session began: starts an epoch and subscribes. @param {string} epoch */
  begin(epoch) {
    const { market, securityStatus } = this.#settings
    this.#state = securityStatus ? undefined : 'OPEN'
    this.#requestId = ''
    this.#stateRequestId = ''
    this.#unanswered.clear()
    this.#isRefreshed = false
    this.lose('the session begins')
    this.#means.publisher.begin(market, epoch)
    this.subscribe()
  }

  /** The book is no longer trusted. @param {string} reason */
  lose(reason) {
    this.#timer?.cancel()
    this.#phase = 'waiting'
    this.#isLoaded = false
    this.#means.publisher.lost(this.#settings.market, reason)
  }

  /** Trades may have been lost before this moment. @param {string} reason */
  miss(reason) {
    this.#means.log('warn', 'trades may be missing', { market: this.#settings.market, reason })
    this.#means.publisher.missed(this.#settings.market, reason)
  }

  /**
   * The engine does not send some messages again. Trades, changes of the book and of the trading state may be lost.
   * @param {string} reason
   */
  skip(reason) {
    // Messages sent again may have restored the book since the gap.
    this.lose(reason)
    if (this.#settings.securityStatus) this.#state = undefined
    this.miss(reason)
  }

  /** Requests a full refresh and the updates after it, and cancels the previous subscription. */
  subscribe() {
    const { securityStatus } = this.#settings
    // The previous subscription's changes no longer count.
    this.lose('the book is requested again')
    if (this.#requestId !== '') this.#requestData(this.#requestId, '2')
    this.#requestId = `${this.#requestPrefix}${++this.#requests}`
    if (this.#unanswered.size < UNANSWERED_MAX) this.#unanswered.add(this.#requestId)
    this.#requestData(this.#requestId, '1')
    if (securityStatus && this.#state === undefined) {
      if (this.#stateRequestId !== '') this.#requestState(this.#stateRequestId, '2')
      this.#stateRequestId = `${this.#requestId}-state`
      this.#requestState(this.#stateRequestId, '1')
    }
    const expire = () => this.fault(`the engine ${this.#isLoaded ? 'reports no trading state' : 'sends no book'}`)
    this.#timer = this.#means.clock.schedule(REFRESH_MILLISECONDS, expire)
  }

  /**
   * The engine refuses the request with this identifier. @param {string | undefined} requestId @param {string} reason
   */
  refused(requestId, reason) {
    if (requestId === this.#requestId) this.fault(`the engine refuses the request: ${reason}`)
  }

  /** Whether this identifier is one of this market's requests in this run. @param {string | undefined} requestId */
  isRequest(requestId) {
    const prefix = this.#requestPrefix
    return requestId?.startsWith(prefix) === true && Number(requestId.slice(prefix.length)) <= this.#requests
  }

  /** A full refresh. @param {readonly Fields[]} entries @param {About} about */
  replace(entries, about) {
    this.#unanswered.delete(about.requestId ?? this.#requestId)
    if (about.requestId !== undefined && about.requestId !== this.#requestId) return
    this.#time = about.time
    // The subscription before such a request was cancelled.
    if (this.#unanswered.size > 0) this.miss('the engine did not answer a request for its book')
    this.#unanswered.clear()
    const trades = this.#trades.read(entries, about)
    // Trades in the session's first refresh, and in all refreshes beside incremental ones, are old or repeated.
    const isNews = this.#settings.refresh === 'full' && this.#isRefreshed
    this.#isRefreshed = true
    this.#apply(() => this.#entries.replace(entries), isNews ? trades : { executions: [], missed: undefined }, true)
  }

  /** An incremental refresh. @param {readonly Fields[]} entries @param {About} about */
  change(entries, about) {
    this.#time = about.time
    const isCurrent = this.#isLoaded && (about.requestId === undefined || about.requestId === this.#requestId)
    const apply = isCurrent ? () => this.#entries.change(entries) : () => undefined
    this.#apply(apply, this.#trades.read(entries, about), this.#isLoaded)
  }

  /**
   * The engine reports the trading state.
   * @param {{ tradingStatus: string | undefined, sessionPhase: string | undefined, text: string, time: string }} report
   */
  report({ tradingStatus, sessionPhase, text, time }) {
    const state = stateOf(tradingStatus, sessionPhase, this.#settings.states)
    if (state === undefined || !this.#settings.securityStatus) return
    const reason = state === 'OPEN' ? '' : text
    if (state === this.#state && reason === this.#reason) return
    const isFirst = this.#state === undefined
    this.#state = state
    this.#reason = reason
    this.#time = time
    if (!isFirst) this.#means.publisher.instrument(this.#settings.market, { time, ...this.#instrument() })
    this.#publish([])
  }

  /** @returns {Snapshot} */
  snapshot() {
    /** @type {(readonly [string, Entry])[]} */
    const entries = [...this.#book.published()]
    const members = { time: this.#time, instrument: this.#instrument() }
    if (this.#settings.keyedBy === 'order') {
      return { ...members, orders: entries.map(([key, entry]) => ({ order_id: key, ...entry })) }
    }
    const levels = entries.map(([, entry]) => entry)
    return { ...members, bids: levelsOf(levels, 'buy'), asks: levelsOf(levels, 'sell') }
  }

  /**
   * @param {() => void} apply @param {Trades} trades @param {boolean} isLoaded Whether the book is complete afterwards.
   */
  #apply(apply, trades, isLoaded) {
    let fault = ''
    try {
      apply()
      this.#isLoaded = isLoaded
    } catch (error) {
      if (!(error instanceof FeedFault)) throw error
      // It may contain the engine's text.
      fault = printable(error.message)
      // Before the trades, which are then published without the book.
      this.lose(fault)
    }
    this.#publish(trades.executions)
    if (trades.missed !== undefined) this.miss(trades.missed)
    if (fault !== '') this.fault(fault)
  }

  /** Publishes the changes, together with these trades. @param {readonly Execution[]} executions */
  #publish(executions) {
    const { publisher } = this.#means
    const { market } = this.#settings
    const isUsable = this.#isLoaded && this.#state !== undefined
    const isCrossed = isUsable && this.#state === 'OPEN' && this.#book.isCrossed
    if (isCrossed && this.#phase !== 'crossed') this.#onCrossed()
    if (!isUsable || isCrossed) {
      if (executions.length > 0) publisher.update(market, { time: this.#time, executions })
      return
    }
    const changes = this.#book.publish()
    if (this.#phase === 'trusted') {
      if (changes.length + executions.length === 0) return
      return publisher.update(market, { time: this.#time, ...this.#changesOf(changes), executions })
    }
    if (executions.length > 0) publisher.update(market, { time: this.#time, executions })
    this.#timer?.cancel()
    this.#phase = 'trusted'
    publisher.snapshot(market)
  }

  /**
   * The engine may still be sending the entries that uncross the book. It is requested again only if they do not
   * arrive.
   */
  #onCrossed() {
    this.#timer?.cancel()
    this.#phase = 'crossed'
    this.#means.publisher.lost(this.#settings.market, 'the book is crossed')
    this.#timer = this.#means.clock.schedule(CROSSED_MILLISECONDS, () => this.fault('the book is crossed'))
  }

  /** Subscribes again after a wait that grows with the failures. @param {string} reason */
  fault(reason) {
    const now = this.#means.clock.now()
    if (now - this.#failedMilliseconds > CALM_MILLISECONDS) this.#failures = 0
    this.#failedMilliseconds = now
    const wait = backoffMilliseconds(this.#failures++, RETRY_MILLISECONDS_MAX)
    const { market } = this.#settings
    this.#means.log('warn', 'the book is lost', { market, reason, retry_milliseconds: Math.round(wait) })
    this.lose(reason)
    this.#timer = this.#means.clock.schedule(wait, () => this.subscribe())
  }

  /** @param {string} requestId @param {'1' | '2'} action Subscribe, or cancel. */
  #requestData(requestId, action) {
    const { symbol, depth, refresh, keyedBy } = this.#settings
    this.#means.request('V', [
      [262, requestId],
      [263, action],
      [264, String(depth)],
      [265, refresh === 'full' ? '0' : '1'],
      [266, keyedBy === 'order' ? 'N' : 'Y'],
      [267, '3'],
      [269, '0'],
      [269, '1'],
      [269, '2'],
      [146, '1'],
      [55, symbol],
    ])
  }

  /** @param {string} requestId @param {'1' | '2'} action Subscribe, or cancel. */
  #requestState(requestId, action) {
    this.#means.request('e', [
      [324, requestId],
      [55, this.#settings.symbol],
      [263, action],
    ])
  }

  #instrument() {
    const { priceDecimals, amountDecimals } = this.#settings
    const state = /** @type {State} */ (this.#state)
    return { price_decimals: priceDecimals, amount_decimals: amountDecimals, state, reason: this.#reason }
  }

  /** @param {readonly Change[]} changes */
  #changesOf(changes) {
    if (this.#settings.keyedBy === 'order') return { orders: changes.flatMap(orderChanges) }
    const levels = changes.map(({ before, after }) => after ?? { .../** @type {Entry} */ (before), amount: '0' })
    return { bids: levelsOf(levels, 'buy'), asks: levelsOf(levels, 'sell') }
  }
}

/** @param {readonly Entry[]} entries @param {Entry['side']} wanted */
function levelsOf(entries, wanted) {
  return entries.filter(({ side }) => side === wanted).map(({ price, amount }) => ({ price, amount }))
}

/** @param {Change} change @returns {object[]} */
function orderChanges({ key, before, after }) {
  const removal = { type: 'order_delete', order_id: key }
  if (after === undefined) return [removal]
  const addition = { type: 'order_add', order_id: key, ...after }
  if (before === undefined) return [addition]
  if (before.side !== after.side) return [removal, addition]
  return [
    {
      type: 'order_modify',
      order_id: key,
      amount: after.amount,
      ...(before.price === after.price ? {} : { price: after.price }),
    },
  ]
}

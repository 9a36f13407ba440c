/**
 * One pair at a venue: its book's state, when it is subscribed again, and which events its markets receive. No book is
 * published without proof from the venue's messages. It opens no connection: it calls the given functions to send
 * requests and to fetch snapshots. The venue's folder defines how messages change the book.
 *
 * States:
 * - `unlisted`: no connection, not listed, or refused by every market: messages are ignored. A listing leads to
 *   `waiting`.
 * - `waiting`: subscribed, or about to be. Trades are published, the book is not. A `snapshot` leads to `live`.
 * - `live`: updates are published. Any fault leads to `waiting`. A closed connection leads to `unlisted`. A refresh
 *   (`venue-watch`) subscribes the book again while it stays live, and publishes the snapshot's changes.
 *
 * An acknowledgement never ends a live book. But after an acknowledged unsubscribe, changes may be missing that a
 * checksum over ten levels cannot detect. Where the book begins on the connection, every subscription and every
 * acknowledgement must therefore be followed by a snapshot within `SNAPSHOT_MILLISECONDS`. Otherwise the pair is lost
 * and subscribed again. One snapshot satisfies all acknowledgements before it. Where the snapshot is fetched, an
 * acknowledgement starts the request (`isFallback`: later), and message numbers prove the sequence complete.
 */
import type { Clock, Timer } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { SourceMarket } from '../source.ts'
import { PairMarkets, pairNotices } from './pair-markets.ts'
import { PairTrades, refusedMilliseconds } from './pair-trades.ts'
import type { Fetched, Listing, PairProtocol, VenueBook, VenueTrade } from './venue.ts'
import { retryMilliseconds } from './venue-connection.ts'
import type { PairMetrics } from './venue-metrics.ts'
import { type SnapshotNeed, VenueSnapshot } from './venue-snapshot.ts'
import type { VenueTrades } from './venue-trades.ts'
import { VenueWatch, type VenueWatchOptions } from './venue-watch.ts'

export interface VenuePairOptions<Data> extends Pick<VenueWatchOptions, 'isTrading'> {
  /** Feed name, as in the settings: `kraken`. */
  readonly venue: string
  readonly symbol: string
  /** The pair's markets, at least one. */
  readonly markets: readonly SourceMarket[]
  readonly protocol: PairProtocol<Data>
  /** The symbol's trade numbers. They are kept when the pair is replaced. */
  readonly trades: VenueTrades
  /** Whether the pair that this one replaces has already subscribed the trades. */
  readonly hasTrades: boolean
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  readonly metrics: PairMetrics
  /** Sends a request for this pair alone. */
  readonly request: (action: 'subscribe' | 'unsubscribe', channel: 'book' | 'trades', depth: number) => void
  /** Fetches a snapshot, for venues that do not send it on the connection. Never rejects. */
  readonly fetchSnapshot?: (depth: number, signal: AbortSignal) => Promise<Fetched<Data>>
}

/** Longest time from an acknowledgement to its snapshot, which usually takes less than a second. */
const SNAPSHOT_MILLISECONDS = 10_000
/** A book that was live this long resets the backoff: the next fault is retried at once. */
const PROVEN_MILLISECONDS = 60_000

export class VenuePair<Data> {
  readonly symbol: string
  /** The depth to request: the smallest on offer that covers every market, or the largest. */
  readonly depthAsked: number
  readonly #options: VenuePairOptions<Data>
  readonly #markets: PairMarkets
  #state: 'unlisted' | 'waiting' | 'live' = 'unlisted'
  #listing: Listing | undefined
  /** The depth in the venue's last acknowledgement. */
  #depth: number
  #book: VenueBook<Data> | undefined
  /** Runs while a snapshot is expected, or until a scheduled subscription. */
  #timer: Timer | undefined
  /** Defined for venues whose snapshots are fetched. */
  readonly #snapshot: VenueSnapshot<Data> | undefined
  /** Whether such a book's subscription was acknowledged. */
  #isAcknowledged = false
  readonly #watch: VenueWatch
  /** Whether the live book was subscribed again for a refresh. */
  #isRefreshing = false
  #hasTrades: boolean
  readonly #trades: PairTrades
  #failures = 0
  #liveSinceMilliseconds = 0
  #isStopped = false

  constructor(options: VenuePairOptions<Data>) {
    const { venue, symbol, markets, protocol, log } = options
    this.#options = options
    this.symbol = symbol
    this.#markets = new PairMarkets(venue, markets)
    this.#hasTrades = options.hasTrades
    const wanted = this.#markets.depthWanted
    this.depthAsked = protocol.depths.find((depth) => depth >= wanted) ?? (protocol.depths.at(-1) as number)
    this.#depth = this.depthAsked
    this.#snapshot = this.#createSnapshot()
    this.#watch = this.#createWatch()
    this.#trades = new PairTrades({
      ...options,
      pairMarkets: this.#markets,
      subscribe: () => options.request('subscribe', 'trades', 0),
      onNew: (trades) => this.#watchTrades(trades),
    })
    if (wanted > this.depthAsked) log.warn({ symbol, depth: this.depthAsked }, 'venue offers no deeper book than this')
  }

  /** Whether the trades are subscribed on the current connection. */
  get hasTrades(): boolean {
    return this.#hasTrades && !this.#trades.isRefused
  }

  /** The pair's listing while it is subscribed. */
  get subscribedListing(): Listing | undefined {
    return this.#state === 'unlisted' ? undefined : this.#listing
  }

  /** Operator notices about one of the markets. */
  notices({ market }: SourceMarket): readonly string[] {
    const { venue } = this.#options
    const { symbol, depthAsked } = this
    const unfit = this.#book?.unfit ?? []
    const pair = { venue, symbol, listing: this.#listing, depthAsked, depthServed: this.#depth, unfit }
    const notices = pairNotices(pair, market)
    return this.#trades.notice === undefined ? notices : [...notices, this.#trades.notice]
  }

  /** Takes a listing. Returns true when the pair has to be subscribed now, after which `subscribed` must be called. */
  list(listing: Listing): boolean {
    if (this.#isStopped) return false
    const known = this.#listing
    const { symbol, status } = listing
    if (listing.state !== 'open' && status !== known?.status) {
      this.#options.log.warn({ symbol, status }, 'venue pair is not online')
    }
    this.#listing = listing
    if (listing.state === 'gone') {
      this.unlist(`${this.#options.venue} lists ${symbol} as ${status}`)
      return false
    }
    const isSame = known?.priceDecimals === listing.priceDecimals && known.amountDecimals === listing.amountDecimals
    if (isSame && this.#state !== 'unlisted') return false
    if (!this.#markets.accept(listing)) {
      this.#unsubscribe()
      this.#forget('unlisted')
      return false
    }
    if (this.#isStopped) return false
    if (this.#state === 'unlisted') {
      this.#enter('waiting')
      return true
    }
    this.fail(`${this.#options.venue} changed the precisions of ${symbol}`)
    return false
  }

  /** Book and trades have been subscribed: a snapshot is expected. */
  subscribed(): void {
    this.#hasTrades = true
    this.#expectSnapshot()
  }

  /** The connection has ended, and every subscription with it. */
  disconnect(reason: string): void {
    this.#hasTrades = false
    this.#forget('unlisted')
    this.#markets.loseAll(reason)
  }

  /** The pair is unavailable on this connection until it is listed again. */
  unlist(reason: string): void {
    this.#unsubscribe()
    this.#forget('unlisted')
    this.#markets.loseAll(reason)
  }

  /** The listing is not known yet. A subscribed pair continues unchanged. */
  postpone(reason: string): void {
    if (this.#state === 'unlisted') this.#markets.loseAll(reason)
  }

  /** A subscribe or unsubscribe was acknowledged, with the served depth: a snapshot is expected. */
  acknowledge(depthServed?: number): void {
    if (this.#state === 'unlisted') return
    if (depthServed !== undefined && depthServed !== this.#depth) {
      this.#depth = depthServed
      // A book that is not live yet starts with the served depth.
      if (this.#state === 'waiting') this.#book = undefined
      const { symbol, depthAsked } = this
      if (depthServed < depthAsked) {
        this.#options.log.warn({ symbol, depth: depthServed, depthAsked }, 'venue serves fewer levels than requested')
      }
    }
    if (this.#snapshot === undefined || (this.#snapshot.isFallback && this.#state === 'live')) {
      this.#expectSnapshot()
    } else if (this.#state === 'waiting') {
      this.#endWait()
      if (!this.#snapshot.isFallback) this.#book = undefined
      this.#isAcknowledged = true
      this.#snapshot.begin()
    } else {
      // The message numbers prove whether anything was missed during the refresh.
      this.#endWait()
      this.#isRefreshing = false
    }
  }

  /** The venue refused a subscription. A live book continues. */
  refuse(channel: 'book' | 'trades', reason: string, isOfGroup: boolean): void {
    if (channel === 'book') {
      if (this.#state !== 'waiting') return
      this.#setTimer(refusedMilliseconds(isOfGroup), () => this.#subscribe())
      this.#markets.lose(`${this.#options.venue} refused ${this.symbol}: ${reason}`)
    } else if (this.#state !== 'unlisted') {
      this.#trades.refuse(reason, isOfGroup)
    }
  }

  /** Takes one book message. */
  apply(data: Data): void {
    // Messages before the acknowledgement may belong to an earlier subscription and be followed by a gap.
    if (this.#snapshot?.isFallback === false && !this.#isAcknowledged) return
    if (this.#state === 'live') this.#watch.noteBook()
    const need = this.#take(data)
    if (need !== 'none' && this.#state === 'live') this.#snapshot?.renew()
  }

  /** Takes trades as the venue sent them. */
  trade(trades: readonly VenueTrade[], isRepeat: boolean): void {
    if (this.#state !== 'unlisted') this.#trades.take(trades, isRepeat)
  }

  /**
   * Reports the loss of sync and subscribes again: at once after the first fault, later with backoff, never before the
   * minimum.
   */
  fail(reason: string, delayMillisecondsMin = 0): void {
    if (this.#state === 'unlisted') return
    const { clock, random, log, metrics } = this.#options
    const liveMilliseconds = clock.monotonicMilliseconds() - this.#liveSinceMilliseconds
    if (this.#state === 'live' && liveMilliseconds >= PROVEN_MILLISECONDS) this.#failures = 0
    metrics.countGap()
    this.#forget('waiting')
    this.#failures += 1
    const backoffMilliseconds = this.#failures === 1 ? 0 : retryMilliseconds(this.#failures, random)
    const delayMilliseconds = Math.max(backoffMilliseconds, delayMillisecondsMin)
    log.warn({ symbol: this.symbol, reason, retryMilliseconds: delayMilliseconds }, 'venue book lost')
    if (delayMilliseconds === 0) this.#resubscribe()
    else this.#setTimer(delayMilliseconds, () => this.#resubscribe())
    this.#markets.lose(reason)
  }

  /** A market found an invalid book: a live book is subscribed again. */
  rebuild(market: SourceMarket, reason: string): void {
    if (this.#state !== 'live' || !this.#markets.has(market)) return
    this.fail(`the book of ${market.market.symbol} is rebuilt: ${reason}`)
  }

  /** Ends the pair while the connection continues. With a successor, its trades stay subscribed. */
  leave(hasSuccessor: boolean): void {
    this.#unsubscribe(hasSuccessor)
    this.stop()
  }

  /** Ends the pair. Its listeners are not called any more. */
  stop(): void {
    this.#isStopped = true
    this.#markets.stop()
    this.#forget('unlisted')
  }

  /** Applies a message to the book, publishes the changes, and returns whether the book needs a snapshot. */
  #take(data: Data): SnapshotNeed {
    const listing = this.#markets.bookListing
    if (listing === undefined || this.#state === 'unlisted') return 'none'
    const { metrics, clock } = this.#options
    const book = this.#book ?? this.#createBook(listing)
    this.#book = book
    const step = book.apply(data)
    if (step.kind === 'wrong') {
      if (step.isChecksumMismatch === true) metrics.countMismatch()
      this.fail(step.reason)
    } else if (step.kind === 'waiting') {
      if (this.#state === 'live') this.fail(`the book of ${this.symbol} restarted`)
      else if (step.reason !== undefined) this.#markets.lose(step.reason)
    } else if (step.kind === 'snapshot' || this.#state === 'live') {
      const isFresh = step.kind === 'snapshot' && this.#isRefreshing && step.changes !== undefined
      if (step.kind === 'snapshot') {
        this.#endWait()
        this.#isRefreshing = false
        if (this.#state !== 'live') {
          this.#liveSinceMilliseconds = clock.monotonicMilliseconds()
          this.#enter('live')
          this.#trades.expect()
        }
      }
      const { changes = [] } = step
      const isCurrent = () => this.#book === book
      if (isFresh) this.#watch.refreshed(step.differences ?? changes.length)
      if (step.kind === 'snapshot' && !isFresh) this.#markets.publish(listing, 'snapshot', step.levels, isCurrent)
      else if (changes.length > 0) this.#markets.publish(listing, 'update', changes, isCurrent)
    }
    if (this.#book !== book || step.kind === 'snapshot' || step.kind === 'wrong') return 'none'
    const { confirmMilliseconds } = step
    if (confirmMilliseconds !== undefined) return { confirmMilliseconds }
    return step.kind === 'waiting' || step.wantsSnapshot === true ? 'too-old' : 'none'
  }

  #createBook(listing: Listing): VenueBook<Data> {
    const priceMaximum = this.#markets.priceMaximum(listing)
    return this.#options.protocol.createBook({ listing, depth: this.#depth, priceMaximum })
  }

  #createSnapshot(): VenueSnapshot<Data> | undefined {
    const { fetchSnapshot } = this.#options
    if (fetchSnapshot === undefined) return undefined
    return new VenueSnapshot({
      ...this.#options,
      fetch: (signal) => fetchSnapshot(this.depthAsked, signal),
      waitMilliseconds: this.#options.protocol.snapshotWaitMilliseconds,
      take: (data) => this.#take(data),
      isLive: () => this.#state === 'live',
      fail: (reason, delayMillisecondsMin) => this.fail(reason, delayMillisecondsMin),
    })
  }

  #createWatch(): VenueWatch {
    return new VenueWatch({
      ...this.#options,
      reconcileMilliseconds: this.#options.protocol.reconcileMilliseconds,
      refresh: () => {
        if (this.#isRefreshing) return
        this.#isRefreshing = true
        if (this.#options.protocol.refreshesByFetch === true) this.#snapshot?.renew()
        else this.#resubscribe()
      },
      fail: (reason) => this.fail(reason),
    })
  }

  /** In an auction, trades are executed at prices other than the best ones. */
  #watchTrades(trades: readonly VenueTrade[]): void {
    const listing = this.#markets.bookListing
    if (this.#state !== 'live' || listing === undefined) return
    const isContinuous = this.#listing?.state === 'open'
    this.#watch.noteTrades(trades, listing.priceDecimals, () => (isContinuous ? (this.#book?.best ?? {}) : {}))
  }

  #resubscribe(): void {
    this.#options.request('unsubscribe', 'book', this.#depth)
    this.#subscribe()
  }

  #subscribe(): void {
    this.#options.request('subscribe', 'book', this.depthAsked)
    this.#expectSnapshot()
  }

  #unsubscribe(keepsTrades = false): void {
    if (this.#state !== 'unlisted') this.#options.request('unsubscribe', 'book', this.#depth)
    if (!this.#hasTrades || keepsTrades) return
    this.#options.request('unsubscribe', 'trades', 0)
    this.#hasTrades = false
  }

  #expectSnapshot(): void {
    if (this.#state === 'unlisted' || this.#timer !== undefined) return
    this.#setTimer(SNAPSHOT_MILLISECONDS, () =>
      this.fail(`no snapshot of ${this.symbol} within ${SNAPSHOT_MILLISECONDS / 1000} s`),
    )
  }

  #setTimer(delayMilliseconds: number, callback: () => void): void {
    this.#timer?.cancel()
    this.#timer = this.#options.clock.schedule(delayMilliseconds, () => {
      this.#timer = undefined
      callback()
    })
  }

  #enter(state: 'unlisted' | 'waiting' | 'live'): void {
    this.#state = state
    this.#options.metrics.noteLive(state === 'live')
    if (state === 'live') this.#watch.begin()
    else this.#watch.end()
  }

  /** Ends the wait for a snapshot: it arrived, or is not needed any more. */
  #endWait(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#snapshot?.cancel()
  }

  #forget(state: 'unlisted' | 'waiting'): void {
    this.#endWait()
    this.#book = undefined
    this.#isAcknowledged = false
    this.#isRefreshing = false
    this.#enter(state)
    // A pair that takes the place of a stopped one still has its trades.
    if (state === 'unlisted') this.#trades.end(!this.#isStopped)
  }
}

/**
 * One pair of a venue and the markets that read it: what state its book is in, when it is subscribed again, and what its
 * listeners are told of book and trades. It promises that nothing is published that the venue's book does not prove. It
 * knows no socket: it says what to send and what to fetch. What a book is made of is its venue's own matter.
 *
 * States:
 * - `unlisted`: no connection, not listed, or every market refused: messages are ignored. A listing makes it `waiting`.
 * - `waiting`: subscribed, or about to be. Trades are passed on, the book is not; a `snapshot` makes it `live`.
 * - `live`: updates are published. Anything wrong makes it `waiting`; the end of the connection makes it `unlisted`. A
 *   refresh (`venue-watch`) subscribes the book again while it stays live, and publishes what the snapshot changes.
 *
 * Acknowledgements never take a live book away. But behind an acknowledged unsubscribe, changes may be missing that a
 * checksum over ten levels cannot see. So where the book begins on the connection, an acknowledgement, like a request of
 * ours, must be followed by a snapshot within `SNAPSHOT_MILLISECONDS`; otherwise the pair is lost and subscribed again.
 * One snapshot answers all acknowledgements before it. Where the book's beginning is fetched, an acknowledgement begins
 * that (`isFallback`: later), and numbers prove what is missing.
 */
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { PairTrades } from './pair-trades.ts'
import type { SourceMarket } from './source.ts'
import type { Fetched, Listing, PairProtocol, VenueBook, VenueTrade } from './venue.ts'
import { retryMilliseconds } from './venue-connection.ts'
import type { PairMetrics } from './venue-metrics.ts'
import { pairNotices } from './venue-notices.ts'
import { VenueReaders } from './venue-readers.ts'
import { type SnapshotNeed, VenueSnapshot } from './venue-snapshot.ts'
import type { VenueTrades } from './venue-trades.ts'
import { VenueWatch } from './venue-watch.ts'

export interface VenuePairOptions<Data> {
  /** The venue's name as in the settings: `kraken`. */
  readonly venue: string
  readonly symbol: string
  /** The markets that read the pair, at least one. */
  readonly markets: readonly SourceMarket[]
  readonly protocol: PairProtocol<Data>
  /** The numbers of its trades, which outlive it. */
  readonly trades: VenueTrades
  /** Whether its trades are subscribed already, by the pair whose place it takes. */
  readonly hasTrades: boolean
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  readonly metrics: PairMetrics
  /** Sends a request for this pair alone. */
  readonly request: (action: 'subscribe' | 'unsubscribe', channel: 'book' | 'trades', depth: number) => void
  /** Fetches the book's beginning, for venues that do not send it on the connection. Never rejects. */
  readonly fetchSnapshot?: (depth: number, signal: AbortSignal) => Promise<Fetched<Data>>
}

/** A snapshot comes within a second of its acknowledgement. */
const SNAPSHOT_MILLISECONDS = 10_000
/** How long after a refusal by the venue the pair is tried again. */
const REFUSED_MILLISECONDS = 60_000
/** A book that was live for so long has proved itself: the next fault is answered without delay again. */
const PROVEN_MILLISECONDS = 60_000

export class VenuePair<Data> {
  readonly symbol: string
  /** The depth to ask for: the smallest on offer that covers every market, the largest if none does. */
  readonly depthAsked: number
  readonly #options: VenuePairOptions<Data>
  readonly #readers: VenueReaders
  #state: 'unlisted' | 'waiting' | 'live' = 'unlisted'
  #listing: Listing | undefined
  /** The depth that the venue's last acknowledgement named. */
  #depth: number
  #book: VenueBook<Data> | undefined
  /** Runs while a snapshot is due, or until a planned subscription. */
  #timer: Timer | undefined
  /** For venues whose books begin with something fetched. */
  readonly #snapshot: VenueSnapshot<Data> | undefined
  /** Whether the subscription of such a book was acknowledged. */
  #isAcknowledged = false
  readonly #watch: VenueWatch
  /** Whether the live book was subscribed again. */
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
    this.#readers = new VenueReaders(venue, markets)
    this.#hasTrades = options.hasTrades
    const wanted = this.#readers.depthWanted
    this.depthAsked = protocol.depths.find((depth) => depth >= wanted) ?? (protocol.depths.at(-1) as number)
    this.#depth = this.depthAsked
    this.#snapshot = this.#createSnapshot()
    this.#watch = this.#createWatch()
    this.#trades = new PairTrades({
      ...options,
      readers: this.#readers,
      subscribe: () => options.request('subscribe', 'trades', 0),
      onNew: (trades) => this.#watchTrades(trades),
    })
    if (wanted > this.depthAsked) log.warn({ symbol, depth: this.depthAsked }, 'venue offers no deeper book than this')
  }

  /** Whether its trades are subscribed on the present connection. */
  get hasTrades(): boolean {
    return this.#hasTrades
  }

  /** How the venue lists the pair while it is subscribed; nothing while it is not. */
  get subscribedListing(): Listing | undefined {
    return this.#state === 'unlisted' ? undefined : this.#listing
  }

  /** What an operator should know of a market that reads the pair. */
  notices({ market }: SourceMarket): readonly string[] {
    const { venue } = this.#options
    const { symbol, depthAsked } = this
    const unfit = this.#book?.unfit ?? []
    const pair = { venue, symbol, listing: this.#listing, depthAsked, depthServed: this.#depth, unfit }
    const notices = pairNotices(pair, market)
    const { notice } = this.#trades
    return notice === undefined ? notices : [...notices, notice]
  }

  /** Takes in how the venue lists the pair; true when it has to be subscribed now, and `subscribed` be called. */
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
    if (!this.#readers.accept(listing)) {
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

  /** Book and trades have been subscribed: they are due. */
  subscribed(): void {
    this.#hasTrades = true
    this.#expectSnapshot()
  }

  /** The connection has ended: nothing is subscribed any more. */
  disconnect(reason: string): void {
    this.#hasTrades = false
    this.#forget('unlisted')
    this.#readers.loseAll(reason)
  }

  /** The pair is out of reach while the connection stands, until it is listed again. */
  unlist(reason: string): void {
    this.#unsubscribe()
    this.#forget('unlisted')
    this.#readers.loseAll(reason)
  }

  /** The pair cannot be listed yet; one that is subscribed goes on as it is. */
  postpone(reason: string): void {
    if (this.#state === 'unlisted') this.#readers.loseAll(reason)
  }

  /** The book was subscribed or unsubscribed, with the depth that is served: a beginning is due. */
  acknowledge(depthServed?: number): void {
    if (this.#state === 'unlisted') return
    if (depthServed !== undefined && depthServed !== this.#depth) {
      this.#depth = depthServed
      // A book that is not live yet begins with the depth that is served.
      if (this.#state === 'waiting') this.#book = undefined
      const { symbol, depthAsked } = this
      if (depthServed < depthAsked) {
        this.#options.log.warn({ symbol, depth: depthServed, depthAsked }, 'venue serves fewer levels than asked')
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
      // Its numbers prove what was missed while it was subscribed again.
      this.#endWait()
      this.#isRefreshing = false
    }
  }

  /** The venue refused to subscribe the pair. A live book is not touched by it. */
  refuse(channel: 'book' | 'trades', reason: string): void {
    if (channel === 'book') {
      if (this.#state !== 'waiting') return
      this.#setTimer(REFUSED_MILLISECONDS, () => this.#subscribe())
      this.#readers.lose(`${this.#options.venue} refused ${this.symbol}: ${reason}`)
    } else if (this.#state !== 'unlisted') {
      this.#trades.refuse(reason)
    }
  }

  /** Takes in a whole message of the pair's book. */
  apply(data: Data): void {
    // What comes before the acknowledgement may belong to an earlier subscription, with a gap behind it.
    if (this.#snapshot?.isFallback === false && !this.#isAcknowledged) return
    if (this.#state === 'live') this.#watch.heardBook()
    const need = this.#take(data)
    if (need !== 'none' && this.#state === 'live') this.#snapshot?.renew()
  }

  /** Takes in trades as the venue sent them. */
  trade(trades: readonly VenueTrade[], isRepeat: boolean): void {
    if (this.#state !== 'unlisted') this.#trades.take(trades, isRepeat)
  }

  /**
   * The book cannot be vouched for: says so, and subscribes anew, at once the first time, later and later then, but
   * not before the venue wants to be asked again.
   */
  fail(reason: string, patienceMilliseconds = 0): void {
    if (this.#state === 'unlisted') return
    const { clock, random, log, metrics } = this.#options
    const liveMilliseconds = clock.monotonicMilliseconds() - this.#liveSinceMilliseconds
    if (this.#state === 'live' && liveMilliseconds >= PROVEN_MILLISECONDS) this.#failures = 0
    metrics.countGap()
    this.#forget('waiting')
    this.#failures += 1
    const ownMilliseconds = this.#failures === 1 ? 0 : retryMilliseconds(this.#failures, random)
    const delayMilliseconds = Math.max(ownMilliseconds, patienceMilliseconds)
    log.warn({ symbol: this.symbol, reason, retryMilliseconds: delayMilliseconds }, 'venue book lost')
    if (delayMilliseconds === 0) this.#resubscribe()
    else this.#setTimer(delayMilliseconds, () => this.#resubscribe())
    this.#readers.lose(reason)
  }

  /** A market found its book broken: a live book is fetched anew; one that is due anyway will do. */
  rebuild(market: SourceMarket, reason: string): void {
    if (this.#state !== 'live' || !this.#readers.has(market)) return
    this.fail(`${market.market.symbol} has to be rebuilt: ${reason}`)
  }

  /** Ends the pair while its connection goes on; its trades stay subscribed for a successor. */
  leave(hasSuccessor: boolean): void {
    this.#unsubscribe(hasSuccessor)
    this.stop()
  }

  /** Ends the pair; its listeners hear nothing more. */
  stop(): void {
    this.#isStopped = true
    this.#readers.stop()
    this.#forget('unlisted')
  }

  /** Hands a message to the book, publishes what differs, and returns whether the book needs a snapshot. */
  #take(data: Data): SnapshotNeed {
    const listing = this.#readers.bookListing
    if (listing === undefined || this.#state === 'unlisted') return 'none'
    const { metrics, clock } = this.#options
    const book = this.#book ?? this.#createBook(listing)
    this.#book = book
    const step = book.apply(data)
    if (step.kind === 'wrong') {
      if (step.isChecksumMismatch === true) metrics.countMismatch()
      this.fail(step.reason)
    } else if (step.kind === 'waiting') {
      if (this.#state === 'live') this.fail(`the book of ${this.symbol} begins anew`)
      else if (step.reason !== undefined) this.#readers.lose(step.reason)
    } else if (step.kind === 'snapshot' || this.#state === 'live') {
      const isFresh = step.kind === 'snapshot' && this.#isRefreshing && step.changes !== undefined
      if (step.kind === 'snapshot') {
        this.#endWait()
        this.#isRefreshing = false
        if (this.#state !== 'live') {
          this.#liveSinceMilliseconds = clock.monotonicMilliseconds()
          this.#enter('live')
        }
      }
      const { changes = [] } = step
      const isCurrent = () => this.#book === book
      if (isFresh) this.#watch.refreshed(changes.length)
      if (step.kind === 'snapshot' && !isFresh) this.#readers.publish(listing, 'snapshot', step.levels, isCurrent)
      else if (changes.length > 0) this.#readers.publish(listing, 'update', changes, isCurrent)
    }
    if (this.#book !== book || step.kind === 'snapshot' || step.kind === 'wrong') return 'none'
    const { confirmMilliseconds } = step
    if (confirmMilliseconds !== undefined) return { confirmMilliseconds }
    return step.kind === 'waiting' || step.wantsSnapshot === true ? 'too-old' : 'none'
  }

  #createBook(listing: Listing): VenueBook<Data> {
    const priceMaximum = this.#readers.priceMaximum(listing)
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
      fail: (reason, patienceMilliseconds) => this.fail(reason, patienceMilliseconds),
    })
  }

  #createWatch(): VenueWatch {
    return new VenueWatch({
      ...this.#options,
      reconcileMilliseconds: this.#options.protocol.reconcileMilliseconds,
      refresh: () => {
        if (this.#isRefreshing) return
        this.#isRefreshing = true
        this.#resubscribe()
      },
      fail: (reason) => this.fail(reason),
    })
  }

  /** In an auction, trades happen at other prices than the best ones. */
  #watchTrades(trades: readonly VenueTrade[]): void {
    const listing = this.#readers.bookListing
    if (this.#state !== 'live' || listing === undefined) return
    const isContinuous = this.#listing?.state === 'open'
    this.#watch.heardTrades(trades, listing.priceDecimals, () => (isContinuous ? (this.#book?.best ?? {}) : {}))
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

  /** What was due has come, or is not wanted any more. */
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
    if (state === 'waiting') return
    this.#trades.end()
  }
}

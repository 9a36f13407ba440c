/**
 * One pair of Kraken and the markets that read it: what state its book is in, when it is subscribed anew, and what its
 * listeners are told. It promises that nothing is published whose CRC32 differs from the one the venue sent, and that
 * no value is rounded: a market that is coarser than the pair is refused. It knows no socket: it says what to send.
 *
 * States:
 * - `unlisted`: there is no connection, or the venue does not list the pair, or every market of it is refused. Book
 *   messages are ignored. A listing makes it `waiting`.
 * - `waiting`: subscribed, or about to be. Updates are ignored; a snapshot with the right checksum makes it `live`.
 * - `live`: updates are applied. Anything wrong makes it `waiting` and says `lost`; the end of the connection makes it
 *   `unlisted`.
 *
 * Acknowledgements, also those that nobody here asked for, never take a live book away: it stays as long as its
 * checksums match. But behind an acknowledged unsubscribe, changes may be missing that a checksum over ten levels
 * cannot see. So an acknowledgement, like a request of ours, must be followed by a snapshot within
 * `SNAPSHOT_MILLISECONDS`; otherwise the pair is lost and subscribed again. One snapshot answers for all
 * acknowledgements before it.
 */
import type { Clock, Timer } from '../base/clock.ts'
import { rescale } from '../base/decimal.ts'
import type { Log } from '../base/log.ts'
import type { LevelChange } from '../market/event.ts'
import { KrakenBook } from './kraken-book.ts'
import type { KrakenBookData, KrakenListing } from './kraken-message.ts'
import type { SourceMarket } from './source.ts'
import { retryMilliseconds } from './venue-connection.ts'

export interface KrakenPairOptions {
  readonly symbol: string
  /** The markets that read the pair, at least one. */
  readonly markets: readonly SourceMarket[]
  readonly clock: Clock
  readonly log: Log
  /** Sends a request for this pair alone. */
  readonly request: (method: 'subscribe' | 'unsubscribe', symbol: string, depth: number) => void
  readonly countMismatch: () => void
}

/** A snapshot comes within a second of its acknowledgement; a list of all pairs takes about as long. */
export const SNAPSHOT_MILLISECONDS = 10_000

/** Levels a side that can be subscribed. https://docs.kraken.com/exchange/api-reference/spot-websocket-v2/book */
const DEPTHS = [10, 25, 100, 500, 1000]
const DEPTH_MAXIMUM = 1000
/** How long after a refusal by the venue the pair is tried again. */
const REFUSED_MILLISECONDS = 60_000
/** A book that was live for so long has proved itself: the next fault is answered without delay again. */
const PROVEN_MILLISECONDS = 60_000

/** One market that reads the pair. */
interface Reader {
  readonly source: SourceMarket
  /** False while the pair is finer than the market. */
  isAccepted: boolean
  /** The reason of the last `lost`, until a snapshot. */
  lostReason: string | undefined
}

export class KrakenPair {
  readonly symbol: string
  /** The depth to ask for: the smallest on offer that covers every market, the largest if none does. */
  readonly depthAsked: number
  readonly #options: KrakenPairOptions
  readonly #readers: readonly Reader[]
  #state: 'unlisted' | 'waiting' | 'live' = 'unlisted'
  #listing: KrakenListing | undefined
  /** The depth that the venue's last acknowledgement named. */
  #depth: number
  #book: KrakenBook | undefined
  /** Runs while a snapshot is due, or until a planned subscription. */
  #timer: Timer | undefined
  #failures = 0
  #liveSinceMilliseconds = 0
  #isStopped = false

  constructor(options: KrakenPairOptions) {
    this.#options = options
    this.symbol = options.symbol
    this.#readers = options.markets.map((source) => ({ source, isAccepted: false, lostReason: undefined }))
    const depths = options.markets.map((source) => (source.market.depth === 0 ? Infinity : source.market.depth))
    const wanted = Math.max(...depths)
    this.depthAsked = DEPTHS.find((depth) => depth >= wanted) ?? DEPTH_MAXIMUM
    this.#depth = this.depthAsked
    if (wanted > this.depthAsked) {
      options.log.warn({ symbol: this.symbol, depth: this.depthAsked }, 'venue offers no deeper book than this')
    }
  }

  /** Takes in how the venue lists the pair; true when it has to be subscribed now. */
  list(listing: KrakenListing): boolean {
    if (this.#isStopped) return false
    const known = this.#listing
    if (listing.status !== 'online' && listing.status !== known?.status) {
      this.#options.log.warn({ symbol: this.symbol, status: listing.status }, 'venue pair is not online')
    }
    this.#listing = listing
    const isSame =
      known?.pricePrecision === listing.pricePrecision && known.quantityPrecision === listing.quantityPrecision
    if (isSame && this.#state !== 'unlisted') return false
    for (const reader of this.#readers) {
      const { priceDecimals, amountDecimals } = reader.source.market
      reader.isAccepted = listing.pricePrecision <= priceDecimals && listing.quantityPrecision <= amountDecimals
      if (!reader.isAccepted) this.#tellLost(reader, tooFineReason(listing, reader.source))
    }
    if (!this.#readers.some((reader) => reader.isAccepted)) {
      this.#forget('unlisted')
      return false
    }
    if (this.#state === 'unlisted') {
      this.#state = 'waiting'
      return true
    }
    this.fail(`kraken changed the precisions of ${this.symbol}`)
    return false
  }

  /** The pair is out of reach, until it is listed again: no connection, or not known to the venue. */
  unlist(reason: string): void {
    this.#forget('unlisted')
    for (const reader of this.#readers) this.#tellLost(reader, reason)
  }

  /** A request for the pair has been sent, or was acknowledged with the depth that is served: a snapshot is due. */
  expectSnapshot(depthServed?: number): void {
    if (this.#state === 'unlisted') return
    if (depthServed !== undefined && depthServed !== this.#depth) {
      this.#depth = depthServed
      const { symbol, depthAsked } = this
      if (depthServed < depthAsked) {
        this.#options.log.warn({ symbol, depth: depthServed, depthAsked }, 'venue serves fewer levels than asked')
      }
    }
    if (this.#timer !== undefined) return
    this.#setTimer(SNAPSHOT_MILLISECONDS, () =>
      this.fail(`no snapshot of ${this.symbol} within ${SNAPSHOT_MILLISECONDS / 1000} s`),
    )
  }

  /** The venue refused to subscribe the pair. A live book is not touched by it. */
  refuse(reason: string): void {
    if (this.#state !== 'waiting') return
    this.#setTimer(REFUSED_MILLISECONDS, () => this.#subscribe())
    this.#tellAcceptedLost(`kraken refused ${this.symbol}: ${reason}`)
  }

  /** Takes in a whole message of the pair's book. */
  apply(data: KrakenBookData, isSnapshot: boolean): void {
    const listing = this.#listing
    if (listing === undefined || this.#state === 'unlisted') return
    const book = isSnapshot ? this.#emptyBook(listing) : this.#book
    // Still on its way from before the book was lost.
    if (book === undefined) return
    const changes = book.apply(data)
    if (typeof changes === 'string') {
      this.fail(changes)
      return
    }
    if (book.checksum() !== data.checksum) {
      this.#options.countMismatch()
      this.fail(`the checksum of ${this.symbol} does not match`)
      return
    }
    if (isSnapshot) {
      this.#timer?.cancel()
      this.#timer = undefined
      this.#book = book
      if (this.#state !== 'live') this.#liveSinceMilliseconds = this.#options.clock.monotonicMilliseconds()
      this.#state = 'live'
    }
    if (isSnapshot || changes.length > 0) this.#publish(listing, changes, isSnapshot)
  }

  /** The book cannot be vouched for: says so, and subscribes anew, at once the first time, later and later then. */
  fail(reason: string): void {
    if (this.#state === 'unlisted') return
    const { clock, log } = this.#options
    const liveMilliseconds = clock.monotonicMilliseconds() - this.#liveSinceMilliseconds
    if (this.#state === 'live' && liveMilliseconds >= PROVEN_MILLISECONDS) this.#failures = 0
    this.#forget('waiting')
    const delayMilliseconds = this.#failures === 0 ? 0 : retryMilliseconds(this.#failures)
    this.#failures += 1
    log.warn({ symbol: this.symbol, reason, retryMilliseconds: delayMilliseconds }, 'venue book lost')
    if (delayMilliseconds === 0) this.#resubscribe()
    else this.#setTimer(delayMilliseconds, () => this.#resubscribe())
    this.#tellAcceptedLost(reason)
  }

  /** A market found its book broken: a live book is fetched anew; one that is due anyway will do. */
  rebuild(marketSymbol: string, reason: string): void {
    const isRead = this.#readers.some((reader) => reader.source.market.symbol === marketSymbol)
    if (isRead && this.#state === 'live') this.fail(`${marketSymbol} has to be rebuilt: ${reason}`)
  }

  /** Ends the pair; its listeners hear nothing more. */
  stop(): void {
    this.#isStopped = true
    this.#forget('unlisted')
  }

  #resubscribe(): void {
    this.#options.request('unsubscribe', this.symbol, this.#depth)
    this.#subscribe()
  }

  #subscribe(): void {
    this.#options.request('subscribe', this.symbol, this.depthAsked)
    this.expectSnapshot()
  }

  #setTimer(delayMilliseconds: number, callback: () => void): void {
    this.#timer?.cancel()
    this.#timer = this.#options.clock.schedule(delayMilliseconds, () => {
      this.#timer = undefined
      callback()
    })
  }

  #forget(state: 'unlisted' | 'waiting'): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#book = undefined
    this.#state = state
  }

  #emptyBook(listing: KrakenListing): KrakenBook {
    const { pricePrecision, quantityPrecision } = listing
    const decimals = this.#readers.filter((one) => one.isAccepted).map((one) => one.source.market.priceDecimals)
    const factorMaximum = 10 ** (Math.max(...decimals) - pricePrecision)
    const priceMaximum = Math.floor(Number.MAX_SAFE_INTEGER / factorMaximum)
    return new KrakenBook({ pricePrecision, quantityPrecision, depth: this.#depth, priceMaximum })
  }

  #publish(listing: KrakenListing, changes: readonly LevelChange[], isSnapshot: boolean): void {
    const book = this.#book
    for (const reader of this.#readers) {
      // A listener may have ended the source or the book while it was told.
      if (this.#isStopped || this.#book !== book) return
      if (!reader.isAccepted) continue
      const { market, listener } = reader.source
      const priceFactor = 10 ** (market.priceDecimals - listing.pricePrecision)
      const levels = changes.map(({ side, price, amount }) => ({
        side,
        price: price * priceFactor,
        amount: rescale(amount, listing.quantityPrecision, market.amountDecimals),
      }))
      if (isSnapshot) reader.lostReason = undefined
      listener(isSnapshot ? { type: 'snapshot', levels } : { type: 'update', changes: levels, executions: [] })
    }
  }

  #tellAcceptedLost(reason: string): void {
    for (const reader of this.#readers) if (reader.isAccepted) this.#tellLost(reader, reason)
  }

  /** A reason is told once, so that a venue that stays away for a day is no stream of events. */
  #tellLost(reader: Reader, reason: string): void {
    if (this.#isStopped || reader.lostReason === reason) return
    reader.lostReason = reason
    reader.source.listener({ type: 'lost', reason })
  }
}

function tooFineReason(listing: KrakenListing, { market }: SourceMarket): string {
  return (
    `kraken's ${listing.symbol} has ${listing.pricePrecision} price and ${listing.quantityPrecision} amount decimals, ` +
    `${market.symbol} keeps ${market.priceDecimals} and ${market.amountDecimals}`
  )
}

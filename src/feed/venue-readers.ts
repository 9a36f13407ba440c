/**
 * The markets that read one pair, and what their listeners are told of it: a pair's own integers, exactly rescaled to
 * each market. It promises that no value is rounded (a market that is coarser than the pair is refused), that a reason
 * is told once, and that nobody is told anything after `stop`, even by a listener that is just being told.
 */
import { parseDecimal, rescale } from '../base/decimal.ts'
import type { Execution, LevelChange } from '../market/event.ts'
import type { SourceMarket } from './source.ts'
import type { Listing, VenueTrade } from './venue.ts'

/** One market that reads the pair. */
interface Reader {
  readonly source: SourceMarket
  /** The reason of the last `lost`, until a snapshot. */
  lostReason: string | undefined
}

export class VenueReaders {
  readonly #venue: string
  readonly #readers: readonly Reader[]
  /** Those of them that can hold what the pair says. */
  #accepted: readonly Reader[] = []
  #bookListing: Listing | undefined
  #isStopped = false

  /** `markets`: at least one. */
  constructor(venue: string, markets: readonly SourceMarket[]) {
    this.#venue = venue
    this.#readers = markets.map((source) => ({ source, lostReason: undefined }))
  }

  /** Levels a side that cover every market; Infinity = all. */
  get depthWanted(): number {
    const depths = this.#readers.map(({ source }) => source.market.depth)
    return depths.includes(0) ? Number.POSITIVE_INFINITY : Math.max(...depths)
  }

  /** Judges every market by the pair's precisions, tells those that are refused, and says whether any is left. */
  accept(listing: Listing): boolean {
    const isCoarser = ({ source: { market } }: Reader) =>
      market.priceDecimals < listing.priceDecimals || market.amountDecimals < listing.amountDecimals
    this.#accepted = this.#readers.filter((reader) => !isCoarser(reader))
    for (const reader of this.#readers.filter(isCoarser)) {
      this.#tellLost(reader, this.#tooFineReason(listing, reader.source))
    }
    this.#bookListing = this.#accepted.length > 0 ? this.#refine(listing) : undefined
    return this.#accepted.length > 0
  }

  /** The listing that was accepted last, with the decimals that the pair's book is to have. */
  get bookListing(): Listing | undefined {
    return this.#bookListing
  }

  has(market: SourceMarket): boolean {
    return this.#readers.some((reader) => reader.source === market)
  }

  /** The largest price, in units of the pair's precision, that every accepted market can still hold. */
  priceMaximum(listing: Listing): number {
    const decimals = this.#accepted.map(({ source }) => source.market.priceDecimals)
    return Math.floor(Number.MAX_SAFE_INTEGER / 10 ** (Math.max(...decimals) - listing.priceDecimals))
  }

  /** Tells the accepted markets their book, or what differs in it, as long as `isCurrent`. */
  publish(listing: Listing, type: 'snapshot' | 'update', changes: readonly LevelChange[], isCurrent: () => boolean) {
    for (const reader of this.#accepted) {
      // A listener may have ended the source or the book while it was told.
      if (this.#isStopped || !isCurrent()) return
      const { market, listener } = reader.source
      const priceFactor = 10 ** (market.priceDecimals - listing.priceDecimals)
      const levels = changes.map(({ side, price, amount }) => ({
        side,
        price: price * priceFactor,
        amount: rescale(amount, listing.amountDecimals, market.amountDecimals),
      }))
      if (type === 'snapshot') reader.lostReason = undefined
      listener(type === 'snapshot' ? { type, levels } : { type, changes: levels, executions: [] })
    }
  }

  /** Tells the accepted markets what was traded. A trade that a market cannot hold is one that it misses. */
  execute(trades: readonly VenueTrade[]): void {
    for (const { source } of this.#accepted) {
      const { market, listener } = source
      let executions: Execution[] = []
      for (const trade of trades) {
        const price = parseDecimal(trade.price, market.priceDecimals)
        const amount = parseDecimal(trade.amount, market.amountDecimals)
        const { executedAtMilliseconds } = trade
        if (typeof price === 'number' && price > 0 && typeof amount !== 'string' && amount > 0) {
          executions.push({ price, amount, executedAtMilliseconds })
          continue
        }
        if (executions.length > 0 && !this.#isStopped) listener({ type: 'update', changes: [], executions })
        executions = []
        const reason = `trade ${trade.firstId} of ${trade.amount} at ${trade.price} cannot be told in ${market.symbol}`
        if (!this.#isStopped) listener({ type: 'missed', reason })
      }
      if (executions.length > 0 && !this.#isStopped) listener({ type: 'update', changes: [], executions })
    }
  }

  /** Tells the accepted markets that executions are missing. */
  miss(reason: string): void {
    for (const { source } of this.#accepted) if (!this.#isStopped) source.listener({ type: 'missed', reason })
  }

  /** Tells the accepted markets that their book cannot be vouched for. */
  lose(reason: string): void {
    for (const reader of this.#accepted) this.#tellLost(reader, reason)
  }

  /** Tells every market, also those that were refused. */
  loseAll(reason: string): void {
    for (const reader of this.#readers) this.#tellLost(reader, reason)
  }

  stop(): void {
    this.#isStopped = true
  }

  /** A reason is told once, so that a venue that stays away for a day is no stream of events. */
  #tellLost(reader: Reader, reason: string): void {
    if (this.#isStopped || reader.lostReason === reason) return
    reader.lostReason = reason
    reader.source.listener({ type: 'lost', reason })
  }

  /**
   * How a book is made that is right for every accepted market: as finely as they all can hold, where levels may be
   * finer than the venue lists them.
   */
  #refine(listing: Listing): Listing {
    const { priceDecimals, finestPriceDecimals, amountDecimals, finestAmountDecimals } = listing
    const markets = this.#accepted.map(({ source }) => source.market)
    const between = (listed: number, finest: number | undefined, held: readonly number[]) =>
      Math.max(listed, Math.min(finest ?? listed, ...held))
    return {
      ...listing,
      priceDecimals: between(
        priceDecimals,
        finestPriceDecimals,
        markets.map((market) => market.priceDecimals),
      ),
      amountDecimals: between(
        amountDecimals,
        finestAmountDecimals,
        markets.map((market) => market.amountDecimals),
      ),
    }
  }

  #tooFineReason({ symbol, priceDecimals, amountDecimals }: Listing, { market }: SourceMarket): string {
    return (
      `${this.#venue}'s ${symbol} has ${priceDecimals} price and ${amountDecimals} amount decimals, ` +
      `${market.symbol} keeps ${market.priceDecimals} and ${market.amountDecimals}`
    )
  }
}

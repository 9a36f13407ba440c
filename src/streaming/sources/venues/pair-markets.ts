/**
 * The markets on one pair, and the events for their listeners: the pair's integers, exactly rescaled to each market. No
 * value is rounded: a market with fewer decimals than the pair is refused. A repeated reason is reported once. No
 * listener is called after `stop`, even when a listener calls `stop`. This file also writes the notices for `/readyz`
 * and `check-config` about a pair with a book that requires attention.
 */
import { parseDecimal, rescale } from '../../../platform/base/decimal.ts'
import { BID, type Execution, type LevelChange, type MarketDefinition } from '../../market/event.ts'
import type { SourceMarket } from '../source.ts'
import type { Listing, UnfitLevel, VenueTrade } from './venue.ts'

/** One market on the pair. */
interface PairMarket {
  readonly source: SourceMarket
  /** The last `lost` event's reason; cleared by a snapshot. */
  lostReason: string | undefined
}

export class PairMarkets {
  readonly #venue: string
  readonly #markets: readonly PairMarket[]
  /** The markets with enough decimals for the pair's values. */
  #accepted: readonly PairMarket[] = []
  #bookListing: Listing | undefined
  #isStopped = false

  /** @param markets at least one */
  constructor(venue: string, markets: readonly SourceMarket[]) {
    this.#venue = venue
    this.#markets = markets.map((source) => ({ source, lostReason: undefined }))
  }

  /** Levels per side to cover every market; Infinity = all. */
  get depthWanted(): number {
    const depths = this.#markets.map(({ source }) => source.market.depth)
    return depths.includes(0) ? Number.POSITIVE_INFINITY : Math.max(...depths)
  }

  /**
   * Accepts the markets that can hold the pair's precisions and reports the reason to the others. Returns whether any
   * market is accepted.
   */
  accept(listing: Listing): boolean {
    const isCoarser = ({ source: { market } }: PairMarket) =>
      market.priceDecimals < listing.priceDecimals || market.amountDecimals < listing.amountDecimals
    this.#accepted = this.#markets.filter((fed) => !isCoarser(fed))
    for (const fed of this.#markets.filter(isCoarser)) {
      this.#reportLost(fed, this.#tooFineReason(listing, fed.source))
    }
    this.#bookListing = this.#accepted.length > 0 ? this.#refine(listing) : undefined
    return this.#accepted.length > 0
  }

  /** The listing accepted last, with the decimals used by the pair's book. */
  get bookListing(): Listing | undefined {
    return this.#bookListing
  }

  has(market: SourceMarket): boolean {
    return this.#markets.some((fed) => fed.source === market)
  }

  /** The largest price that every accepted market can hold, in units at the pair's precision. */
  priceMaximum(listing: Listing): number {
    const decimals = this.#accepted.map(({ source }) => source.market.priceDecimals)
    return Math.floor(Number.MAX_SAFE_INTEGER / 10 ** (Math.max(...decimals) - listing.priceDecimals))
  }

  /** Sends the accepted markets their book, or the changed levels, as long as `isCurrent` returns true. */
  publish(listing: Listing, type: 'snapshot' | 'update', changes: readonly LevelChange[], isCurrent: () => boolean) {
    for (const fed of this.#accepted) {
      // A listener may have stopped the source or replaced the book.
      if (this.#isStopped || !isCurrent()) return
      const { market, listener } = fed.source
      const priceFactor = 10 ** (market.priceDecimals - listing.priceDecimals)
      const levels = changes.map(({ side, price, amount }) => ({
        side,
        price: price * priceFactor,
        amount: rescale(amount, listing.amountDecimals, market.amountDecimals),
      }))
      if (type === 'snapshot') fed.lostReason = undefined
      listener(type === 'snapshot' ? { type, levels } : { type, changes: levels, executions: [] })
    }
  }

  /** Sends executions to the accepted markets. A trade that a market cannot hold is reported as missed. */
  execute(trades: readonly VenueTrade[]): void {
    for (const { source } of this.#accepted) {
      const { market, listener } = source
      let executions: Execution[] = []
      for (const trade of trades) {
        const price = parseDecimal(trade.price, market.priceDecimals)
        const amount = parseDecimal(trade.amount, market.amountDecimals)
        const { executedAtMilliseconds, id = String(trade.lastId), side } = trade
        if (typeof price === 'number' && price > 0 && typeof amount !== 'string' && amount > 0) {
          executions.push({ price, amount, id, ...(side === undefined ? {} : { side }), executedAtMilliseconds })
          continue
        }
        if (executions.length > 0 && !this.#isStopped) listener({ type: 'update', changes: [], executions })
        executions = []
        const reason = `trade ${id} of ${trade.amount} at ${trade.price} does not fit into ${market.symbol}`
        if (!this.#isStopped) listener({ type: 'missed', reason })
      }
      if (executions.length > 0 && !this.#isStopped) listener({ type: 'update', changes: [], executions })
    }
  }

  /** Reports missing executions to the accepted markets. */
  miss(reason: string): void {
    for (const { source } of this.#accepted) if (!this.#isStopped) source.listener({ type: 'missed', reason })
  }

  /** Reports to the accepted markets that their book is out of sync. */
  lose(reason: string): void {
    for (const fed of this.#accepted) this.#reportLost(fed, reason)
  }

  /** Reports the reason to every market, refused ones included. */
  loseAll(reason: string): void {
    for (const fed of this.#markets) this.#reportLost(fed, reason)
  }

  stop(): void {
    this.#isStopped = true
  }

  /** A repeated reason is reported once, so a venue that is unavailable for a day causes one event. */
  #reportLost(fed: PairMarket, reason: string): void {
    if (this.#isStopped || fed.lostReason === reason) return
    fed.lostReason = reason
    fed.source.listener({ type: 'lost', reason })
  }

  /**
   * The decimals for a book that is exact in every accepted market. Where levels may be finer than listed: as many as
   * all markets can hold.
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

export interface NoticedPair {
  readonly venue: string
  readonly symbol: string
  readonly listing: Listing | undefined
  /** Requested levels per side that the venue serves. */
  readonly depthAsked: number
  readonly depthServed: number
  readonly unfit: readonly UnfitLevel[]
}

/** Digits shown for a price or an amount that a market cannot hold. */
const DIGITS_SHOWN_MAX = 40

/** A pair's notices for one of its markets. */
export function pairNotices(pair: NoticedPair, market: MarketDefinition): string[] {
  const { venue, symbol, listing, depthAsked, depthServed, unfit } = pair
  const notices: string[] = []
  if (listing?.state === 'restricted') notices.push(`${venue} lists ${symbol} as ${listing.status}`)
  if (listing?.feedSymbol !== undefined) {
    notices.push(`${venue} sends ${listing.feedSymbol}’s book and trades for ${symbol}`)
  }
  if ((market.depth === 0 ? Number.POSITIVE_INFINITY : market.depth) > depthAsked) {
    notices.push(`${venue} offers no deeper book for ${symbol} than ${depthAsked} levels`)
  }
  if (depthServed < depthAsked) notices.push(`${venue} serves ${depthServed} levels of ${symbol}, not ${depthAsked}`)
  for (const { side, price, amount } of unfit) {
    const [one, all] = side === BID ? ['bid', 'bids'] : ['ask', 'asks']
    notices.push(
      `${market.symbol} cannot hold ${venue}'s ${one} of ${amount.slice(0, DIGITS_SHOWN_MAX)} ` +
        `at ${price.slice(0, DIGITS_SHOWN_MAX)}: the ${all} of ${symbol} end before it`,
    )
  }
  return notices
}

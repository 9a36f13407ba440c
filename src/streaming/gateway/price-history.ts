/**
 * Each market's best prices during the last hour, noted every five seconds from this process's replicas, for the
 * operator's charts. Book prices rather than executions, because every live market has them. Nothing is stored: after a
 * restart, after a change to a market's definition, and when this process follows a market again, its history begins
 * again.
 */
import { type Clock, millisecondText, type Timer } from '../../platform/base/clock.ts'
import { formatDecimal } from '../../platform/base/decimal.ts'
import type { MarketDefinition } from '../market/event.ts'
import type { Hub } from './hub.ts'

const STEP_MILLISECONDS = 5_000
/** One hour: 17 kB per market. */
const POINTS_MAX = 720

/** A ring. Entry n is at n modulo the size. Prices are integers in units of the market's last decimal. */
interface Ring {
  readonly market: MarketDefinition
  readonly milliseconds: Float64Array
  readonly bids: Float64Array
  readonly asks: Float64Array
  /** Entries so far. */
  count: number
}

/** Exact text with the market's decimals. */
export interface PricePoint {
  readonly at: string
  readonly bid: string
  readonly ask: string
}

export class PriceHistory {
  readonly intervalSeconds = STEP_MILLISECONDS / 1000
  readonly #clock: Clock
  readonly #hub: Pick<Hub, 'markets'>
  #rings = new Map<string, Ring>()
  #timer: Timer | undefined

  /** Begins at once. */
  constructor(clock: Clock, hub: Pick<Hub, 'markets'>) {
    this.#clock = clock
    this.#hub = hub
    this.#note()
  }

  stop(): void {
    this.#timer?.cancel()
  }

  /** Oldest first. No entries while the market was not live, or had no bid or no ask. */
  pricesOf({ symbol }: Pick<MarketDefinition, 'symbol'>): readonly PricePoint[] {
    const ring = this.#rings.get(symbol)
    if (ring === undefined) return []
    const { count, milliseconds, bids, asks, market } = ring
    const length = Math.min(count, POINTS_MAX)
    return Array.from({ length }, (_, index) => {
      const place = (count - length + index) % POINTS_MAX
      return {
        at: millisecondText(milliseconds[place] as number),
        bid: formatDecimal(bids[place] as number, market.priceDecimals),
        ask: formatDecimal(asks[place] as number, market.priceDecimals),
      }
    })
  }

  #note(): void {
    const rings = new Map<string, Ring>()
    for (const { symbol, replica } of this.#hub.markets) {
      const { market, hasBook, live, top } = replica
      if (!hasBook) continue
      const known = this.#rings.get(symbol)
      const ring = known?.market === market ? known : newRing(market)
      rings.set(symbol, ring)
      if (live && top.bid !== undefined && top.ask !== undefined) this.#add(ring, top.bid.price, top.ask.price)
    }
    this.#rings = rings
    this.#timer = this.#clock.schedule(STEP_MILLISECONDS, () => this.#note())
  }

  #add(ring: Ring, bid: number, ask: number): void {
    const place = ring.count++ % POINTS_MAX
    ring.milliseconds[place] = this.#clock.wallInstant().milliseconds
    ring.bids[place] = bid
    ring.asks[place] = ask
  }
}

function newRing(market: MarketDefinition): Ring {
  const column = () => new Float64Array(POINTS_MAX)
  return { market, milliseconds: column(), bids: column(), asks: column(), count: 0 }
}

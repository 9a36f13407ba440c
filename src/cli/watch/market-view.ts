/**
 * What `watch` shows about one market: the client's book, the last executions, rates and ages. The caller passes each
 * event's monotonic time. Pure.
 */
import type {
  Book,
  BookChange,
  Execution,
  ExecutionGap,
  Level,
  StreamEvent,
} from '../../../packages/client/src/index.ts'
import { formatDecimal } from '../../platform/base/decimal.ts'
import type { ServedState } from './market-state.ts'
import { RateMeter } from './rate-meter.ts'

export type Trade = Execution | ExecutionGap

/** A book's best prices. */
export type Best = Pick<Book, 'bestBid' | 'bestAsk' | 'priceDecimals'>

/** Exact texts: in the quote asset, in basis points of the mid price, and the mid price with one more decimal. */
export interface Spread {
  readonly value: string
  readonly basisPoints: string
  readonly middle: string
}

/** Whether the displayed data is current. `stale` has no age while it is not known since when. */
export type Freshness =
  | { readonly type: 'live' | 'waiting' | 'resyncing' }
  | { readonly type: 'stale'; readonly ageMilliseconds: number | undefined }

/** More than a terminal shows. */
const TRADES_KEPT = 200

export class MarketView {
  readonly market: string
  /** Undefined until the first SNAPSHOT. */
  book: Book | undefined
  /** The newest first. A gap stands where executions are missing. */
  readonly trades: Trade[] = []
  /** The service's last reported state, if any. */
  served: ServedState | undefined
  /** The open connection's. Undefined while there is none. */
  protocol: string | undefined
  lastMessageMilliseconds: number | undefined
  #heartbeat: { readonly atMilliseconds: number; readonly serviceMilliseconds: number } | undefined
  readonly #rate = new RateMeter()

  constructor(market: string) {
    this.market = market
  }

  get lastHeartbeatMilliseconds(): number | undefined {
    return this.#heartbeat?.atMilliseconds
  }

  /** Whether the service's reported state is needed: the book does not show it, or it is shown already. */
  get needsState(): boolean {
    const isLive = this.book?.status === 'LIVE' && (this.served?.state ?? 'LIVE') === 'LIVE'
    return this.protocol !== undefined && !isLive
  }

  noteEvent(event: StreamEvent): void {
    if (event.type === 'RESYNC') return
    this.protocol = event.type === 'CONNECTED' ? event.protocol : undefined
    // The state reported on the earlier connection is out of date.
    this.served = undefined
    this.#heartbeat = undefined
  }

  noteChange({ bids, asks }: BookChange, nowMilliseconds: number): void {
    // A change without levels is a status change.
    if (bids.length + asks.length > 0) this.#noteData(nowMilliseconds)
  }

  noteTrade(trade: Trade, nowMilliseconds: number): void {
    this.#noteData(nowMilliseconds)
    this.trades.unshift(trade)
    if (this.trades.length > TRADES_KEPT) this.trades.pop()
  }

  /** @param time the service's, RFC 3339 */
  noteHeartbeat(time: string, nowMilliseconds: number): void {
    this.lastMessageMilliseconds = nowMilliseconds
    this.#heartbeat = { atMilliseconds: nowMilliseconds, serviceMilliseconds: Date.parse(time) }
  }

  updatesPerSecond(nowMilliseconds: number): number {
    return this.#rate.perSecond(nowMilliseconds)
  }

  freshness(nowMilliseconds: number): Freshness {
    const status = this.book?.status
    if (status === 'LIVE') return { type: 'live' }
    if (status === 'STALE' || this.served?.state === 'STALE')
      return { type: 'stale', ageMilliseconds: this.#staleMilliseconds(nowMilliseconds) }
    return { type: status === undefined ? 'waiting' : 'resyncing' }
  }

  /** How long the market has been STALE, by the service's clock. */
  #staleMilliseconds(nowMilliseconds: number): number | undefined {
    if (this.served?.state !== 'STALE' || this.#heartbeat === undefined) return undefined
    const { atMilliseconds, serviceMilliseconds } = this.#heartbeat
    return Math.max(0, serviceMilliseconds + nowMilliseconds - atMilliseconds - Date.parse(this.served.since))
  }

  #noteData(nowMilliseconds: number): void {
    this.lastMessageMilliseconds = nowMilliseconds
    this.#rate.count(nowMilliseconds)
  }
}

/** Undefined when a side is empty. */
export function spreadOf({ bestBid, bestAsk, priceDecimals = 0 }: Best): Spread | undefined {
  if (bestBid === undefined || bestAsk === undefined) return undefined
  const [bid, ask] = [bestBid.scaledPrice, bestAsk.scaledPrice]
  const sum = bid + ask
  // (ask - bid) / ((ask + bid) / 2) * 10,000 basis points, in thousandths, rounded half up.
  const thousandths = sum === 0n ? 0n : (2n * (ask - bid) * 20_000_000n + sum) / (2n * sum)
  return {
    value: formatDecimal(ask - bid, priceDecimals),
    basisPoints: formatDecimal(thousandths, 3),
    middle: formatDecimal(sum * 5n, priceDecimals + 1),
  }
}

export function levelText({ price, amount }: Level): string {
  return `${price} x ${amount}`
}

/**
 * Fetches trades that a connection did not deliver. Trades whose numbers prove a gap are held back until the venue's
 * HTTP pages have filled it. Then all are passed on in order, each once. A pair's trades are never passed on out of
 * order or while older ones are being fetched. A gap that cannot be filled is passed on unfilled, and `venue-trades`
 * reports it. Held trades are dropped when the connection ends, because the next trade proves the whole gap again.
 * Limits apply to a gap's time, pages and trades, and to the whole source's trades. It is independent of addresses and
 * venues.
 */
import type { Clock, Timer } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { Fetched, TradeGap, TradePosition, VenueTrade } from './venue.ts'
import { retryMilliseconds } from './venue-connection.ts'
import { positionOf } from './venue-trades.ts'

export interface VenueTradeFillOptions {
  readonly clock: Clock
  /** A number in [0, 1), for jitter. */
  readonly random: () => number
  readonly log: Log
  /** One page with missing trades, adjacent to either end of the gap. Never rejects. */
  readonly fetchPage: (symbol: string, gap: TradeGap, signal: AbortSignal) => Promise<Fetched<readonly VenueTrade[]>>
  /** A pair's last settled trade; undefined before its first trade, and while it is not subscribed. */
  readonly position: (symbol: string) => TradePosition | undefined
  /** Passes trades on, in order. */
  readonly pass: (symbol: string, trades: readonly VenueTrade[], isRepeat: boolean) => void
}

/** One message's trades. */
interface Arrival {
  readonly trades: readonly VenueTrade[]
  readonly isRepeat: boolean
}

interface Filling {
  readonly fetching: AbortController
  /** When the attempt to fill the gap ends. */
  readonly deadlineMilliseconds: number
  readonly limit: Timer
  /** The whole gap: fetched trades outside it are ignored. */
  readonly whole: TradeGap
  /** The part still missing. */
  gap: TradeGap
  /** By their first number, and by their last number. */
  readonly found: Map<number, VenueTrade>
  readonly foundByLast: Map<number, VenueTrade>
  /** Messages since the gap was detected, in arrival order, and how many trades they contain. */
  readonly held: Arrival[]
  heldCount: number
  pages: number
  /** Consecutive pages that failed or contained no missing trade. */
  failures: number
  retry: Timer | undefined
}

/**
 * Trades in one gap, by their numbers. A larger gap is not fetched: publishing its trades would take longer than the
 * limits below, and no venue delivers them in time.
 */
const GAP_TRADES_MAX = 20_000
/** Limits for every fetch. */
export const FILL_LIMITS = {
  /** Held trades for one pair. A liquid pair has a hundred per second. */
  heldMax: 10_000,
  /** Held and fetched trades for all the source's pairs: about 20 MB. */
  tradesMax: 100_000,
  /** Measured from a gap's detection. The slowest venue needs this long for all pages in the largest gap. */
  millisecondsMax: 30_000,
  /** A venue's HTTP API may be later than its stream, so a page without progress is requested again. */
  failuresMax: 4,
  /** Trades per `pass` call. Each call becomes one message to every subscriber. */
  batchTradesMax: 100,
} as const
/** The smallest pages have 100 trades. */
const PAGES_MAX = 200

export class VenueTradeFill {
  readonly #options: VenueTradeFillOptions
  readonly #fillings = new Map<string, Filling>()
  /** Held and fetched trades for all pairs. */
  #count = 0

  constructor(options: VenueTradeFillOptions) {
    this.#options = options
  }

  /** Takes trades as the venue sent them. Repeated trades may be in either order. */
  take(symbol: string, trades: readonly VenueTrade[], isRepeat: boolean): void {
    this.#take(symbol, { trades: isRepeat ? trades.toSorted(byFirstId) : trades, isRepeat })
  }

  /** The connection has ended. Held trades are dropped, and the next trade proves the gap again. */
  clear(): void {
    for (const symbol of [...this.#fillings.keys()]) this.forget(symbol)
  }

  /** No market uses the pair any more. */
  forget(symbol: string): void {
    this.#end(symbol)
  }

  #take(symbol: string, arrival: Arrival): void {
    const filling = this.#fillings.get(symbol)
    if (filling !== undefined) {
      this.#hold(symbol, filling, arrival)
      return
    }
    const rest = this.#passUntilGap(symbol, arrival)
    const after = this.#options.position(symbol)
    if (rest === undefined || after === undefined) return
    const { firstId: id, executedAtMilliseconds: milliseconds } = rest.trades[0] as VenueTrade
    this.#begin(symbol, { after, before: { id, milliseconds } }, rest)
  }

  /** Passes trades on up to the first gap that can be filled, and returns the trades after it. */
  #passUntilGap(symbol: string, { trades, isRepeat }: Arrival): Arrival | undefined {
    const { position, pass } = this.#options
    let known = position(symbol)?.id
    let index = trades.length
    if (known !== undefined) {
      for (const [place, { firstId, lastId }] of trades.entries()) {
        if (isFillable(known, firstId)) {
          index = place
          break
        }
        known = Math.max(known, lastId)
      }
    }
    if (index > 0) pass(symbol, index === trades.length ? trades : trades.slice(0, index), isRepeat)
    return index === trades.length ? undefined : { trades: trades.slice(index), isRepeat }
  }

  #begin(symbol: string, gap: TradeGap, first: Arrival): void {
    const { clock, log } = this.#options
    const filling: Filling = {
      fetching: new AbortController(),
      deadlineMilliseconds: clock.monotonicMilliseconds() + FILL_LIMITS.millisecondsMax,
      limit: clock.schedule(FILL_LIMITS.millisecondsMax, () =>
        this.#giveUp(symbol, filling, `not within ${FILL_LIMITS.millisecondsMax / 1000} s`),
      ),
      whole: gap,
      gap,
      found: new Map(),
      foundByLast: new Map(),
      held: [],
      heldCount: 0,
      pages: 0,
      failures: 0,
      retry: undefined,
    }
    log.info({ symbol, afterId: gap.after.id, beforeId: gap.before.id }, 'venue trades missing: fetching them')
    this.#fillings.set(symbol, filling)
    this.#keep(filling, first)
    this.#fetch(symbol, filling)
  }

  /** Holds trades that arrive during the fill. A late trade may be a missing one. */
  #hold(symbol: string, filling: Filling, arrival: Arrival): void {
    const { whole } = filling
    const late = arrival.trades.filter((trade) => isBetween(whole, trade))
    const later = late.length === 0 ? arrival.trades : arrival.trades.filter((trade) => !isBetween(whole, trade))
    this.#find(filling, late)
    if (later.length > 0) this.#keep(filling, { trades: later, isRepeat: arrival.isRepeat })
    if (isClosed(filling.gap)) this.#finish(symbol, filling)
    else if (filling.heldCount > FILL_LIMITS.heldMax || this.#count > FILL_LIMITS.tradesMax) {
      this.#giveUp(symbol, filling, 'too many trades wait for them')
    }
  }

  #keep(filling: Filling, arrival: Arrival): void {
    filling.held.push(arrival)
    filling.heldCount += arrival.trades.length
    this.#count += arrival.trades.length
  }

  #fetch(symbol: string, filling: Filling): void {
    filling.retry = undefined
    if (++filling.pages > PAGES_MAX) {
      this.#giveUp(symbol, filling, `not on ${PAGES_MAX} pages`)
      return
    }
    void this.#options.fetchPage(symbol, filling.gap, filling.fetching.signal).then((fetched) => {
      if (this.#fillings.get(symbol) !== filling) return
      if ('problem' in fetched) {
        this.#retry(symbol, filling, fetched.problem, fetched.retryAfterMilliseconds ?? 0)
        return
      }
      const hasProgress = this.#find(filling, fetched.value)
      if (isClosed(filling.gap)) this.#finish(symbol, filling)
      else if (this.#count > FILL_LIMITS.tradesMax) this.#giveUp(symbol, filling, 'too many trades wait for them')
      else if (hasProgress) {
        filling.failures = 0
        this.#fetch(symbol, filling)
      } else this.#retry(symbol, filling, 'the venue does not have them', 0)
    })
  }

  /** Requests again with backoff, but not before the venue accepts requests and not after the time limit. */
  #retry(symbol: string, filling: Filling, problem: string, delayMillisecondsMin: number): void {
    const { clock, random } = this.#options
    filling.failures += 1
    const delayMilliseconds = Math.max(delayMillisecondsMin, retryMilliseconds(filling.failures, random))
    const leftMilliseconds = filling.deadlineMilliseconds - clock.monotonicMilliseconds()
    if (filling.failures >= FILL_LIMITS.failuresMax || delayMilliseconds >= leftMilliseconds) {
      this.#giveUp(symbol, filling, problem)
      return
    }
    filling.retry = clock.schedule(delayMilliseconds, () => this.#fetch(symbol, filling))
  }

  /** Keeps the trades that belong to the gap. Returns whether one is adjacent to an end of the remaining gap. */
  #find(filling: Filling, trades: readonly VenueTrade[]): boolean {
    const { whole, found, foundByLast } = filling
    for (const trade of trades) {
      if (!isBetween(whole, trade) || found.has(trade.firstId)) continue
      found.set(trade.firstId, trade)
      foundByLast.set(trade.lastId, trade)
      this.#count += 1
    }
    let { after, before } = filling.gap
    for (let next = found.get(after.id + 1); next !== undefined; next = found.get(after.id + 1)) {
      after = positionOf(next)
    }
    for (let next = foundByLast.get(before.id - 1); next !== undefined; next = foundByLast.get(before.id - 1)) {
      before = { id: next.firstId, milliseconds: next.executedAtMilliseconds }
    }
    const hasProgress = after !== filling.gap.after || before !== filling.gap.before
    filling.gap = { after, before }
    return hasProgress
  }

  #giveUp(symbol: string, filling: Filling, problem: string): void {
    const { after, before } = filling.gap
    this.#options.log.warn({ symbol, afterId: after.id, beforeId: before.id, problem }, 'venue trades not fetched')
    this.#finish(symbol, filling)
  }

  /** Passes on the found trades, then the held ones. A further gap among the held ones is filled next. */
  #finish(symbol: string, filling: Filling): void {
    const { pass } = this.#options
    this.#end(symbol)
    const found = [...filling.found.values()].sort(byFirstId)
    for (let begin = 0; begin < found.length; begin += FILL_LIMITS.batchTradesMax) {
      pass(symbol, found.slice(begin, begin + FILL_LIMITS.batchTradesMax), true)
    }
    const [first, ...others] = filling.held
    if (first === undefined) return
    // The trade at the gap's end is passed on even if trades before it are still missing.
    pass(symbol, first.trades.slice(0, 1), first.isRepeat)
    if (first.trades.length > 1) this.#take(symbol, { ...first, trades: first.trades.slice(1) })
    for (const arrival of others) this.#take(symbol, arrival)
  }

  #end(symbol: string): void {
    const filling = this.#fillings.get(symbol)
    if (filling === undefined) return
    this.#fillings.delete(symbol)
    this.#count -= filling.heldCount + filling.found.size
    filling.limit.cancel()
    filling.retry?.cancel()
    filling.fetching.abort()
  }
}

/** Whether trades are missing between these numbers, and not more than can be fetched. */
function isFillable(knownId: number, beforeId: number): boolean {
  return beforeId > knownId + 1 && beforeId - knownId - 1 <= GAP_TRADES_MAX
}

function isBetween({ after, before }: TradeGap, { firstId, lastId }: VenueTrade): boolean {
  return firstId > after.id && lastId < before.id
}

function isClosed({ after, before }: TradeGap): boolean {
  return before.id <= after.id + 1
}

function byFirstId(left: VenueTrade, right: VenueTrade): number {
  return left.firstId - right.firstId
}

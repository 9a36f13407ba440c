/**
 * Fetches the trades that a connection did not deliver. Trades whose numbers prove a gap are held back until the venue's
 * HTTP pages have filled it; then everything goes on in order, each trade once. It promises that the trades of a pair
 * are never passed out of order, that no trade is passed while older ones are being fetched, and that a gap which
 * cannot be filled is passed on as it is, for `venue-trades` to find. It forgets what it holds when the connection
 * ends: the next trade proves the whole gap again. Bounded: time, pages and trades of a gap, trades of the whole source.
 * It knows no address and no venue.
 */
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Fetched, TradeGap, TradePosition, VenueTrade } from './venue.ts'
import { retryMilliseconds } from './venue-connection.ts'
import { positionOf } from './venue-trades.ts'

export interface VenueTradeFillOptions {
  readonly clock: Clock
  /** A number in [0, 1), to spread attempts. */
  readonly random: () => number
  readonly log: Log
  /** A page of the trades that a gap lacks, next to either end of it. Never rejects. */
  readonly fetchPage: (symbol: string, gap: TradeGap, signal: AbortSignal) => Promise<Fetched<readonly VenueTrade[]>>
  /** Up to where the pair's trades are known; absent before its first trade, and while it is not subscribed. */
  readonly position: (symbol: string) => TradePosition | undefined
  /** Hands over trades in their order. */
  readonly pass: (symbol: string, trades: readonly VenueTrade[], isRepeat: boolean) => void
}

/** Trades of one message. */
interface Arrival {
  readonly trades: readonly VenueTrade[]
  readonly isRepeat: boolean
}

interface Filling {
  readonly fetching: AbortController
  /** When the gap is given up. */
  readonly deadlineMilliseconds: number
  readonly limit: Timer
  /** What the fetched trades have to be between. */
  readonly whole: TradeGap
  /** What is still missing. */
  gap: TradeGap
  /** By their first number, and by their last one. */
  readonly found: Map<number, VenueTrade>
  readonly foundByLast: Map<number, VenueTrade>
  /** What came since the gap was seen, in order of arrival, and how many trades that are. */
  readonly held: Arrival[]
  heldCount: number
  pages: number
  /** Pages in a row that were not had, or brought nothing. */
  failures: number
  retry: Timer | undefined
}

/**
 * Trades of one gap, by their numbers. A larger one is not fetched: its trades would take subscribers more than the
 * limits below to receive, and no venue gives them in time.
 */
const GAP_TRADES_MAX = 20_000
/** Trades of one pair that wait; a liquid pair has a hundred a second. */
const HELD_MAX = 10_000
/** Trades of all pairs of the source that are held or have been fetched: about 20 MB. */
const TRADES_MAX = 100_000
/** The smallest pages have 100 trades. */
const PAGES_MAX = 200
/** From the moment a gap is seen. As many pages as the largest gap has take that long at the slowest venue. */
const FILL_MILLISECONDS_MAX = 30_000
/** A venue's HTTP may be a little later than its connection, so a page without progress is asked for again. */
const FAILURES_MAX = 4
/** Trades that are handed over at once: each lot becomes one message to every subscriber. */
const LOT_TRADES_MAX = 100

export class VenueTradeFill {
  readonly #options: VenueTradeFillOptions
  readonly #fillings = new Map<string, Filling>()
  /** Trades that are held or have been fetched, of all pairs. */
  #count = 0

  constructor(options: VenueTradeFillOptions) {
    this.#options = options
  }

  /** Takes in trades as the venue sent them; a venue repeats in either direction. */
  take(symbol: string, trades: readonly VenueTrade[], isRepeat: boolean): void {
    this.#take(symbol, { trades: isRepeat ? trades.toSorted(byFirstId) : trades, isRepeat })
  }

  /** The connection has ended: what is held is dropped, and found again behind the gap that the next trade proves. */
  clear(): void {
    for (const symbol of [...this.#fillings.keys()]) this.forget(symbol)
  }

  /** The pair is not read any more. */
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

  /** Passes trades up to the first gap that is to be filled; what stands behind it is returned. */
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
      deadlineMilliseconds: clock.monotonicMilliseconds() + FILL_MILLISECONDS_MAX,
      limit: clock.schedule(FILL_MILLISECONDS_MAX, () =>
        this.#giveUp(symbol, filling, `not within ${FILL_MILLISECONDS_MAX / 1000} s`),
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

  /** Keeps what comes meanwhile; a trade that comes late may be one of those that are missing. */
  #hold(symbol: string, filling: Filling, arrival: Arrival): void {
    const { whole } = filling
    const late = arrival.trades.filter((trade) => isBetween(whole, trade))
    const later = late.length === 0 ? arrival.trades : arrival.trades.filter((trade) => !isBetween(whole, trade))
    this.#find(filling, late)
    if (later.length > 0) this.#keep(filling, { trades: later, isRepeat: arrival.isRepeat })
    if (isClosed(filling.gap)) this.#finish(symbol, filling)
    else if (filling.heldCount > HELD_MAX || this.#count > TRADES_MAX) {
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
      else if (this.#count > TRADES_MAX) this.#giveUp(symbol, filling, 'too many trades wait for them')
      else if (hasProgress) {
        filling.failures = 0
        this.#fetch(symbol, filling)
      } else this.#retry(symbol, filling, 'the venue does not have them', 0)
    })
  }

  /** Asks again a little later, but not before the venue wants to be asked, and not after the time is over. */
  #retry(symbol: string, filling: Filling, problem: string, patienceMilliseconds: number): void {
    const { clock, random } = this.#options
    filling.failures += 1
    const delayMilliseconds = Math.max(patienceMilliseconds, retryMilliseconds(filling.failures, random))
    const leftMilliseconds = filling.deadlineMilliseconds - clock.monotonicMilliseconds()
    if (filling.failures >= FAILURES_MAX || delayMilliseconds >= leftMilliseconds) {
      this.#giveUp(symbol, filling, problem)
      return
    }
    filling.retry = clock.schedule(delayMilliseconds, () => this.#fetch(symbol, filling))
  }

  /** Takes trades that are missing; whether any of them stands next to an end of what is still missing. */
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

  /** Passes what was found, then what was held; another gap behind it is filled in its turn. */
  #finish(symbol: string, filling: Filling): void {
    const { pass } = this.#options
    this.#end(symbol)
    const found = [...filling.found.values()].sort(byFirstId)
    for (let begin = 0; begin < found.length; begin += LOT_TRADES_MAX) {
      pass(symbol, found.slice(begin, begin + LOT_TRADES_MAX), true)
    }
    const [first, ...others] = filling.held
    if (first === undefined) return
    // What stands at the end of the gap is passed whatever is missing before it.
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

/** Whether trades are missing between these numbers, and no more than can be fetched. */
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

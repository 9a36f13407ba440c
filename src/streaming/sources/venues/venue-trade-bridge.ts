/**
 * Joins trades from two subscriptions, for venues without consecutive trade numbers. On one subscription every trade is
 * passed on as it arrives, each once; nothing proves there that the venue sent all trades. After an interruption (a new
 * subscription, or a malformed message) the next trades are held back until the venue's list of latest trades has been
 * fetched. If the list contains both a trade passed on before and a held one, the trades between them are passed on
 * first. Otherwise one number is left out, which `venue-trades` reports as missing trades. Trades are never passed on
 * out of the venue's order. They are numbered here, from 1. Each interruption has limits for time, requests and held
 * trades. It is independent of addresses and venues.
 */
import type { Timer } from '../../../platform/base/clock.ts'
import type { VenueTrade } from './venue.ts'
import { retryMilliseconds } from './venue-connection.ts'
import { FILL_LIMITS, type VenueTradeFillOptions } from './venue-trade-fill.ts'

/** Trades known by identifier. The venues' lists have 60 trades, or an hour's. */
const KNOWN_MAX = 1_000

/** The trades after an interruption, while the list is being fetched. */
interface Bridging {
  readonly fetching: AbortController
  readonly limit: Timer
  readonly deadlineMilliseconds: number
  readonly held: VenueTrade[]
  readonly heldIds: Set<string>
  failures: number
  retry: Timer | undefined
}

interface PairState {
  /** The number of the last trade passed on; 0 before the first. */
  number: number
  /** The last trades' identifiers, oldest first. */
  readonly known: Set<string>
  /** The latest trade time. */
  milliseconds: number
  isInterrupted: boolean
  bridging: Bridging | undefined
}

export class VenueTradeBridge {
  readonly #options: VenueTradeFillOptions
  readonly #pairs = new Map<string, PairState>()
  /** Held trades for all pairs. */
  #count = 0

  constructor(options: VenueTradeFillOptions) {
    this.#options = options
  }

  /** Takes trades in the venue's order. */
  take(symbol: string, trades: readonly VenueTrade[]): void {
    const state = this.#stateOf(symbol)
    const { bridging, known } = state
    const fresh = trades.filter((trade) => !known.has(idOf(trade)))
    if (fresh.length === 0) return
    if (bridging !== undefined) this.#hold(symbol, bridging, fresh)
    else if (state.isInterrupted) this.#begin(symbol, state, fresh)
    else this.#pass(symbol, state, fresh, false)
  }

  /** Continues after trades passed on by another process, oldest first. Returns the last one's number. */
  resume(symbol: string, ids: readonly string[], milliseconds: number): number {
    const state = this.#stateOf(symbol)
    for (const id of ids.slice(-KNOWN_MAX)) state.known.add(id)
    state.number = 1
    state.milliseconds = milliseconds
    state.isInterrupted = true
    return state.number
  }

  /** Trades may be missing before the next one. */
  interrupt(symbol: string): void {
    const state = this.#stateOf(symbol)
    this.#end(state)
    state.isInterrupted = state.number > 0
  }

  /** The connection has ended. Held trades are dropped: the next list contains them, or shows that some are missing. */
  clear(): void {
    for (const symbol of this.#pairs.keys()) this.interrupt(symbol)
  }

  /** No market uses the pair any more. */
  forget(symbol: string): void {
    this.#end(this.#stateOf(symbol))
    this.#pairs.delete(symbol)
  }

  #stateOf(symbol: string): PairState {
    let state = this.#pairs.get(symbol)
    if (state === undefined) {
      state = { number: 0, known: new Set(), milliseconds: 0, isInterrupted: false, bridging: undefined }
      this.#pairs.set(symbol, state)
    }
    return state
  }

  #begin(symbol: string, state: PairState, fresh: readonly VenueTrade[]): void {
    const { clock, log } = this.#options
    const { millisecondsMax } = FILL_LIMITS
    const bridging: Bridging = {
      fetching: new AbortController(),
      limit: clock.schedule(millisecondsMax, () => this.#giveUp(symbol, bridging, `not within ${millisecondsMax} ms`)),
      deadlineMilliseconds: clock.monotonicMilliseconds() + millisecondsMax,
      held: [],
      heldIds: new Set(),
      failures: 0,
      retry: undefined,
    }
    log.info({ symbol }, 'venue trades may be missing: fetching the latest')
    state.bridging = bridging
    this.#hold(symbol, bridging, fresh)
    if (state.bridging === bridging) this.#fetch(symbol, bridging)
  }

  #hold(symbol: string, bridging: Bridging, fresh: readonly VenueTrade[]): void {
    for (const trade of fresh) {
      if (bridging.heldIds.has(idOf(trade))) continue
      bridging.heldIds.add(idOf(trade))
      bridging.held.push(trade)
      this.#count += 1
    }
    if (bridging.held.length > FILL_LIMITS.heldMax || this.#count > FILL_LIMITS.tradesMax) {
      this.#giveUp(symbol, bridging, 'too many trades wait for them')
    }
  }

  #fetch(symbol: string, bridging: Bridging): void {
    const { milliseconds, number } = this.#stateOf(symbol)
    const [first] = bridging.held
    if (first === undefined) return
    const before = { id: number + 1, milliseconds: first.executedAtMilliseconds }
    const gap = { after: { id: number, milliseconds }, before }
    bridging.retry = undefined
    void this.#options.fetchPage(symbol, gap, bridging.fetching.signal).then((fetched) => {
      if (this.#pairs.get(symbol)?.bridging !== bridging) return
      if ('problem' in fetched) this.#retry(symbol, bridging, fetched.problem, fetched.retryAfterMilliseconds ?? 0)
      else this.#join(symbol, bridging, fetched.value)
    })
  }

  /** Passes on the list's trades between the known and the held ones, if it contains both. */
  #join(symbol: string, bridging: Bridging, list: readonly VenueTrade[]): void {
    const state = this.#stateOf(symbol)
    const [first] = bridging.held
    if (!list.some((trade) => bridging.heldIds.has(idOf(trade)))) {
      this.#retry(symbol, bridging, 'the venue’s list ends before the latest trade', 0)
      return
    }
    // A list that begins after the first held trade has no earlier trade.
    const end = list.findIndex((trade) => first !== undefined && idOf(trade) === idOf(first))
    const last = list.findLastIndex((trade) => state.known.has(idOf(trade)))
    const missed = list.slice(0, Math.max(0, end)).filter((_, index) => index > last)
    this.#finish(symbol, state, bridging, last >= 0 && last < end, missed)
  }

  #retry(symbol: string, bridging: Bridging, problem: string, delayMillisecondsMin: number): void {
    const { clock, random } = this.#options
    bridging.failures += 1
    const delayMilliseconds = Math.max(delayMillisecondsMin, retryMilliseconds(bridging.failures, random))
    const leftMilliseconds = bridging.deadlineMilliseconds - clock.monotonicMilliseconds()
    if (bridging.failures >= FILL_LIMITS.failuresMax || delayMilliseconds >= leftMilliseconds) {
      this.#giveUp(symbol, bridging, problem)
      return
    }
    bridging.retry = clock.schedule(delayMilliseconds, () => this.#fetch(symbol, bridging))
  }

  #giveUp(symbol: string, bridging: Bridging, problem: string): void {
    this.#options.log.warn({ symbol, problem }, 'venue trades not fetched')
    this.#finish(symbol, this.#stateOf(symbol), bridging, false, [])
  }

  #finish(
    symbol: string,
    state: PairState,
    bridging: Bridging,
    isJoined: boolean,
    missed: readonly VenueTrade[],
  ): void {
    this.#end(state)
    state.isInterrupted = false
    if (!isJoined) state.number += 1
    this.#pass(symbol, state, missed, true)
    this.#pass(symbol, state, bridging.held, false)
  }

  #pass(symbol: string, state: PairState, trades: readonly VenueTrade[], isRepeat: boolean): void {
    const fresh: VenueTrade[] = []
    for (const trade of trades) {
      const id = idOf(trade)
      if (state.known.has(id)) continue
      state.known.add(id)
      if (state.known.size > KNOWN_MAX) state.known.delete(state.known.values().next().value as string)
      state.number += 1
      state.milliseconds = Math.max(state.milliseconds, trade.executedAtMilliseconds)
      fresh.push({ ...trade, firstId: state.number, lastId: state.number })
    }
    for (let begin = 0; begin < fresh.length; begin += FILL_LIMITS.batchTradesMax) {
      this.#options.pass(symbol, fresh.slice(begin, begin + FILL_LIMITS.batchTradesMax), isRepeat)
    }
  }

  #end(state: PairState): void {
    const { bridging } = state
    if (bridging === undefined) return
    state.bridging = undefined
    this.#count -= bridging.held.length
    bridging.limit.cancel()
    bridging.retry?.cancel()
    bridging.fetching.abort()
  }
}

/** Trades without numbers have an identifier, unique within the pair. */
function idOf({ id, lastId }: VenueTrade): string {
  return id ?? String(lastId)
}

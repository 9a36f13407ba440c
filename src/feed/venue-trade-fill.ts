/**
 * Fetches the trades that a connection did not tell of, for venues whose latest trades can be had by HTTP: trades whose
 * numbers prove a gap wait until what was fetched has gone before them. It promises that nothing waits for long, that
 * the order of a pair's trades stays as it was, and that a gap that cannot be filled is left as it is, for whoever
 * judges the numbers to find. It knows no address.
 */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Fetched, VenueTrade } from './venue.ts'

export interface VenueTradeFillOptions {
  readonly clock: Clock
  readonly log: Log
  /** The latest trades of a pair. Never rejects. */
  readonly fetch: (symbol: string, signal: AbortSignal) => Promise<Fetched<readonly VenueTrade[]>>
  /** Whether trades are missing before these. */
  readonly hasGap: (symbol: string, trades: readonly VenueTrade[]) => boolean
  /** Hands over trades in their order. */
  readonly pass: (symbol: string, trades: readonly VenueTrade[], isRepeat: boolean) => void
}

interface Filling {
  readonly fetching: AbortController
  /** What came since the gap was seen. */
  readonly held: VenueTrade[]
}

/** Trades of one pair that wait; a liquid pair has a hundred a second. */
const HELD_MAX = 10_000
/** A venue that is slower than that, or wants to be left alone, is not waited for. */
const FILL_MILLISECONDS_MAX = 5_000

export class VenueTradeFill {
  readonly #options: VenueTradeFillOptions
  readonly #fillings = new Map<string, Filling>()

  constructor(options: VenueTradeFillOptions) {
    this.#options = options
  }

  take(symbol: string, trades: readonly VenueTrade[], isRepeat: boolean): void {
    const filling = this.#fillings.get(symbol)
    if (filling !== undefined) {
      filling.held.push(...trades)
      if (filling.held.length > HELD_MAX) this.#finish(symbol, filling)
    } else if (!isRepeat && this.#options.hasGap(symbol, trades)) {
      this.#begin(symbol, [...trades])
    } else {
      this.#options.pass(symbol, trades, isRepeat)
    }
  }

  /** The connection has ended: what waits goes on as it is. */
  clear(): void {
    for (const [symbol, filling] of this.#fillings) this.#finish(symbol, filling)
  }

  #begin(symbol: string, held: VenueTrade[]): void {
    const { clock, log, fetch } = this.#options
    const filling = { fetching: new AbortController(), held }
    this.#fillings.set(symbol, filling)
    const limit = clock.schedule(FILL_MILLISECONDS_MAX, () => this.#finish(symbol, filling))
    void fetch(symbol, filling.fetching.signal).then((fetched) => {
      limit.cancel()
      if (this.#fillings.get(symbol) !== filling) return
      if ('problem' in fetched) log.warn({ symbol, problem: fetched.problem }, 'venue trades not fetched')
      this.#finish(symbol, filling, 'value' in fetched ? fetched.value : [])
    })
  }

  #finish(symbol: string, filling: Filling, fetched: readonly VenueTrade[] = []): void {
    this.#fillings.delete(symbol)
    filling.fetching.abort()
    if (fetched.length > 0) this.#options.pass(symbol, fetched, true)
    this.#options.pass(symbol, filling.held, false)
  }
}

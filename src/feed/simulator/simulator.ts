/**
 * The simulated venue as a source: one matching book per market, with seeded traders on a seeded schedule. The events
 * and their order depend only on seed, market definition and rate; the clock only determines when they are emitted, and
 * stamps the trades. After a stall of the process, one tick emits at most a mean second of overdue events and the rest
 * of the schedule is shifted; no event is skipped. It opens no connection.
 */
import { assert } from '../../base/assert.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Execution, MarketEvent, Side } from '../../market/event.ts'
import type { Source, SourceMarket } from '../source.ts'
import { type Arrival, createArrivals } from './arrivals.ts'
import type { Trade } from './matching.ts'
import { createRandomStream } from './random.ts'
import { Traders } from './traders.ts'

/** One trade of the matching book, with which the published execution must agree. */
export interface SimulatedTrade {
  /** The market's symbol. */
  readonly market: string
  /** Counts from 1 per market, without gaps. */
  readonly tradeNumber: number
  /** Integers at the scale of the market. */
  readonly price: number
  readonly amount: number
  readonly makerOrderId: number
  readonly takerOrderId: number
  readonly takerSide: Side
  /** Wall clock at the trade, milliseconds since the epoch; never decreases within a market. */
  readonly executedAtMilliseconds: number
}

interface SimulatorOptions {
  readonly markets: readonly SourceMarket[]
  /** The same seed gives the same orders. */
  readonly seed: number
  /** Mean number of `update` events per second and market. */
  readonly updatesPerSecond: number
  readonly clock: Clock
  /** Called with every trade before its event is emitted. */
  readonly onTrade?: (trade: SimulatedTrade) => void
}

/** The notice of every simulated market in `/readyz` and the operator API. */
const NOTICE = 'simulated: its prices are invented'

/** A tick emits at most the events of a mean second, but up to this many when they are due. */
const TICK_EVENTS_MIN = 64

/**
 * @throws when a market has more than 8 decimals, beyond which amounts exceed the safe integers, or the rate is not
 * positive
 */
export function createSimulator(options: SimulatorOptions): Source {
  const markets = new Map<SourceMarket, SimulatedMarket>()
  const create = (market: SourceMarket): SimulatedMarket => {
    const created = new SimulatedMarket(market, options)
    markets.set(market, created)
    return created
  }
  for (const market of options.markets) create(market)
  return {
    start() {
      for (const [fed, market] of markets) {
        market.start()
        fed.onInstrument?.()
      }
    },
    add(market) {
      create(market).start()
      market.onInstrument?.()
    },
    remove(market) {
      markets.get(market)?.stop()
      markets.delete(market)
    },
    stop() {
      for (const market of markets.values()) market.stop()
      return Promise.resolve()
    },
    instrument() {
      return { state: 'OPEN', reason: '', simulated: true }
    },
    notices() {
      return [NOTICE]
    },
    rebuild(market) {
      markets.get(market)?.rebuild()
    },
  }
}

class SimulatedMarket {
  readonly #symbol: string
  readonly #listener: (event: MarketEvent) => void
  readonly #clock: Clock
  readonly #onTrade: ((trade: SimulatedTrade) => void) | undefined
  readonly #traders: Traders
  readonly #nextArrival: () => Arrival
  readonly #tickEventsMax: number
  #arrival: Arrival
  #state: 'new' | 'running' | 'stopped' = 'new'
  /** Monotonic time of the zero of the schedule; later when the schedule was shifted. */
  #originMilliseconds = 0
  #tradeNumber = 0
  #executedAtMilliseconds = 0
  #updateTimer: Timer | undefined
  #snapshotTimer: Timer | undefined

  constructor({ market, listener }: SourceMarket, { seed, updatesPerSecond, clock, onTrade }: SimulatorOptions) {
    this.#symbol = market.symbol
    this.#listener = listener
    this.#clock = clock
    this.#onTrade = onTrade
    this.#nextArrival = createArrivals(updatesPerSecond, createRandomStream(seed, `${market.symbol}/arrivals`))
    this.#traders = new Traders(market, updatesPerSecond, createRandomStream(seed, `${market.symbol}/traders`))
    this.#tickEventsMax = Math.max(TICK_EVENTS_MIN, Math.floor(updatesPerSecond))
    this.#arrival = this.#nextArrival()
  }

  start(): void {
    assert(this.#state === 'new', `the simulated market ${this.#symbol} was started before`)
    this.#state = 'running'
    this.#updateTimer = this.#clock.schedule(0, () => {
      this.#originMilliseconds = this.#clock.monotonicMilliseconds()
      this.#emitSnapshot()
      this.#emitDue()
    })
  }

  stop(): void {
    this.#state = 'stopped'
    this.#updateTimer?.cancel()
    this.#snapshotTimer?.cancel()
  }

  /** In a later tick, because it may be called by the listener. */
  rebuild(): void {
    if (this.#state !== 'running' || this.#snapshotTimer !== undefined) return
    this.#snapshotTimer = this.#clock.schedule(0, () => {
      this.#snapshotTimer = undefined
      this.#emitSnapshot()
    })
  }

  #emitSnapshot(): void {
    this.#listener({ type: 'snapshot', levels: this.#traders.book.snapshot() })
  }

  /** Emits the events that are due, up to the limit, and schedules the next tick. */
  #emitDue(): void {
    const now = this.#clock.monotonicMilliseconds()
    for (let left = this.#tickEventsMax; left > 0 && this.#dueMilliseconds() <= now; left--) {
      if (this.#state !== 'running') return
      this.#emitUpdate()
      this.#arrival = this.#nextArrival()
    }
    if (this.#state !== 'running') return
    this.#originMilliseconds += Math.max(0, now - this.#dueMilliseconds())
    this.#updateTimer = this.#clock.schedule(Math.max(0, this.#dueMilliseconds() - now), () => this.#emitDue())
  }

  #dueMilliseconds(): number {
    return this.#originMilliseconds + this.#arrival.atMicroseconds / 1000
  }

  #emitUpdate(): void {
    const { trades, changes } = this.#traders.step(this.#arrival)
    this.#listener({ type: 'update', changes, executions: trades.map((trade) => this.#execution(trade)) })
  }

  #execution(trade: Trade): Execution {
    this.#executedAtMilliseconds = Math.max(this.#executedAtMilliseconds, this.#clock.wallInstant().milliseconds)
    this.#tradeNumber++
    const executedAtMilliseconds = this.#executedAtMilliseconds
    this.#onTrade?.({ market: this.#symbol, tradeNumber: this.#tradeNumber, ...trade, executedAtMilliseconds })
    return { price: trade.price, amount: trade.amount, executedAtMilliseconds }
  }
}

/**
 * The simulated venue as a source: a matching book a market, traded by a seeded crowd on a seeded schedule. Which
 * events it emits, in which order, follows from seed, market definition and rate alone; the clock only says when, and
 * stamps the trades. When the process stalls, at most a turn's worth of what is overdue goes out at once and the rest
 * of the schedule moves back; nothing is ever skipped. It opens no connection and needs no network.
 */
import { assert } from '../../base/assert.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Execution, MarketEvent, Side } from '../../market/event.ts'
import type { Source, SourceMarket } from '../source.ts'
import { type Arrival, createArrivals } from './arrivals.ts'
import type { Trade } from './matching.ts'
import { createRandomStream } from './random.ts'
import { Traders } from './traders.ts'

/** One trade as the matching book made it: what the execution on the wire must agree with. */
export interface SimulatedTrade {
  /** The market's symbol. */
  readonly market: string
  /** Counts from 1 in each market, without gaps. */
  readonly tradeNumber: number
  /** Integers at the market's scale. */
  readonly price: number
  readonly amount: number
  readonly makerOrderId: number
  readonly takerOrderId: number
  readonly takerSide: Side
  /** The wall clock at the trade, milliseconds since the epoch; never goes back within a market. */
  readonly executedAtMilliseconds: number
}

interface SimulatorOptions {
  readonly markets: readonly SourceMarket[]
  /** Same seed, same orders. */
  readonly seed: number
  /** Mean number of `update` events a second in each market. */
  readonly updatesPerSecond: number
  readonly clock: Clock
  /** Told of every trade before the event that carries it is emitted. */
  readonly onTrade?: (trade: SimulatedTrade) => void
}

/** What `/readyz` and the operator API report of every simulated market. */
const NOTICE = 'simulated: its prices are invented'

/** A turn emits at most a mean second's events, and never fewer than this many when they are due. */
const TURN_EVENTS_MIN = 64

/** Throws when a market has more decimals than safe integers can carry (8), or the rate is not positive. */
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
      for (const market of markets.values()) market.start()
    },
    add(market) {
      create(market).start()
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
      return { state: 'OPEN', reason: '' }
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
  readonly #turnEventsMax: number
  #arrival: Arrival
  #state: 'new' | 'running' | 'stopped' = 'new'
  /** The monotonic time that stands for the schedule's zero; moves forward when the schedule is shifted. */
  #originMilliseconds = 0
  #tradeNumber = 0
  #executedAtMilliseconds = 0
  #turnTimer: Timer | undefined
  #snapshotTimer: Timer | undefined

  constructor({ market, listener }: SourceMarket, { seed, updatesPerSecond, clock, onTrade }: SimulatorOptions) {
    this.#symbol = market.symbol
    this.#listener = listener
    this.#clock = clock
    this.#onTrade = onTrade
    this.#nextArrival = createArrivals(updatesPerSecond, createRandomStream(seed, `${market.symbol}/arrivals`))
    this.#traders = new Traders(market, updatesPerSecond, createRandomStream(seed, `${market.symbol}/traders`))
    this.#turnEventsMax = Math.max(TURN_EVENTS_MIN, Math.floor(updatesPerSecond))
    this.#arrival = this.#nextArrival()
  }

  start(): void {
    assert(this.#state === 'new', `the simulated market ${this.#symbol} was started before`)
    this.#state = 'running'
    this.#turnTimer = this.#clock.schedule(0, () => {
      this.#originMilliseconds = this.#clock.monotonicMilliseconds()
      this.#emitSnapshot()
      this.#turn()
    })
  }

  stop(): void {
    this.#state = 'stopped'
    this.#turnTimer?.cancel()
    this.#snapshotTimer?.cancel()
  }

  /** In a turn of its own: it may be asked for from inside the listener. */
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

  /** Emits what is due, up to the bound, and comes back when the next event is. */
  #turn(): void {
    const now = this.#clock.monotonicMilliseconds()
    for (let left = this.#turnEventsMax; left > 0 && this.#dueMilliseconds() <= now; left--) {
      if (this.#state !== 'running') return
      this.#emitUpdate()
      this.#arrival = this.#nextArrival()
    }
    if (this.#state !== 'running') return
    this.#originMilliseconds += Math.max(0, now - this.#dueMilliseconds())
    this.#turnTimer = this.#clock.schedule(Math.max(0, this.#dueMilliseconds() - now), () => this.#turn())
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

/**
 * The simulated venue as a source: one matching book per market, with seeded traders on a seeded schedule. The events
 * and their order depend only on seed, market definition and rate. The clock determines when they are emitted, and
 * stamps the trades. After a stalled process, one tick emits at most a mean second's overdue events and the remaining
 * schedule is shifted. No event is skipped. A scenario (`scenario`) adds phases. While a market is paused its schedule
 * is shifted too. It opens no connection.
 */
import { assert } from '../../../platform/base/assert.ts'
import type { Clock, Timer } from '../../../platform/base/clock.ts'
import { BID, type Execution, type Instrument, type MarketEvent, type Side } from '../../market/event.ts'
import { SIMULATED_NOTICE, type Source, type SourceMarket } from '../source.ts'
import { type Arrival, createArrivals } from './arrivals.ts'
import { CrossingVenues } from './crossing.ts'
import { DeepLevels } from './deep-levels.ts'
import type { Trade } from './matching.ts'
import { createRandomStream } from './random.ts'
import {
  instrumentIn,
  isPaused,
  type Phase,
  type PhaseKind,
  SCENARIO_PHASES,
  type Scenario,
  STORM_FACTOR,
} from './scenario.ts'
import { type Step, Traders } from './traders.ts'

/** One trade in the matching book. The published execution must agree with it. */
export interface SimulatedTrade {
  /** The market's symbol. */
  readonly market: string
  /** Counts from 1 per market, without gaps. */
  readonly tradeNumber: number
  /** Integers at the market's scale. */
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
  /** Mean rate of `update` events per second and market. */
  readonly updatesPerSecond: number
  /** `none` when absent. */
  readonly scenario?: Scenario
  readonly clock: Clock
  /** Called with every trade before its event is emitted. */
  readonly onTrade?: (trade: SimulatedTrade) => void
}

/** A tick emits at most a mean second's events, but up to this many when they are due. */
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
    instrument(market) {
      return markets.get(market)?.instrument ?? instrumentIn('trading')
    },
    proof() {
      return 'NONE'
    },
    notices() {
      const { scenario = 'none' } = options
      return scenario === 'none' ? [SIMULATED_NOTICE] : [SIMULATED_NOTICE, `scenario ${scenario}`]
    },
    rebuild(market) {
      markets.get(market)?.rebuild()
    },
  }
}

class SimulatedMarket {
  readonly #symbol: string
  readonly #listener: (event: MarketEvent) => void
  readonly #onInstrument: () => void
  readonly #phases: readonly Phase[]
  readonly #crossing: CrossingVenues | undefined
  readonly #deep: DeepLevels | undefined
  readonly #clock: Clock
  readonly #onTrade: ((trade: SimulatedTrade) => void) | undefined
  readonly #traders: Traders
  readonly #nextArrival: () => Arrival
  readonly #tickEventsMax: number
  #arrival: Arrival
  #state: 'new' | 'running' | 'stopped' = 'new'
  /** Monotonic time at the schedule's zero; later when the schedule was shifted. */
  #originMilliseconds = 0
  #tradeNumber = 0
  #executedAtMilliseconds = 0
  #updateTimer: Timer | undefined
  #snapshotTimer: Timer | undefined
  #phaseTimer: Timer | undefined
  #phase: PhaseKind = 'trading'
  /** Monotonic time at which the current pause began. */
  #pausedMilliseconds = 0

  constructor(fed: SourceMarket, options: SimulatorOptions) {
    const { market, listener, onInstrument } = fed
    const { seed, updatesPerSecond, scenario = 'none', clock, onTrade } = options
    this.#symbol = market.symbol
    this.#listener = listener
    this.#onInstrument = () => onInstrument?.()
    this.#phases = SCENARIO_PHASES[scenario]
    this.#clock = clock
    this.#onTrade = onTrade
    this.#nextArrival = createArrivals(updatesPerSecond, createRandomStream(seed, `${market.symbol}/arrivals`))
    this.#traders = new Traders(market, updatesPerSecond, createRandomStream(seed, `${market.symbol}/traders`))
    const { startPrice } = this.#traders
    if (scenario === 'crossing') this.#crossing = new CrossingVenues(startPrice)
    if (scenario === 'deep') {
      this.#deep = new DeepLevels(market, startPrice, createRandomStream(seed, `${market.symbol}/deep`))
    }
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
      this.#planPhase(0)
    })
  }

  get instrument(): Instrument {
    return instrumentIn(this.#phase)
  }

  stop(): void {
    this.#state = 'stopped'
    this.#updateTimer?.cancel()
    this.#snapshotTimer?.cancel()
    this.#phaseTimer?.cancel()
  }

  /** In a later tick, because it may be called by the listener. */
  rebuild(): void {
    if (this.#state !== 'running' || this.#snapshotTimer !== undefined) return
    this.#snapshotTimer = this.#clock.schedule(0, () => {
      this.#snapshotTimer = undefined
      this.#crossing?.startOver()
      // The snapshot follows later, and ends the loss.
      if (this.#phase !== 'lost') this.#emitSnapshot()
    })
  }

  /** Starts the phase at this index. The next one begins when it ends. */
  #planPhase(index: number): void {
    const phase = this.#phases[index]
    if (phase === undefined || this.#state !== 'running') return
    const next = (index + 1) % this.#phases.length
    this.#phaseTimer = this.#clock.schedule(phase.seconds * 1000, () => {
      this.#enter((this.#phases[next] as Phase).kind)
      this.#planPhase(next)
    })
  }

  #enter(kind: PhaseKind): void {
    const before = this.#phase
    const now = this.#clock.monotonicMilliseconds()
    this.#phase = kind
    this.#crossing?.cross(kind === 'crossed')
    if (isPaused(kind) && !isPaused(before)) {
      this.#updateTimer?.cancel()
      this.#pausedMilliseconds = now
    }
    if (kind === 'lost') this.#listener({ type: 'lost', reason: 'the source is lost by the scenario' })
    if (this.instrument.state !== instrumentIn(before).state) this.#onInstrument()
    if (this.#crossing !== undefined || before === 'lost') this.#emitSnapshot()
    if (before === 'auction') this.#emit(this.#traders.open())
    if (!isPaused(before) || isPaused(kind) || this.#state !== 'running') return
    this.#originMilliseconds += now - this.#pausedMilliseconds
    this.#emitDue()
  }

  #emitSnapshot(): void {
    this.#publish({ type: 'snapshot', levels: [...this.#traders.book.snapshot(), ...(this.#deep?.snapshot() ?? [])] })
  }

  #publish(event: MarketEvent): void {
    if (this.#state !== 'running') return
    if (this.#crossing === undefined) this.#listener(event)
    else for (const one of this.#crossing.offer(event, this.#clock.monotonicMilliseconds())) this.#listener(one)
  }

  /** Emits the due events, up to the limit, and schedules the next tick. */
  #emitDue(): void {
    const now = this.#clock.monotonicMilliseconds()
    for (let left = this.#tickEventsMax; left > 0 && this.#dueMilliseconds() <= now; left--) {
      for (let count = this.#phase === 'storm' ? STORM_FACTOR : 1; count > 0; count--) {
        if (this.#state !== 'running') return
        this.#emit(this.#traders.step(this.#arrival))
      }
      this.#arrival = this.#nextArrival()
    }
    if (this.#state !== 'running') return
    this.#originMilliseconds += Math.max(0, now - this.#dueMilliseconds())
    this.#updateTimer = this.#clock.schedule(Math.max(0, this.#dueMilliseconds() - now), () => this.#emitDue())
  }

  #dueMilliseconds(): number {
    return this.#originMilliseconds + this.#arrival.atMicroseconds / 1000
  }

  #emit({ trades, changes }: Step): void {
    const executions = trades.map((trade) => this.#execution(trade))
    const deep = this.#deep?.step() ?? []
    this.#publish({ type: 'update', changes: deep.length === 0 ? changes : [...changes, ...deep], executions })
  }

  #execution(trade: Trade): Execution {
    this.#executedAtMilliseconds = Math.max(this.#executedAtMilliseconds, this.#clock.wallInstant().milliseconds)
    this.#tradeNumber++
    const executedAtMilliseconds = this.#executedAtMilliseconds
    this.#onTrade?.({ market: this.#symbol, tradeNumber: this.#tradeNumber, ...trade, executedAtMilliseconds })
    const side = trade.takerSide === BID ? 'buy' : 'sell'
    return { price: trade.price, amount: trade.amount, side, executedAtMilliseconds }
  }
}

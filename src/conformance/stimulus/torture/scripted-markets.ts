/**
 * The conformance server's markets: small invented books on the product's own sequencer, replica and hub. They change
 * ten times a second, so a client receives the same messages as from the service. Scenarios withdraw, change, remove
 * and enlarge them.
 */
import type { Clock, Timer } from '../../../platform/base/clock.ts'
import { newId } from '../../../platform/base/ids.ts'
import { createLog } from '../../../platform/base/log.ts'
import { createMetricsRegistry } from '../../../platform/base/metrics.ts'
import { Hub } from '../../../streaming/gateway/hub.ts'
import { createGatewayMetrics } from '../../../streaming/gateway/metrics.ts'
import type { MarketEnd } from '../../../streaming/gateway/protocol.ts'
import { ASK, BID, type LevelChange, type MarketDefinition } from '../../../streaming/market/event.ts'
import type { Bus } from '../../../streaming/sequencing/bus.ts'
import { createMemoryBus } from '../../../streaming/sequencing/bus-memory.ts'
import { Replica } from '../../../streaming/sequencing/replica.ts'
import { Sequencer } from '../../../streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../../../streaming/sequencing/sequencer-metrics.ts'

/** Time between two book changes. */
const STEP_MILLISECONDS = 100
/** Changes per execution. */
const STEPS_PER_EXECUTION = 5
const LEVELS_PER_SIDE = 10
/** Levels per side for a SNAPSHOT beyond 1 MiB, which is some libraries' limit. */
const LARGE_LEVELS_PER_SIDE = 14_000
/** Time after which a market without a source withdraws its book. */
const WITHDRAWAL_MILLISECONDS = 5

/** Stream settings, as small as scenarios can use them. */
const SETTINGS = {
  heartbeatSeconds: 1,
  pingSeconds: 5,
  silenceSeconds: 900,
  staleSeconds: 0,
  closesStale: false,
  outboxBytesMax: 262_144,
  writeIntervalMilliseconds: 0,
  inboundPerSecond: 50,
  inboundBurst: 1_000,
  subscriptionsMax: 1_000,
  closesExpired: false,
}

interface ScriptedMarket {
  readonly definition: MarketDefinition
  readonly replica: Replica
  readonly sequencer: Sequencer
  isWithdrawn: boolean
  levelsPerSide: number
}

export class ScriptedMarkets {
  readonly hub: Hub
  /** While true, books do not change. */
  isQuiet = false
  readonly #clock: Clock
  readonly #bus: Bus = createMemoryBus()
  readonly #log = createLog('silent')
  readonly #metrics = createSequencerMetrics(createMetricsRegistry())
  readonly #markets = new Map<string, ScriptedMarket>()
  /** Removed markets' last commit times. */
  readonly #floors = new Map<string, number>()
  #steps = 0
  #timer: Timer | undefined

  constructor(symbols: readonly string[], clock: Clock) {
    this.#clock = clock
    this.hub = new Hub({
      replicas: symbols.map((symbol) => this.#create(symbol, 2)),
      bus: this.#bus,
      clock,
      log: this.#log,
      metrics: createGatewayMetrics(createMetricsRegistry()),
      settings: SETTINGS,
      random: Math.random,
    })
    this.#step()
  }

  /** In the order in which they were added. */
  get definitions(): readonly MarketDefinition[] {
    return [...this.#markets.values()].map(({ definition }) => definition)
  }

  /** Whether the market has a book. */
  isLive(symbol: string): boolean {
    return this.#markets.get(symbol)?.replica.live === true
  }

  /** Ends the book changes and closes all connections. */
  stop(): void {
    this.#timer?.cancel()
    this.hub.stop()
    for (const { sequencer, replica } of this.#markets.values()) {
      sequencer.stop()
      replica.stop()
    }
  }

  /** The market has no source until `restore`. Resolves when its book is withdrawn: one UPDATE and one empty TOP_OF_BOOK. */
  withdraw(symbol: string): Promise<void> {
    const market = this.#market(symbol)
    market.isWithdrawn = true
    market.sequencer.offer({ type: 'lost', reason: 'withdrawn by the scenario' })
    return new Promise((resolve) => {
      const look = (): void => {
        if (market.replica.isWithdrawn) resolve()
        else this.#clock.schedule(WITHDRAWAL_MILLISECONDS, look)
      }
      look()
    })
  }

  /** One UPDATE restores the book. */
  restore(symbol: string): void {
    this.#market(symbol).isWithdrawn = false
    this.#move(this.#market(symbol))
  }

  /** Replaces the market by one with other decimals: its subscriptions end with the notice for a changed market. */
  change(symbol: string): void {
    const { priceDecimals } = this.#market(symbol).definition
    this.#remove(symbol, 'changed')
    this.add(symbol, priceDecimals === 2 ? 3 : 2)
  }

  /** Removes the market: its subscriptions end with the notice for a removed market. */
  remove(symbol: string): void {
    this.#remove(symbol, 'removed')
  }

  add(symbol: string, priceDecimals = 2): void {
    this.hub.addMarket(this.#create(symbol, priceDecimals))
    this.#move(this.#market(symbol))
  }

  /**
   * Starts all markets again with new epochs, so earlier cursors cannot be resumed. Call it without open connections.
   */
  forgetCursors(): void {
    for (const { definition } of [...this.#markets.values()]) {
      this.#remove(definition.symbol, 'changed')
      this.add(definition.symbol, definition.priceDecimals)
    }
  }

  /** Sends a second SNAPSHOT, larger than 1 MiB. `shrink` restores the book's size. */
  enlarge(symbol: string): void {
    const market = this.#market(symbol)
    market.levelsPerSide = LARGE_LEVELS_PER_SIDE
    market.sequencer.startOver('the scenario sends a new SNAPSHOT')
  }

  shrink(symbol: string): void {
    this.#market(symbol).levelsPerSide = LEVELS_PER_SIDE
  }

  #market(symbol: string): ScriptedMarket {
    const market = this.#markets.get(symbol)
    if (market === undefined) throw new Error(`there is no market ${symbol}`)
    return market
  }

  #create(symbol: string, priceDecimals: number): Replica {
    const quoteAsset = symbol.slice(-3)
    const definition: MarketDefinition = {
      symbol,
      baseAsset: symbol.slice(0, -3),
      quoteAsset,
      priceDecimals,
      amountDecimals: 8,
      depth: 0,
    }
    const replica = new Replica({ market: definition, bus: this.#bus, executionsKept: 10_000 })
    const sequencer = new Sequencer({
      market: definition,
      epoch: newId(),
      bus: this.#bus,
      clock: this.#clock,
      log: this.#log,
      metrics: this.#metrics,
      floorMilliseconds: this.#floors.get(symbol) ?? 0,
      withdrawAfterMilliseconds: WITHDRAWAL_MILLISECONDS,
      onRebuildNeeded: () => this.#move(this.#market(symbol)),
    })
    const market = { definition, replica, sequencer, isWithdrawn: false, levelsPerSide: LEVELS_PER_SIDE }
    this.#markets.set(symbol, market)
    return replica
  }

  #remove(symbol: string, end: MarketEnd): void {
    const { replica, sequencer } = this.#market(symbol)
    this.hub.removeMarket(symbol, end)
    sequencer.stop()
    replica.stop()
    this.#floors.set(symbol, Math.max(replica.instant.milliseconds, this.#floors.get(symbol) ?? 0))
    this.#markets.delete(symbol)
  }

  #step(): void {
    this.#steps++
    for (const market of this.#markets.values()) {
      // A large book does not change: creating it ten times a second would occupy the process.
      const isStill = this.isQuiet || market.isWithdrawn || market.levelsPerSide !== LEVELS_PER_SIDE
      if (!isStill) this.#move(market)
    }
    this.#timer = this.#clock.schedule(STEP_MILLISECONDS, () => this.#step())
  }

  /** Offers this step's whole book. The sequencer publishes the differences. */
  #move({ definition, sequencer, levelsPerSide }: ScriptedMarket): void {
    const drift = levelsPerSide === LEVELS_PER_SIDE ? this.#steps % 4 : 0
    const middle = (60_000 + drift) * 10 ** definition.priceDecimals
    const levels: LevelChange[] = []
    for (let rank = 1; rank <= levelsPerSide; rank++) {
      const amount = 10_000_000 * rank + (this.#steps % 1_000)
      levels.push({ side: BID, price: middle - rank * 20, amount }, { side: ASK, price: middle + rank * 20, amount })
    }
    sequencer.offer({ type: 'snapshot', levels })
    if (this.#steps % STEPS_PER_EXECUTION !== 0) return
    sequencer.offer({ type: 'update', changes: [], executions: [{ price: middle + 20, amount: 1_000_000 }] })
  }
}

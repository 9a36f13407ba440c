/**
 * Reports the node's state as metrics: readiness and each check, every market, the store and its statements, the
 * directory, the process, the version. Values are read from the modules during a scrape. Only the statements' times are
 * recorded as they occur.
 */
import type { Clock } from '../../platform/base/clock.ts'
import { droppedLogLines } from '../../platform/base/log.ts'
import { Counter, Gauge, Histogram, type MetricsRegistry, observeProcess } from '../../platform/base/metrics.ts'
import { programVersion } from '../../platform/base/version.ts'
import { type Db, StoreUnavailable } from '../../platform/store/db.ts'
import type { Readiness } from './readiness.ts'

/** The replica's values for the metrics. */
interface ObservedMarket {
  readonly market: { readonly symbol: string }
  readonly live: boolean
  /** Instant of the last commit, 0 before the first. */
  readonly instant: { readonly milliseconds: number }
}

interface ObservedDirectory {
  /** When it last equalled the store, by the monotonic clock. Undefined before the first load. */
  readonly loadedMilliseconds: number | undefined
  /** Failed reads since the start. */
  readonly failureCount: number
  /** Reads since the start that changed it. */
  readonly counts: { readonly full: number; readonly changes: number }
}

interface ObservedStoreClock {
  /** Milliseconds by which this node's clock is ahead of the store's. Undefined before the first comparison. */
  readonly differenceMilliseconds: number | undefined
}

interface ObservedSource {
  readonly source: string
  readonly state: 'starting' | 'live' | 'lost'
}

export interface HealthOptions {
  readonly registry: MetricsRegistry
  readonly clock: Clock
  readonly db: Db
  readonly storeClock: ObservedStoreClock
  readonly directory: ObservedDirectory
  /** The current markets. */
  readonly markets: () => Iterable<ObservedMarket>
  readonly sourcesOf: (market: string) => readonly ObservedSource[]
  readonly isSimulated: (market: string) => boolean
  readonly readiness: () => Readiness
  /** `stream.connections_max` as currently configured. */
  readonly connectionsMax: () => number
}

export function createHealthMetrics(options: HealthOptions): void {
  const { registry, clock, connectionsMax } = options
  observeProcess(registry, clock)
  new Gauge({
    name: 'tidegate_build_info',
    help: 'Always 1. The labels are the program’s and Node’s versions',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version: programVersion(), node: process.version }, 1)
  new Gauge({
    name: 'tidegate_connections_max',
    help: 'Maximum stream connections to this node',
    registers: [registry],
    collect() {
      this.set(connectionsMax())
    },
  })
  observeLog(options)
  observeReadiness(options)
  observeMarkets(options)
  observeStore(options)
  observeDirectory(options)
}

function observeLog({ registry }: HealthOptions): void {
  let seen = 0
  new Counter({
    name: 'tidegate_log_lines_dropped_total',
    help: 'Log lines dropped because stderr was not read',
    registers: [registry],
    collect() {
      const dropped = droppedLogLines()
      this.inc(dropped - seen)
      seen = dropped
    },
  })
}

function observeReadiness({ registry, readiness }: HealthOptions): void {
  const registers = [registry]
  new Gauge({
    name: 'tidegate_ready',
    help: '1 while this node should receive traffic, as /readyz reports',
    registers,
    collect() {
      this.set(readiness().ready ? 1 : 0)
    },
  })
  new Gauge({
    name: 'tidegate_ready_check',
    help: '1 while a /readyz check passes. Markets are in tidegate_market_live',
    labelNames: ['check'],
    registers,
    collect() {
      this.reset()
      for (const { name, ok } of readiness().checks) if (!name.includes(' ')) this.set({ check: name }, ok ? 1 : 0)
    },
  })
}

function observeMarkets({ registry, clock, markets, sourcesOf, isSimulated }: HealthOptions): void {
  const registers = [registry]
  const labelNames = ['market'] as const
  new Gauge({
    name: 'tidegate_market_live',
    help: '1 while one of the market’s sources is trusted',
    labelNames,
    registers,
    collect() {
      this.reset()
      for (const { market, live } of markets()) this.set({ market: market.symbol }, live ? 1 : 0)
    },
  })
  new Gauge({
    name: 'tidegate_market_simulated',
    help: '1 if the prices of the market come from the simulator and are invented',
    labelNames,
    registers,
    collect() {
      this.reset()
      for (const { market } of markets()) this.set({ market: market.symbol }, isSimulated(market.symbol) ? 1 : 0)
    },
  })
  new Gauge({
    name: 'tidegate_source_live',
    help: '1 while this market source is trusted',
    labelNames: ['market', 'source'],
    registers,
    collect() {
      this.reset()
      for (const { market } of markets()) {
        for (const { source, state } of sourcesOf(market.symbol)) {
          this.set({ market: market.symbol, source }, state === 'live' ? 1 : 0)
        }
      }
    },
  })
  new Gauge({
    name: 'tidegate_market_commit_age_seconds',
    help: 'Wall time since the market’s last commit. Absent before the first',
    labelNames,
    registers,
    collect() {
      this.reset()
      const now = clock.wallInstant().milliseconds
      for (const { market, instant } of markets()) {
        if (instant.milliseconds === 0) continue
        this.set({ market: market.symbol }, Math.max(0, now - instant.milliseconds) / 1000)
      }
    },
  })
}

function observeStore({ registry, db, storeClock }: HealthOptions): void {
  const registers = [registry]
  new Gauge({
    name: 'tidegate_store_clock_difference_seconds',
    help: "How far this node's clock is ahead of the store's (negative: behind), compared once a minute",
    registers,
    collect() {
      if (storeClock.differenceMilliseconds === undefined) this.remove()
      else this.set(storeClock.differenceMilliseconds / 1000)
    },
  })
  new Gauge({
    name: 'tidegate_store_available',
    help: '0 while the store is known to be unreachable',
    registers,
    collect() {
      this.set(db.available ? 1 : 0)
    },
  })
  new Gauge({
    name: 'tidegate_store_corrupt',
    help: '1 from the time this process finds a corrupt page or index in the store until it restarts',
    registers,
    collect() {
      this.set(db.corruption === undefined ? 0 : 1)
    },
  })
  new Gauge({
    name: 'tidegate_store_turns',
    help: 'Store connections in use, and callers waiting for one',
    labelNames: ['state'],
    registers,
    collect() {
      this.set({ state: 'taken' }, db.connections.inUse)
      this.set({ state: 'waiting' }, db.connections.waiting)
    },
  })
  const seconds = new Histogram({
    name: 'tidegate_store_statement_seconds',
    help: 'Statement time by outcome: ok, failed (the store rejected it), unavailable',
    labelNames: ['outcome'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2],
    registers,
  })
  for (const outcome of ['ok', 'failed', 'unavailable'] as const) seconds.zero({ outcome })
  db.observeStatements((duration, error) => seconds.observe({ outcome: outcomeOf(error) }, duration))
}

function outcomeOf(error: unknown): 'ok' | 'failed' | 'unavailable' {
  if (error === undefined) return 'ok'
  return error instanceof StoreUnavailable ? 'unavailable' : 'failed'
}

function observeDirectory({ registry, clock, directory }: HealthOptions): void {
  const registers = [registry]
  new Gauge({
    name: 'tidegate_directory_age_seconds',
    help: 'Time since the customer and client directory was last known to equal the store',
    registers,
    collect() {
      if (directory.loadedMilliseconds === undefined) this.remove()
      else this.set((clock.monotonicMilliseconds() - directory.loadedMilliseconds) / 1000)
    },
  })
  let seen = 0
  new Counter({
    name: 'tidegate_directory_failures_total',
    help: 'Failed reads of the customer and client directory',
    registers,
    collect() {
      this.inc(directory.failureCount - seen)
      seen = directory.failureCount
    },
  })
  const counted = { full: 0, changes: 0 }
  new Counter({
    name: 'tidegate_directory_loads_total',
    help: 'Reads that changed the directory: full (everything), changes (the changed records)',
    labelNames: ['kind'],
    registers,
    collect() {
      for (const kind of ['full', 'changes'] as const) {
        this.inc({ kind }, directory.counts[kind] - counted[kind])
        counted[kind] = directory.counts[kind]
      }
    },
  })
}

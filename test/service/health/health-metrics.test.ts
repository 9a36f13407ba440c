import { beforeEach, describe, expect, test } from 'vitest'
import { createMetricsRegistry, type MetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { type Db, StatementFailed, StoreUnavailable } from '../../../src/platform/store/db.ts'
import type { StatementObserver } from '../../../src/platform/store/sql.ts'
import { createHealthMetrics } from '../../../src/service/health/health-metrics.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

let clock: VirtualClock
let registry: MetricsRegistry
let observe: StatementObserver
let checks: { name: string; ok: boolean; detail: string }[]
let markets: { market: { symbol: string }; live: boolean; instant: { milliseconds: number } }[]
let sources: Map<string, { source: string; state: 'starting' | 'live' | 'lost' }[]>
let directory: {
  loadedMilliseconds: number | undefined
  failureCount: number
  counts: { full: number; changes: number }
}
let storeClock: { differenceMilliseconds: number | undefined }
let store: { available: boolean; connections: { inUse: number; waiting: number } }

beforeEach(() => {
  clock = new VirtualClock()
  registry = createMetricsRegistry()
  checks = [{ name: 'store', ok: true, detail: 'ok' }]
  markets = []
  sources = new Map()
  directory = { loadedMilliseconds: undefined, failureCount: 0, counts: { full: 0, changes: 0 } }
  storeClock = { differenceMilliseconds: undefined }
  store = { available: true, connections: { inUse: 0, waiting: 0 } }
  const keep = (one: StatementObserver): void => {
    observe = one
  }
  const db = Object.assign(store, { observeStatements: keep })
  createHealthMetrics({
    registry,
    clock,
    db: db as unknown as Db,
    storeClock,
    directory,
    markets: () => markets,
    isSimulated: (market) => market === 'BBBUSD',
    sourcesOf: (market) => sources.get(market) ?? [],
    readiness: () => ({ ready: checks.every(({ ok }) => ok), checks }),
    connectionsMax: () => 7,
  })
})

/** The lines of the metrics that start with this text. */
async function lines(beginning: string): Promise<string[]> {
  return (await registry.metrics()).split('\n').filter((line) => line.startsWith(beginning))
}

describe('the metrics of the node', () => {
  test('the metrics of the node report readiness and each failed check; markets have a metric of their own', async () => {
    checks.push({ name: 'directory', ok: false, detail: 'x' }, { name: 'market BTCUSD', ok: false, detail: 'x' })
    expect(await lines('tidegate_ready')).toEqual([
      'tidegate_ready 0',
      'tidegate_ready_check{check="store"} 1',
      'tidegate_ready_check{check="directory"} 0',
    ])
    checks.length = 1
    expect(await lines('tidegate_ready')).toEqual(['tidegate_ready 1', 'tidegate_ready_check{check="store"} 1'])
  })

  test('the metrics of the node name the current markets with the age of their last commit', async () => {
    const { milliseconds } = clock.wallInstant()
    markets = [
      { market: { symbol: 'AAAUSD' }, live: true, instant: { milliseconds: milliseconds + 500 } },
      { market: { symbol: 'BBBUSD' }, live: false, instant: { milliseconds: 0 } },
    ]
    clock.advance(2_500)
    expect(await lines('tidegate_market')).toEqual([
      'tidegate_market_live{market="AAAUSD"} 1',
      'tidegate_market_live{market="BBBUSD"} 0',
      'tidegate_market_simulated{market="AAAUSD"} 0',
      'tidegate_market_simulated{market="BBBUSD"} 1',
      'tidegate_market_commit_age_seconds{market="AAAUSD"} 2',
    ])
    markets = markets.slice(1)
    expect(await lines('tidegate_market')).toEqual([
      'tidegate_market_live{market="BBBUSD"} 0',
      'tidegate_market_simulated{market="BBBUSD"} 1',
    ])
  })

  test('the metrics of the node report for each source of the current markets whether it is connected', async () => {
    markets = [{ market: { symbol: 'AAAUSD' }, live: true, instant: { milliseconds: 0 } }]
    sources.set('AAAUSD', [
      { source: 'kraken:A/USD', state: 'live' },
      { source: 'okx:A-USD', state: 'lost' },
      { source: 'coinbase:A-USD', state: 'starting' },
    ])
    sources.set('BBBUSD', [{ source: 'kraken:B/USD', state: 'live' }])
    expect(await lines('tidegate_source_live')).toEqual([
      'tidegate_source_live{market="AAAUSD",source="kraken:A/USD"} 1',
      'tidegate_source_live{market="AAAUSD",source="okx:A-USD"} 0',
      'tidegate_source_live{market="AAAUSD",source="coinbase:A-USD"} 0',
    ])
    markets = []
    expect(await lines('tidegate_source_live')).toEqual([])
  })

  test('the metrics of the node count statements by outcome', async () => {
    observe(0.003, undefined)
    observe(0.2, new StatementFailed('x', '23505'))
    observe(2, new StoreUnavailable('x'))
    observe(2, new StoreUnavailable('x'))
    expect(await lines('tidegate_store_statement_seconds_count')).toEqual([
      'tidegate_store_statement_seconds_count{outcome="ok"} 1',
      'tidegate_store_statement_seconds_count{outcome="failed"} 1',
      'tidegate_store_statement_seconds_count{outcome="unavailable"} 2',
    ])
  })

  test('the metrics of the node report the state of the store and its queue', async () => {
    Object.assign(store, { available: false, connections: { inUse: 3, waiting: 9 } })
    expect(await lines('tidegate_store_available')).toEqual(['tidegate_store_available 0'])
    expect(await lines('tidegate_store_turns')).toEqual([
      'tidegate_store_turns{state="taken"} 3',
      'tidegate_store_turns{state="waiting"} 9',
    ])
  })

  test("the metrics of the node show how far the node's clock is ahead of the store's, once both were compared", async () => {
    expect(await lines('tidegate_store_clock')).toEqual([])
    storeClock.differenceMilliseconds = -10_800_000
    expect(await lines('tidegate_store_clock')).toEqual(['tidegate_store_clock_difference_seconds -10800'])
  })

  test('the metrics of the node report the state of the directory', async () => {
    expect(await lines('tidegate_directory')).toEqual([
      'tidegate_directory_failures_total 0',
      'tidegate_directory_loads_total{kind="full"} 0',
      'tidegate_directory_loads_total{kind="changes"} 0',
    ])
    directory.loadedMilliseconds = clock.monotonicMilliseconds()
    clock.advance(4_000)
    directory.failureCount = 2
    directory.counts = { full: 1, changes: 7 }
    expect(await lines('tidegate_directory')).toEqual([
      'tidegate_directory_age_seconds 4',
      'tidegate_directory_failures_total 2',
      'tidegate_directory_loads_total{kind="full"} 1',
      'tidegate_directory_loads_total{kind="changes"} 7',
    ])
  })

  test('the metrics of the node report the version, the limit of connections, and the resources of the process', async () => {
    expect((await lines('tidegate_build_info'))[0]).toMatch(/^tidegate_build_info\{version="\d+\.\d+\.\d+",node="v\d+/)
    expect(await lines('tidegate_connections_max')).toEqual(['tidegate_connections_max 7'])
    for (const name of ['process_cpu_seconds_total', 'process_resident_memory_bytes', 'nodejs_eventloop_lag_p99']) {
      expect(await lines(name), name).toHaveLength(1)
    }
  })
})

/** Candles of a market with several sources: which ones are incomplete when one of them loses executions. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { CandleReader } from '../../../src/streaming/candles/candle-reader.ts'
import { CandleWriter } from '../../../src/streaming/candles/candle-writer.ts'
import type { MarketSource } from '../../../src/streaming/market/configured-market.ts'
import { ASK, BID, type LevelChange, type MarketEvent } from '../../../src/streaming/market/event.ts'
import { MarketInputs } from '../../../src/streaming/markets/market-inputs.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { Replica } from '../../../src/streaming/sequencing/replica.ts'
import { Sequencer } from '../../../src/streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../../../src/streaming/sequencing/sequencer-metrics.ts'
import { captureLog } from '../../support/captured-log.ts'
import { testMarket } from '../../support/stream-simulation.ts'
import { openTestStore } from '../../support/test-store.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'
import { candlesOf, written } from './candle-market.ts'

const { log } = captureLog()
const db = await openTestStore({ log })
afterAll(() => db.close())

beforeEach(async () => {
  await sql`truncate candle_markets, candles, candle_gaps`.execute(db.tables())
})

const START = Date.UTC(2026, 4, 3, 12)
const MINUTE = 60_000
const LEVELS: readonly LevelChange[] = [
  { side: BID, price: 100, amount: 1 },
  { side: ASK, price: 200, amount: 1 },
]
const A: MarketSource = { feed: 'a', symbol: 'A/USD' }
const B: MarketSource = { feed: 'b', symbol: 'A/USD' }

/** A process that writes the market. It begins at a minute after the start, with what the store has. */
class Process {
  readonly clock: VirtualClock
  readonly #definition = testMarket('AAAUSD', 5)
  readonly #bus = createMemoryBus()
  readonly replica = new Replica({ market: this.#definition, bus: this.#bus, executionsKept: 100 })
  readonly inputs: MarketInputs
  readonly writer: CandleWriter

  constructor(minute: number, sources: readonly MarketSource[]) {
    const clock = new VirtualClock(START + minute * MINUTE)
    const metrics = createSequencerMetrics(createMetricsRegistry())
    const epoch = String(clock.wallInstant().milliseconds)
    const common = { market: this.#definition, epoch, bus: this.#bus, clock, log, metrics, floorMilliseconds: 0 }
    const sequencer = new Sequencer({ ...common, onRebuildNeeded: () => undefined })
    this.clock = clock
    this.inputs = new MarketInputs({
      configured: this.#configured(sources),
      clock,
      log,
      violations: metrics.violations,
      offer: (event) => sequencer.offer(event),
      onStarted: () => undefined,
      onInstrument: () => undefined,
      followedBy: () => undefined,
      refusalOf: () => undefined,
      rebuild: () => undefined,
    })
    const progress = this.inputs.executionProgress
    const markets = () => [{ replica: this.replica, leaseEpoch: 0, epoch, progress }]
    this.writer = new CandleWriter({ db, clock, log, metrics: createMetricsRegistry(), written: markets })
  }

  #configured(sources: readonly MarketSource[]) {
    return { definition: this.#definition, sources, aggregation: { policy: 'recency' as const }, feedGroup: '' }
  }

  change(sources: readonly MarketSource[]): void {
    this.inputs.change(this.#configured(sources))
  }

  /** Waits until a minute after the start. */
  async passTo(minute: number): Promise<void> {
    this.clock.advance(Math.max(0, START + minute * MINUTE - this.clock.wallInstant().milliseconds))
    await this.writer.settled()
  }

  async offer(minute: number, source: number, event: MarketEvent): Promise<void> {
    await this.passTo(minute)
    this.inputs.list[source]?.sourceMarket.listener(event)
    this.clock.advance(2)
  }

  connect(minute: number, source: number): Promise<void> {
    return this.offer(minute, source, { type: 'snapshot', levels: LEVELS })
  }

  execute(minute: number, source: number, venue?: string): Promise<void> {
    const executedAtMilliseconds = START + minute * MINUTE
    const execution = { price: 150, amount: 1, executedAtMilliseconds, ...(venue === undefined ? {} : { venue }) }
    return this.offer(minute, source, { type: 'update', changes: [], executions: [execution] })
  }

  miss(minute: number, source: number): Promise<void> {
    return this.offer(minute, source, { type: 'missed', reason: 'the test says so' })
  }

  /** What was committed until now is written. A kill loses nothing else here. */
  async kill(): Promise<void> {
    await written(this.clock, this.writer)
    await this.writer.stop()
  }

  /** The incomplete minutes after the first one, which is before the market's start. */
  async incomplete(): Promise<readonly number[]> {
    await written(this.clock, this.writer)
    const reader = new CandleReader({ db, clock: this.clock, delayMilliseconds: 0, retentionDays: () => 400 })
    const query = { interval: '1m', fromMilliseconds: START + MINUTE, limit: 2_000 } as const
    const items = (await candlesOf(reader, this.replica, query)) ?? []
    reader.stop()
    return items.filter(({ incomplete }) => incomplete).map(({ time }) => (Date.parse(time) - START) / MINUTE)
  }
}

/** Both sources are connected and have executed in the first minute. */
async function started(sources: readonly MarketSource[] = [A, B]): Promise<Process> {
  const process = new Process(0, sources)
  for (const source of sources.keys()) {
    await process.connect(0, source)
    await process.execute(0, source)
  }
  await written(process.clock, process.writer)
  return process
}

describe('several sources', () => {
  it('a source that missed executions makes only candles since its last one incomplete', async () => {
    const process = await started()
    for (let minute = 1; minute < 10; minute++) await process.execute(minute, 0)
    await process.execute(9, 1)
    for (let minute = 10; minute < 20; minute++) await process.execute(minute, 0)
    // The first source was lost for half a minute, and the other one executes rarely.
    await process.miss(19.5, 0)
    await process.execute(19.6, 0)
    expect(await process.incomplete()).toEqual([19])
    await process.miss(19.7, 1)
    expect(await process.incomplete()).toEqual([9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19])
    await process.kill()
  })

  it('a source that shares its venue with another one makes candles since its last execution incomplete', async () => {
    const process = await started([A, { ...A, symbol: 'A/USDX' }])
    await process.execute(2.5, 0)
    for (let minute = 1; minute < 10; minute++) await process.execute(minute, 1)
    await process.miss(9.5, 0)
    expect(await process.incomplete()).toEqual([2, 3, 4, 5, 6, 7, 8, 9])
    await process.kill()
  })

  it('a relayed venue that lags makes candles since its last execution incomplete, unless it has been silent for a day', async () => {
    const process = await started([A])
    await process.execute(1, 0, 'x')
    await process.execute(3, 0, 'y')
    await process.miss(3.5, 0)
    expect(await process.incomplete()).toEqual([1, 2, 3])
    await process.execute(1_500, 0, 'y')
    await process.miss(1_500.5, 0)
    expect(await process.incomplete()).toEqual([1, 2, 3, 1_500])
    await process.kill()
  })

  it('a source that was removed from the market makes no candles incomplete', async () => {
    const process = await started()
    process.change([A])
    await process.connect(5, 0)
    await process.execute(6, 0)
    await process.miss(6.5, 0)
    expect(await process.incomplete()).toEqual([6])
    process.change([A, B])
    await process.connect(8, 0)
    await process.execute(9, 0)
    await process.miss(9.5, 0)
    expect(await process.incomplete()).toEqual([6, 9])
    await process.kill()
  })

  it('a source that was cut off before a restart makes candles since its last execution incomplete', async () => {
    const process = await started()
    await process.execute(3.2, 1)
    await process.offer(3.3, 1, { type: 'lost', reason: 'disconnected' })
    for (const minute of [3.5, 4, 4.5, 5]) await process.execute(minute, 0)
    expect(await process.incomplete()).toEqual([])
    await process.kill()
    const restarted = new Process(6, [A, B])
    await restarted.connect(6, 0)
    await restarted.connect(6.1, 1)
    await restarted.execute(6.2, 0)
    await restarted.passTo(8)
    expect(await restarted.incomplete()).toEqual([3, 4, 5, 6])
    await restarted.kill()
  })

  it('candles are incomplete until the last source has begun after a restart, also over a second one', async () => {
    const process = await started()
    for (const source of [0, 1]) await process.execute(2, source)
    await process.kill()
    const restarted = new Process(3, [A, B])
    await restarted.connect(3, 0)
    for (const minute of [3.1, 4, 5]) await restarted.execute(minute, 0)
    expect(await restarted.incomplete()).toEqual([2, 3, 4, 5])
    await restarted.kill()
    const again = new Process(6, [A, B])
    await again.connect(6, 0)
    await again.execute(7.5, 0)
    // The same book as before: nothing is committed.
    await again.connect(9, 1)
    await again.passTo(9.5)
    for (const minute of [10.5, 11]) await again.execute(minute, 0)
    expect(await again.incomplete()).toEqual([2, 3, 4, 5, 6, 7, 8, 9])
    await again.kill()
  })

  it('the open gap is written once a minute while a source has not begun', async () => {
    const process = new Process(0, [A, B])
    await process.connect(0, 0)
    const writes = new Set<string>()
    for (let second = 0; second < 180; second += 10) {
      await process.execute(second / 60, 0)
      const { rows } = await sql<{ write: string }>`select xmin::text as write from candle_gaps`.execute(db.tables())
      for (const { write } of rows) writes.add(write)
    }
    expect(writes.size).toBe(3)
    await process.kill()
  })
})

/** A followed book that is not that of its feed is found by its digest, withdrawn, and replaced. */
import { expect, test } from 'vitest'
import { createLog } from '../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import {
  AuditBudget,
  type BookDigest,
  DigestSender,
  decodeDigest,
  encodeDigest,
} from '../../../src/streaming/links/bus-audit.ts'
import { encodeMessages } from '../../../src/streaming/links/bus-codec.ts'
import { BusExport, scaleOf } from '../../../src/streaming/links/bus-export.ts'
import { BusImport, createImportMetrics } from '../../../src/streaming/links/bus-import.ts'
import { ASK, BID, type LevelChange, type MarketDefinition } from '../../../src/streaming/market/event.ts'
import type { MarketState } from '../../../src/streaming/sequencing/bus.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { Replica } from '../../../src/streaming/sequencing/replica.ts'
import { Sequencer } from '../../../src/streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../../../src/streaming/sequencing/sequencer-metrics.ts'
import { captureLog } from '../../support/captured-log.ts'
import { LossyLink } from '../../support/lossy-link.ts'
import { testMarket } from '../../support/stream-simulation.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const MARKET = testMarket('AAAUSD', 0)

const bid = (price: number, amount: number): LevelChange => ({ side: BID, price, amount })

/** A feed and a follower, whose definition of the market may differ. */
function linked(followed: MarketDefinition = MARKET) {
  const clock = new VirtualClock()
  const link = new LossyLink(clock, () => 0.5)
  const { log, lines } = captureLog()
  const [feedBus, bus] = [createMemoryBus(), createMemoryBus()]
  const feed = new Replica({ market: MARKET, bus: feedBus, executionsKept: 10 })
  const replica = new Replica({ market: followed, bus, executionsKept: 10 })
  const exporter = new BusExport({
    bus: feedBus,
    clock,
    transport: link.exportTransport(() => importer),
    replicaOf: () => feed,
  })
  exporter.add(MARKET.symbol)
  const metrics = createImportMetrics(createMetricsRegistry())
  const importer: BusImport = new BusImport({
    bus,
    clock,
    log,
    random: () => 0.5,
    transport: link.importTransport(
      () => [exporter],
      () => importer,
      ({ market, laterThanMilliseconds }) => void feedBus.requestCommit(market, laterThanMilliseconds),
    ),
    replicaOf: () => replica,
    withdrawAfterMilliseconds: undefined,
    metrics,
  })
  importer.add(followed)
  const sequencer = new Sequencer({
    market: MARKET,
    epoch: 'e1',
    bus: feedBus,
    clock,
    log: createLog('silent'),
    metrics: createSequencerMetrics(createMetricsRegistry()),
    floorMilliseconds: 0,
    onRebuildNeeded: () => undefined,
  })
  const counts = async () =>
    Promise.all(
      [metrics.audits, metrics.mismatches].map(async (counter) => (await counter.get()).values[0]?.value ?? 0),
    )
  return { clock, link, feed, replica, importer, sequencer, counts, lines }
}

test('equal books are compared every ten seconds, also while they change', async () => {
  const { clock, sequencer, counts, feed, replica } = linked()
  // Several slices of a digest.
  const levels = Array.from({ length: 9_000 }, (_, index) => bid(100 + index, 1 + index))
  sequencer.offer({ type: 'snapshot', levels })
  for (let step = 0; step < 3_500; step++) {
    sequencer.offer({ type: 'update', changes: [bid(100 + (step % 50), step + 2)], executions: [] })
    clock.advance(10)
  }
  expect(await counts()).toEqual([3, 0])
  expect(replica.view.levels()).toEqual(feed.view.levels())
})

test('a wrong book is withdrawn, named, and replaced by that of the feed', async () => {
  const { clock, feed, replica, importer, sequencer, counts, lines } = linked()
  sequencer.offer({ type: 'snapshot', levels: [bid(100, 5), bid(99, 7), { side: ASK, price: 101, amount: 1 }] })
  clock.advance(5_000)
  const { milliseconds, nanoseconds } = replica.instant
  // What no link does: it changes a commit. That of the feed with this version then counts as known.
  const forged = {
    type: 'commit' as const,
    market: MARKET.symbol,
    epoch: 'e1',
    version: 2,
    milliseconds: milliseconds + 1,
    nanoseconds,
    receivedMilliseconds: milliseconds,
    changes: [bid(100, 6)],
    executions: [],
    executionNumber: 0,
  }
  importer.onMessages(encodeMessages(scaleOf(MARKET), [forged]))
  sequencer.offer({ type: 'update', changes: [bid(100, 8)], executions: [] })
  clock.advance(10)
  expect(replica.view.levels()).not.toEqual(feed.view.levels())
  const seen: (readonly [live: boolean, levels: number])[] = []
  replica.listen({
    onCommit: () => seen.push([replica.live, replica.view.levels().length]),
    onStatus: () => undefined,
  })
  clock.advance(10_000)
  expect(replica.view.levels()).toEqual(feed.view.levels())
  expect(replica.live).toBe(true)
  // Withdrawn while it is not live; the state that follows is complete.
  expect(seen).toEqual([
    [false, 0],
    [false, 3],
  ])
  expect(await counts()).toEqual([1, 1])
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ market: 'AAAUSD', epoch: 'e1', version: 2 }])
  clock.advance(20_000)
  expect(await counts()).toEqual([3, 1])
})

test('books of another depth or another version are not compared', async () => {
  const { clock, sequencer, counts, importer, feed } = linked({ ...MARKET, depth: 5 })
  sequencer.offer({ type: 'snapshot', levels: [bid(100, 5)] })
  clock.advance(25_000)
  expect(await counts()).toEqual([0, 0])
  const digest = { ...scaleOf(MARKET), depth: 5, epoch: 'e1', version: feed.version + 1, digest: '0'.repeat(16) }
  expect(decodeDigest(encodeDigest(digest))).toEqual(digest)
  importer.onDigest(encodeDigest(digest))
  importer.onDigest(encodeDigest({ ...digest, epoch: 'e0', version: 1 }))
  expect(await counts()).toEqual([0, 0])
})

test('a market with other decimals is never followed: its book is not shown, and named once', () => {
  const { clock, sequencer, replica, importer, lines } = linked({ ...MARKET, priceDecimals: MARKET.priceDecimals + 1 })
  sequencer.offer({ type: 'snapshot', levels: [bid(100, 5)] })
  for (let step = 0; step < 30; step++) {
    sequencer.offer({ type: 'update', changes: [bid(100, step + 6)], executions: [] })
    clock.advance(1_000)
  }
  expect([replica.version, replica.live, replica.view.levels()]).toEqual([0, false, []])
  expect(importer.notCurrent).toEqual([MARKET.symbol])
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0] as string)).toMatchObject({ market: 'AAAUSD', priceDecimals: MARKET.priceDecimals })
})

test('the digests of many markets read at most 50,000 levels per second, and each market has its turn', () => {
  const clock = new VirtualClock()
  const bus = createMemoryBus()
  const levels = Array.from({ length: 2_000 }, (_, index) => bid(100 + index, 1 + index))
  const symbols = Array.from({ length: 50 }, (_, index) => `A${index}USD`)
  const replicas = symbols.map((symbol) => {
    const replica = new Replica({ market: testMarket(symbol, 0), bus, executionsKept: 10 })
    bus.publish({ ...liveState(symbol), levels })
    return replica
  })
  // Each of them stands for twenty markets.
  const auditable = replicas.map((replica) => ({ replica, epoch: 'e1', version: 1 }))
  const markets = Array.from({ length: 20 }, () => auditable).flat()
  const counts = new Map<string, number>()
  const send = ({ market }: BookDigest) => counts.set(market, (counts.get(market) ?? 0) + 1)
  const sender = new DigestSender({ clock, markets: () => markets, send })
  clock.advance(10_000)
  expect(counts.size).toBeLessThanOrEqual(2)
  for (let second = 1; second <= 40; second++) {
    clock.advance(1_000)
    const sent = [...counts.values()].reduce((sum, count) => sum + count, 0)
    expect(sent * levels.length).toBeLessThanOrEqual(50_000 * second + 4 * levels.length)
  }
  sender.stop()
  expect(counts.size).toBe(symbols.length)
  expect(Math.min(...counts.values())).toBeGreaterThanOrEqual(18)
  const budget = new AuditBudget(clock)
  let charged = 0
  for (let digest = 0; digest < 1_000; digest++) {
    if (budget.charge(replicas[0] as Replica)) charged += 1
    clock.advance(10)
  }
  expect(charged).toBeLessThanOrEqual(276)
  expect(charged).toBeGreaterThan(240)
})

function liveState(market: string): MarketState {
  return {
    type: 'state',
    market,
    epoch: 'e1',
    version: 1,
    milliseconds: 1,
    nanoseconds: 0,
    receivedMilliseconds: 1,
    levels: [],
    hasBook: true,
    isWithdrawn: false,
    live: true,
    reason: '',
    executionNumber: 0,
    executions: [],
  }
}

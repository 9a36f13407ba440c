/** A market that a changed configuration puts into another feed group: who writes it, with which epochs, and when. */
import { expect, it } from 'vitest'
import { createLog } from '../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { ASK, BID } from '../../../src/streaming/market/event.ts'
import { FeedLeadership } from '../../../src/streaming/markets/feed-leadership.ts'
import type { FeedLeases } from '../../../src/streaming/markets/feed-leases.ts'
import { changeMarkets } from '../../../src/streaming/markets/market-changes.ts'
import { MarketReplicas } from '../../../src/streaming/markets/market-replicas.ts'
import { MarketWriters } from '../../../src/streaming/markets/market-writers.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { createSequencerMetrics } from '../../../src/streaming/sequencing/sequencer-metrics.ts'
import { type Candidate, LeaseWorld } from '../../support/feed-leases.ts'
import { ManualSource } from '../../support/manual-source.ts'
import { testMarket } from '../../support/stream-simulation.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const [MOVED, OTHER] = ['AAAUSD', 'BBBUSD'].map((symbol) => testMarket(symbol, 3)) as [
  ReturnType<typeof testMarket>,
  ReturnType<typeof testMarket>,
]

/** The markets as an operator configures them. */
function configured(groupOfMoved: string, groupOfOther: string) {
  return [
    { definition: MOVED, feedGroup: groupOfMoved },
    { definition: OTHER, feedGroup: groupOfOther },
  ].map((market) => ({
    ...market,
    sources: [{ feed: 'simulator', symbol: '' }],
    aggregation: { policy: 'recency' as const },
  }))
}

/** A process that may lead every group, with a lease in memory for each. */
function startProcess(markets: ReturnType<typeof configured>, lastEpochs: Readonly<Record<string, number>>) {
  const bus = createMemoryBus()
  const clock = new VirtualClock()
  const worlds = new Map<string, LeaseWorld>()
  const candidates = new Map<string, Candidate>()
  const leases: FeedLeases = {
    start(group, events) {
      const world = new LeaseWorld()
      const epoch = lastEpochs[group] ?? 0
      if (epoch > 0) world.model.row = { epoch, holder: undefined, expiresAt: 0 }
      const candidate = world.add()
      candidate.journal.next = events
      worlds.set(group, world)
      candidates.set(group, candidate)
      return candidate.lease
    },
  }
  const leadership = new FeedLeadership({ leases, groups: [] })
  const replicas = new MarketReplicas({ markets, bus, executionsKept: 10 })
  const sources: ManualSource[] = []
  const writers = new MarketWriters({
    markets: [],
    bus,
    clock,
    log: createLog('silent'),
    lead: leadership,
    replicaOf: (symbol) => replicas.replicaOf(symbol),
    metrics: createSequencerMetrics(createMetricsRegistry()),
    allowsSimulated: () => true,
    createSource(_name, list) {
      const source = new ManualSource(list)
      sources.push(source)
      return source
    },
  })
  void writers.start(new Map())
  const calls: string[] = []
  const linked = {
    lead: (symbols: readonly string[]) => void calls.push(...symbols.map((symbol) => `lead ${symbol}`)),
    follow: (symbols: readonly string[]) => void calls.push(...symbols.map((symbol) => `follow ${symbol}`)),
    announce: () => undefined,
    whenFlushed: (work: () => void) => work(),
  }
  return {
    leadership,
    replicas,
    calls,
    start: () => leadership.start({ writers, bus: linked, onChange: () => undefined }, markets),
    /** As a reload does. */
    change(next: ReturnType<typeof configured>) {
      changeMarkets(
        { writers, replicas },
        next,
        next.filter((market) => writers.writes(market)),
      )
      leadership.change(next)
    },
    candidate: (group: string) => candidates.get(group) as Candidate,
    async pass(milliseconds: number) {
      for (const world of worlds.values()) await world.pass(milliseconds)
    },
    /** Its sources send the moved market's book with this best bid. */
    snapshot(price: number) {
      for (const { market, listener } of sources.flatMap((source) => source.markets))
        if (market.symbol === MOVED.symbol)
          listener({
            type: 'snapshot',
            levels: [
              { side: BID, price, amount: 1 },
              { side: ASK, price: price + 10, amount: 1 },
            ],
          })
      clock.advance(10)
    },
    get bestBid() {
      return replicas.replicaOf(MOVED.symbol)?.top.bid?.price
    },
    get epoch() {
      return replicas.replicaOf(MOVED.symbol)?.followed?.epoch.slice(0, 9)
    },
  }
}

it('a market that moves into a new feed group is written with a later epoch than before', async () => {
  const process = startProcess(configured('main', 'main'), { main: 4 })
  process.start()
  await process.pass(100)
  process.snapshot(100)
  expect(process.epoch).toBe('00000005-')
  process.change(configured('new', 'main'))
  await process.pass(100)
  process.snapshot(200)
  expect([process.epoch, process.bestBid]).toEqual(['00000006-', 200])
})

it('a market that moves between two led feed groups gets an epoch of the second, however small that was', async () => {
  const process = startProcess(configured('main', 'second'), { main: 4, second: 1 })
  process.start()
  await process.pass(100)
  process.snapshot(100)
  process.change(configured('second', 'second'))
  await process.pass(4_000)
  process.snapshot(200)
  expect([process.epoch, process.bestBid]).toEqual(['00000006-', 200])
})

it('a market that moves between two led feed groups is written after the first one is lost', async () => {
  const process = startProcess(configured('main', 'second'), { main: 4, second: 7 })
  process.start()
  await process.pass(100)
  process.snapshot(100)
  expect(process.epoch).toBe('00000005-')
  process.calls.length = 0
  process.change(configured('second', 'second'))
  process.snapshot(200)
  expect([process.epoch, process.bestBid]).toEqual(['00000008-', 200])
  // Its messages and the requests about it have one sending end.
  expect(process.calls).toEqual(['follow AAAUSD', 'lead AAAUSD'])
})

it('a process that has heard of a market before it may lead takes a later epoch', async () => {
  const process = startProcess(configured('new', 'main'), {})
  process.leadership.heard(MOVED.symbol, '00000009-000000000001-x')
  process.start()
  await process.pass(100)
  expect(process.candidate('new').journal.epochs).toEqual([10])
})

/** From several sources to a replica: aggregate, sequencer, bus and replica together, compared with a naive implementation. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createLog } from '../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import type { Execution, MarketDefinition } from '../../../src/streaming/market/event.ts'
import { MarketInputs } from '../../../src/streaming/markets/market-inputs.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { Replica } from '../../../src/streaming/sequencing/replica.ts'
import { Sequencer } from '../../../src/streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../../../src/streaming/sequencing/sequencer-metrics.ts'
import { aggregateScript } from '../../support/aggregate-script.ts'
import { NaiveAggregate } from '../../support/naive-aggregate.ts'
import { propertySettings } from '../../support/property.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const MARKET: MarketDefinition = {
  symbol: 'AUSD',
  baseAsset: 'A',
  quoteAsset: 'USD',
  priceDecimals: 0,
  amountDecimals: 0,
  depth: 0,
}

const MAX_AGE_MILLISECONDS = 4
/** Feeds of the sources, in their order, and again from the first. */
const FEEDS = ['kraken', 'okx', 'backup'] as const
const feedOf = (source: number): string => FEEDS[source % FEEDS.length]!

function setUp(sourceCount: number) {
  const clock = new VirtualClock()
  const log = createLog('silent')
  const bus = createMemoryBus()
  const metrics = createSequencerMetrics(createMetricsRegistry())
  const executions: Execution[] = []
  bus.subscribe(MARKET.symbol, (notice) => {
    if (notice.type === 'commit') executions.push(...notice.executions)
  })
  const replica = new Replica({ market: MARKET, bus, executionsKept: 10 })
  const sequencerViolations: string[] = []
  const sequencer = new Sequencer({
    market: MARKET,
    epoch: 'epoch',
    bus,
    clock,
    log,
    metrics,
    floorMilliseconds: 0,
    onRebuildNeeded: (reason) => sequencerViolations.push(reason),
  })
  const rebuilt: number[] = []
  const inputs = new MarketInputs({
    configured: {
      definition: MARKET,
      sources: Array.from({ length: sourceCount }, (_, index) => ({ feed: feedOf(index), symbol: `A/USD${index}` })),
      aggregation: { policy: 'recency', maxAgeMilliseconds: MAX_AGE_MILLISECONDS },
      feedGroup: 'default',
    },
    clock,
    log,
    violations: metrics.violations,
    offer: (event) => sequencer.offer(event),
    onStarted: () => undefined,
    onInstrument: () => undefined,
    followedBy: () => undefined,
    refusalOf: () => undefined,
    rebuild: (input) => rebuilt.push(inputs.list.indexOf(input)),
  })
  return { clock, executions, replica, sequencerViolations, rebuilt, inputs }
}

it('a replica gets the book of the naive aggregate, however commits group messages, and loses no execution', () => {
  const messageGap = fc.array(fc.constantFrom(0, 0, 1, 3), { minLength: 60, maxLength: 60 })
  const property = fc.property(aggregateScript(60), messageGap, ({ sourceCount, offers }, gaps) => {
    const { clock, executions, replica, sequencerViolations, rebuilt, inputs } = setUp(sourceCount)
    const naive = new NaiveAggregate(Array.from({ length: sourceCount }, () => MAX_AGE_MILLISECONDS))
    const executionsDue: Execution[] = []
    const rebuildsDue: number[] = []
    for (const [index, { source, event }] of offers.entries()) {
      inputs.list[source]?.sourceMarket.listener(event)
      const due = naive.offer(source, event, clock.monotonicMilliseconds())
      executionsDue.push(...due.executions.map((execution) => ({ ...execution, venue: feedOf(source) })))
      if (due.violates) rebuildsDue.push(source)
      if (gaps[index] === 0) continue
      clock.advance(gaps[index]!)
      expect(replica.live).toBe(naive.liveCount > 0)
      if (replica.live) expect(replica.view.levels(Number.POSITIVE_INFINITY)).toEqual(naive.levels())
      expect(inputs.states.filter(({ state }) => state === 'live')).toHaveLength(naive.liveCount)
      expect(inputs.list.filter((_, place) => inputs.noticesOf(place).length > 0)).toHaveLength(naive.excludedCount)
    }
    clock.advance(5)
    expect(executions).toEqual(executionsDue)
    expect(rebuilt).toEqual(rebuildsDue)
    expect(sequencerViolations).toEqual([])
  })
  fc.assert(property, propertySettings(60))
})

it.each([1, 2])(
  'an execution has the venue that one of %d sources names, and otherwise the feed of the source',
  (sourceCount) => {
    const { clock, executions, inputs } = setUp(sourceCount)
    const listener = inputs.list.at(-1)!.sourceMarket.listener
    listener({ type: 'snapshot', levels: [{ side: 0, price: 1, amount: 1 }] })
    const traded = { price: 1, amount: 1 }
    listener({ type: 'update', changes: [], executions: [{ ...traded, venue: 'XETR' }, traded] })
    listener({ type: 'update', changes: [], executions: [{ ...traded, venue: 'XLON' }] })
    clock.advance(5)
    expect(executions.map(({ venue }) => venue)).toEqual(['XETR', feedOf(sourceCount - 1), 'XLON'])
  },
)

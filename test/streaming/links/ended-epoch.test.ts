/** A follower that missed the end of an epoch, which the next one continues: it gets the executions of both. */
import { expect, test } from 'vitest'
import { createLog } from '../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { BusExport } from '../../../src/streaming/links/bus-export.ts'
import { BusImport, createImportMetrics } from '../../../src/streaming/links/bus-import.ts'
import { ASK, BID } from '../../../src/streaming/market/event.ts'
import type { Continuation } from '../../../src/streaming/sequencing/bus.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { Replica } from '../../../src/streaming/sequencing/replica.ts'
import { Sequencer } from '../../../src/streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../../../src/streaming/sequencing/sequencer-metrics.ts'
import { LossyLink } from '../../support/lossy-link.ts'
import { testMarket } from '../../support/stream-simulation.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const MARKET = testMarket('AAAUSD', 0)
const EXECUTIONS_KEPT = 20

function createPair() {
  const clock = new VirtualClock()
  const link = new LossyLink(clock, () => 0.5)
  const [bus, followingBus] = [createMemoryBus(), createMemoryBus()]
  const replica = new Replica({ market: MARKET, bus, executionsKept: EXECUTIONS_KEPT })
  const follower = new Replica({ market: MARKET, bus: followingBus, executionsKept: EXECUTIONS_KEPT })
  const exporter: BusExport = new BusExport({
    bus,
    clock,
    transport: link.exportTransport(() => importer),
    replicaOf: () => replica,
  })
  const sending = { end: exporter.add(MARKET.symbol) }
  const importer: BusImport = new BusImport({
    bus: followingBus,
    clock,
    log: createLog('silent'),
    random: () => 0,
    transport: link.importTransport(
      () => [exporter],
      () => importer,
      ({ laterThanMilliseconds }) => bus.requestCommit(MARKET.symbol, laterThanMilliseconds),
    ),
    replicaOf: () => follower,
    withdrawAfterMilliseconds: 10_000,
    metrics: createImportMetrics(createMetricsRegistry()),
  })
  importer.add(MARKET)
  let amount = 0
  const write = (epoch: string, continues?: Continuation) => {
    const sequencer = new Sequencer({
      market: MARKET,
      epoch,
      bus,
      clock,
      log: createLog('silent'),
      metrics: createSequencerMetrics(createMetricsRegistry()),
      floorMilliseconds: replica.instant.milliseconds,
      ...(continues === undefined ? {} : { continues }),
      withdrawAfterMilliseconds: undefined,
      onRebuildNeeded: () => undefined,
    })
    sequencer.offer({
      type: 'snapshot',
      levels: [
        { side: BID, price: 100, amount: 1 },
        { side: ASK, price: 101, amount: 1 },
      ],
    })
    clock.advance(5)
    return {
      stop: () => sequencer.stop(),
      execute(count: number) {
        for (let place = 0; place < count; place++) {
          amount += 1
          sequencer.offer({ type: 'update', changes: [], executions: [{ price: 100, amount }] })
          clock.advance(5)
        }
      },
      /** Ends at once after an execution, which is in its last commit. */
      executeAndStop() {
        amount += 1
        sequencer.offer({ type: 'update', changes: [], executions: [{ price: 100, amount }] })
        sequencer.stop()
      },
    }
  }
  const amounts = ({ executions }: Replica) =>
    executions.since(-executions.lastNumber).map(({ execution }) => execution.amount)
  /** Another sequencer of this process writes the market from now on. */
  const sendAgain = () => {
    sending.end()
    sending.end = exporter.add(MARKET.symbol, true)
  }
  return { clock, link, replica, follower, write, amounts, sendAgain }
}

test.each([
  ['within the time that a book stays', 2_000],
  ['after its book was withdrawn', 20_000],
])('a follower that missed the end of an epoch reads every execution, %s', (_title, cutMilliseconds) => {
  const { clock, link, replica, follower, write, amounts } = createPair()
  const first = write('e1')
  first.execute(3)
  clock.advance(2_000)
  link.faults.loss = 1
  first.execute(5)
  first.stop()
  const second = write('e2', replica.followed)
  second.execute(2)
  clock.advance(cutMilliseconds)
  link.faults.loss = 0
  clock.advance(20_000)
  second.execute(1)
  expect(amounts(follower)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
  expect(follower.executions.missNumber).toBe(0)
  expect(follower.view.levels()).toEqual(replica.view.levels())
  expect(follower.live).toBe(true)
})

test('a follower that missed more than the kept part of an epoch reports a miss', () => {
  const { clock, link, replica, follower, write } = createPair()
  const first = write('e1')
  first.execute(3)
  clock.advance(2_000)
  link.faults.loss = 1
  first.execute(EXECUTIONS_KEPT + 1)
  first.stop()
  write('e2', replica.followed)
  link.faults.loss = 0
  clock.advance(20_000)
  expect(follower.executions.missNumber).toBeGreaterThan(3)
  expect(follower.followed?.epoch).toBe('e2')
})

test('a follower gets the last commit of a sequencer that another one of the same process replaces at once', () => {
  const { clock, replica, follower, write, amounts, sendAgain } = createPair()
  const first = write('e1')
  first.execute(3)
  clock.advance(2_000)
  first.executeAndStop()
  sendAgain()
  const second = write('e2', replica.followed)
  second.execute(2)
  clock.advance(20_000)
  expect(amounts(follower)).toEqual([1, 2, 3, 4, 5, 6])
  expect(follower.executions.missNumber).toBe(0)
})

/**
 * A market whose sequencer and follower are in two processes as far as the bus is concerned: each end has its own bus,
 * replica and metrics, and a link carries one end's publications to the other. Everything created ends with the test.
 */

import { onTestFinished } from 'vitest'
import { createSystemClock } from '../../src/platform/base/clock.ts'
import { createLog, type Log } from '../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../src/platform/base/metrics.ts'
import { BusExport, type ExportTransport } from '../../src/streaming/links/bus-export.ts'
import { BusImport, createImportMetrics, type ImportTransport } from '../../src/streaming/links/bus-import.ts'
import { NatsLink } from '../../src/streaming/links/link-nats.ts'
import type { NatsAccess } from '../../src/streaming/links/nats-connection.ts'
import { createMemoryBus } from '../../src/streaming/sequencing/bus-memory.ts'
import { Replica } from '../../src/streaming/sequencing/replica.ts'
import { Sequencer } from '../../src/streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../../src/streaming/sequencing/sequencer-metrics.ts'
import { awaited } from './awaited.ts'
import { testMarket } from './stream-simulation.ts'

export const LINKED = testMarket('AAAUSD', 0)

const EXECUTIONS_KEPT = 100

/** The end that has the sequencer. */
export function createFeed() {
  const [clock, bus] = [createSystemClock(), createMemoryBus()]
  const replica = new Replica({ market: LINKED, bus, executionsKept: EXECUTIONS_KEPT })
  const sequencer = new Sequencer({
    market: LINKED,
    epoch: 'e1',
    bus,
    clock,
    log: createLog('silent'),
    metrics: createSequencerMetrics(createMetricsRegistry()),
    floorMilliseconds: 0,
    onRebuildNeeded: () => undefined,
  })
  onTestFinished(() => sequencer.stop())
  return { bus, replica, sequencer }
}

export type Feed = ReturnType<typeof createFeed>

export function exportFeed({ bus, replica }: Feed, transport: ExportTransport): BusExport {
  const exporter = new BusExport({ bus, clock: createSystemClock(), transport, replicaOf: () => replica })
  onTestFinished(() => exporter.stop())
  exporter.add(LINKED.symbol)
  return exporter
}

/** The end that follows it. */
export function createFollower(transport: ImportTransport, log: Log = createLog('silent')) {
  const [bus, metrics] = [createMemoryBus(), createMetricsRegistry()]
  const replica = new Replica({ market: LINKED, bus, executionsKept: EXECUTIONS_KEPT })
  const importer = new BusImport({
    bus,
    clock: createSystemClock(),
    log,
    random: Math.random,
    transport,
    replicaOf: () => replica,
    withdrawAfterMilliseconds: undefined,
    metrics: createImportMetrics(metrics),
  })
  onTestFinished(() => importer.stop())
  importer.add(LINKED)
  return { bus, replica, importer, metrics }
}

export type Followed = Pick<ReturnType<typeof createFollower>, 'bus' | 'replica'>

export function openNatsLink(access: Partial<NatsAccess> & Pick<NatsAccess, 'url'>, log: Log = createLog('silent')) {
  const metrics = createMetricsRegistry()
  const link = new NatsLink({
    credentials: undefined,
    tls: {},
    ...access,
    node: `node${Math.random().toString(36).slice(2)}`,
    clock: createSystemClock(),
    log,
    metrics,
    random: Math.random,
  })
  onTestFinished(() => link.stop())
  const value = async (name: string) => (await metrics.getSingleMetric(name)?.get())?.values[0]?.value
  return { link, value }
}

/** Exports a feed over one connection to NATS and follows it over another. */
export function linkOverNats(feed: Feed, feedUrl: string, followerUrl = feedUrl) {
  const [sending, receiving] = [openNatsLink({ url: feedUrl }), openNatsLink({ url: followerUrl })]
  const exporter = exportFeed(feed, sending.link.exportTransport)
  sending.link.serve(LINKED.symbol, exporter, () => void feed.bus.requestCommit(LINKED.symbol))
  const follower = createFollower(receiving.link.importTransport)
  receiving.link.startImport(follower.importer)
  receiving.link.follow(LINKED.symbol)
  return { ...follower, sending, receiving }
}

/** Resolves when the follower has the feed's version, and is live as it is. */
export function reached({ replica }: Followed, feed: Feed): Promise<void> {
  const isReached = () => replica.version === feed.replica.version && replica.live === feed.replica.live
  const met = new Promise<void>((resolve) => {
    if (isReached()) resolve()
    const check = () => {
      if (isReached()) resolve()
    }
    replica.listen({ onCommit: check, onStatus: check })
  })
  return awaited(`the follower to reach version ${feed.replica.version}`, met)
}

/** Resolves when the sequencer has committed what was offered. */
export async function committed({ replica }: Feed): Promise<void> {
  const { version } = replica
  const isCommitted = new Promise<void>((resolve) => {
    const end = replica.listen({
      onCommit: () => {
        if (replica.version <= version) return
        end()
        resolve()
      },
      onStatus: () => undefined,
    })
  })
  await awaited(`a commit after version ${version}`, isCommitted)
  // A commit that makes the market live is followed by its status.
  await new Promise((resolve) => setImmediate(resolve))
}

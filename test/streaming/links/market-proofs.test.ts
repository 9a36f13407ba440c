/** What proves the book of a market, as the processes know that follow it. */
import { expect, it } from 'vitest'
import { createLog } from '../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { BusExport } from '../../../src/streaming/links/bus-export.ts'
import { BusImport, createImportMetrics } from '../../../src/streaming/links/bus-import.ts'
import { decodeProofs, encodeProofs } from '../../../src/streaming/links/market-proofs.ts'
import type { Proof } from '../../../src/streaming/market/event.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { Replica } from '../../../src/streaming/sequencing/replica.ts'
import { Sequencer } from '../../../src/streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../../../src/streaming/sequencing/sequencer-metrics.ts'
import { LossyLink } from '../../support/lossy-link.ts'
import { testMarket } from '../../support/stream-simulation.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const MARKET = testMarket('AAAUSD', 0)
const log = createLog('silent')

function linked() {
  const clock = new VirtualClock()
  const link = new LossyLink(clock, () => 0.5)
  const bus = createMemoryBus()
  const replica = new Replica({ market: MARKET, bus, executionsKept: 10 })
  const metrics = createImportMetrics(createMetricsRegistry())
  const importer: BusImport = new BusImport({
    bus,
    clock,
    log,
    random: () => 0.5,
    transport: link.importTransport(
      () => [...exporters],
      () => importer,
      () => undefined,
    ),
    replicaOf: () => replica,
    withdrawAfterMilliseconds: undefined,
    metrics,
  })
  importer.add(MARKET)
  const exporters = new Set<BusExport>()
  /** A feed that writes the market from now on, until the returned function is called. */
  const lead = (epoch: string, proofOf: () => Proof, sendsProofs = true) => {
    const feedBus = createMemoryBus()
    const feed = new Replica({ market: MARKET, bus: feedBus, executionsKept: 10 })
    const { sendProofs, ...transport } = link.exportTransport(() => importer)
    const exporter = new BusExport({
      bus: feedBus,
      clock,
      transport: sendsProofs ? { ...transport, sendProofs } : transport,
      replicaOf: () => feed,
      proofOf,
    })
    exporters.add(exporter)
    exporter.add(MARKET.symbol)
    const sequencer = new Sequencer({
      market: MARKET,
      epoch,
      bus: feedBus,
      clock,
      log,
      metrics: createSequencerMetrics(createMetricsRegistry()),
      floorMilliseconds: 0,
      onRebuildNeeded: () => undefined,
    })
    sequencer.offer({ type: 'snapshot', levels: [] })
    clock.advance(1_100)
    return () => {
      sequencer.abandon()
      exporter.stop()
      exporters.delete(exporter)
    }
  }
  return { clock, importer, lead, replica }
}

it('a process that follows a market has the proof of the process that writes it, a second late', () => {
  const { importer, lead, clock, replica } = linked()
  expect(importer.proofOf(MARKET.symbol)).toBe('NONE')
  let proof: Proof = 'CHECKSUM'
  lead('e1', () => proof)
  expect([replica.live, importer.proofOf(MARKET.symbol)]).toEqual([true, 'CHECKSUM'])
  proof = 'COMPARISON'
  clock.advance(1_000)
  expect(importer.proofOf(MARKET.symbol)).toBe('COMPARISON')
  expect(importer.proofOf('BBBUSD')).toBe('NONE')
})

it("an earlier release's feed, which sends no proof, does not inherit that of another feed", () => {
  const { importer, lead, replica } = linked()
  lead('e1', () => 'CHECKSUM')()
  expect(importer.proofOf(MARKET.symbol)).toBe('CHECKSUM')
  lead('e2', () => 'CHECKSUM', false)
  expect([replica.live, importer.proofOf(MARKET.symbol)]).toEqual([true, 'NONE'])
})

it('market proofs are read from the bytes that were sent, and no others', () => {
  const proofs = [
    { market: 'AAAUSD', epoch: 'e1', proof: 'COMPARISON' },
    { market: 'BBBUSD', epoch: 'e2', proof: 'NONE' },
  ] as const
  const bytes = encodeProofs(proofs)
  expect(decodeProofs(bytes)).toEqual(proofs)
  const unknown = Buffer.from(bytes)
  unknown[unknown.length - 1] = 4
  expect(() => decodeProofs(unknown)).toThrow('there is no such proof')
  expect(() => decodeProofs(bytes.subarray(0, -1))).toThrow()
})

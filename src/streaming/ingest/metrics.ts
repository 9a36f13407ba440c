/** The ingest listener's metrics, by market. A removed market's metrics are removed. */
import { Counter, Gauge, type MetricsRegistry } from '../../platform/base/metrics.ts'

/** A market message's outcome. */
export const MESSAGE_OUTCOMES = ['applied', 'duplicate', 'ignored', 'refused', 'rejected'] as const
export type MessageOutcome = (typeof MESSAGE_OUTCOMES)[number]

export type IngestMetrics = ReturnType<typeof createIngestMetrics>

export function createIngestMetrics(registry: MetricsRegistry) {
  const ofMarkets = marketMetrics(registry)
  const { lines, messages, gaps, conflicts, snapshotRequests } = ofMarkets
  return {
    ...ofMarkets,
    ...connectionMetrics(registry),
    /** A rate needs the series to exist before its first increment. */
    startMarket(market: string): void {
      lines.set({ market }, 0)
      for (const outcome of MESSAGE_OUTCOMES) messages.inc({ market, outcome }, 0)
      for (const counter of [gaps, conflicts, snapshotRequests]) counter.inc({ market }, 0)
    },
    stopMarket(market: string): void {
      lines.remove({ market })
      for (const outcome of MESSAGE_OUTCOMES) messages.remove({ market, outcome })
      for (const counter of [gaps, conflicts, snapshotRequests]) counter.remove({ market })
    },
  }
}

function marketMetrics(registry: MetricsRegistry) {
  const registers = [registry]
  return {
    lines: new Gauge({
      name: 'tidegate_ingest_lines',
      help: 'A market’s connected lines: publishers that have sent it a message and are not dead',
      labelNames: ['market'],
      registers,
    }),
    messages: new Counter({
      name: 'tidegate_ingest_messages_total',
      help: 'Publisher messages by outcome: applied, duplicate of the other line, ignored, refused, rejected',
      labelNames: ['market', 'outcome'],
      registers,
    }),
    gaps: new Counter({
      name: 'tidegate_ingest_gaps_total',
      help: 'Messages missing from a line that delivered later ones',
      labelNames: ['market'],
      registers,
    }),
    conflicts: new Counter({
      name: 'tidegate_ingest_conflicts_total',
      help: 'Messages in which a market’s two lines differed',
      labelNames: ['market'],
      registers,
    }),
    snapshotRequests: new Counter({
      name: 'tidegate_ingest_snapshot_requests_total',
      help: 'SNAPSHOTs requested from publishers',
      labelNames: ['market'],
      registers,
    }),
  }
}

function connectionMetrics(registry: MetricsRegistry) {
  const registers = [registry]
  return {
    publishers: new Gauge({
      name: 'tidegate_ingest_publishers',
      help: 'Publishers’ open WebSocket connections',
      registers,
    }),
    bytes: new Counter({
      name: 'tidegate_ingest_bytes_total',
      help: 'Bytes in publishers’ messages',
      registers,
    }),
    handshakes: new Counter({
      name: 'tidegate_ingest_handshakes_total',
      help: 'Publishers’ WebSocket handshakes by the answer’s HTTP status (101 = accepted)',
      labelNames: ['status'],
      registers,
    }),
    closes: new Counter({
      name: 'tidegate_ingest_closes_total',
      help: 'Publisher connections closed by the server, by cause',
      labelNames: ['cause'],
      registers,
    }),
  }
}

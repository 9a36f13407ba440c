/** The stream metrics. Values counted on every write are plain numbers, read when the metrics are scraped. */
import { CHANNELS } from '../../contract/channels.ts'
import { CLOSE_CODES } from '../../contract/stream-codes.ts'
import { Counter, Gauge, Histogram, type MetricsRegistry } from '../../platform/base/metrics.ts'
import type { OutboxTotals } from './outbox.ts'

interface Observed {
  readonly sessions: Iterable<{ readonly queuedBytes: number; readonly isPeerReading: boolean }> & {
    readonly size: number
  }
}

export interface GatewayMetrics {
  readonly totals: OutboxTotals
  readonly subscriptions: Gauge<'channel'>
  readonly internalErrors: Counter
  readonly handshakes: Counter<'status'>
  readonly closes: Counter<'cause'>
  readonly deliverySeconds: Histogram
  /** Reads session counts from the hub when the metrics are scraped. */
  observe(hub: Observed): void
}

export function createGatewayMetrics(registry: MetricsRegistry): GatewayMetrics {
  const registers = [registry]
  const totals: OutboxTotals = { messages: 0, bytes: 0, conflated: 0, lagging: 0 }
  observeTotals(registry, totals)
  const made: GatewayMetrics = {
    totals,
    subscriptions: new Gauge({
      name: 'tidegate_subscriptions',
      help: 'Subscriptions by channel',
      labelNames: ['channel'],
      registers,
    }),
    internalErrors: new Counter({
      name: 'tidegate_stream_internal_errors_total',
      help: 'Stream requests that failed because of a bug',
      registers,
    }),
    handshakes: new Counter({
      name: 'tidegate_handshakes_total',
      help: 'WebSocket handshakes by the answer’s HTTP status (101 = accepted)',
      labelNames: ['status'],
      registers,
    }),
    closes: new Counter({
      name: 'tidegate_closes_total',
      help: 'Connections closed by the server, by cause',
      labelNames: ['cause'],
      registers,
    }),
    deliverySeconds: new Histogram({
      name: 'tidegate_delivery_seconds',
      help: 'From a source message’s arrival to the write to current subscribers’ sockets',
      buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
      registers,
    }),
    observe(hub) {
      observeHub(registry, hub)
    },
  }
  // A rate needs the series to exist before its first increment.
  made.handshakes.inc({ status: '101' }, 0)
  for (const cause of Object.keys(CLOSE_CODES)) made.closes.inc({ cause }, 0)
  for (const channel of Object.keys(CHANNELS)) made.subscriptions.set({ channel }, 0)
  return made
}

function observeTotals(registry: MetricsRegistry, totals: OutboxTotals): void {
  const registers = [registry]
  const count = (name: string, help: string, total: () => number): void => {
    let seen = 0
    new Counter({
      name,
      help,
      registers,
      collect() {
        const now = total()
        this.inc(now - seen)
        seen = now
      },
    })
  }
  count('tidegate_messages_out_total', 'Messages written to connections', () => totals.messages)
  count('tidegate_bytes_out_total', 'Frame bytes written to connections', () => totals.bytes)
  count(
    'tidegate_merged_messages_total',
    'Conflated UPDATE messages sent to lagging subscribers',
    () => totals.conflated,
  )
  new Gauge({
    name: 'tidegate_connections_behind',
    help: 'Connections above their high-water mark of unsent bytes',
    registers,
    collect() {
      this.set(totals.lagging)
    },
  })
}

function observeHub(registry: MetricsRegistry, hub: Observed): void {
  const registers = [registry]
  new Gauge({
    name: 'tidegate_connections',
    help: 'Open WebSocket connections',
    registers,
    collect() {
      this.set(hub.sessions.size)
    },
  })
  new Gauge({
    name: 'tidegate_connections_not_reading',
    help: 'Connections that read nothing: two pongs are missing',
    registers,
    collect() {
      let count = 0
      for (const session of hub.sessions) if (!session.isPeerReading) count += 1
      this.set(count)
    },
  })
  new Gauge({
    name: 'tidegate_send_queue_bytes',
    help: 'Bytes waiting in this process for slow connections',
    registers,
    collect() {
      let bytes = 0
      for (const session of hub.sessions) bytes += session.queuedBytes
      this.set(bytes)
    },
  })
}

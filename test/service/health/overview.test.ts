/** The history of the overview: rates between measurements, latencies from buckets, several processes, and its bound. */
import { describe, expect, it } from 'vitest'
import {
  Counter,
  createMetricsRegistry,
  Gauge,
  Histogram,
  type MetricsSnapshot,
} from '../../../src/platform/base/metrics.ts'
import { programVersion } from '../../../src/platform/base/version.ts'
import { OverviewHistory } from '../../../src/service/health/overview.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

function newNode(others: () => readonly MetricsSnapshot[] = () => []) {
  const clock = new VirtualClock()
  const metrics = createMetricsRegistry()
  const registers = [metrics]
  const messages = new Counter({ name: 'tidegate_messages_out_total', help: 'messages', registers })
  const connections = new Gauge({ name: 'tidegate_connections', help: 'connections', registers })
  const delivery = new Histogram({
    name: 'tidegate_delivery_seconds',
    help: 's',
    buckets: [0.001, 0.01, 0.1],
    registers,
  })
  const history = new OverviewHistory({
    clock,
    metrics,
    otherMetrics: async () => others(),
    readiness: () => ({ ready: true, checks: [{ name: 'store', ok: true, detail: 'ok' }] }),
  })
  const pass = async (count: number) => {
    for (let step = 0; step < count; step++) {
      clock.advance(5_000)
      // A measurement waits for nothing but the metrics of this process.
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return { clock, metrics, messages, connections, delivery, history, pass }
}

describe('the overview', () => {
  it('the overview has one measurement at once, without rates', async () => {
    const { history, connections } = newNode()
    connections.set(3)
    await history.start()
    expect(history.document).toMatchObject({ version: programVersion(), ready: true, interval_seconds: 5 })
    expect(history.document.history).toMatchObject([{ connections: 3, lagging: 0 }])
    expect(history.document.history[0]).not.toHaveProperty('messages_per_second')
    history.stop()
  })

  it('the overview computes rates and latencies from the difference to the previous measurement', async () => {
    const { history, messages, delivery, pass } = newNode()
    messages.inc(1_000)
    delivery.observe(5)
    await history.start()
    messages.inc(500)
    for (let count = 0; count < 100; count++) delivery.observe(count < 98 ? 0.0005 : 0.05)
    await pass(1)
    const [, point] = history.document.history
    expect(point).toMatchObject({ messages_per_second: 100 })
    expect(point?.latency_p50_ms).toBeCloseTo(0.51, 2)
    expect(point?.latency_p99_ms).toBeCloseTo(55, 0)
    await pass(1)
    expect(history.document.history[2]).toMatchObject({ messages_per_second: 0 })
    expect(history.document.history[2]).not.toHaveProperty('latency_p50_ms')
    history.stop()
  })

  it('the overview adds the gateway processes', async () => {
    const other = newNode()
    other.connections.set(40)
    const snapshot = await other.metrics.getMetricsAsJSON()
    const { history, connections } = newNode(() => [snapshot])
    connections.set(2)
    await history.start()
    expect(history.document.history).toMatchObject([{ connections: 42 }])
    history.stop()
  })

  it('the overview keeps the measurements of one hour', async () => {
    const { history, pass } = newNode()
    await history.start()
    await pass(725)
    expect(history.document.history).toHaveLength(720)
    history.stop()
  })
})

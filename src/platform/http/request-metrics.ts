/**
 * The listeners' metrics: requests by route and status, connections other than streams, bytes in unfinished requests,
 * cut connections. All listeners in a process share them. The listener is a label.
 */
import { Counter, Gauge, Histogram, type MetricsRegistry } from '../base/metrics.ts'
import type { Connections } from './connections.ts'

export interface RequestMetrics {
  readonly requests: Counter<'listener' | 'method' | 'route' | 'status'>
  readonly seconds: Histogram<'listener' | 'route'>
  readonly cuts: Counter<'listener' | 'reason'>
  /** By the listener's name. A later listener with the same name replaces it. */
  readonly listeners: Map<string, Connections>
}

const metricsByRegistry = new WeakMap<MetricsRegistry, RequestMetrics>()

/** A registry's metrics, created on the first call. */
export function requestMetrics(metrics: MetricsRegistry): RequestMetrics {
  const known = metricsByRegistry.get(metrics)
  if (known !== undefined) return known
  const registers = [metrics]
  const listeners = new Map<string, Connections>()
  observeConnections(metrics, listeners)
  const made: RequestMetrics = {
    listeners,
    cuts: new Counter({
      name: 'tidegate_http_connections_cut_total',
      help: 'Connections closed without an answer to enforce a limit, by listener and limit: connections, unfinished_bytes',
      labelNames: ['listener', 'reason'],
      registers,
    }),
    requests: new Counter({
      name: 'tidegate_http_requests_total',
      help: 'Requests answered, by listener, method, route pattern and status',
      labelNames: ['listener', 'method', 'route', 'status'],
      registers,
    }),
    seconds: new Histogram({
      name: 'tidegate_http_request_seconds',
      help: 'Time from the head of a request to the end of its answer, by listener and route pattern',
      labelNames: ['listener', 'route'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
      registers,
    }),
  }
  metricsByRegistry.set(metrics, made)
  return made
}

function observeConnections(metrics: MetricsRegistry, listeners: ReadonlyMap<string, Connections>): void {
  new Gauge({
    name: 'tidegate_http_connections',
    help: 'Connections other than streams, by listener',
    labelNames: ['listener'],
    registers: [metrics],
    collect() {
      for (const [listener, { size }] of listeners) this.set({ listener }, size)
    },
  })
  new Gauge({
    name: 'tidegate_http_unfinished_bytes',
    help: 'Bytes of incomplete and unanswered requests, by listener',
    labelNames: ['listener'],
    registers: [metrics],
    collect() {
      for (const [listener, { unfinishedBytes }] of listeners) this.set({ listener }, unfinishedBytes)
    },
  })
}

/**
 * The metrics registry. A module creates its own metrics on the registry it is passed, named `tidegate_<noun>_<unit>`;
 * `/metrics` writes the whole registry as OpenMetrics text.
 */
import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type MetricObjectWithValues,
  type MetricValue,
  type OpenMetricsContentType,
  Registry,
} from 'prom-client'

export { Counter, Gauge, Histogram }
export type MetricsRegistry = Registry<OpenMetricsContentType>

/** A new registry, never the library's global one, so that tests can run several services in one process. */
export function createMetricsRegistry(): MetricsRegistry {
  const registry = new Registry<OpenMetricsContentType>()
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  return registry
}

/** The values of a registry at one time, which can be sent to another process. */
export type MetricsSnapshot = MetricObjectWithValues<MetricValue<string>>[]

/**
 * The text of several processes' metrics as those of one: sums, or what says more; the first process counts as the main
 * one.
 */
export function metricsText(snapshots: readonly MetricsSnapshot[]): Promise<string> {
  // The library writes the suffix of counters itself, and has it in the names of its values as well.
  const named = (metric: MetricsSnapshot[number]) => ({
    ...metric,
    name: metric.name.replace(/_total$/, ''),
    // Such as the time of the start: what cannot be added is that of the first process.
    aggregator: metric.aggregator === 'omit' ? ('first' as const) : metric.aggregator,
  })
  const registry = AggregatorRegistry.aggregate<OpenMetricsContentType>(snapshots.map((metrics) => metrics.map(named)))
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  return registry.metrics()
}

/** Gauges that the library names `_total`, a suffix that OpenMetrics reserves for counters; they are of little use. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

/**
 * Adds the metrics of the process under the names that Node dashboards expect: CPU, memory, open files, garbage
 * collection, event-loop delay. Call it once per registry; the observers live as long as the process.
 */
export function observeProcess(registry: MetricsRegistry): void {
  // The library's type names the registry of the other text format; it uses both in the same way.
  collectDefaultMetrics({ register: registry as unknown as Registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
}

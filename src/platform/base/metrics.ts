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

/** A new registry, never the library's global one, so tests can run several services in one process. */
export function createMetricsRegistry(): MetricsRegistry {
  const registry = new Registry<OpenMetricsContentType>()
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  return registry
}

/** A registry's values at one time, which can be sent to another process. */
export type MetricsSnapshot = MetricObjectWithValues<MetricValue<string>>[]

/**
 * Several processes' metrics as one text: sums, or whatever is more meaningful. The first process counts as the main
 * one.
 */
export function metricsText(snapshots: readonly MetricsSnapshot[]): Promise<string> {
  // The library adds the counter suffix itself, and its values' names have it too.
  const named = (metric: MetricsSnapshot[number]) => ({
    ...metric,
    name: metric.name.replace(/_total$/, ''),
    // Values that cannot be added, such as the start time, come from the first process.
    aggregator: metric.aggregator === 'omit' ? ('first' as const) : metric.aggregator,
  })
  const registry = AggregatorRegistry.aggregate<OpenMetricsContentType>(snapshots.map((metrics) => metrics.map(named)))
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  return registry.metrics()
}

/** Gauges that the library names `_total`, a suffix reserved for counters in OpenMetrics. They are of little use. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

/**
 * Adds the process metrics under the names expected by Node dashboards: CPU, memory, open files, garbage collection,
 * event-loop delay. Call it once per registry. The observers live as long as the process.
 */
export function observeProcess(registry: MetricsRegistry): void {
  // The library's type names the registry for the other text format. It uses both in the same way.
  collectDefaultMetrics({ register: registry as unknown as Registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
}

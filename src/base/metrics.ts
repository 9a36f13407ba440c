/**
 * The metrics registry. A room makes its own metrics on the registry it is handed, named `tidegate_<noun>_<unit>`;
 * `/metrics` writes the whole registry as OpenMetrics text.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, type OpenMetricsContentType, Registry } from 'prom-client'

export { Counter, Gauge, Histogram }
export type MetricsRegistry = Registry<OpenMetricsContentType>

/** A registry of its own a process (never the library's global one, so that tests can run several services). */
export function createMetricsRegistry(): MetricsRegistry {
  const registry = new Registry<OpenMetricsContentType>()
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  return registry
}

/** The library calls these gauges `_total`, which is a counter's ending and nothing else's; they count little of use. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

/**
 * Adds what the process itself shows, under the names that every Node dashboard knows: CPU, memory, open files, garbage
 * collection, and how late the event loop runs. Once a registry; the observers live as long as the process.
 */
export function observeProcess(registry: MetricsRegistry): void {
  // The library types its own kind of registry here; what it does with it is the same for both kinds of text.
  collectDefaultMetrics({ register: registry as unknown as Registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
}

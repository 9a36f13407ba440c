/**
 * The metrics registry. A room makes its own metrics on the registry it is handed, named `tidegate_<noun>_<unit>`;
 * `/metrics` writes the whole registry as OpenMetrics text.
 */
import { Counter, Gauge, Histogram, type OpenMetricsContentType, Registry } from 'prom-client'

export { Counter, Gauge, Histogram }
export type MetricsRegistry = Registry<OpenMetricsContentType>

/** A registry of its own a process (never the library's global one, so that tests can run several services). */
export function createMetricsRegistry(): MetricsRegistry {
  const registry = new Registry<OpenMetricsContentType>()
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  return registry
}

/**
 * The metrics registry. A module creates its own metrics on the registry it is passed, named `tidegate_<noun>_<unit>`;
 * `/metrics` writes the whole registry as OpenMetrics text.
 */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
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
import type { Clock } from './clock.ts'

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

/** Each process has the whole limit, so the alert is about the one that is nearest to it. */
const WORST = { process_open_fds: 'max', process_max_fds: 'min' } as const

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
    aggregator: metric.aggregator === 'omit' ? ('first' as const) : worstOf(metric),
  })
  const registry = AggregatorRegistry.aggregate<OpenMetricsContentType>(snapshots.map((metrics) => metrics.map(named)))
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  return registry.metrics()
}

function worstOf({ name, aggregator }: MetricsSnapshot[number]): MetricsSnapshot[number]['aggregator'] {
  return name in WORST ? WORST[name as keyof typeof WORST] : aggregator
}

/**
 * What the counters and histograms of an ended process had counted, added to `before`. Without it their sum over the
 * processes would fall, and a fallen counter looks like a restart after which everything left was counted at once.
 */
export function addCounts(before: MetricsSnapshot, ended: MetricsSnapshot): MetricsSnapshot {
  const sums = new Map(before.map((metric) => [metric.name, metric]))
  for (const metric of ended) {
    const type = String(metric.type)
    if (type !== 'counter' && type !== 'histogram') continue
    const values = new Map([...(sums.get(metric.name)?.values ?? [])].map((value) => [seriesOf(value), value]))
    for (const value of metric.values) {
      const sum = value.value + (values.get(seriesOf(value))?.value ?? 0)
      values.set(seriesOf(value), { ...value, value: sum })
    }
    sums.set(metric.name, { ...metric, values: [...values.values()] })
  }
  return [...sums.values()]
}

/** A histogram's values have names of their own. */
function seriesOf({ labels, ...value }: MetricValue<string> & { readonly metricName?: string }): string {
  return JSON.stringify([value.metricName, Object.entries(labels).sort()])
}

/** Gauges that the library names `_total`, a suffix reserved for counters in OpenMetrics. They are of little use. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

/** The alert's threshold: no longer lag is missed. */
const SAMPLE_MILLISECONDS = 100

type Lags = RecordableHistogram

/** What the library observes under these names. Of several processes, the alert is about the slowest. */
const STATISTICS = [
  { name: 'min', help: 'The least', aggregator: 'min', read: ({ min }: Lags) => min },
  { name: 'max', help: 'The greatest', aggregator: 'max', read: ({ max }: Lags) => max },
  { name: 'mean', help: 'The mean', aggregator: 'average', read: ({ mean }: Lags) => mean },
  { name: 'stddev', help: 'The standard deviation of the', aggregator: 'average', read: ({ stddev }: Lags) => stddev },
  { name: 'p50', help: 'The 50th percentile of the', aggregator: 'max', read: (lags: Lags) => lags.percentile(50) },
  { name: 'p90', help: 'The 90th percentile of the', aggregator: 'max', read: (lags: Lags) => lags.percentile(90) },
  { name: 'p99', help: 'The 99th percentile of the', aggregator: 'max', read: (lags: Lags) => lags.percentile(99) },
] as const

const nameOf = (statistic: string): string => `nodejs_eventloop_lag_${statistic}_seconds`

const LAG_METRICS: readonly string[] = STATISTICS.map(({ name }) => nameOf(name))

/**
 * The event loop's lag: how late a timer runs, so how long a message may wait in this process. The metrics have the
 * library's names, and cover the time since the last scrape. A loop without work has a lag of about 0, while the
 * library's values contain its own interval. One timer measures, because each wake-up costs an idle process more than
 * everything done in it.
 */
function observeEventLoopLag(registry: Registry, clock: Clock): void {
  const lags = createHistogram()
  const sample = (): void => {
    const due = clock.monotonicMilliseconds() + SAMPLE_MILLISECONDS
    clock.schedule(SAMPLE_MILLISECONDS, () => {
      // The least that a histogram takes is 1 ns. A timer may be early by less than a millisecond.
      lags.record(Math.max(1, Math.round((clock.monotonicMilliseconds() - due) * 1e6)))
      sample()
    })
  }
  sample()
  const gauges = STATISTICS.map(({ name, help, aggregator, read }, index) => {
    const gauge = new Gauge({
      name: nameOf(name),
      help: `${help} event-loop lag since the last scrape.`,
      registers: [registry],
      aggregator,
      // The first one reads all, before the others are written.
      ...(index === 0 ? { collect: () => collect() } : {}),
    })
    return () => gauge.set(read(lags) / 1e9)
  })
  const collect = (): void => {
    if (lags.count === 0) return
    for (const set of gauges) set()
    lags.reset()
  }
}

/** The library's histogram wakes the process 100 times a second by default, a third of an idle process's work. */
const LIBRARY_LAG_MILLISECONDS = 3_600_000

/**
 * Adds the process metrics under the names expected by Node dashboards: CPU, memory, open files, garbage collection,
 * event-loop lag. Call it once per registry. The observers live as long as the process.
 */
export function observeProcess(registry: MetricsRegistry, clock: Clock): void {
  // The library's type names the registry for the other text format. It uses both in the same way.
  const register = registry as unknown as Registry
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: LIBRARY_LAG_MILLISECONDS })
  for (const name of [...MISNAMED, ...LAG_METRICS]) registry.removeSingleMetric(name)
  observeEventLoopLag(register, clock)
}

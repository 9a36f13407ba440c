/**
 * The operator's overview: this node's current state, and the last hour's history in memory, measured every five
 * seconds from the metrics of the process and its gateway processes. Nothing is stored, so the history begins again
 * after a restart. Rates are per second, and latencies are estimated from their histogram's buckets.
 */
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { type Clock, millisecondText, type Timer } from '../../platform/base/clock.ts'
import type { MetricsRegistry, MetricsSnapshot } from '../../platform/base/metrics.ts'
import { programVersion } from '../../platform/base/version.ts'
import { answered } from '../../platform/http/raw-json.ts'
import type { Lifecycle } from '../process/lifecycle.ts'
import type { Readiness } from './readiness.ts'

export interface OverviewOptions {
  readonly clock: Clock
  readonly metrics: MetricsRegistry
  /** Metrics of this node's gateway processes. */
  otherMetrics(): Promise<readonly MetricsSnapshot[]>
  readiness(): Readiness
}

const STEP_MILLISECONDS = 5_000
/** One hour. A point is nine numbers: about 60 kB together. */
const POINTS_MAX = 720

const time = Type.String({ format: 'date-time' })

/** One measurement. Members without a value are absent: a rate needs two measurements, a latency a message. */
const Point = Type.Object(
  {
    at: time,
    connections: Type.Integer(),
    lagging: Type.Integer(),
    queued_bytes: Type.Integer(),
    messages_per_second: Type.Optional(Type.Number()),
    bytes_per_second: Type.Optional(Type.Number()),
    latency_p50_ms: Type.Optional(Type.Number()),
    latency_p99_ms: Type.Optional(Type.Number()),
    cpu_percent: Type.Optional(Type.Number()),
    memory_bytes: Type.Integer(),
  },
  { title: 'OverviewPoint' },
)

const Overview = Type.Object(
  {
    version: Type.String(),
    started_at: time,
    ready: Type.Boolean(),
    checks: Type.Array(Type.Object({ name: Type.String(), ok: Type.Boolean(), detail: Type.String() })),
    interval_seconds: Type.Number(),
    history: Type.Array(Point),
  },
  { title: 'Overview' },
)

type OverviewPoint = Static<typeof Point>

/** Totals over all processes at one moment. */
interface Totals {
  readonly monotonicMilliseconds: number
  readonly messages: number
  readonly bytes: number
  readonly cpuSeconds: number
  /** Messages within each upper latency bound, ascending. The last bound is infinite. */
  readonly latency: readonly (readonly [seconds: number, messages: number])[]
}

export class OverviewHistory {
  readonly #options: OverviewOptions
  readonly #startedAt: string
  #points: OverviewPoint[] = []
  #last: Totals | undefined
  #timer: Timer | undefined
  #isStopped = false

  constructor(options: OverviewOptions) {
    this.#options = options
    this.#startedAt = this.#now()
  }

  /** Takes the first measurement at once. */
  start(): Promise<void> {
    return this.#step()
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  get document(): Static<typeof Overview> {
    const { readiness } = this.#options
    const { ready, checks } = readiness()
    return {
      version: programVersion(),
      started_at: this.#startedAt,
      ready,
      checks: [...checks],
      interval_seconds: STEP_MILLISECONDS / 1000,
      history: this.#points,
    }
  }

  async #step(): Promise<void> {
    const point = await this.#measure()
    if (this.#isStopped) return
    this.#points = [...this.#points.slice(1 - POINTS_MAX), point]
    this.#timer = this.#options.clock.schedule(STEP_MILLISECONDS, () => void this.#step())
  }

  async #measure(): Promise<OverviewPoint> {
    const { clock, metrics, otherMetrics } = this.#options
    const processes: readonly Values[] = [await valuesOf(metrics), ...(await otherMetrics()).map(valuesOfSnapshot)]
    const sum = (name: MetricName): number =>
      processes.reduce((total, process) => total + (process.get(name)?.[0]?.value ?? 0), 0)
    const totals: Totals = {
      monotonicMilliseconds: clock.monotonicMilliseconds(),
      messages: sum('tidegate_messages_out_total'),
      bytes: sum('tidegate_bytes_out_total'),
      cpuSeconds: sum('process_cpu_user_seconds_total') + sum('process_cpu_system_seconds_total'),
      latency: latencyOf(processes),
    }
    const before = this.#last
    this.#last = totals
    return {
      at: this.#now(),
      connections: sum('tidegate_connections'),
      lagging: sum('tidegate_connections_behind'),
      queued_bytes: sum('tidegate_send_queue_bytes'),
      memory_bytes: sum('process_resident_memory_bytes'),
      ...(before === undefined ? {} : ratesBetween(before, totals)),
    }
  }

  #now(): string {
    return millisecondText(this.#options.clock.wallInstant().milliseconds)
  }
}

/** Measures until the service stops. */
export function startOverview(options: OverviewOptions, lifecycle: Lifecycle): OverviewHistory {
  const overview = new OverviewHistory(options)
  lifecycle.started('overview', () => overview.stop())
  void overview.start()
  return overview
}

/** Declares the route, relative to the prefix of `app`. The operator guard runs before it. */
export function registerOverviewRoute(app: FastifyInstance, history: Pick<OverviewHistory, 'document'>): void {
  app.get('/overview', answered(Overview), async () => history.document)
}

const NAMES = [
  'tidegate_connections',
  'tidegate_connections_behind',
  'tidegate_send_queue_bytes',
  'tidegate_messages_out_total',
  'tidegate_bytes_out_total',
  'tidegate_delivery_seconds',
  // In this order: reading the first one measures both.
  'process_cpu_user_seconds_total',
  'process_cpu_system_seconds_total',
  'process_resident_memory_bytes',
] as const

type MetricName = (typeof NAMES)[number]
type Values = ReadonlyMap<string, MetricsSnapshot[number]['values']>

/** Only these metrics: some others ask the store when they are read. */
async function valuesOf(metrics: MetricsRegistry): Promise<Values> {
  const read = await Promise.all(NAMES.map((name) => metrics.getSingleMetric(name)?.get()))
  return new Map(NAMES.map((name, index) => [name, read[index]?.values ?? []]))
}

function valuesOfSnapshot(snapshot: MetricsSnapshot): Values {
  return new Map(snapshot.map(({ name, values }) => [name, values]))
}

function latencyOf(processes: readonly Values[]): Totals['latency'] {
  const counts = new Map<number, number>()
  for (const process of processes) {
    for (const { labels, value } of process.get('tidegate_delivery_seconds') ?? []) {
      const { le } = labels as { readonly le?: number | string }
      if (le === undefined) continue
      const bound = le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)
      counts.set(bound, (counts.get(bound) ?? 0) + value)
    }
  }
  return [...counts].sort(([left], [right]) => left - right)
}

function ratesBetween(before: Totals, after: Totals): Partial<OverviewPoint> {
  const seconds = (after.monotonicMilliseconds - before.monotonicMilliseconds) / 1000
  if (seconds <= 0) return {}
  // An ended gateway process takes its counts with it.
  const rate = (earlier: number, later: number): number => rounded(Math.max(0, later - earlier) / seconds)
  const earlierCounts = new Map(before.latency)
  const buckets = after.latency.map(([bound, value]) => [bound, value - (earlierCounts.get(bound) ?? 0)] as const)
  const p50 = quantile(buckets, 0.5)
  const p99 = quantile(buckets, 0.99)
  return {
    messages_per_second: rate(before.messages, after.messages),
    bytes_per_second: rate(before.bytes, after.bytes),
    cpu_percent: rounded(rate(before.cpuSeconds, after.cpuSeconds) * 100),
    ...(p50 === undefined ? {} : { latency_p50_ms: rounded(p50 * 1000) }),
    ...(p99 === undefined ? {} : { latency_p99_ms: rounded(p99 * 1000) }),
  }
}

/** The value below which this share of the counts lies, linear inside its bucket. Undefined without counts. */
function quantile(
  buckets: readonly (readonly [bound: number, cumulative: number])[],
  part: number,
): number | undefined {
  const total = buckets.at(-1)?.[1] ?? 0
  if (total <= 0) return undefined
  const wanted = total * part
  let [lower, below] = [0, 0]
  for (const [bound, cumulative] of buckets) {
    if (cumulative >= wanted) {
      if (bound === Number.POSITIVE_INFINITY || cumulative === below) return lower
      return lower + ((bound - lower) * (wanted - below)) / (cumulative - below)
    }
    ;[lower, below] = [bound, cumulative]
  }
  return lower
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}

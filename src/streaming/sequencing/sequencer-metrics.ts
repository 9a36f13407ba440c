/** The sequencers' metrics: commits, clock skew, rejected books and missed executions, by market. */
import { Counter, Gauge, type MetricsRegistry } from '../../platform/base/metrics.ts'

/** Updated at every commit. */
export interface CommitTotals {
  commits: number
  clockSkewMilliseconds: number
}

export interface SequencerMetrics {
  /** By market. Plain numbers, read when scraped: label lookups took a fifth of a commit's time. */
  readonly totals: Map<string, CommitTotals>
  readonly violations: Counter<'market'>
  readonly missedExecutions: Counter<'market'>
}

export function createSequencerMetrics(registry: MetricsRegistry): SequencerMetrics {
  const registers = [registry]
  const labelNames = ['market'] as const
  const totals = new Map<string, CommitTotals>()
  new Counter({
    name: 'tidegate_commits_total',
    help: 'Commits of a market',
    labelNames,
    registers,
    collect() {
      this.reset()
      for (const [market, { commits }] of totals) this.inc({ market }, commits)
    },
  })
  new Gauge({
    name: 'tidegate_clock_lead_milliseconds',
    help: 'How far a market’s commit time is ahead of the wall clock',
    labelNames,
    registers,
    collect() {
      this.reset()
      for (const [market, { clockSkewMilliseconds }] of totals) this.set({ market }, clockSkewMilliseconds)
    },
  })
  return {
    totals,
    violations: new Counter({
      name: 'tidegate_invariant_violations_total',
      help: 'Unpublished books: crossed, or with an impossible amount',
      labelNames,
      registers,
    }),
    missedExecutions: new Counter({
      name: 'tidegate_executions_missed_total',
      help: 'Times a source proved executions it could no longer provide',
      labelNames,
      registers,
    }),
  }
}

/** Removes a market's series when it is no longer configured. */
export function forgetMarket(metrics: SequencerMetrics, market: string): void {
  metrics.totals.delete(market)
  metrics.violations.remove({ market })
  metrics.missedExecutions.remove({ market })
}

/**
 * Venue metrics, with the feed's name as the label `venue`. They are created once per registry, so a new source for the
 * same feed can replace one while the process runs.
 */
import { Counter, Gauge, Histogram, type MetricsRegistry } from '../../../platform/base/metrics.ts'

export interface VenueMetrics {
  readonly messages: Counter<'venue'>
  readonly reconnects: Counter<'venue'>
  readonly unreadable: Counter<'venue' | 'resynchronised'>
  readonly checksumMismatches: Counter<'venue' | 'symbol'>
  readonly gaps: Counter<'venue' | 'symbol'>
  readonly silences: Counter<'venue' | 'symbol' | 'verdict'>
  readonly reconciliations: Counter<'venue' | 'symbol' | 'result'>
  readonly trades: Counter<'venue' | 'symbol'>
  readonly missedTrades: Counter<'venue' | 'symbol'>
  readonly pairLive: Gauge<'venue' | 'symbol'>
  readonly lagSeconds: Histogram<'venue'>
  /** The last message's age in seconds, by venue; evaluated when the metrics are read. */
  readonly ages: Map<string, () => number>
}

const metricsByRegistry = new WeakMap<MetricsRegistry, VenueMetrics>()

export function venueMetrics(registry: MetricsRegistry): VenueMetrics {
  const known = metricsByRegistry.get(registry)
  if (known !== undefined) return known
  const registers = [registry]
  const ages = new Map<string, () => number>()
  const made: VenueMetrics = {
    ages,
    messages: counter(registry, 'tidegate_feed_messages_total', 'Messages received from a venue.', ['venue']),
    reconnects: counter(registry, 'tidegate_feed_reconnects_total', 'Attempts to reconnect to a venue.', ['venue']),
    unreadable: counter(
      registry,
      'tidegate_feed_unreadable_messages_total',
      'Venue messages that could not be parsed, by resynchronised scope: their pair, or all pairs.',
      ['venue', 'resynchronised'],
    ),
    ...pairCounters(registry),
    pairLive: new Gauge({
      name: 'tidegate_feed_pair_live',
      help: '1 while a pair’s book is in sync with the venue.',
      labelNames: ['venue', 'symbol'],
      registers,
    }),
    lagSeconds: new Histogram({
      name: 'tidegate_feed_lag_seconds',
      help: 'Seconds from the time stamp of a venue message to its arrival. Clock skew between the venue and this host is included.',
      labelNames: ['venue'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
  }
  new Gauge({
    name: 'tidegate_feed_last_message_age_seconds',
    help: 'Seconds since a venue’s last message arrived.',
    labelNames: ['venue'],
    registers,
    collect() {
      this.reset()
      for (const [venue, age] of ages) this.set({ venue }, age())
    },
  })
  metricsByRegistry.set(registry, made)
  return made
}

/** The counters with the label `symbol`. */
function pairCounters(registry: MetricsRegistry) {
  return {
    checksumMismatches: counter(
      registry,
      'tidegate_feed_checksum_mismatches_total',
      'Messages after which the book did not match the venue’s checksum.',
      ['venue', 'symbol'],
    ),
    gaps: counter(
      registry,
      'tidegate_feed_gaps_total',
      'Books that lost sync (a message was missing, wrong or unreadable) and were subscribed again.',
      ['venue', 'symbol'],
    ),
    silences: counter(
      registry,
      'tidegate_feed_silences_total',
      'Books that went silent on a live connection: proved wrong, or suspicious and subscribed again.',
      ['venue', 'symbol', 'verdict'],
    ),
    reconciliations: counter(
      registry,
      'tidegate_feed_reconciliations_total',
      'Live books compared with a new venue snapshot, by result.',
      ['venue', 'symbol', 'result'],
    ),
    trades: counter(registry, 'tidegate_feed_trades_total', 'Venue trades published as executions.', [
      'venue',
      'symbol',
    ]),
    missedTrades: counter(
      registry,
      'tidegate_feed_missed_trades_total',
      'Missing venue trades, according to their numbers.',
      ['venue', 'symbol'],
    ),
  }
}

function counter<Label extends string>(
  registry: MetricsRegistry,
  name: string,
  help: string,
  labelNames: readonly Label[],
): Counter<Label> {
  return new Counter({ name, help, labelNames: [...labelNames], registers: [registry] })
}

/** One pair's metrics. Every counter starts at 0 when the pair is created. */
export interface PairMetrics {
  readonly countMismatch: () => void
  readonly countGap: () => void
  readonly countSilence: (verdict: 'wrong' | 'suspicious') => void
  readonly countReconciliation: (isSame: boolean) => void
  readonly countTrades: (count: number) => void
  readonly countMissedTrades: (count: number) => void
  readonly noteLive: (isLive: boolean) => void
}

const VERDICTS = ['wrong', 'suspicious'] as const
const RESULTS = ['same', 'different'] as const

export function pairMetrics(metrics: VenueMetrics, venue: string, symbol: string): PairMetrics {
  const { checksumMismatches, gaps, silences, reconciliations, trades, missedTrades, pairLive } = metrics
  const labels = { venue, symbol }
  for (const counter of [checksumMismatches, gaps, trades, missedTrades]) counter.inc(labels, 0)
  for (const verdict of VERDICTS) silences.inc({ ...labels, verdict }, 0)
  for (const result of RESULTS) reconciliations.inc({ ...labels, result }, 0)
  pairLive.set(labels, 0)
  return {
    countMismatch: () => checksumMismatches.inc(labels),
    countGap: () => gaps.inc(labels),
    countSilence: (verdict) => silences.inc({ ...labels, verdict }),
    countReconciliation: (isSame) => reconciliations.inc({ ...labels, result: isSame ? 'same' : 'different' }),
    countTrades: (count) => trades.inc(labels, count),
    countMissedTrades: (count) => missedTrades.inc(labels, count),
    noteLive: (isLive) => pairLive.set(labels, isLive ? 1 : 0),
  }
}

/** Removes a pair's metrics when no market uses it any more. */
export function forgetPair(metrics: VenueMetrics, venue: string, symbol: string): void {
  const { checksumMismatches, gaps, trades, missedTrades, pairLive } = metrics
  for (const metric of [checksumMismatches, gaps, trades, missedTrades, pairLive]) metric.remove({ venue, symbol })
  for (const verdict of VERDICTS) metrics.silences.remove({ venue, symbol, verdict })
  for (const result of RESULTS) metrics.reconciliations.remove({ venue, symbol, result })
}

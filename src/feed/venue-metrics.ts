/**
 * The metrics that all venues of a process share, told apart by the label `venue`. They are made once a registry, so
 * that a source can be replaced by a new one of the same venue while the process runs.
 */
import { Counter, Gauge, Histogram, type MetricsRegistry } from '../base/metrics.ts'

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
  /** By venue: seconds since its last message, asked when the metrics are written. */
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
    reconnects: counter(
      registry,
      'tidegate_feed_reconnects_total',
      'Attempts to connect to a venue after a connection or an attempt had ended.',
      ['venue'],
    ),
    unreadable: counter(
      registry,
      'tidegate_feed_unreadable_messages_total',
      'Messages of a venue that could not be read, by what had to be resynchronised: their pair, or all pairs.',
      ['venue', 'resynchronised'],
    ),
    ...pairCounters(registry),
    pairLive: new Gauge({
      name: 'tidegate_feed_pair_live',
      help: '1 while the book of a pair is vouched for.',
      labelNames: ['venue', 'symbol'],
      registers,
    }),
    lagSeconds: new Histogram({
      name: 'tidegate_feed_lag_seconds',
      help: 'From the time that a venue gives a message to its arrival; both clocks count.',
      labelNames: ['venue'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
  }
  new Gauge({
    name: 'tidegate_feed_last_message_age_seconds',
    help: 'Seconds since the last message of a venue arrived.',
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

/** What is counted per pair. */
function pairCounters(registry: MetricsRegistry) {
  return {
    checksumMismatches: counter(
      registry,
      'tidegate_feed_checksum_mismatches_total',
      'Messages after which the book did not have the checksum that the venue sent.',
      ['venue', 'symbol'],
    ),
    gaps: counter(
      registry,
      'tidegate_feed_gaps_total',
      'Books that could not be followed any further (a message missing, wrong or unreadable) and were fetched anew.',
      ['venue', 'symbol'],
    ),
    silences: counter(
      registry,
      'tidegate_feed_silences_total',
      'Books that went silent on a live connection: proved wrong, or suspicious and therefore subscribed again.',
      ['venue', 'symbol', 'verdict'],
    ),
    reconciliations: counter(
      registry,
      'tidegate_feed_reconciliations_total',
      'Live books that were compared with a fresh snapshot of the venue, by whether they differed.',
      ['venue', 'symbol', 'result'],
    ),
    trades: counter(registry, 'tidegate_feed_trades_total', 'Trades of a venue that were passed on as executions.', [
      'venue',
      'symbol',
    ]),
    missedTrades: counter(
      registry,
      'tidegate_feed_missed_trades_total',
      'Trades of a venue that its numbers prove to be missing.',
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

/** The metrics of one pair, which are there from the beginning: zero is a fact too. */
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

/** Takes the numbers of a pair that nobody reads any more out of the metrics. */
export function forgetPair(metrics: VenueMetrics, venue: string, symbol: string): void {
  const { checksumMismatches, gaps, trades, missedTrades, pairLive } = metrics
  for (const metric of [checksumMismatches, gaps, trades, missedTrades, pairLive]) metric.remove({ venue, symbol })
  for (const verdict of VERDICTS) metrics.silences.remove({ venue, symbol, verdict })
  for (const result of RESULTS) metrics.reconciliations.remove({ venue, symbol, result })
}

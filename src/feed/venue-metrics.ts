/**
 * The metrics that all venues of a process share, told apart by the label `venue`. They are made once a registry, so
 * that a source can be replaced by a new one of the same venue while the process runs.
 */
import { Counter, Gauge, type MetricsRegistry } from '../base/metrics.ts'

export interface VenueMetrics {
  readonly messages: Counter<'venue'>
  readonly reconnects: Counter<'venue'>
  readonly checksumMismatches: Counter<'venue' | 'symbol'>
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
    messages: new Counter({
      name: 'tidegate_feed_messages_total',
      help: 'Messages received from a venue.',
      labelNames: ['venue'],
      registers,
    }),
    reconnects: new Counter({
      name: 'tidegate_feed_reconnects_total',
      help: 'Attempts to connect to a venue after a connection or an attempt had ended.',
      labelNames: ['venue'],
      registers,
    }),
    checksumMismatches: new Counter({
      name: 'tidegate_feed_checksum_mismatches_total',
      help: 'Messages after which the book did not have the checksum that the venue sent.',
      labelNames: ['venue', 'symbol'],
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

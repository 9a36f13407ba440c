/** A test venue's markets as read by its connector, on a clock advanced by the test. */
import { createLog } from '../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import type { Source } from '../../../src/streaming/sources/source.ts'
import { VENUES, type VenueName } from '../../../src/streaming/sources/venues/venues.ts'
import { SourceListener } from '../source-listener.ts'
import { VirtualClock } from '../virtual-clock.ts'
import type { FedMarket } from './fed-market.ts'
import type { VenueServer } from './server.ts'

export interface Reading {
  readonly source: Source
  readonly clock: VirtualClock
  /** How many frames were read so far. */
  readonly messages: () => Promise<number>
}

/** Starts the connector. Its delays before reconnecting are the shortest possible. */
export function readVenue(
  name: VenueName,
  { url, restUrl }: VenueServer,
  markets: readonly (FedMarket | SourceListener)[],
): Reading {
  const clock = new VirtualClock()
  const metrics = createMetricsRegistry()
  const source = VENUES[name].createSource(
    { url, restUrl },
    {
      name,
      markets: markets.map((one) => (one instanceof SourceListener ? one.sourceMarket : one.source)),
      clock,
      random: () => 0,
      log: createLog('silent'),
      metrics,
    },
  )
  source.start()
  const messages = async () =>
    Number(/^tidegate_feed_messages_total\{.*\} ([0-9]+)$/m.exec(await metrics.metrics())?.[1] ?? 0)
  return { source, clock, messages }
}

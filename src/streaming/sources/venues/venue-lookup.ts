/**
 * Reads once how a venue lists some pairs, without a running source. It returns a result or a problem within a time
 * limit, and leaves no connection open. It does not count in the process metrics.
 */
import type { Clock } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import { createMetricsRegistry } from '../../../platform/base/metrics.ts'
import type { Fetched, Listing, VenueProtocol } from './venue.ts'
import { VenueConnection } from './venue-connection.ts'
import { VenueRequests } from './venue-http.ts'
import { INSTEAD_MILLISECONDS } from './venue-listings.ts'

export interface LookupOptions<Data> {
  readonly venue: string
  readonly protocol: VenueProtocol<Data>
  readonly url: string
  readonly clock: Clock
  readonly log: Log
}

type Listings = Fetched<readonly Listing[]>

/** Time limit for the whole lookup. A person waits for it, but Coinbase sends its list only every few seconds. */
const LOOKUP_MILLISECONDS_MAX = 12_000

/** How the venue lists these symbols. A symbol missing from the result is not listed. */
export async function lookUpListings<Data>(
  options: LookupOptions<Data>,
  symbols: readonly string[],
): Promise<Listings> {
  const { protocol, clock } = options
  const { listings } = protocol
  const limit = new AbortController()
  const timer = clock.schedule(LOOKUP_MILLISECONDS_MAX, () => limit.abort())
  const found =
    'fetch' in listings
      ? await new VenueRequests(clock, protocol.httpRate).run((signal) => listings.fetch(symbols, signal), limit.signal)
      : await listOnConnection(options, listings.requests(), limit.signal)
  timer.cancel()
  if ('value' in found) return { value: found.value.filter(({ symbol }) => symbols.includes(symbol)) }
  return limit.signal.aborted ? { problem: `no pair list within ${LOOKUP_MILLISECONDS_MAX / 1000} s` } : found
}

async function listOnConnection<Data>(
  { venue, protocol, url, clock, log }: LookupOptions<Data>,
  requests: readonly object[],
  limit: AbortSignal,
): Promise<Listings> {
  let answer: (listings: Listings) => void = () => undefined
  const answered = new Promise<Listings>((resolve) => {
    answer = resolve
  })
  const { listings: how } = protocol
  const isFirstComplete = 'requests' in how && how.isFirstComplete === true
  const fetchInstead = 'requests' in how ? how.fetchInstead : undefined
  const connection = new VenueConnection({
    venue,
    url,
    silenceMilliseconds: LOOKUP_MILLISECONDS_MAX,
    clock,
    random: () => 0,
    log,
    metrics: createMetricsRegistry(),
    onOpen: () => {
      for (const request of requests) connection.send(request)
    },
    onMessage: (text) => {
      for (const message of protocol.read(text)) {
        if (message.kind === 'listings' && (message.isComplete || isFirstComplete)) answer({ value: message.listings })
        else if (message.kind === 'restart' || message.kind === 'unreadable' || message.kind === 'refused') {
          answer({ problem: message.reason })
        }
      }
    },
    onDown: (problem) => answer({ problem }),
  })
  limit.addEventListener('abort', () => answer({ problem: 'the time limit was reached' }), { once: true })
  connection.start()
  const timer = clock.schedule(INSTEAD_MILLISECONDS, () => {
    if (fetchInstead !== undefined) {
      void new VenueRequests(clock, protocol.httpRate).run(fetchInstead, limit).then(answer)
    }
  })
  const listings = await answered
  timer.cancel()
  await connection.stop()
  return listings
}

/**
 * Bitstamp's WebSocket API v2 and HTTP API v2 for spot pairs: requests and limits. It keeps unanswered subscriptions,
 * because errors often name no channel. It also keeps the time reached by each pair's books, because a fetched snapshot
 * may be older.
 *
 * Written from https://www.bitstamp.net/websocket/v2/ and https://www.bitstamp.net/api/ (order book, transactions,
 * trading pairs info, rate limits), read on 2026-11-23 in stored copies and third-party descriptions. It has not been
 * tested against the venue.
 */
import type { VenueAddresses, VenueDefinition, VenueProtocol } from '../venue.ts'
import { BitstampBook, type BitstampPosition } from './book.ts'
import { type BitstampBookData, type BitstampChannel, CHANNEL_OF, readBitstampMessage, readChannel } from './message.ts'
import { fetchListings, fetchSnapshot, fetchTrades } from './rest.ts'

/** The venue answers a heartbeat at any time. A quiet pair may be silent for minutes. */
const SILENCE_MILLISECONDS = 5_000
const KEEP_ALIVE = { text: '{"event":"bts:heartbeat"}', milliseconds: 2_000 }

/** No limit is documented. A request names one channel. */
const REQUEST_RATE = { burst: 20, perSecond: 10 }

/** The venue accepts 10,000 requests in ten minutes from an address. */
const HTTP_RATE = { burst: 10, perSecond: 10 }

/** Nothing proves the message sequence complete, so each book is compared with a new snapshot at this interval. */
const RECONCILE_MILLISECONDS = 60_000

/** Limit for kept unanswered subscriptions: the oldest are dropped first. */
const UNANSWERED_MAX = 1_000

function createBitstampProtocol({ restUrl }: Pick<VenueAddresses, 'restUrl'>): VenueProtocol<BitstampBookData> {
  let unanswered: string[] = []
  const positions = new Map<string, BitstampPosition>()
  const takeAnswered = (name: string): BitstampChannel | undefined => {
    const place = name === '' ? 0 : unanswered.indexOf(name)
    const [answered = name] = place < 0 ? [] : unanswered.splice(place, 1)
    return readChannel(answered)
  }
  return {
    silenceMilliseconds: SILENCE_MILLISECONDS,
    keepAlive: KEEP_ALIVE,
    requestRate: REQUEST_RATE,
    httpRate: HTTP_RATE,
    reconcileMilliseconds: RECONCILE_MILLISECONDS,
    depths: [Number.POSITIVE_INFINITY],
    hasUnnumberedTrades: true,
    refreshesByFetch: true,
    open: () => {
      unanswered = []
      return []
    },
    listings: { fetch: (_symbols, signal) => fetchListings(restUrl, signal) },
    fetchSnapshot: (symbol, _depth, signal) => fetchSnapshot(restUrl, symbol, signal),
    fetchTrades: (symbol, gap, signal) => fetchTrades(restUrl, symbol, gap, signal),
    requests(action, channel, symbols) {
      const names = symbols.map((symbol) => CHANNEL_OF[channel] + symbol)
      if (action === 'subscribe') unanswered = [...unanswered, ...names].slice(-UNANSWERED_MAX)
      return names.map((name) => ({ event: `bts:${action}`, data: { channel: name } }))
    },
    read: (text) => readBitstampMessage(text, takeAnswered),
    createBook(options) {
      const { symbol } = options.listing
      const position = positions.get(symbol) ?? { microseconds: 0, regressions: 0 }
      positions.set(symbol, position)
      return new BitstampBook(options, position)
    },
  }
}

export const BITSTAMP = {
  symbolPattern: /^[a-z0-9]{1,40}$/,
  symbolExample: 'btcusd',
  proof: 'COMPARISON',
  exchanges: [{ name: 'Bitstamp', url: 'wss://ws.bitstamp.net', restUrl: 'https://www.bitstamp.net' }],
  createProtocol: createBitstampProtocol,
} satisfies VenueDefinition<BitstampBookData>

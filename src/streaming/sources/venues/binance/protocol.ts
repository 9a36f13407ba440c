/**
 * The Binance spot protocol (https://developers.binance.com/docs/binance-spot-api-docs): combined streams for changes
 * and trades, the REST API for listings and snapshots. It remembers the pairs in each request, because answers contain
 * only the request id. It also keeps the position reached by each pair's books, because a fetched snapshot may be
 * older.
 */
import type { VenueAddresses, VenueDefinition, VenueProtocol } from '../venue.ts'
import { VenueRequests } from '../venue-requests.ts'
import { BinanceBook, type BinanceBookData, type BinancePosition } from './book.ts'
import { readBinanceMessage, STREAM_OF } from './message.ts'
import { fetchListings, fetchSnapshot, fetchTrades } from './rest.ts'

/**
 * The venue pings only every 20 s, and a quiet pair may be silent for minutes. So the subscription list is requested
 * after two seconds without a message: half a request per second, within the rate below.
 */
const SILENCE_MILLISECONDS = 5_000
const KEEP_ALIVE = { text: '{"method":"LIST_SUBSCRIPTIONS","id":0}', milliseconds: 2_000 }

/**
 * The venue closes a connection that receives more than 5 messages per second, pongs included.
 * https://developers.binance.com/docs/binance-spot-api-docs/web-socket-streams#general-wss-information
 */
const REQUEST_RATE = { burst: 2, perSecond: 2 }

/**
 * An address may use a weight of 6,000 per minute: a trades page weighs 4, a large snapshot 250. Beyond this limit the
 * venue sends `Retry-After`. https://developers.binance.com/docs/binance-spot-api-docs/rest-api/limits
 */
const HTTP_RATE = { burst: 20, perSecond: 10 }

/**
 * Published levels per side. More are fetched, so they remain known when the price moves. No snapshot has more than
 * 5000.
 */
const DEPTHS = [10, 25, 50, 100, 250, 500, 1000, 2500]

/** Streams per request. The venue documents no limit; a request with this many is about 4 KiB. */
const STREAMS_PER_REQUEST = 200
function createBinanceProtocol({ restUrl }: Pick<VenueAddresses, 'restUrl'>): VenueProtocol<BinanceBookData> {
  const unanswered = new VenueRequests()
  const positions = new Map<string, BinancePosition>()
  let lastId = 0
  return {
    silenceMilliseconds: SILENCE_MILLISECONDS,
    keepAlive: KEEP_ALIVE,
    requestRate: REQUEST_RATE,
    httpRate: HTTP_RATE,
    depths: DEPTHS,
    listings: { fetch: (symbols, signal) => fetchListings(restUrl, symbols, signal) },
    fetchTrades: (symbol, gap, signal) => fetchTrades(restUrl, symbol, gap, signal),
    fetchSnapshot: (symbol, depth, signal) => fetchSnapshot(restUrl, symbol, depth, signal),
    requests(action, channel, symbols) {
      const requests: object[] = []
      for (let begin = 0; begin < symbols.length; begin += STREAMS_PER_REQUEST) {
        const some = symbols.slice(begin, begin + STREAMS_PER_REQUEST)
        const id = ++lastId
        unanswered.add(id, { action, channel, symbols: some })
        const params = some.map((symbol) => `${symbol.toLowerCase()}@${STREAM_OF[channel]}`)
        requests.push({ method: action === 'subscribe' ? 'SUBSCRIBE' : 'UNSUBSCRIBE', params, id })
      }
      return requests
    },
    read: (text) => readBinanceMessage(text, (id) => unanswered.take(id)),
    createBook(options) {
      const { symbol } = options.listing
      const position = positions.get(symbol) ?? { updateId: 0, regressions: 0 }
      positions.set(symbol, position)
      return new BinanceBook(options, position)
    },
  }
}

export const BINANCE = {
  symbolPattern: /^[A-Z0-9._-]{1,50}$/,
  symbolExample: 'BTCUSDT',
  proof: 'SEQUENCE',
  // https://developers.binance.com/docs/binance-spot-api-docs and https://docs.binance.us, read 2026-11-22
  exchanges: [
    { name: 'Binance', url: 'wss://stream.binance.com:9443/stream', restUrl: 'https://api.binance.com' },
    {
      name: 'Binance, market data only',
      url: 'wss://data-stream.binance.vision/stream',
      restUrl: 'https://data-api.binance.vision',
    },
    { name: 'Binance.US', url: 'wss://stream.binance.us:9443/stream', restUrl: 'https://api.binance.us' },
  ],
  createProtocol: createBinanceProtocol,
} satisfies VenueDefinition<BinanceBookData>

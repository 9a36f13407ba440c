/**
 * Bybit's public WebSocket API v5 for spot pairs: requests and limits. Derivatives are not listed. `message` parses
 * frames, `book` keeps books, and `rest` fetches the rest. This file remembers the pairs in each request, because an
 * answer contains only the request id.
 *
 * Written from these pages under https://bybit-exchange.github.io/docs/v5, read on 2026-11-23 in stored copies:
 * `ws/connect`, `websocket/public/orderbook`, `websocket/public/trade`, `market/instrument`, `market/recent-trade`,
 * `rate-limit`. It has not been tested against the venue.
 */
import type { VenueAddresses, VenueDefinition, VenueProtocol } from '../venue.ts'
import { VenueRequests } from '../venue-requests.ts'
import { BybitBook } from './book.ts'
import { type BybitBookData, readBybitMessage } from './message.ts'
import { fetchListings, fetchTrades } from './rest.ts'

/** The venue answers a ping at any time, and ends a connection on which nothing was sent for ten minutes. */
const SILENCE_MILLISECONDS = 5_000
const KEEP_ALIVE = { text: '{"op":"ping"}', milliseconds: 2_000 }

/** No limit is documented for requests on a connection. */
const REQUEST_RATE = { burst: 10, perSecond: 10 }

/** The venue accepts 50 GET requests per second from an address. */
const HTTP_RATE = { burst: 10, perSecond: 10 }

/**
 * Levels per side in the spot topics, with a message every 20, 200 and 200 ms. The topic with one level sends snapshots
 * only, whose update ids may repeat, so nothing would chain them.
 */
const DEPTHS = [50, 200, 1000]

/** The venue accepts this many topics per request for spot pairs. */
const TOPICS_PER_REQUEST = 10
/**
 * The update ids prove the message sequence complete. Whether messages name each level that enters or leaves the depth
 * is not documented, so a book is compared with a new snapshot at this interval.
 */
const RECONCILE_MILLISECONDS = 300_000

function createBybitProtocol({ restUrl }: Pick<VenueAddresses, 'restUrl'>): VenueProtocol<BybitBookData> {
  const unanswered = new VenueRequests()
  let lastId = 0
  return {
    silenceMilliseconds: SILENCE_MILLISECONDS,
    keepAlive: KEEP_ALIVE,
    requestRate: REQUEST_RATE,
    httpRate: HTTP_RATE,
    reconcileMilliseconds: RECONCILE_MILLISECONDS,
    depths: DEPTHS,
    hasUnnumberedTrades: true,
    listings: { fetch: (_symbols, signal) => fetchListings(restUrl, signal) },
    fetchTrades: (symbol, _gap, signal) => fetchTrades(restUrl, symbol, signal),
    requests(action, channel, symbols, depth) {
      const topic = channel === 'book' ? `orderbook.${depth}` : 'publicTrade'
      const requests: object[] = []
      for (let begin = 0; begin < symbols.length; begin += TOPICS_PER_REQUEST) {
        const some = symbols.slice(begin, begin + TOPICS_PER_REQUEST)
        const req_id = String(++lastId)
        unanswered.add(req_id, { action, channel, symbols: some })
        requests.push({ req_id, op: action, args: some.map((symbol) => `${topic}.${symbol}`) })
      }
      return requests
    },
    read: (text) => readBybitMessage(text, (id) => unanswered.take(id)),
    createBook: (options) => new BybitBook(options),
  }
}

export const BYBIT = {
  symbolPattern: /^[A-Z0-9]{1,40}$/,
  symbolExample: 'BTCUSDT',
  proof: 'SEQUENCE',
  // https://bybit-exchange.github.io/docs/v5/ws/connect and https://bybit-exchange.github.io/docs/v5/guide, read 2026-11-23
  exchanges: [
    { name: 'Bybit', url: 'wss://stream.bybit.com/v5/public/spot', restUrl: 'https://api.bybit.com' },
    {
      name: 'Bybit Turkey',
      url: 'wss://stream.bybit-tr.com/v5/public/spot',
      restUrl: 'https://api.bybit-tr.com',
    },
    { name: 'Bybit Kazakhstan', url: 'wss://stream.bybit.kz/v5/public/spot', restUrl: 'https://api.bybit.kz' },
  ],
  createProtocol: createBybitProtocol,
} satisfies VenueDefinition<BybitBookData>

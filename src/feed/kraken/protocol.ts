/**
 * The protocol of Kraken's WebSocket API v2 (https://docs.kraken.com/exchange/api-reference/spot-websocket-v2): its
 * requests and limits. Frames are parsed by `message`, books are kept by `book`, missed trades are fetched by `rest`.
 * It holds no state.
 */
import type { VenueAddresses, VenueDefinition, VenueProtocol } from '../venue.ts'
import { KrakenBook } from './book.ts'
import { type KrakenBookData, readKrakenMessage, TRADES_REQUEST_ID } from './message.ts'
import { fetchTrades } from './rest.ts'

/** Kraken sends a heartbeat every second once anything is subscribed: three may be late. */
const SILENCE_MILLISECONDS = 4_000

/** Levels per side that can be subscribed. https://docs.kraken.com/exchange/api-reference/spot-websocket-v2/book */
const DEPTHS = [10, 25, 100, 500, 1000]

/**
 * Kraken accepts one public request per second from an address.
 * https://docs.kraken.com/api/docs/guides/spot-rest-ratelimits
 */
const HTTP_RATE = { burst: 1, perSecond: 1 }

/**
 * The checksum covers ten levels per side: a lost change beyond them is detected only by a new snapshot. Each costs two
 * requests and up to 60 KB (1,000 levels), so a thousand pairs cost 7 requests per second.
 */
const RECONCILE_MILLISECONDS = 300_000

function createKrakenProtocol({ restUrl }: Pick<VenueAddresses, 'restUrl'>): VenueProtocol<KrakenBookData> {
  return {
    silenceMilliseconds: SILENCE_MILLISECONDS,
    httpRate: HTTP_RATE,
    depths: DEPTHS,
    reconcileMilliseconds: RECONCILE_MILLISECONDS,
    fetchTrades: (symbol, gap, signal) => fetchTrades(restUrl, symbol, gap, signal),
    listings: { requests: () => [{ method: 'subscribe', params: { channel: 'instrument', snapshot: true } }] },
    requests(action, channel, symbols, depth) {
      // The snapshot of the trades contains the last 50, which fill a short gap without a request.
      const snapshot = action === 'subscribe' ? { snapshot: true } : {}
      return channel === 'book'
        ? [{ method: action, params: { channel, symbol: symbols, depth, ...snapshot } }]
        : [{ method: action, params: { channel: 'trade', symbol: symbols, ...snapshot }, req_id: TRADES_REQUEST_ID }]
    },
    read: readKrakenMessage,
    createBook: (options) => new KrakenBook(options),
  }
}

export const KRAKEN = {
  symbolPattern: /^[A-Za-z0-9.]{1,20}\/[A-Za-z0-9.]{1,20}$/,
  symbolExample: 'BTC/USD',
  exchanges: [{ name: 'Kraken', url: 'wss://ws.kraken.com/v2', restUrl: 'https://api.kraken.com' }],
  createProtocol: createKrakenProtocol,
} satisfies VenueDefinition<KrakenBookData>

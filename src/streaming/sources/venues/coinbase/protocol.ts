/**
 * The Coinbase Advanced Trade protocol
 * (https://docs.cdp.coinbase.com/coinbase-app/advanced-trade-apis/websocket/websocket-overview, read 2026-11-22), over
 * channels without a login: `level2` (the whole book), `market_trades` (numbered without gaps) and `heartbeats`. All
 * frames share one number sequence. Listings and missed trades are fetched by HTTP.
 *
 * Written from the venue's documentation and from third-party recordings. It has not been tested against the venue.
 */
import type { VenueAddresses, VenueDefinition, VenueProtocol } from '../venue.ts'
import { CoinbaseBook, type CoinbaseBookData } from './book.ts'
import { COINBASE_BOOKS_MAX, Conversation } from './conversation.ts'
import { fetchListings, fetchTrades } from './rest.ts'

/** A heartbeat arrives every second: three may be late. */
const SILENCE_MILLISECONDS = 4_000
/**
 * The venue accepts 8 unauthenticated messages per second from one address, so we never send more within one second.
 * https://docs.cdp.coinbase.com/coinbase-app/advanced-trade-apis/websocket/websocket-rate-limits
 */
const REQUEST_RATE = { burst: 4, perSecond: 4 }

/**
 * The venue accepts 10 public requests per second from one address.
 * https://docs.cdp.coinbase.com/coinbase-app/advanced-trade-apis/rest-api-rate-limits
 */
const HTTP_RATE = { burst: 5, perSecond: 5 }

/** One protocol per source or lookup, because it keeps the current connection's state. */
function createCoinbaseProtocol({ restUrl }: Pick<VenueAddresses, 'restUrl'>): VenueProtocol<CoinbaseBookData> {
  const conversation = new Conversation()
  return {
    silenceMilliseconds: SILENCE_MILLISECONDS,
    requestRate: REQUEST_RATE,
    httpRate: HTTP_RATE,
    depths: [Infinity],
    open: () => conversation.begin(),
    listings: {
      async fetch(symbols, signal) {
        const fetched = await fetchListings(restUrl, symbols, signal)
        if ('value' in fetched) conversation.noteListings(fetched.value)
        return fetched
      },
    },
    fetchTrades: (symbol, gap, signal) => fetchTrades(restUrl, symbol, gap, signal),
    requests: (action, channel, symbols) => conversation.requests(action, channel, symbols),
    read: (text) => conversation.read(text),
    createBook: (options) => new CoinbaseBook(options),
  }
}

export const COINBASE = {
  symbolPattern: /^[A-Z0-9]{1,20}-[A-Z0-9]{1,20}$/,
  symbolExample: 'BTC-USD',
  proof: 'SEQUENCE',
  exchanges: [
    {
      name: 'Coinbase Advanced Trade',
      url: 'wss://advanced-trade-ws.coinbase.com',
      restUrl: 'https://api.coinbase.com',
    },
  ],
  booksMax: COINBASE_BOOKS_MAX,
  createProtocol: createCoinbaseProtocol,
} satisfies VenueDefinition<CoinbaseBookData>

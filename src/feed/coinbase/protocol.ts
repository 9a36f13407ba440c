/**
 * Coinbase Exchange (https://docs.cdp.coinbase.com/exchange/websocket-feed/overview) as the shared machinery asks for
 * it, over channels that need no login: `level2_batch` (the whole book, its changes every 50 ms), `matches` (numbered
 * without gaps; it may leave some out, which the next match or a `heartbeat` proves), and `status`.
 */
import type { VenueProtocol } from '../venue.ts'
import { CoinbaseBook, type CoinbaseBookData } from './book.ts'
import { Conversation } from './conversation.ts'

/** Each product that is subscribed has a heartbeat a second; `status` comes every few seconds. */
const SILENCE_MILLISECONDS = 5_000
/**
 * The venue takes 10 requests a second after a burst (documented as 1000, and as 100 in any second).
 * https://docs.cdp.coinbase.com/exchange/websocket-feed/rate-limits
 */
const REQUEST_RATE = { burst: 90, perSecond: 10 }
/**
 * A request with one product that the venue does not take is refused whole, so products are asked for one by one as
 * long as those for books and for trades fit into the burst together; more products than that go in equal parts.
 */
const REQUESTS_MAX = 40

/** A protocol of its own for each source or lookup: it remembers what was said on the present connection. */
export function createCoinbaseProtocol(): VenueProtocol<CoinbaseBookData> {
  const conversation = new Conversation()
  return {
    silenceMilliseconds: SILENCE_MILLISECONDS,
    requestRate: REQUEST_RATE,
    depths: [Infinity],
    listings: {
      requests() {
        conversation.begin()
        return [{ type: 'subscribe', channels: [{ name: 'status' }] }]
      },
    },
    requests(action, channel, symbols) {
      if (channel === 'trades') conversation.noteRequest(action, symbols)
      const names = channel === 'book' ? ['level2_batch'] : ['matches', 'heartbeat']
      return inParts(symbols, REQUESTS_MAX).map((part) => ({
        type: action,
        channels: names.map((name) => ({ name, product_ids: part })),
      }))
    },
    read: (text) => conversation.read(text),
    createBook: (options) => new CoinbaseBook(options),
  }
}

/** At most `partsMax` parts of (nearly) equal size. */
function inParts(symbols: readonly string[], partsMax: number): (readonly string[])[] {
  const size = Math.ceil(symbols.length / partsMax)
  const parts: (readonly string[])[] = []
  for (let begin = 0; begin < symbols.length; begin += size) parts.push(symbols.slice(begin, begin + size))
  return parts
}

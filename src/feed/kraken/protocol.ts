/**
 * Kraken's WebSocket API v2 (https://docs.kraken.com/exchange/api-reference/spot-websocket-v2) as the shared machinery
 * asks for it: what is sent, and how long silence lasts. What comes back is read by `message`, a book is followed by
 * `book`. It holds no state.
 */
import type { VenueProtocol } from '../venue.ts'
import { KrakenBook } from './book.ts'
import { type KrakenBookData, readKrakenMessage, TRADES_REQUEST_ID } from './message.ts'

/** Kraken sends a heartbeat every second once anything is subscribed: three may be late. */
const SILENCE_MILLISECONDS = 4_000

/** Levels a side that can be subscribed. https://docs.kraken.com/exchange/api-reference/spot-websocket-v2/book */
const DEPTHS = [10, 25, 100, 500, 1000]

export function createKrakenProtocol(): VenueProtocol<KrakenBookData> {
  return {
    silenceMilliseconds: SILENCE_MILLISECONDS,
    depths: DEPTHS,
    listings: { requests: () => [{ method: 'subscribe', params: { channel: 'instrument', snapshot: true } }] },
    requests(action, channel, symbols, depth) {
      // The snapshot of the trades is the last 50 of them, which fill what was missed while there was no connection.
      const snapshot = action === 'subscribe' ? { snapshot: true } : {}
      return channel === 'book'
        ? [{ method: action, params: { channel, symbol: symbols, depth, ...snapshot } }]
        : [{ method: action, params: { channel: 'trade', symbol: symbols, ...snapshot }, req_id: TRADES_REQUEST_ID }]
    },
    read: readKrakenMessage,
    createBook: (options) => new KrakenBook(options),
  }
}

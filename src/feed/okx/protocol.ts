/**
 * OKX's public WebSocket API v5 (https://www.okx.com/docs-v5/en/#overview-websocket) as the shared machinery asks for
 * it: what is sent, and how long silence lasts. What comes back is read by `message`, a book is followed by `book`, what
 * is fetched comes from `rest`. It is for spot pairs: futures, swaps and options are not listed. It holds no state.
 */
import type { VenueAddresses, VenueDefinition, VenueProtocol } from '../venue.ts'
import { OkxBook } from './book.ts'
import { type OkxBookData, readOkxMessage } from './message.ts'
import { fetchListings, fetchSnapshot, fetchTrades } from './rest.ts'

/**
 * OKX ends a connection that heard nothing for 30 s, and answers `ping` at any time. Asked after two seconds of silence,
 * a venue that lives has answered long before the connection counts as dead.
 * https://www.okx.com/docs-v5/en/#overview-websocket-connect
 */
const SILENCE_MILLISECONDS = 5_000
const PING_MILLISECONDS = 2_000

/**
 * Levels a side of the channel `books`. The channels with fewer are for customers of a fee tier (50), or have no
 * sequence ids that chain their messages (5, 1).
 */
const DEPTHS = [400]

/**
 * Bytes of the arguments of one request: OKX takes 64 KB, and 480 requests an hour, so one request names as many pairs
 * as fit. https://www.okx.com/docs-v5/en/#overview-websocket-subscribe
 */
const ARGUMENTS_BYTES_MAX = 60_000

/**
 * A channel sends its snapshot within a second. OKX has announced that it will stop sending it; then the book is fetched.
 * https://www.okx.com/docs-v5/log_en/#upcoming-changes, of 2026-02-12, read on 2026-11-22
 */
const SNAPSHOT_WAIT_MILLISECONDS = 3_000

/**
 * The venue takes 20 requests of trades in 2 s from an address, and 40 of books.
 * https://www.okx.com/docs-v5/en/#order-book-trading-market-data-get-trades-history
 */
const HTTP_RATE = { burst: 8, perSecond: 8 }

function createOkxProtocol({ restUrl }: Pick<VenueAddresses, 'restUrl'>): VenueProtocol<OkxBookData> {
  return {
    silenceMilliseconds: SILENCE_MILLISECONDS,
    keepAlive: { text: 'ping', milliseconds: PING_MILLISECONDS },
    httpRate: HTTP_RATE,
    depths: DEPTHS,
    fetchTrades: (symbol, gap, signal) => fetchTrades(restUrl, symbol, gap, signal),
    listings: {
      requests: () => [
        { op: 'subscribe', args: [{ channel: 'instruments', instType: 'SPOT' }, { channel: 'status' }] },
      ],
      isFirstComplete: true,
      fetchInstead: (signal) => fetchListings(restUrl, signal),
    },
    snapshotWaitMilliseconds: SNAPSHOT_WAIT_MILLISECONDS,
    fetchSnapshot: (symbol, _depth, signal) => fetchSnapshot(restUrl, symbol, signal),
    repeatsLastTrade: true,
    requests: (action, channel, symbols) => batches(action, channel === 'book' ? 'books' : 'trades', symbols),
    read: readOkxMessage,
    createBook: (options) => new OkxBook(options),
  }
}

function batches(op: string, channel: string, symbols: readonly string[]): object[] {
  const requests: object[] = []
  let args: object[] = []
  let bytes = 0
  for (const instId of symbols) {
    const argument = { channel, instId }
    const argumentBytes = Buffer.byteLength(JSON.stringify(argument)) + 1
    if (bytes + argumentBytes > ARGUMENTS_BYTES_MAX) {
      requests.push({ op, args })
      args = []
      bytes = 0
    }
    args.push(argument)
    bytes += argumentBytes
  }
  if (args.length > 0) requests.push({ op, args })
  return requests
}

export const OKX = {
  symbolPattern: /^[A-Z0-9]{1,20}-[A-Z0-9]{1,20}$/,
  symbolExample: 'BTC-USDT',
  // https://www.okx.com/docs-v5/en/#overview-production-trading-services, read 2026-11-22
  exchanges: [
    { name: 'OKX', url: 'wss://ws.okx.com:8443/ws/v5/public', restUrl: 'https://www.okx.com' },
    {
      name: 'OKX, European Economic Area',
      url: 'wss://wseea.okx.com:8443/ws/v5/public',
      restUrl: 'https://eea.okx.com',
    },
    { name: 'OKX, United States', url: 'wss://wsus.okx.com:8443/ws/v5/public', restUrl: 'https://us.okx.com' },
  ],
  createProtocol: createOkxProtocol,
} satisfies VenueDefinition<OkxBookData>

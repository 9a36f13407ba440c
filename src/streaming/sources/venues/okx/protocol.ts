/**
 * OKX's public WebSocket API v5 (https://www.okx.com/docs-v5/en/#overview-websocket) for spot pairs: requests and
 * limits. Futures, swaps and options are not listed. `message` parses frames, `book` keeps books, and `rest` requests
 * data that the channels do not send. This file holds no state.
 */
import type { VenueAddresses, VenueDefinition, VenueProtocol } from '../venue.ts'
import { OkxBook } from './book.ts'
import { type OkxBookData, readOkxMessage } from './message.ts'
import { fetchListings, fetchSnapshot, fetchTrades } from './rest.ts'

/**
 * OKX closes a connection on which it received nothing for 30 s, and answers `ping` at any time. A ping is sent after
 * two seconds of silence, and a working venue answers it long before the connection is closed here.
 * https://www.okx.com/docs-v5/en/#overview-websocket-connect
 */
const SILENCE_MILLISECONDS = 5_000
const PING_MILLISECONDS = 2_000

/**
 * Levels per side in the `books` channel. The channels with fewer need a fee tier (50), or have no sequence ids to
 * chain their messages (5, 1).
 */
const DEPTHS = [400]

/**
 * Argument bytes per request. OKX accepts 64 KB, and 480 requests per hour, so one request names as many pairs as fit.
 * https://www.okx.com/docs-v5/en/#overview-websocket-subscribe
 */
const ARGUMENTS_BYTES_MAX = 60_000

/**
 * A channel sends its snapshot within a second. OKX has announced its removal; the book is then fetched.
 * https://www.okx.com/docs-v5/log_en/#upcoming-changes, 2026-02-12, read on 2026-11-22
 */
const SNAPSHOT_WAIT_MILLISECONDS = 3_000

/**
 * The venue accepts 20 requests for trades in 2 s from an address, and 40 for books.
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
  proof: 'SEQUENCE',
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

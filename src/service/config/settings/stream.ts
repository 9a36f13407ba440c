/** The stream's settings. */
import { choice, integer, optionalInteger, seconds, toggle, url } from '../setting-kinds.ts'

const DAY_SECONDS = 86_400

export const STREAM_SETTINGS = {
  'stream.port': optionalInteger({
    initial: '',
    min: 0,
    max: 65_535,
    meaning:
      'the stream’s own port at `http.host` (0 = any free port), where `/` of the public listener answers 503. Empty = that of the public listener',
  }),
  'stream.reuse_port': toggle({
    initial: false,
    meaning:
      'shares `stream.port` with other processes of this machine that set it too. Needs Node.js 22.12 and Linux or FreeBSD',
  }),
  'stream.public_url': url({
    initial: '',
    schemes: ['ws', 'wss'],
    optional: true,
    meaning:
      'customers’ address for the stream, where a proxy has a separate one. Empty = that of `stream.port`, or `http.public_url`',
  }),
  'stream.follow': choice({
    initial: 'all',
    values: ['all', 'wanted'],
    live: true,
    meaning:
      'markets that this process follows over `bus.url`: `all`, or those `wanted` by a subscriber, request or conversion within the last 60 s. A feed also follows those that it may lead. Above 500 markets, the default is `wanted`',
  }),
  'stream.heartbeat_seconds': seconds({ initial: 1, min: 0.1, max: 3_600, meaning: 'time between heartbeats' }),
  'stream.ping_seconds': seconds({ initial: 15, min: 0.1, max: 3_600, meaning: 'time between protocol pings' }),
  'stream.silence_seconds': seconds({
    initial: 900,
    min: 0.2,
    max: DAY_SECONDS,
    meaning: 'a connection is closed after this time without a received byte',
  }),
  'stream.drain_seconds': seconds({
    initial: 5,
    min: 0,
    max: 3_600,
    live: true,
    meaning: 'time over which a shutdown spreads its connection closes',
  }),
  'stream.stale_seconds': seconds({
    initial: 10,
    min: 0,
    max: DAY_SECONDS,
    meaning: 'time without a live source after which a market’s `stream.stale_action` applies (0 = never)',
  }),
  'stream.stale_action': choice({
    initial: 'withdraw',
    values: ['withdraw', 'close', 'keep'],
    meaning:
      'effect on the book: `withdraw` removes every level with one UPDATE until a source is live again, `close` closes the market’s subscribers with 4002, `keep` keeps the last book',
  }),
  'stream.inbound_bytes_max': integer({
    initial: 65_536,
    min: 256,
    max: 16_777_216,
    meaning: 'largest client message. A larger one closes the connection with 1009',
  }),
  'stream.inbound_per_second': integer({
    initial: 50,
    min: 1,
    max: 100_000,
    meaning:
      'messages per second and connection, each counted as 1 plus 0.02 per entry. Above it, the socket is read more slowly',
  }),
  'stream.inbound_burst': integer({
    initial: 1_000,
    min: 1,
    max: 1_000_000,
    meaning: 'largest message burst, counted in the same way',
  }),
  'stream.subscriptions_max': integer({
    initial: 1_000,
    min: 1,
    max: 100_000,
    live: true,
    meaning: 'subscriptions per connection, and entries per message. A message above it is rejected as a whole',
  }),
  'stream.connections_per_client_max': integer({
    initial: 2_000,
    min: 1,
    max: 1_000_000,
    live: true,
    meaning: 'connections per client. Further ones get 429',
  }),
  'stream.connections_max': integer({
    initial: 50_000,
    min: 1,
    max: 1_000_000,
    live: true,
    meaning:
      'connections to this node. Further ones get 503. The last tenth is for clients without a connection, unless one client may have more than a quarter',
  }),
  'stream.outbox_bytes_max': integer({
    initial: 262_144,
    min: 4_096,
    max: 67_108_864,
    meaning:
      'high-water mark: with more unsent bytes, a connection’s subscriptions are lagging and receive conflated updates',
  }),
  'stream.write_interval_ms': integer({
    initial: 0,
    min: 0,
    max: 1_000,
    meaning:
      'milliseconds for which a connection’s data is gathered into one write. 0 = until the event-loop tick’s end',
  }),
  'stream.executions_kept': integer({
    initial: 10_000,
    min: 1,
    max: 10_000_000,
    meaning: 'executions kept per market for lagging subscribers',
  }),
  'stream.token_expiry': choice({
    initial: 'keep',
    values: ['keep', 'close'],
    meaning: 'keeps or closes (with 4001) a connection whose token expires',
  }),
} as const

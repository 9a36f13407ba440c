/** The stream's settings. */
import { choice, integer, seconds, url } from '../setting-kinds.ts'

const DAY_SECONDS = 86_400

export const STREAM_SETTINGS = {
  'stream.public_url': url({
    initial: '',
    schemes: ['ws', 'wss'],
    optional: true,
    meaning:
      'address of the stream that customers use, where a proxy has another one for it; empty = `http.public_url`',
  }),
  'stream.heartbeat_seconds': seconds({ initial: 1, min: 0.1, max: 3_600, meaning: 'time between heartbeats' }),
  'stream.ping_seconds': seconds({ initial: 15, min: 0.1, max: 3_600, meaning: 'time between protocol pings' }),
  'stream.silence_seconds': seconds({
    initial: 900,
    min: 0.2,
    max: DAY_SECONDS,
    meaning: 'time without any byte received after which a connection is closed',
  }),
  'stream.drain_seconds': seconds({
    initial: 5,
    min: 0,
    max: 3_600,
    live: true,
    meaning: 'time over which a shutdown spreads the closing of connections',
  }),
  'stream.stale_seconds': seconds({
    initial: 10,
    min: 0,
    max: DAY_SECONDS,
    meaning: 'time without a live source of a market after which `stream.stale_action` applies; 0 = never',
  }),
  'stream.stale_action': choice({
    initial: 'withdraw',
    values: ['withdraw', 'close', 'keep'],
    meaning:
      'what then happens to the book: `withdraw` removes every level with one UPDATE until a source is live again; `close` closes the subscribers of the market with 4002; `keep` keeps the last book',
  }),
  'stream.inbound_bytes_max': integer({
    initial: 65_536,
    min: 256,
    max: 16_777_216,
    meaning: 'largest message of a client; a larger one closes the connection with 1009',
  }),
  'stream.inbound_per_second': integer({
    initial: 50,
    min: 1,
    max: 100_000,
    meaning:
      'messages per second and connection, each counted as 1 plus 0.02 for every entry in it; above it the socket is read more slowly',
  }),
  'stream.inbound_burst': integer({
    initial: 1_000,
    min: 1,
    max: 1_000_000,
    meaning: 'messages, counted in the same way, that may arrive in a burst',
  }),
  'stream.subscriptions_max': integer({
    initial: 1_000,
    min: 1,
    max: 100_000,
    live: true,
    meaning:
      'subscriptions of one connection, and entries of one message; a message that exceeds it is rejected as a whole',
  }),
  'stream.connections_per_client_max': integer({
    initial: 2_000,
    min: 1,
    max: 1_000_000,
    live: true,
    meaning: 'connections of one client; more are answered with 429',
  }),
  'stream.connections_max': integer({
    initial: 50_000,
    min: 1,
    max: 1_000_000,
    live: true,
    meaning:
      'connections of this node; more are answered with 503. The last tenth is for clients without a connection, unless one client may have more than a quarter',
  }),
  'stream.outbox_bytes_max': integer({
    initial: 262_144,
    min: 4_096,
    max: 67_108_864,
    meaning:
      'high-water mark: unsent bytes of a connection above which its subscriptions are lagging and receive conflated updates',
  }),
  'stream.executions_kept': integer({
    initial: 10_000,
    min: 1,
    max: 10_000_000,
    meaning: 'executions per market that are kept for lagging subscribers',
  }),
  'stream.token_expiry': choice({
    initial: 'keep',
    values: ['keep', 'close'],
    meaning: 'whether an expired token closes a connection (with 4001)',
  }),
} as const

/**
 * The one table of configuration keys. Validation, flags, help, `check-config` and the reference page are made from
 * it; a key that nothing reads has no place here. Limits are counted per node.
 */
import { MARKETS_DEFAULT, markets } from './markets-config.ts'
import { choice, integer, type Setting, seconds, text, url } from './setting-kinds.ts'

const HOST = /^[A-Za-z0-9._:-]{1,253}$/
const PORT_MAX = 65_535
const DAY_SECONDS = 86_400

export const SETTINGS = {
  'http.host': text({
    initial: '127.0.0.1',
    meaning: 'address that the public listener (token endpoint and stream) binds to',
    accepts: 'a host name or IP address',
    pattern: HOST,
  }),
  'http.port': integer({ initial: 8080, min: 0, max: PORT_MAX, meaning: 'its port; 0 = any free one' }),
  'http.public_url': url({
    initial: '',
    schemes: ['http', 'https'],
    optional: true,
    meaning: 'address that customers use, when a proxy stands in front; empty = the listener',
  }),
  'http.header_bytes_max': integer({
    initial: 524_288,
    min: 8_192,
    max: 16_777_216,
    meaning: 'largest head of a request; more is answered with 431',
  }),
  'http.drain_delay_seconds': seconds({
    initial: 0,
    min: 0,
    max: 3_600,
    meaning: 'time between not being ready and closing the listener, for balancers to notice',
  }),
  'operator.host': text({
    initial: '127.0.0.1',
    meaning: 'address that the operator listener (operator API, /metrics, /livez, /readyz) binds to',
    accepts: 'a host name or IP address',
    pattern: HOST,
  }),
  'operator.port': integer({ initial: 8081, min: 0, max: PORT_MAX, meaning: 'its port; 0 = any free one' }),
  'operator.token': text({
    initial: '',
    meaning: 'bearer token of the operator API; empty = random, kept in DATA/operator-token',
    accepts: 'printable text without blanks, at most 512 characters',
    pattern: /^[\x21-\x7e]{0,512}$/,
    secret: true,
  }),
  data_dir: text({
    initial: './data',
    meaning: 'folder of the embedded store, the operator token and the lock',
    accepts: 'a path',
    pattern: /^[^\0]{1,4096}$/,
  }),
  markets: markets({ initial: MARKETS_DEFAULT, meaning: 'the markets of this service, with the source of each' }),
  'feeds.kraken.url': url({
    initial: 'wss://ws.kraken.com/v2',
    schemes: ['wss', 'ws'],
    meaning: 'where sources named kraken:SYMBOL connect',
  }),
  'simulator.seed': integer({ initial: 1, min: 0, max: 4_294_967_295, meaning: 'same seed, same orders' }),
  'simulator.rate': integer({ initial: 40, min: 1, max: 10_000, meaning: 'mean book updates a second and market' }),
  'auth.token_seconds': integer({ initial: 3_600, min: 1, max: DAY_SECONDS, meaning: 'lifetime of an access token' }),
  'stream.heartbeat_seconds': seconds({ initial: 1, min: 0.1, max: 3_600, meaning: 'time between heartbeats' }),
  'stream.ping_seconds': seconds({ initial: 15, min: 0.1, max: 3_600, meaning: 'time between protocol pings' }),
  'stream.silence_seconds': seconds({
    initial: 900,
    min: 0.2,
    max: DAY_SECONDS,
    meaning: 'a connection on which nothing at all arrived for so long is dropped',
  }),
  'stream.drain_seconds': seconds({
    initial: 5,
    min: 0,
    max: 3_600,
    meaning: 'time over which a shutdown spreads the closing of connections',
  }),
  'stream.stale_seconds': seconds({
    initial: 0,
    min: 0,
    max: DAY_SECONDS,
    meaning: 'subscribers of a market whose source is lost for so long are closed with 4002; 0 = never',
  }),
  'stream.inbound_bytes_max': integer({
    initial: 65_536,
    min: 256,
    max: 16_777_216,
    meaning: 'largest message a client may send; more closes with 1009',
  }),
  'stream.inbound_per_second': integer({
    initial: 50,
    min: 1,
    max: 100_000,
    meaning: 'requests a second and connection; above it the socket is read more slowly',
  }),
  'stream.inbound_burst': integer({
    initial: 1_000,
    min: 1,
    max: 1_000_000,
    meaning: 'requests that may arrive at once before that',
  }),
  'stream.subscriptions_max': integer({
    initial: 1_000,
    min: 1,
    max: 100_000,
    meaning: 'subscriptions of one connection',
  }),
  'stream.connections_per_client_max': integer({
    initial: 2_000,
    min: 1,
    max: 1_000_000,
    meaning: 'connections of one client; more are answered with 429',
  }),
  'stream.connections_max': integer({
    initial: 50_000,
    min: 1,
    max: 1_000_000,
    meaning: 'connections of this node; more are answered with 503',
  }),
  'stream.outbox_bytes_max': integer({
    initial: 262_144,
    min: 4_096,
    max: 67_108_864,
    meaning: 'bytes waiting in a connection above which it counts as behind and gets merged updates',
  }),
  'stream.executions_kept': integer({
    initial: 10_000,
    min: 1,
    max: 10_000_000,
    meaning: 'executions a market that are kept for connections that are behind',
  }),
  'stream.token_expiry': choice({
    initial: 'keep',
    values: ['keep', 'close'],
    meaning: 'whether an expired token ends a connection (with 4001)',
  }),
  'log.level': choice({
    initial: 'info',
    values: ['debug', 'info', 'warn', 'error', 'silent'],
    meaning: 'least severe log lines that are written',
  }),
} as const

export type SettingKey = keyof typeof SETTINGS

type ValueOf<Row> = Row extends Setting<infer Value> ? Value : never

/** Every key with its effective value. */
export type Config = { readonly [Key in SettingKey]: ValueOf<(typeof SETTINGS)[Key]> }

export const SETTING_KEYS = Object.keys(SETTINGS) as readonly SettingKey[]

interface Relation {
  readonly key: SettingKey
  readonly other: SettingKey
  readonly rule: string
  holds(config: Config): boolean
}

/** What must hold between keys; a broken row is reported at its `key`. */
export const RELATIONS: readonly Relation[] = [
  {
    key: 'stream.ping_seconds',
    other: 'stream.silence_seconds',
    rule: 'must be less than stream.silence_seconds: an idle client answers pings and sends nothing else',
    holds: (config) => config['stream.ping_seconds'] < config['stream.silence_seconds'],
  },
  {
    key: 'stream.inbound_burst',
    other: 'stream.inbound_per_second',
    rule: 'must not be less than stream.inbound_per_second: a burst holds at least one second',
    holds: (config) => config['stream.inbound_burst'] >= config['stream.inbound_per_second'],
  },
  {
    key: 'stream.connections_per_client_max',
    other: 'stream.connections_max',
    rule: 'must not be more than stream.connections_max',
    holds: (config) => config['stream.connections_per_client_max'] <= config['stream.connections_max'],
  },
  {
    key: 'operator.port',
    other: 'http.port',
    rule: 'must differ from http.port: the operator API is never on the public listener',
    holds: (config) => config['operator.port'] === 0 || config['operator.port'] !== config['http.port'],
  },
]

/**
 * The one table of configuration keys. Validation, flags, help, `check-config` and the reference page are made from
 * it; a key that nothing reads has no place here. Limits are counted per node.
 */
import { TOKEN_SECONDS_MAX } from '../auth/access-token.ts'
import { isProxyRange } from '../http/client-address.ts'
import { ASSETS_DEFAULT, assets, isAssetSymbol } from './assets-config.ts'
import { accountKey } from './custody-config.ts'
import { MARKETS_DEFAULT, markets } from './markets-config.ts'
import {
  choice,
  databaseUrl,
  factor,
  integer,
  list,
  type Setting,
  seconds,
  text,
  toggle,
  url,
} from './setting-kinds.ts'

const HOST = /^[A-Za-z0-9._:-]{1,253}$/
const PATH = /^[^\0]{0,4096}$/
const CLAIM = /^[\x21-\x7e]{1,200}$/
const CLAIM_WORDS = 'the name of a claim, or the path to it with dots'
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
  'http.tls.cert_file': text({
    initial: '',
    meaning: 'PEM file with the certificate of the public listener and its chain; empty = no TLS there',
    accepts: 'a path',
    pattern: PATH,
  }),
  'http.tls.key_file': text({
    initial: '',
    meaning: 'PEM file with the private key of that certificate, without a passphrase',
    accepts: 'a path',
    pattern: PATH,
  }),
  'http.trusted_proxies': list({
    meaning: 'proxies whose `X-Forwarded-For` is believed; empty = nobody’s',
    accepts: 'addresses, CIDR ranges, `loopback`, `linklocal`, `uniquelocal`',
    fits: isProxyRange,
  }),
  'http.cors_origins': list({
    meaning: 'browser origins that may call the token endpoint and REST; empty = none',
    accepts: 'origins (`https://app.example.com`) or `*`',
    fits: isCorsOrigin,
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
    live: true,
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
  'store.url': databaseUrl({
    initial: '',
    meaning: 'PostgreSQL 15 or newer, with connections of its own (it listens); empty = the embedded store',
  }),
  'store.connections_max': integer({
    initial: 10,
    min: 1,
    max: 1_000,
    meaning: 'connections to PostgreSQL for statements; one more listens',
  }),
  markets: markets({
    initial: MARKETS_DEFAULT,
    live: true,
    meaning: 'the markets of this service, with the sources of each',
  }),
  assets: assets({
    initial: ASSETS_DEFAULT,
    live: true,
    meaning: 'what can be deposited, converted and delivered, and the networks that carry it; none = money at a bank',
  }),
  'conversion.par_assets': list({
    initial: ['USD', 'USDC', 'USDG', 'PYUSD', 'USDP'],
    live: true,
    meaning: 'assets that are converted into each other one to one',
    accepts: 'symbols of assets',
    fits: isAssetSymbol,
  }),
  'feeds.kraken.url': url({
    initial: 'wss://ws.kraken.com/v2',
    schemes: ['wss', 'ws'],
    meaning: 'where sources named kraken:SYMBOL connect',
  }),
  'feeds.okx.url': url({
    initial: 'wss://ws.okx.com:8443/ws/v5/public',
    schemes: ['wss', 'ws'],
    meaning: 'where sources named okx:SYMBOL connect',
  }),
  'feeds.binance.url': url({
    initial: 'wss://stream.binance.com:9443/stream',
    schemes: ['wss', 'ws'],
    meaning: 'where sources named binance:SYMBOL connect, to the combined streams',
  }),
  'feeds.binance.rest_url': url({
    initial: 'https://api.binance.com',
    schemes: ['https', 'http'],
    meaning: 'where they fetch lists of pairs and the beginnings of books',
  }),
  'feeds.coinbase.url': url({
    initial: 'wss://ws-feed.exchange.coinbase.com',
    schemes: ['wss', 'ws'],
    meaning: 'where sources named coinbase:SYMBOL connect',
  }),
  'simulator.seed': integer({ initial: 1, min: 0, max: 4_294_967_295, meaning: 'same seed, same orders' }),
  'simulator.rate': integer({ initial: 40, min: 1, max: 10_000, meaning: 'mean book updates a second and market' }),
  'replay.speed': factor({
    initial: 1,
    min: 0.001,
    max: 1_000_000,
    meaning: 'how many times as fast as they were recorded the files of sources named replay:FILE are played',
  }),
  'replay.from_seconds': seconds({
    initial: 0,
    min: 0,
    max: 999_999_999,
    meaning: 'where in a recording to begin, counted from its first entry',
  }),
  'replay.loop': toggle({ initial: false, meaning: 'whether a recording that has ended starts over' }),
  'auth.token_seconds': integer({
    initial: 3_600,
    min: 1,
    max: TOKEN_SECONDS_MAX,
    meaning: 'lifetime of an access token',
  }),
  'auth.signing_key_days': integer({
    initial: 90,
    min: 1,
    max: 3_650,
    meaning: 'how long a key signs tokens before the next one takes over',
  }),
  'auth.token_rate_per_second': integer({
    initial: 50,
    min: 1,
    max: 100_000,
    meaning: 'token requests a second and source address (burst: four times that); more are answered with 429',
  }),
  'auth.issuer': text({
    initial: '',
    meaning: 'outside issuer (`iss`) whose tokens are trusted instead of our own; empty = tokens are issued here',
    accepts: 'an issuer, as its tokens name it',
    pattern: /^[\x21-\x7e]{0,2048}$/,
  }),
  'auth.jwks_url': text({
    initial: '',
    meaning: 'where the outside issuer publishes its keys (JWK Set)',
    accepts: 'an https address; http on a loopback address only',
    pattern: /^$|^https:\/\/[\x21-\x7e]{1,2048}$|^http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/][\x21-\x7e]{0,2048}$/,
  }),
  'auth.audience': text({
    initial: '',
    meaning: 'audience (`aud`) that tokens of the outside issuer must name',
    accepts: 'an audience, as its tokens name it',
    pattern: /^[\x21-\x7e]{0,2048}$/,
  }),
  'auth.claims.client': text({
    initial: 'client_id',
    meaning: 'claim of an outside token that names the client; one of ours with that name limits its scopes',
    accepts: CLAIM_WORDS,
    pattern: CLAIM,
  }),
  'auth.claims.customer': text({
    initial: 'customer_id',
    meaning: 'claim that names the customer, by its id or its exact name',
    accepts: CLAIM_WORDS,
    pattern: CLAIM,
  }),
  'auth.claims.scope': text({
    initial: 'scope',
    meaning: 'claim that holds the scopes, as text with blanks or as a list',
    accepts: CLAIM_WORDS,
    pattern: CLAIM,
  }),
  'rest.rate_per_second': integer({
    initial: 50,
    min: 1,
    max: 100_000,
    meaning: 'requests a second, client and operation (burst: twice that); more are answered with 429',
  }),
  'rest.rules_field': toggle({
    initial: true,
    live: true,
    meaning: 'whether a list of rules has the deprecated member `rules` beside `items`',
  }),
  'rules.approval': choice({
    initial: 'auto',
    values: ['auto', 'required'],
    live: true,
    meaning: 'whether a new rule is ACTIVE at once, or PENDING until the operator has approved it',
  }),
  'custody.bitcoin.xpub': accountKey('bitcoin', 'public key that addresses of BITCOIN are derived from'),
  'custody.bitcoin_cash.xpub': accountKey('bitcoin_cash', 'public key that addresses of BITCOIN_CASH are derived from'),
  'custody.litecoin.xpub': accountKey('litecoin', 'public key that addresses of LITECOIN are derived from'),
  'custody.dogecoin.xpub': accountKey('dogecoin', 'public key that addresses of DOGECOIN are derived from'),
  'custody.evm.xpub': accountKey(
    'evm',
    'public key that addresses of ETHEREUM, POLYGON_POS, BASE, ARBITRUM_ONE, AVALANCHE and BNB are derived from',
  ),
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
    live: true,
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
    live: true,
    meaning: 'subscriptions of one connection',
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
    live: true,
    meaning: 'least severe log lines that are written',
  }),
} as const

export type SettingKey = keyof typeof SETTINGS

type ValueOf<Row> = Row extends Setting<infer Value> ? Value : never

/** Every key with its effective value. */
export type Config = { readonly [Key in SettingKey]: ValueOf<(typeof SETTINGS)[Key]> }

export const SETTING_KEYS = Object.keys(SETTINGS) as readonly SettingKey[]

/** Whether a new value of the key is taken over while the service runs. */
export function isLive(key: SettingKey): boolean {
  return (SETTINGS[key] as Setting<unknown>).live === true
}

interface Relation {
  readonly key: SettingKey
  readonly other: SettingKey
  readonly rule: string
  holds(config: Config): boolean
}

/** What must hold between keys; a broken row is reported at its `key`. */
export const RELATIONS: readonly Relation[] = [
  {
    key: 'auth.jwks_url',
    other: 'auth.issuer',
    rule: 'must be set exactly when auth.issuer is: its tokens are checked with these keys',
    holds: (config) => (config['auth.jwks_url'] === '') === (config['auth.issuer'] === ''),
  },
  {
    key: 'auth.audience',
    other: 'auth.issuer',
    rule: 'must be set exactly when auth.issuer is: its tokens for others are not for us',
    holds: (config) => (config['auth.audience'] === '') === (config['auth.issuer'] === ''),
  },
  {
    key: 'http.tls.cert_file',
    other: 'http.tls.key_file',
    rule: 'must be set together with http.tls.key_file: TLS takes a certificate and its key, plain HTTP neither',
    holds: (config) => (config['http.tls.cert_file'] === '') === (config['http.tls.key_file'] === ''),
  },
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

/** What a browser sends as `Origin`: scheme, host and port, nothing else. `*` stands for every origin. */
function isCorsOrigin(text: string): boolean {
  return text === '*' || (/^https?:[^*]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text)
}

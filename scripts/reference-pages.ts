/**
 * The generated pages in docs/reference, from the tables used by the code itself. `npm run docs` writes them, and a
 * test verifies that the committed ones are current.
 */
import { TOKEN_ERRORS } from '../src/access/clients/token-endpoint/token-errors.ts'
import { FIAT_NETWORKS } from '../src/contract/assets.ts'
import { CRYPTO_NETWORK_NAMES } from '../src/contract/crypto-networks.ts'
import { CLOSE_CODES, STREAM_ERRORS } from '../src/contract/stream-codes.ts'
import { PROBLEMS } from '../src/platform/http/problem.ts'
import { FEED_NAME_WORDS } from '../src/service/config/feeds.ts'
import { variableOf } from '../src/service/config/load.ts'
import { DEMO_DEFAULTS, MARKETS_MAX } from '../src/service/config/markets.ts'
import { RELATIONS } from '../src/service/config/relations.ts'
import type { Setting } from '../src/service/config/setting-kinds.ts'
import { SETTING_KEYS, SETTINGS } from '../src/service/config/settings.ts'
import { SOURCE_FORMS, SOURCES_MAX } from '../src/service/config/sources.ts'
import { VENUE_NAMES, VENUES } from '../src/streaming/sources/venues/venues.ts'
import { NOTICE, table } from './markdown.ts'

/** Every page's path from the root, and its text. */
export function referencePages(): [path: string, text: string][] {
  return [
    ['docs/reference/configuration.md', configurationPage()],
    ['docs/reference/errors.md', errorsPage()],
  ]
}

const UPSTREAM_MEMBERS = [
  ['`url`', 'address of its WebSocket, required. A secret over `ws://` to another machine causes a warning'],
  ['`token`, `token_file`', 'the token of the handshake, or the file that contains it, read for each connection'],
  [
    '`client_id`, with `client_secret` or `client_secret_file`',
    'instead of a token: a client of another Tidegate, with the scope and the allow-list entry of streaming. Each connection requests a new token',
  ],
  ['`auth_url`', 'where tokens are requested, without `/oauth2/token`; default: the origin of `url`, with https'],
]

const FEED_MEMBERS = [
  [
    '`kind`',
    `one of ${VENUE_NAMES.map((name) => `\`${name}\``).join(', ')}; a feed with the name of a kind has that kind`,
  ],
  ['`url`', 'address of its WebSocket; default: that of the kind'],
  [
    '`rest_url`',
    'address of its HTTP API, without a path; default: that of the kind. A feed whose name is not a kind sets both addresses or neither, because both must belong to the same exchange',
  ],
]

const FEED_ADDRESSES = VENUE_NAMES.flatMap((kind) =>
  VENUES[kind].exchanges.map(({ name, url, restUrl }) => [`\`${kind}\``, name, `\`${url}\``, `\`${restUrl}\``]),
)

function configurationPage(): string {
  const rows = SETTING_KEYS.map((key) => {
    const row = SETTINGS[key] as Setting<unknown>
    const secret = row.secret ? ` Secret: \`${variableOf(key)}_FILE\` names a file that holds it.` : ''
    const live = row.live === true ? ' Live.' : ''
    const meaning = `${sentence(row.meaning)}${live}${secret}`
    return [`\`${key}\``, `\`${variableOf(key)}\``, shown(key, row), row.accepts, meaning]
  })
  const assets = SETTINGS.assets.initial.map((asset) => [
    `\`${asset.symbol}\``,
    String(asset.decimals),
    asset.networks.join(', ') || 'none: a bank currency',
  ])
  const relations = RELATIONS.map(
    ({ key, rule }) => `- \`${key}\` ${sentence(rule).replace(/^./, (letter) => letter.toLowerCase())}`,
  )
  return `${NOTICE}
# Configuration

Each setting takes its value from the first of these sources that contains it:

1. a flag, which is the key itself: \`--http.port 0\`;
2. an environment variable, as named below (an empty one counts as absent); secrets also from the file named by the
   variable with \`_FILE\` at its end;
3. the YAML file of \`--config FILE\`, or else of the variable \`TIDEGATE_CONFIG\`, nested (\`http: {port: 0}\`) or flat (\`http.port: 0\`);
4. the default.

SIGHUP makes a running service reload all of this, with the same flags. Keys marked *Live* are applied at once,
and the certificates of the public and the ingest listener are read again; every other key that has changed is named in the log and keeps
its old value until the next start. A configuration with a problem changes nothing. Neither does one that looks like a
truncated file: an empty file that would change values, or no markets while the service has some (to serve none, restart
the service). The log contains the reason. Markets are added and removed without dropping a connection: a subscriber of one that is
removed, or that changes in any way, gets
\`{"type":"unsubscribe","channels":[{"type":…,"params":…,"success":true}]}\`.

Lists are given to flags and variables as YAML or JSON text. Unknown keys in flags and files are errors, unknown
\`TIDEGATE_\` variables a warning. \`tidegate check-config\` shows the effective configuration, or every problem at once.

${table(['key', 'variable', 'default', 'accepts', 'meaning'], rows)}

Between keys:

${relations.join('\n')}

## Feeds

A feed is one connection to a venue. Its name is the part before the colon in \`sources\`, and identifies it in logs,
metrics, \`/readyz\` and recordings. Several feeds can have the same kind, as Binance and Binance.US here:

\`\`\`yaml
feeds:
  binance-us: {kind: binance, url: "wss://stream.binance.us:9443/stream", rest_url: "https://api.binance.us"}
markets:
  - {symbol: BTCUSDT, base_asset: BTC, quote_asset: USDT, price_decimals: 2, amount_decimals: 8, depth: 100, sources: [binance:BTCUSDT, binance-us:BTCUSDT]}
\`\`\`

${table(['member', 'meaning'], FEED_MEMBERS)}

A feed of the kind \`tidegate\` is a [publisher](../how-to/feeding-your-own-book.md#pull), a matching engine or another Tidegate:

\`\`\`yaml
feeds:
  engine: {kind: tidegate, url: "wss://engine.internal:9001/", token_file: /run/secrets/engine-token}
  upstream: {kind: tidegate, url: "wss://other.example/", client_id: relay-1, client_secret_file: /run/secrets/relay-1}
\`\`\`

${table(['member', 'meaning'], UPSTREAM_MEMBERS)}

Names have ${FEED_NAME_WORDS};
\`ingest\`, \`module\`, \`replay\` and \`simulator\` are reserved, and no name ends in \`-rest\`. The feeds
${listed(VENUE_NAMES.map((name) => `\`${name}\``))} exist by default. The flags \`--feeds.NAME.url\` and
\`--feeds.NAME.rest_url\`, the variables \`TIDEGATE_FEEDS_NAME_URL\` and \`TIDEGATE_FEEDS_NAME_REST_URL\` (\`-\` as \`_\`)
and flat keys of the file replace single addresses. A new or changed feed needs a restart: a reload whose markets name a
feed that is not running is refused.

Addresses, from the venues’ documentation as of 2026-11-22. They have not been tested from here. The first of each kind is
its default.

${table(['kind', 'exchange', 'url', 'rest_url'], FEED_ADDRESSES)}

## Markets

Every member except \`aggregation\` is required.

${table(
  ['member', 'meaning'],
  [
    [
      '`symbol`',
      'the name for subscriptions: `base_asset` followed by `quote_asset`, unique, capital letters and digits',
    ],
    ['`base_asset`, `quote_asset`', 'the assets, capital letters and digits'],
    [
      '`price_decimals`, `amount_decimals`',
      '0 to 18: the fraction digits of every price and amount of this market. A source with more digits is refused, never rounded',
    ],
    ['`depth`', 'published levels per side; 0 = all'],
    [
      '`sources`',
      `its market-data sources: ${listed(SOURCE_FORMS.map((form) => `\`${form}\``))}, with the name of a [feed](#feeds) and the symbol of the exchange, the file of a [module](../how-to/feeding-your-own-book.md#in-process-a-module) and the symbol of its engine, or the path of a [recording](../how-to/recordings.md). Up to ${SOURCES_MAX} distinct sources make [one book](../explanation/aggregated-books.md); \`simulator\` and \`replay:FILE\` must be the only source. \`{source, max_age_ms}\` sets a maximum age for one source`,
    ],
    [
      '`aggregation`',
      '`{policy, max_age_ms}`: which of crossing sources takes precedence, `recency` (default) or `priority`, and the milliseconds without a book message after which a source is excluded from [the book](../explanation/aggregated-books.md) (default: never)',
    ],
  ],
)}

\`\`\`yaml
markets:
  - symbol: BTCUSD
    base_asset: BTC
    quote_asset: USD
    price_decimals: 1
    amount_decimals: 8
    depth: 1000
    sources: [kraken:BTC/USD]
\`\`\`

At most ${MARKETS_MAX} markets. There are none by default: the service then serves only REST, and \`/readyz\` reports that no
market is configured. Only \`demo\` has a default, ${listed(DEMO_DEFAULTS.markets.map(({ symbol }) => symbol))} from the simulator.

The source \`simulator\` invents its prices. It is refused unless \`simulator.allowed\` is true (as it is in \`demo\`), and a
market that uses it is marked: in \`/readyz\`, as \`tidegate_market_simulated\` 1, and in
\`GET /v2/markets\` as \`"simulated": true\`.

## Assets

An asset is \`{symbol, decimals, networks}\`: capital letters and digits; 0 to 18 digits behind the point of an amount; the
crypto networks that carry it. An asset without networks is a bank currency, which is deposited and withdrawn over
${listed(FIAT_NETWORKS.map((name) => `\`${name}\``))}. The networks are ${listed(CRYPTO_NETWORK_NAMES.map((name) => `\`${name}\``))}.

\`\`\`yaml
assets:
  - {symbol: USD, decimals: 2, networks: []}
  - {symbol: USDC, decimals: 6, networks: [ETHEREUM, SOLANA]}
\`\`\`

The default:

${table(['symbol', 'decimals', 'networks'], assets)}
`
}

function errorsPage(): string {
  const errors = Object.entries(STREAM_ERRORS).map(([code, situation]) => [`\`${code}\``, situation])
  const closes = Object.values(CLOSE_CODES)
    .toSorted((left, right) => left.code - right.code)
    .map(({ code, reason, reconnect }) => [String(code), reason, reconnect])
  const tokenErrors = Object.entries(TOKEN_ERRORS)
    .toSorted(([, left], [, right]) => left.status - right.status)
    .map(([code, { status, meaning }]) => [String(status), `\`${code}\``, meaning])
  const problems = Object.entries(PROBLEMS)
    .toSorted(([, left], [, right]) => left.status - right.status)
    .map(([code, { status, meaning }]) => [String(status), `\`${code}\``, meaning])
  return `${NOTICE}
# Errors

## Problems of HTTP requests and handshakes

Every HTTP error but those of the token and the revocation endpoint is \`application/problem+json\` (RFC 9457): \`title\`, \`status\`, \`detail\` (which
names the field and the rule), \`code\` (stable), \`request_id\`, and \`errors\` for validation. Those two
answer \`{error, error_description}\` (RFC 6749 section 5.2).

${table(['status', 'code', 'meaning'], problems)}

## Errors of the token endpoint

Of \`POST /oauth2/token\` and \`POST /oauth2/revoke\`, never to be stored. 401 carries \`WWW-Authenticate: Basic\` when HTTP
Basic was tried.

${table(['status', 'error', 'meaning'], tokenErrors)}

## Codes of stream requests

A request that fails as a whole is answered with \`{"type":"error","error":"<CODE>","message":"…"}\`; an entry that
fails alone carries \`"success":false\`, \`error\` and \`message\` in its place in the answer. Neither closes the connection.

${table(['code', 'meaning'], errors)}

## Close codes of the stream

Besides 1002, 1007 and 1009 of RFC 6455 (protocol error, invalid UTF-8, message too large: fix the client), and 1008
without a reason for a message in more than 64 fragments.

${table(['code', 'reason', 'reconnect'], closes)}
`
}

function shown(key: string, row: Setting<unknown>): string {
  if (key === 'markets' || key === 'assets' || key === 'feeds') return 'see below'
  if (row.initial === '' || (row.initial instanceof Map && row.initial.size === 0)) return '(empty)'
  return `\`${String(row.show(row.initial))}\``
}

function sentence(words: string): string {
  return `${words.replace(/^./, (letter) => letter.toUpperCase())}.`
}

function listed(words: readonly string[]): string {
  return `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}

/**
 * The generated pages in docs/reference, from the tables used by the code itself. `npm run docs` writes them, and a
 * test verifies that the committed ones are current.
 */
import { TOKEN_ERRORS } from '../src/access/clients/token-endpoint/token-errors.ts'
import { FIAT_NETWORKS } from '../src/contract/assets.ts'
import { CRYPTO_NETWORK_NAMES } from '../src/contract/crypto-networks.ts'
import { STREAM_ERRORS } from '../src/contract/stream-codes.ts'
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

/** Stated once above the table, with the words left in its cells. */
const STATED_ONCE: readonly (readonly [text: string, left: string])[] = [
  [', at most 3 fraction digits', ''],
  ['whole number from ', ''],
  [' (http only on a loopback address) without user name and password', ''],
  ['one secret, or two separated by a space, each `whsec_` and 24 to 64 random bytes in base64', 'one or two secrets'],
]

/** Stands for the other key where rules are compared. */
const OTHER = '\0'

const UPSTREAM_MEMBERS = [
  ['`url`', 'WebSocket address, required. A secret over `ws://` to another machine causes a warning'],
  ['`token`, `token_file`', 'the handshake’s token, or a file with it, read for each connection'],
  [
    '`client_id`, with `client_secret` or `client_secret_file`',
    'instead of a token: a client at another Tidegate, with the streaming scope and allow-list entry. Each connection requests a new token',
  ],
  ['`auth_url`', 'where tokens are requested, without `/oauth2/token`. Default: the origin in `url`, with https'],
]

const FEED_MEMBERS = [
  ['`kind`', `one of ${VENUE_NAMES.map((name) => `\`${name}\``).join(', ')}. Default: the feed’s name`],
  ['`url`', 'WebSocket address. Default: the kind’s'],
  [
    '`rest_url`',
    'HTTP API address without a path. Default: the kind’s. A feed whose name is not a kind sets both addresses or neither',
  ],
]

const FEED_ADDRESSES = VENUE_NAMES.flatMap((kind) =>
  VENUES[kind].exchanges.map(({ name, url, restUrl }) => [`\`${kind}\``, name, `\`${url}\``, `\`${restUrl}\``]),
)

function configurationPage(): string {
  const rows = SETTING_KEYS.map((key) => {
    const row = SETTINGS[key] as Setting<unknown>
    const secret = row.secret ? ' Secret.' : ''
    const live = row.live === true ? ' Live.' : ''
    const meaning = `${sentence(row.meaning)}${live}${secret}`
    return [`\`${key}\``, shown(key, row), accepted(row), meaning]
  })
  const assets = SETTINGS.assets.initial.map((asset) => [
    `\`${asset.symbol}\``,
    String(asset.decimals),
    asset.networks.join(', ') || 'none',
  ])
  const relations = relationsByRule().map(([rule, keys]) => `- ${listed(keys.map((key) => `\`${key}\``))} ${rule}.`)
  return `${NOTICE}
# Configuration

Each setting takes its value from the first of these sources that contains it:

1. a flag, which is the key itself: \`--http.port 0\`;
2. an environment variable: \`TIDEGATE_\` and the key in capitals, with \`_\` for each dot, as in
   \`${variableOf('http.port')}\`. An empty one counts as absent. For a *Secret*, the variable with \`_FILE\` added can name
   a file instead;
3. the YAML file of \`--config FILE\`, or else of the variable \`TIDEGATE_CONFIG\`, nested (\`http: {port: 0}\`) or flat (\`http.port: 0\`);
4. the default.

SIGHUP makes a running service reload all sources, with the same flags. It applies *Live* keys at once and reads all
listeners’ certificates again. The log names other changed keys, which keep their values until the next start.
A configuration with a problem changes nothing, and the log contains the reason. The same applies to a file that looks
truncated: an empty one that would change values, or one without markets while the service has some (to serve none,
restart). Markets are added and removed without closing a connection. The subscribers of a removed or changed market get
\`{"type":"unsubscribe","channels":[{"type":…,"params":…,"success":true}]}\`.

Flags and variables take lists as YAML or JSON text. Unknown keys in flags and files are errors, unknown \`TIDEGATE_\` variables
warnings. \`tidegate check-config\` shows the effective configuration, or every problem at once.

Ranges without a unit contain whole numbers. Seconds and \`replay.speed\` may have up to 3 fraction digits. An https address has
no user name and password, and may be http on a loopback address. Each webhook secret is \`whsec_\` and 24 to 64 random bytes in
base64, and a space separates two.

${table(['key', 'default', 'accepts', 'meaning'], rows)}

Between keys (a problem’s message also gives the reason):

${relations.join('\n')}

## Feeds

A feed is one connection to a venue. Its name precedes the colon in \`sources\` and identifies it in logs,
metrics, \`/readyz\` and recordings. Several feeds can have the same kind:

\`\`\`yaml
feeds:
  binance-us: {kind: binance, url: "wss://stream.binance.us:9443/stream", rest_url: "https://api.binance.us"}
\`\`\`

${table(['member', 'meaning'], FEED_MEMBERS)}

A feed with the kind \`tidegate\` is a [publisher](../how-to/feeding-your-own-book.md#pull), a matching engine or another Tidegate:

\`\`\`yaml
feeds:
  engine: {kind: tidegate, url: "wss://engine.internal:9001/", token_file: /run/secrets/engine-token}
  upstream: {kind: tidegate, url: "wss://other.example/", client_id: relay-1, client_secret_file: /run/secrets/relay-1}
\`\`\`

${table(['member', 'meaning'], UPSTREAM_MEMBERS)}

Names have ${FEED_NAME_WORDS}.
\`ingest\`, \`module\`, \`replay\` and \`simulator\` are reserved, and no name ends in \`-rest\`. Each kind in the
first table has a default feed with its name. The flags \`--feeds.NAME.url\` and \`--feeds.NAME.rest_url\`, the variables
\`TIDEGATE_FEEDS_NAME_URL\` and \`TIDEGATE_FEEDS_NAME_REST_URL\` (\`_\` for \`-\`) and flat keys in the file replace single
addresses. A new or changed feed needs a restart: a reload is refused when its markets name a feed that is not running.

Addresses from the venues’ documentation, 2026-11-22, not tested from here. Each kind’s first row is its default:

${table(['kind', 'exchange', 'url', 'rest_url'], FEED_ADDRESSES)}

## Markets

Every member except \`aggregation\` is required.

${table(
  ['member', 'meaning'],
  [
    ['`symbol`', 'the unique name for subscriptions: `base_asset` followed by `quote_asset`'],
    ['`base_asset`, `quote_asset`', 'capital letters and digits'],
    [
      '`price_decimals`, `amount_decimals`',
      '0 to 18 fraction digits in every price and amount. A source with more digits is refused, never rounded',
    ],
    ['`depth`', 'published levels per side (0 = all)'],
    [
      '`sources`',
      `its market-data sources: ${listed(SOURCE_FORMS.map((form) => `\`${form}\``))}, with a [feed](#feeds) and the exchange’s symbol, a [module](../how-to/feeding-your-own-book.md#in-process-a-module) and its engine’s symbol, or a [recording](../how-to/recordings.md). Up to ${SOURCES_MAX} distinct sources make [one book](../explanation/aggregated-books.md). \`simulator\` and \`replay:FILE\` must be the only source. \`{source, max_age_ms}\` sets a maximum age for one source`,
    ],
    [
      '`aggregation`',
      '`{policy, max_age_ms}`: precedence between crossing sources, `recency` (default) or `priority`, and the milliseconds without a book message before a source is excluded from [the book](../explanation/aggregated-books.md) (default: 15 s, or three times its usual gap if longer)',
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

At most ${MARKETS_MAX} markets. Without markets, the service serves only REST, and \`/readyz\` reports it. Only
\`demo\` has default markets: ${listed(DEMO_DEFAULTS.markets.map(({ symbol }) => symbol))} from the simulator.

The source \`simulator\` invents its prices. Its markets are marked in \`/readyz\`, as \`tidegate_market_simulated\` 1, and in
\`GET /v2/markets\` as \`"simulated": true\`.

## Assets

An asset is \`{symbol, decimals, networks}\`: capital letters and digits, 0 to 18 fraction digits in amounts, and its crypto
networks. An asset without networks is a bank currency, deposited and withdrawn over
${listed(FIAT_NETWORKS.map((name) => `\`${name}\``))}. The crypto networks are ${listed(CRYPTO_NETWORK_NAMES.map((name) => `\`${name}\``))}.

The default:

${table(['symbol', 'decimals', 'networks'], assets)}
`
}

function errorsPage(): string {
  const errors = Object.entries(STREAM_ERRORS).map(([code, situation]) => [`\`${code}\``, situation])
  const tokenErrors = Object.entries(TOKEN_ERRORS)
    .toSorted(([, left], [, right]) => left.status - right.status)
    .map(([code, { status, meaning }]) => [String(status), `\`${code}\``, meaning])
  const problems = Object.entries(PROBLEMS)
    .toSorted(([, left], [, right]) => left.status - right.status)
    .map(([code, { status, meaning }]) => [String(status), `\`${code}\``, meaning])
  return `${NOTICE}
# Errors

## Problems of HTTP requests and handshakes

HTTP errors are \`application/problem+json\` (RFC 9457): \`title\`, \`status\`, \`detail\` (names the field and the rule),
\`code\` (stable), \`request_id\`, and \`errors\` for validation. Only the token and revocation endpoints answer
\`{error, error_description}\` (RFC 6749 section 5.2).

${table(['status', 'code', 'meaning'], problems)}

## Errors of the token endpoint

From \`POST /oauth2/token\` and \`POST /oauth2/revoke\`, never to be stored. 401 carries \`WWW-Authenticate: Basic\` after
HTTP Basic.

${table(['status', 'error', 'meaning'], tokenErrors)}

## Codes of stream requests

A request that fails as a whole is answered with \`{"type":"error","error":"<CODE>","message":"…"}\`. An entry that
fails alone carries \`"success":false\`, \`error\` and \`message\` in its place in the answer. Neither closes the connection.

${table(['code', 'meaning'], errors)}

Close codes: [the stream](stream.md#close-codes).
`
}

function shown(key: string, row: Setting<unknown>): string {
  if (key === 'markets' || key === 'assets' || key === 'feeds') return 'see below'
  const value = row.show(row.initial)
  const isEmpty = typeof value === 'object' && value !== null ? Object.keys(value).length === 0 : value === ''
  return isEmpty ? '(empty)' : `\`${String(value)}\``
}

function accepted(row: Setting<unknown>): string {
  return STATED_ONCE.reduce((words, [text, left]) => words.replace(text, left), row.accepts.replace(/^an? /, ''))
}

function sentence(words: string): string {
  return `${words.replace(/^./, (letter) => letter.toUpperCase())}.`
}

function listed(words: readonly string[], conjunction = 'and'): string {
  return words.length === 1 ? `${words[0]}` : `${words.slice(0, -1).join(', ')} ${conjunction} ${words.at(-1)}`
}

/**
 * The rules between keys, without their reasons. Those that differ only in the other key become one, and so do those for
 * several keys. Those about this system are in the settings' meanings.
 */
function relationsByRule(): [rule: string, keys: string[]][] {
  const others = new Map<string, Set<string>>()
  for (const { key, other, rule } of RELATIONS) {
    if (!rule.includes(other)) continue
    const [bare = ''] = rule.split(': ')
    const form = `${key} ${bare.replaceAll(other, OTHER)}`
    others.set(form, (others.get(form) ?? new Set()).add(other))
  }
  const keys = new Map<string, string[]>()
  for (const [form, named] of others) {
    const [key = '', ...words] = form.replaceAll(OTHER, listed([...named], 'or')).split(' ')
    const rule = words.join(' ')
    keys.set(rule, [...(keys.get(rule) ?? []), key])
  }
  return [...keys]
}

/** The operator's verbs for connections and markets. */
import { isObject, membersOf } from '../../platform/base/json-value.ts'
import { type AdminNoun, textOf } from './admin-verb.ts'

export const STREAM_NOUNS: readonly AdminNoun[] = [
  {
    name: 'connection',
    description: 'live connections to the stream',
    verbs: [
      {
        usage: 'list',
        description: 'lists all nodes’ live connections',
        example: 'connection list --client acme/feed',
        method: 'GET',
        path: '/connections',
        options: [
          { flags: '--client <client>', description: 'only this client’s', named: 'client' },
          {
            flags: '--customer <customer>',
            description: 'only this customer’s',
            named: 'customer',
          },
        ],
        query: ({ options }) => ({ client_id: textOf(options.client), customer_id: textOf(options.customer) }),
        columns: [
          'id',
          'client_id',
          'client_address',
          'created_at',
          'subscriptions',
          'behind',
          'reading',
          'pong_age_ms',
          'round_trip_ms',
          'queued_bytes',
          'bytes_out',
          'conflated_messages',
          'node',
        ],
        isPaged: true,
        fault: missingNodes,
      },
      {
        usage: 'show <id>',
        description: 'shows one connection, with its channels and each market’s last digest',
        example: 'connection show CONNECTION_ID',
        method: 'GET',
        path: '/connections/:id',
      },
      {
        usage: 'close <id>',
        description: 'closes a connection with code 1001. Its client may connect again',
        example: 'connection close CONNECTION_ID',
        method: 'DELETE',
        path: '/connections/:id',
      },
    ],
  },
  {
    name: 'node',
    description: 'the service’s nodes',
    verbs: [
      {
        usage: 'list',
        description: 'lists the nodes known to the called one, itself first',
        example: 'node list',
        method: 'GET',
        path: '/nodes',
        columns: ['name', 'roles', 'version', 'state', 'ready', 'markets', 'same_definitions', 'started_at', 'seen_at'],
      },
      {
        usage: 'overview',
        description: 'shows the called node’s state, with the last hour’s measurements',
        example: 'node overview',
        method: 'GET',
        path: '/overview',
      },
      {
        usage: 'settings',
        description: 'lists the settings in force on the called node, with each value’s origin',
        example: 'node settings',
        method: 'GET',
        path: '/settings',
        columns: ['key', 'value', 'origin', 'live'],
      },
      {
        usage: 'doctor',
        description: 'has the called node check its installation (`tidegate doctor` checks more)',
        example: 'node doctor',
        method: 'GET',
        path: '/doctor',
      },
    ],
  },
  {
    name: 'market',
    description: 'markets, and their books now or in the past',
    verbs: [
      {
        usage: 'list',
        description: 'lists markets with their state, sources and best prices',
        example: 'market list',
        method: 'GET',
        path: '/markets',
        columns: [
          'symbol',
          'live',
          'reason',
          'stale_since',
          'sources',
          'version',
          'committed_at',
          'bid_levels',
          'ask_levels',
          'best_bid.price',
          'best_ask.price',
          'subscribers',
        ],
      },
      {
        usage: 'book <symbol>',
        description: 'shows a market’s published book, now or at a recorded time',
        example: 'market book BTCUSD --depth 10',
        method: 'GET',
        path: '/markets/:symbol/book',
        options: [
          { flags: '--depth <levels>', description: 'levels per side, 1 to 1000 (default: 100)' },
          { flags: '--at <time>', description: 'the book as published at a recorded time' },
          { flags: '--executions <count>', description: 'with --at: the last executions before it, up to 1000' },
        ],
        query: ({ options }) => ({
          depth: textOf(options.depth),
          at: textOf(options.at),
          executions: textOf(options.executions),
        }),
      },
      {
        usage: 'candles <symbol>',
        description: 'lists a market’s candles, the earliest first',
        example: 'market candles BTCUSD --interval 1h --limit 24',
        method: 'GET',
        path: '/markets/:symbol/candles',
        options: [
          { flags: '--interval <length>', description: '1m, 5m, 15m, 1h, 4h or 1d', isRequired: true },
          { flags: '--from <time>', description: 'the first candles that start at or after this time' },
          { flags: '--to <time>', description: 'only candles that start before this time' },
          { flags: '--limit <count>', description: 'up to 1000 (default: 100)' },
        ],
        query: ({ options }) => ({
          interval: textOf(options.interval),
          from: textOf(options.from),
          to: textOf(options.to),
          limit: textOf(options.limit),
        }),
        columns: ['time', 'open', 'high', 'low', 'close', 'volume', 'trades', 'revision', 'closed', 'incomplete'],
      },
      {
        usage: 'trades <symbol>',
        description: 'lists a market’s last trades, the newest first',
        example: 'market trades BTCUSD --limit 20',
        method: 'GET',
        path: '/markets/:symbol/trades',
        options: [
          { flags: '--limit <count>', description: 'up to 1000 (default: 100)' },
          { flags: '--before <cursor>', description: 'only trades older than this one' },
        ],
        query: ({ options }) => ({ limit: textOf(options.limit), before: textOf(options.before) }),
        columns: ['executed_at', 'price', 'amount', 'side', 'venue', 'id', 'cursor'],
      },
    ],
  },
]

/** The nodes whose connections a list has not, with the reasons. */
function missingNodes(answer: object): string | undefined {
  const { nodes } = membersOf(answer)
  const missing = (Array.isArray(nodes) ? nodes : []).filter((node) => isObject(node) && node.problem !== undefined)
  if (missing.length === 0) return undefined
  return `connections are missing: ${missing.map(({ node, problem }) => `${node}: ${problem}`).join(', ')}`
}

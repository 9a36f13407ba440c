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
        description: 'lists live connections of all nodes, the newest first',
        example: 'connection list --client acme/feed',
        method: 'GET',
        path: '/connections',
        options: [
          { flags: '--client <client>', description: 'only those of this client, by id or name', named: 'client' },
          {
            flags: '--customer <customer>',
            description: 'only those of this customer, by id or name',
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
        description: 'shows one connection, with the channels and the last digest of each market',
        example: 'connection show CONNECTION_ID',
        method: 'GET',
        path: '/connections/:id',
      },
      {
        usage: 'close <id>',
        description: 'closes a connection with code 1001; its client may connect again',
        example: 'connection close CONNECTION_ID',
        method: 'DELETE',
        path: '/connections/:id',
      },
    ],
  },
  {
    name: 'node',
    description: 'the nodes of the service',
    verbs: [
      {
        usage: 'list',
        description: 'lists the nodes that the called one knows, itself first',
        example: 'node list',
        method: 'GET',
        path: '/nodes',
        columns: ['name', 'roles', 'version', 'state', 'ready', 'markets', 'same_definitions', 'started_at', 'seen_at'],
      },
      {
        usage: 'overview',
        description: 'shows the state of the called node, with measurements of the last hour',
        example: 'node overview',
        method: 'GET',
        path: '/overview',
      },
      {
        usage: 'settings',
        description: 'lists the settings in force on the called node, with the origin of each value',
        example: 'node settings',
        method: 'GET',
        path: '/settings',
        columns: ['key', 'value', 'origin', 'live'],
      },
      {
        usage: 'doctor',
        description: 'has the called node check its installation; `tidegate doctor` checks more',
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
        description: 'shows the published book of a market, now or at a recorded time',
        example: 'market book BTCUSD --depth 10',
        method: 'GET',
        path: '/markets/:symbol/book',
        options: [
          { flags: '--depth <levels>', description: 'levels per side, 1 to 1000 (default: 100)' },
          { flags: '--at <time>', description: 'the book as it was published at a time that the node has recorded' },
          { flags: '--executions <count>', description: 'with --at: the last executions before it, up to 1000' },
        ],
        query: ({ options }) => ({
          depth: textOf(options.depth),
          at: textOf(options.at),
          executions: textOf(options.executions),
        }),
      },
      {
        usage: 'prices <symbol>',
        description: 'lists the best prices of a market during the last hour, the oldest first',
        example: 'market prices BTCUSD',
        method: 'GET',
        path: '/markets/:symbol/prices',
        columns: ['at', 'bid', 'ask'],
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

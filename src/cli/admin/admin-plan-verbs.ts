/** The operator's verbs about plans. */
import { type AdminNoun, type AdminOption, type Given, listOf, numberOf } from './admin-verb.ts'

/** Each sets the member with its name. */
const BOUND_OPTIONS: readonly AdminOption[] = [
  { flags: '--markets <symbols>', description: 'its markets, separated by commas (* for all)', read: listOf },
  { flags: '--channels <channels>', description: 'its channels, separated by commas', read: listOf },
  { flags: '--depth-max <levels>', description: 'an order book’s levels per side', read: numberOf },
  { flags: '--interval-ms-min <ms>', description: 'least time between two messages', read: numberOf },
  { flags: '--connections-max <number>', description: 'a customer’s connections on one node', read: numberOf },
  { flags: '--subscriptions-max <number>', description: 'a customer’s subscriptions on one node', read: numberOf },
  {
    flags: '--rest-rate-per-second <number>',
    description: 'a client’s REST requests per second on one node',
    read: numberOf,
  },
]

const MEMBERS = [
  ['markets', 'markets'],
  ['channels', 'channels'],
  ['depthMax', 'depth_max'],
  ['intervalMsMin', 'interval_ms_min'],
  ['connectionsMax', 'connections_max'],
  ['subscriptionsMax', 'subscriptions_max'],
  ['restRatePerSecond', 'rest_rate_per_second'],
] as const

function boundsOf(options: Given['options']): Readonly<Record<string, unknown>> {
  const removed = typeof options.unlimited === 'string' ? listOf(options.unlimited) : []
  const set = MEMBERS.flatMap(([option, member]) => (options[option] === undefined ? [] : [[member, options[option]]]))
  return { ...Object.fromEntries(removed.map((member) => [member, null])), ...Object.fromEntries(set) }
}

export const PLAN_NOUNS: readonly AdminNoun[] = [
  {
    name: 'plan',
    description: 'plans, which bound what customers and clients may use',
    verbs: [
      {
        usage: 'list',
        description: 'lists plans by name',
        example: 'plan list',
        method: 'GET',
        path: '/plans',
        columns: [
          'name',
          'markets',
          'channels',
          'depth_max',
          'interval_ms_min',
          'connections_max',
          'subscriptions_max',
          'rest_rate_per_second',
        ],
      },
      {
        usage: 'show <plan>',
        description: 'shows one plan',
        example: 'plan show basic',
        method: 'GET',
        path: '/plans/:name',
      },
      {
        usage: 'create <plan>',
        description: 'creates a plan. What is not given is unlimited',
        example: 'plan create basic --markets BTCUSD,ETHUSD --depth-max 10 --interval-ms-min 250',
        method: 'POST',
        path: '/plans',
        options: BOUND_OPTIONS,
        body: ({ rest: [name], options }) => ({ name, ...boundsOf(options) }),
      },
      {
        usage: 'update <plan>',
        description: 'changes a plan, for all that have it at once',
        example: 'plan update basic --depth-max 25 --unlimited connections_max',
        method: 'PATCH',
        path: '/plans/:name',
        options: [
          ...BOUND_OPTIONS,
          { flags: '--unlimited <members>', description: 'bounds to remove, such as depth_max, separated by commas' },
        ],
        body: ({ options }) => boundsOf(options),
      },
      {
        usage: 'delete <plan>',
        description: 'deletes a plan that no customer or client has',
        example: 'plan delete basic',
        method: 'DELETE',
        path: '/plans/:name',
      },
    ],
  },
]

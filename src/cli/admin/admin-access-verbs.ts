/** The operator's verbs for access: customers, clients, secrets, token and receipt keys. */
import { type AdminNoun, type AdminOption, type Given, listOf, onOrOff, pick, textOf } from './admin-verb.ts'

/** @param consequence what disabling the record does */
export const ENABLE_OPTIONS = (consequence: string): readonly AdminOption[] => [
  { flags: '--enable', description: 'enable it again' },
  { flags: '--disable', description: `disable it: ${consequence}` },
]
const DISABLED_ACCESS = 'no tokens, live connections are closed'

const STREAM_SCOPE = 'exchange:read_aggregated_marketdata_stream'

export const ACCESS_NOUNS: readonly AdminNoun[] = [
  {
    name: 'customer',
    description: 'customers and the streaming allow list',
    verbs: [
      {
        usage: 'create <name>',
        description: 'creates a customer',
        example: 'customer create acme --streaming',
        method: 'POST',
        path: '/customers',
        options: [{ flags: '--streaming', description: 'add it to the streaming allow list' }],
        body: ({ rest: [name], options }) => ({ name, streaming: options.streaming === true }),
      },
      {
        usage: 'list',
        description: 'lists customers',
        example: 'customer list --limit 1000',
        method: 'GET',
        path: '/customers',
        options: [
          { flags: '--name <name>', description: 'only this name' },
          { flags: '--search <text>', description: 'only names with this beginning, ignoring case' },
        ],
        query: ({ options }) => ({ name: textOf(options.name), search: textOf(options.search) }),
        columns: ['id', 'name', 'enabled', 'streaming', 'plan', 'created_at'],
        isPaged: true,
      },
      {
        usage: 'show <customer>',
        description: 'shows one customer',
        example: 'customer show acme',
        named: ['customer'],
        method: 'GET',
        path: '/customers/:id',
      },
      {
        usage: 'quotas <customer>',
        description: 'shows a customer’s used quotas',
        example: 'customer quotas acme',
        named: ['customer'],
        method: 'GET',
        path: '/customers/:id/quotas',
      },
      {
        usage: 'update <customer>',
        description: 'changes a customer',
        example: 'customer update acme --disable --streaming off',
        named: ['customer'],
        method: 'PATCH',
        path: '/customers/:id',
        options: [
          ...ENABLE_OPTIONS(DISABLED_ACCESS),
          {
            flags: '--streaming <on|off>',
            description: 'add it to the streaming allow list, or remove it',
            read: onOrOff,
          },
          { flags: '--plan <plan>', description: 'its plan (unlimited: no bounds)' },
        ],
        body: ({ options }) => ({ ...enabledOf(options), ...pick(options, 'streaming'), ...pick(options, 'plan') }),
      },
      {
        usage: 'set-contacts <customer> [address...]',
        description: 'replaces a customer’s security contacts (none: removes all)',
        example: 'customer set-contacts acme security@acme.example',
        named: ['customer'],
        method: 'PUT',
        path: '/customers/:id/security-contacts',
        body: ({ rest }) => ({ security_contacts: rest }),
      },
      {
        usage: 'test-contacts <customer>',
        description: 'sends a test notice to a customer’s security contacts',
        example: 'customer test-contacts acme',
        named: ['customer'],
        method: 'POST',
        path: '/customers/:id/security-contacts/test',
      },
    ],
  },
  {
    name: 'notice',
    description: 'notices to customers’ security contacts',
    verbs: [
      {
        usage: 'list',
        description: 'lists notices, with what was sent or still waits',
        example: 'notice list --status WAITING',
        method: 'GET',
        path: '/notices',
        options: [
          { flags: '--customer <customer>', description: 'only this customer’s', named: 'customer' },
          { flags: '--status <status>', description: 'only those with a send in this state' },
        ],
        query: ({ options }) => ({ customer_id: textOf(options.customer), status: textOf(options.status) }),
        columns: ['created_at', 'id', 'customer_id', 'type', 'sends'],
        isPaged: true,
      },
      {
        usage: 'show <notice-id>',
        description: 'shows one notice',
        example: 'notice show NOTICE_ID',
        method: 'GET',
        path: '/notices/:id',
      },
    ],
  },
  {
    name: 'client',
    description: 'a customer’s OAuth clients',
    verbs: [
      {
        usage: 'find <name>',
        description: 'lists all customers’ clients with this name',
        example: 'client find feed',
        method: 'GET',
        path: '/clients',
        query: ({ rest: [name] }) => ({ name }),
        columns: ['client_id', 'customer_id', 'name', 'enabled', 'scopes', 'created_at'],
        isPaged: true,
      },
      {
        usage: 'create <customer> <name>',
        description: 'creates a client and shows its secret once, or writes it to a file',
        example: `client create acme feed --scope ${STREAM_SCOPE} --credentials acme-feed.json`,
        named: ['customer'],
        createsClient: true,
        method: 'POST',
        path: '/customers/:id/clients',
        options: [
          { flags: '--scope <scope...>', description: 'its scopes', isRequired: true },
          {
            flags: '--publish-markets <symbols>',
            description: 'markets it may publish, separated by commas',
            read: listOf,
          },
        ],
        body: ({ rest: [name], options }) => ({ name, scopes: options.scope, ...publishMarketsOf(options) }),
      },
      {
        usage: 'list <customer>',
        description: 'lists a customer’s clients',
        example: 'client list acme',
        named: ['customer'],
        options: [{ flags: '--name <name>', description: 'only this name' }],
        query: ({ options }) => ({ name: textOf(options.name) }),
        method: 'GET',
        path: '/customers/:id/clients',
        columns: ['client_id', 'name', 'enabled', 'scopes', 'created_at'],
        isPaged: true,
      },
      {
        usage: 'show <client>',
        description: 'shows one client, with its valid secrets’ ids',
        example: 'client show acme/feed',
        named: ['client'],
        method: 'GET',
        path: '/clients/:id',
      },
      {
        usage: 'revoke-tokens <client>',
        description: 'revokes every token the client has, but no secret',
        example: 'client revoke-tokens acme/feed',
        named: ['client'],
        method: 'POST',
        path: '/clients/:id/revoke-tokens',
      },
      {
        usage: 'update <client>',
        description: 'changes a client',
        example: 'client update acme/feed --disable',
        named: ['client'],
        method: 'PATCH',
        path: '/clients/:id',
        options: [
          ...ENABLE_OPTIONS(DISABLED_ACCESS),
          { flags: '--scope <scope...>', description: 'replaces its scopes' },
          { flags: '--no-scopes', description: 'remove all its scopes' },
          {
            flags: '--publish-markets <symbols>',
            description: 'replaces the markets it may publish, separated by commas ("" for none)',
            read: listOf,
          },
          { flags: '--plan <plan>', description: 'a plan of its own, which narrows its customer’s' },
          { flags: '--no-plan', description: 'remove its own plan' },
        ],
        body: ({ options }) => ({
          ...enabledOf(options),
          ...(options.scope === undefined ? {} : { scopes: options.scope }),
          ...(options.scopes === false ? { scopes: [] } : {}),
          ...(options.plan === false ? { plan: null } : pick(options, 'plan')),
          ...publishMarketsOf(options),
        }),
      },
    ],
  },
  {
    name: 'secret',
    description: 'a client’s secrets, at most two',
    verbs: [
      {
        usage: 'create <client>',
        description: 'creates another secret and shows it once',
        example: 'secret create acme/feed',
        named: ['client'],
        method: 'POST',
        path: '/clients/:id/secrets',
      },
      {
        usage: 'delete <client> <secret-id>',
        description: 'deletes a secret. Tokens issued for it stay valid',
        example: 'secret delete acme/feed SECRET_ID',
        named: ['client'],
        method: 'DELETE',
        path: '/clients/:id/secrets/:secret',
      },
    ],
  },
  {
    name: 'key',
    description: 'keys for signing access tokens',
    verbs: [
      {
        usage: 'list',
        description: 'lists signing keys',
        example: 'key list',
        method: 'GET',
        path: '/signing-keys',
        columns: ['id', 'state', 'algorithm', 'signs_from', 'signs_until', 'retired_at', 'revoked_at', 'created_at'],
        isPaged: true,
      },
      {
        usage: 'rotate',
        description: 'creates the next key, which signs after it has been published long enough',
        example: 'key rotate',
        method: 'POST',
        path: '/signing-keys',
      },
      {
        usage: 'revoke <key-id>',
        description: 'revokes a compromised key: every token signed with it becomes invalid at once',
        example: 'key revoke KEY_ID',
        method: 'DELETE',
        path: '/signing-keys/:id',
      },
      {
        usage: 'encrypt',
        description: 'encrypts signing keys and the pepper in the store (every node needs keys.encryption_key first)',
        example: 'key encrypt',
        method: 'POST',
        path: '/signing-keys/encrypt',
      },
    ],
  },
  {
    name: 'receipt-key',
    description: 'keys for signing book receipts',
    verbs: [
      {
        usage: 'list',
        description: 'lists receipt keys',
        example: 'receipt-key list',
        method: 'GET',
        path: '/receipt-keys',
        columns: ['id', 'state', 'algorithm', 'created_at'],
        isPaged: true,
      },
      {
        usage: 'rotate',
        description: 'creates the next key, which signs at once. Receipts from earlier keys can still be verified',
        example: 'receipt-key rotate',
        method: 'POST',
        path: '/receipt-keys',
      },
    ],
  },
]

export function enabledOf({ enable, disable }: Given['options']): { enabled?: boolean } {
  if (enable && disable) throw new Error('--enable and --disable exclude each other')
  return enable || disable ? { enabled: enable === true } : {}
}

function publishMarketsOf({ publishMarkets }: Given['options']): { publish_markets?: unknown } {
  return publishMarkets === undefined ? {} : { publish_markets: publishMarkets }
}

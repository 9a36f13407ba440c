/** The operator's verbs about destinations. */
import { type AdminNoun, pick, textOf } from './admin-verb.ts'

export const DESTINATION_NOUNS: readonly AdminNoun[] = [
  {
    name: 'destination',
    description: 'all customers’ crypto destination addresses and fiat accounts, and their approval',
    verbs: [
      {
        usage: 'list',
        description: 'lists destinations',
        example: 'destination list --status PENDING --order ASC',
        method: 'GET',
        path: '/destinations',
        options: [
          { flags: '--status <status>', description: 'PENDING, ACTIVE, REJECTED or DELETED' },
          { flags: '--kind <kind>', description: 'CRYPTO or FIAT' },
          { flags: '--customer <customer>', description: 'only this customer’s', named: 'customer' },
          { flags: '--unverified', description: 'only those that a migration made from rules' },
        ],
        query: ({ options }) => ({
          status: textOf(options.status),
          kind: textOf(options.kind),
          customer_id: textOf(options.customer),
          unverified: options.unverified === true ? 'true' : undefined,
        }),
        columns: [
          'id',
          'customer_id',
          'kind',
          'nickname',
          'crypto_network',
          'address',
          'fiat_network',
          'memo',
          'status',
          'usable_at',
          'created_at',
        ],
        isPaged: true,
      },
      {
        usage: 'show <id>',
        description: 'shows one destination, with full account numbers for roles that approve or pay (audited)',
        example: 'destination show DESTINATION_ID',
        method: 'GET',
        path: '/destinations/:id',
      },
      {
        usage: 'approve <id>',
        description: 'makes a PENDING destination ACTIVE, or confirms one that a migration made',
        example: 'destination approve DESTINATION_ID --usable-at 2026-12-01T12:00:00Z --reason "confirmed by phone"',
        method: 'POST',
        path: '/destinations/:id/approve',
        options: [
          {
            flags: '--usable-at <time>',
            description: 'usable from then. A second operator must confirm',
          },
          { flags: '--reason <text>', description: 'why, required with --usable-at' },
        ],
        body: ({ options }) => ({
          ...(options.usableAt === undefined ? {} : { usable_at: options.usableAt }),
          ...pick(options, 'reason'),
        }),
      },
      {
        usage: 'reject <id>',
        description: 'makes a destination REJECTED, which is final',
        example: 'destination reject DESTINATION_ID --reason "the owner is not known"',
        method: 'POST',
        path: '/destinations/:id/reject',
        options: [{ flags: '--reason <text>', description: 'why, shown to the customer', isRequired: true }],
        body: ({ options }) => ({ reason: options.reason }),
      },
    ],
  },
]

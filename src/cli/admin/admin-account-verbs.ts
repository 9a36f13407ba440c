/** The operator's verbs for accounts and profiles. */
import { type AdminNoun, type AdminOption, onOrOff, textOf } from './admin-verb.ts'

const LIST_OPTIONS: readonly AdminOption[] = [
  { flags: '--customer <customer>', description: 'only this customer’s', named: 'customer' },
  { flags: '--status <statuses>', description: 'only these summary statuses, separated by commas' },
  { flags: '--identity <id>', description: 'only this primary identity’s' },
  { flags: '--created-from <time>', description: 'created then or later, like 2006-01-02T15:04:05Z' },
  { flags: '--created-before <time>', description: 'created earlier' },
  { flags: '--updated-from <time>', description: 'updated then or later' },
  { flags: '--updated-before <time>', description: 'updated earlier' },
]

export const ACCOUNT_NOUNS: readonly AdminNoun[] = [
  {
    name: 'account',
    description: 'all customers’ accounts, and their review',
    verbs: [
      {
        usage: 'list',
        description: 'lists accounts',
        example: 'account list --customer acme --status PENDING',
        method: 'GET',
        path: '/accounts',
        options: LIST_OPTIONS,
        query: ({ options }) => ({
          customer_id: textOf(options.customer),
          summary_status: textOf(options.status),
          identity_id: textOf(options.identity),
          'created_at.gte': textOf(options.createdFrom),
          'created_at.lt': textOf(options.createdBefore),
          'updated_at.gte': textOf(options.updatedFrom),
          'updated_at.lt': textOf(options.updatedBefore),
        }),
        columns: ['id', 'customer_id', 'identity_id', 'ref_id', 'type', 'summary_status', 'created_at'],
        isPaged: true,
      },
      {
        usage: 'show <id>',
        description: 'shows one account',
        example: 'account show ACCOUNT_ID',
        method: 'GET',
        path: '/accounts/:id',
      },
      {
        usage: 'update <id>',
        description: 'reviews an account, or disables it',
        example: 'account update ACCOUNT_ID --status APPROVED',
        method: 'PATCH',
        path: '/accounts/:id',
        options: [
          { flags: '--status <status>', description: 'APPROVED, DENIED (which is final) or ERROR' },
          {
            flags: '--disabled <on|off>',
            description: 'on: its profile gets no new addresses and rules. off: it does again',
            read: onOrOff,
          },
        ],
        body: ({ options }) => ({
          ...(options.status === undefined ? {} : { summary_status: textOf(options.status) }),
          ...(options.disabled === undefined ? {} : { admin_disabled: options.disabled }),
        }),
      },
      {
        usage: 'note <id>',
        description: 'adds a note, which only operators see',
        example: 'account note ACCOUNT_ID --text "the passport has expired"',
        method: 'POST',
        path: '/accounts/:id/notes',
        options: [{ flags: '--text <text>', description: '1 to 2000 characters', isRequired: true }],
        body: ({ options }) => ({ text: options.text }),
      },
      {
        usage: 'notes <id>',
        description: 'lists the notes about an account',
        example: 'account notes ACCOUNT_ID --order ASC',
        method: 'GET',
        path: '/accounts/:id/notes',
        columns: ['created_at', 'author', 'text'],
        isPaged: true,
      },
    ],
  },
  {
    name: 'profile',
    description: 'profiles, which hold balances',
    verbs: [
      {
        usage: 'create <customer> <nickname>',
        description: 'creates a profile without an account',
        example: 'profile create acme treasury',
        named: ['customer'],
        method: 'POST',
        path: '/customers/:id/profiles',
        body: ({ rest: [nickname] }) => ({ nickname }),
      },
      {
        usage: 'list <customer>',
        description: 'lists a customer’s profiles',
        example: 'profile list acme',
        named: ['customer'],
        method: 'GET',
        path: '/customers/:id/profiles',
        columns: ['id', 'nickname', 'type', 'created_at'],
        isPaged: true,
      },
      {
        usage: 'balances <id>',
        description: 'shows a profile’s balances',
        example: 'profile balances PROFILE_ID',
        method: 'GET',
        path: '/profiles/:id/balances',
        columns: ['asset', 'available', 'in_transit', 'held', 'receivable'],
      },
    ],
  },
]

/** The operator's verbs about accounts and profiles. */
import { type AdminNoun, onOrOff, textOf } from './admin-verb.ts'

export const ACCOUNT_NOUNS: readonly AdminNoun[] = [
  {
    name: 'account',
    description: 'accounts of all customers, and their review',
    verbs: [
      {
        usage: 'list',
        description: 'lists accounts, the newest first',
        example: 'account list --limit 1000',
        method: 'GET',
        path: '/accounts',
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
        description: 'decides about an account, or disables it',
        example: 'account update ACCOUNT_ID --status APPROVED',
        method: 'PATCH',
        path: '/accounts/:id',
        options: [
          { flags: '--status <status>', description: 'APPROVED, DENIED (which is final) or ERROR' },
          {
            flags: '--disabled <on|off>',
            description: 'no new addresses and rules for its profile, or as before',
            read: onOrOff,
          },
        ],
        body: ({ options }) => ({
          ...(options.status === undefined ? {} : { summary_status: textOf(options.status) }),
          ...(options.disabled === undefined ? {} : { admin_disabled: options.disabled }),
        }),
      },
    ],
  },
  {
    name: 'profile',
    description: 'profiles, for which balances are kept',
    verbs: [
      {
        usage: 'create <customer-id> <nickname>',
        description: 'creates a profile that belongs to no account',
        example: 'profile create CUSTOMER_ID treasury',
        method: 'POST',
        path: '/customers/:id/profiles',
        body: ({ rest: [nickname] }) => ({ nickname }),
      },
      {
        usage: 'list <customer-id>',
        description: 'lists the profiles of a customer, the newest first',
        example: 'profile list CUSTOMER_ID',
        method: 'GET',
        path: '/customers/:id/profiles',
        columns: ['id', 'nickname', 'type', 'created_at'],
        isPaged: true,
      },
    ],
  },
]

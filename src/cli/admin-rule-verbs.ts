/** The operator's verbs about orchestration rules. */
import { type AdminNoun, textOf } from './admin-verb.ts'

export const RULE_NOUNS: readonly AdminNoun[] = [
  {
    name: 'rule',
    description: 'orchestration rules of all customers, and their approval',
    verbs: [
      {
        usage: 'list',
        description: 'lists rules, the newest first',
        example: 'rule list --status PENDING --order ASC',
        method: 'GET',
        path: '/rules',
        options: [{ flags: '--status <status>', description: 'only ACTIVE, DELETED, PENDING or REJECTED ones' }],
        query: ({ options }) => ({ status: textOf(options.status) }),
        columns: [
          'id',
          'customer_id',
          'ref_id',
          'status',
          'source_asset',
          'destination_asset',
          'source',
          'destination',
          'created_at',
        ],
        isPaged: true,
      },
      {
        usage: 'show <id>',
        description: 'shows one rule',
        example: 'rule show RULE_ID',
        method: 'GET',
        path: '/rules/:id',
      },
      {
        usage: 'approve <id>',
        description: 'makes a PENDING rule ACTIVE, with its deposit instructions',
        example: 'rule approve RULE_ID',
        method: 'POST',
        path: '/rules/:id/approve',
      },
      {
        usage: 'reject <id>',
        description: 'makes a PENDING rule REJECTED, which is final',
        example: 'rule reject RULE_ID --reason "the payee is not known"',
        method: 'POST',
        path: '/rules/:id/reject',
        options: [{ flags: '--reason <text>', description: 'why; it is kept with the rule', isRequired: true }],
        body: ({ options }) => ({ reason: options.reason }),
      },
      {
        usage: 'delete <id>',
        description: 'makes a rule DELETED, which is final',
        example: 'rule delete RULE_ID',
        method: 'POST',
        path: '/rules/:id/delete',
      },
    ],
  },
]

/** The operator's verbs about the screening of deposits and payments. */
import { integer } from '../options/option-values.ts'
import { type AdminNoun, textOf } from './admin-verb.ts'

export const SCREENING_NOUNS: readonly AdminNoun[] = [
  {
    name: 'screening',
    description: 'the screening of deposits and payments',
    verbs: [
      {
        usage: 'list',
        description: 'lists screenings',
        example: 'screening list --status HELD',
        method: 'GET',
        path: '/screening',
        options: [
          { flags: '--status <status>', description: 'PENDING, ALLOWED, HELD, REJECTED or CLOSED' },
          { flags: '--customer <id>', description: 'only this customer’s' },
          { flags: '--movement <id>', description: 'only this deposit’s or orchestration’s' },
        ],
        query: ({ options }) => ({
          status: textOf(options.status),
          customer_id: textOf(options.customer),
          movement_id: textOf(options.movement),
        }),
        columns: ['id', 'kind', 'status', 'customer_id', 'asset', 'amount', 'reason', 'fault', 'asked_at'],
        isPaged: true,
      },
      {
        usage: 'show <id>',
        description: 'shows one screening with its facts and decisions',
        example: 'screening show SCREENING_ID',
        method: 'GET',
        path: '/screening/:id',
      },
      {
        usage: 'decide <id> <decision>',
        description: 'decides ALLOW or REJECT in place of the hook',
        example: 'screening decide SCREENING_ID ALLOW --revision 1 --note "another person with this name"',
        method: 'POST',
        path: '/screening/:id/decide',
        options: [
          { flags: '--note <text>', description: 'why', isRequired: true },
          {
            flags: '--revision <number>',
            description: 'the revision printed by show: other terms are refused',
            read: integer,
          },
        ],
        body: ({ rest: [decision], options }) => ({ decision, note: options.note, revision: options.revision }),
      },
    ],
  },
]

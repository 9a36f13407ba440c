/** The operator's verb about customers' events. */
import type { AdminNoun } from './admin-verb.ts'

export const EVENT_NOUNS: readonly AdminNoun[] = [
  {
    name: 'event',
    description: 'customers’ events',
    verbs: [
      {
        usage: 'tail <customer>',
        description: 'shows a customer’s events as they happen, until Ctrl-C',
        example: 'event tail acme --after 1200 --types transfer.deposit.completed',
        named: ['customer'],
        method: 'GET',
        path: '/customers/:id/events',
        options: [
          { flags: '--after <sequence>', description: 'begins after this sequence (default: the last)' },
          { flags: '--types <types>', description: 'only these types, separated by commas' },
        ],
        isTail: true,
      },
    ],
  },
]

/** The operator's verbs about orchestrations. */
import { type AdminNoun, textOf } from './admin-verb.ts'
import { RELEASE_OPTIONS, releaseBody } from './release-options.ts'

export const ORCHESTRATION_NOUNS: readonly AdminNoun[] = [
  {
    name: 'orchestration',
    description: 'all customers’ conversions and withdrawals: what they wait for, and what failed',
    verbs: [
      {
        usage: 'list',
        description: 'lists orchestrations',
        example: 'orchestration list --waiting-for HOLD',
        method: 'GET',
        path: '/orchestrations',
        options: [
          { flags: '--status <statuses>', description: 'PROCESSING, COMPLETED or FAILED' },
          {
            flags: '--waiting-for <reasons>',
            description:
              'PRICE, PEG, SLIPPAGE, DESK_LIMIT, HOLD, APPROVAL, DESTINATION, LIMIT, SCREENING, PAUSED or OPERATOR',
          },
          {
            flags: '--customer <customer>',
            description: 'only this customer’s',
            named: 'customer',
          },
          { flags: '--profile <id>', description: 'only this profile’s' },
          { flags: '--rule <id>', description: 'only this rule’s' },
          { flags: '--deposit <id>', description: 'only this deposit’s' },
        ],
        query: ({ options }) => ({
          status: textOf(options.status),
          waiting_for: textOf(options.waitingFor),
          customer_id: textOf(options.customer),
          profile_id: textOf(options.profile),
          orchestration_rule_id: textOf(options.rule),
          deposit_id: textOf(options.deposit),
        }),
        columns: [
          'id',
          'customer_id',
          'source_asset',
          'source_amount',
          'destination_asset',
          'status',
          'waiting_for',
          'created_at',
        ],
        isPaged: true,
      },
      {
        usage: 'show <id>',
        description: 'shows one orchestration',
        example: 'orchestration show ORCHESTRATION_ID',
        method: 'GET',
        path: '/orchestrations/:id',
      },
      {
        usage: 'retry <id>',
        description: 'retries a FAILED one as a new one, with the returned money',
        example: 'orchestration retry ORCHESTRATION_ID',
        method: 'POST',
        path: '/orchestrations/:id/retry',
      },
      {
        usage: 'release <id>',
        description: 'opens closed gates. It continues when no other gate is closed',
        example: 'orchestration release ORCHESTRATION_ID --gate REVIEW --seen VERSION --reason "the payee is known"',
        method: 'POST',
        path: '/orchestrations/:id/release',
        options: RELEASE_OPTIONS,
        body: releaseBody,
      },
      {
        usage: 'reject <id>',
        description: 'fails one that waits at a closed gate. Its amount stays with the profile',
        example: 'orchestration reject ORCHESTRATION_ID --reason "the source of the funds is not known"',
        method: 'POST',
        path: '/orchestrations/:id/reject',
        options: [{ flags: '--reason <text>', description: 'why, as the customer sees it', isRequired: true }],
        body: ({ options }) => ({ reason: options.reason }),
      },
    ],
  },
]

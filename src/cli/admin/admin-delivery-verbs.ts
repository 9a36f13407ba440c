/** The operator's verbs for deliveries. */

import { positiveInteger } from '../options/option-values.ts'
import { type AdminNoun, pick, textOf } from './admin-verb.ts'

const ATTEMPT = {
  flags: '--attempt <number>',
  description: 'attempt number in `delivery show`',
  read: attemptNumber,
  isRequired: true,
} as const

const LEASE_SECONDS = 600
const LEASE = {
  flags: '--lease-seconds <seconds>',
  description: `time to report the result, up to a day. Then another may claim it (default: ${LEASE_SECONDS})`,
  read: positiveInteger,
} as const

/** 0: the delivery was never claimed. */
function attemptNumber(text: string): number {
  return text === '0' ? 0 : positiveInteger(text)
}

export const DELIVERY_NOUNS: readonly AdminNoun[] = [
  {
    name: 'delivery',
    description: 'outgoing payments and their results',
    verbs: [
      {
        usage: 'list',
        description: 'lists deliveries',
        example: 'delivery list --status NEEDS_OPERATOR --order ASC',
        method: 'GET',
        path: '/deliveries',
        options: [
          {
            flags: '--status <status>',
            description: 'WAITING, CLAIMED, SENT, SETTLED, FAILED or NEEDS_OPERATOR',
          },
          { flags: '--profile <id>', description: 'only this profile’s' },
          { flags: '--orchestration <id>', description: 'only this orchestration’s' },
          { flags: '--executor <name>', description: 'last claimed by this executor' },
        ],
        query: ({ options }) => ({
          status: textOf(options.status),
          profile_id: textOf(options.profile),
          orchestration_id: textOf(options.orchestration),
          executor: textOf(options.executor),
        }),
        columns: ['id', 'status', 'attempt', 'asset', 'amount', 'destination', 'executor', 'reference', 'created_at'],
        isPaged: true,
      },
      {
        usage: 'show <id>',
        description: 'shows one delivery with its attempts',
        example: 'delivery show DELIVERY_ID',
        method: 'GET',
        path: '/deliveries/:id',
      },
      {
        usage: 'claim',
        description: 'claims due deliveries for an executor, which pays them and reports the results',
        example: 'delivery claim --executor treasury --limit 10 --lease-seconds 600',
        method: 'POST',
        path: '/deliveries/claim',
        options: [
          { flags: '--executor <name>', description: 'the executor', isRequired: true },
          { flags: '--limit <number>', description: 'maximum number, 1 to 100 (default: 10)', read: positiveInteger },
          LEASE,
        ],
        body: ({ options }) => ({
          executor: options.executor,
          limit: options.limit ?? 10,
          lease_seconds: options.leaseSeconds ?? LEASE_SECONDS,
        }),
      },
      {
        usage: 'claim-one <id>',
        description: 'claims one delivery, due or not, to pay it yourself: the executor is your name',
        example: 'delivery claim-one DELIVERY_ID --lease-seconds 3600',
        method: 'POST',
        path: '/deliveries/:id/claim',
        options: [LEASE],
        body: ({ options }) => ({ lease_seconds: options.leaseSeconds ?? LEASE_SECONDS }),
      },
      {
        usage: 'settle <id>',
        description: 'reports a delivery as paid',
        example: 'delivery settle DELIVERY_ID --reference 0x4e3a --attempt 1',
        method: 'POST',
        path: '/deliveries/:id/settle',
        options: [
          {
            flags: '--reference <text>',
            description: 'the payment’s name outside: one for each delivery',
            isRequired: true,
          },
          ATTEMPT,
          { flags: '--fee <amount>', description: 'what the payment cost, in the delivery’s asset' },
          { flags: '--late', description: 'it was paid although it is FAILED: takes the money from the profile again' },
        ],
        body: ({ options }) => ({
          reference: options.reference,
          attempt: options.attempt,
          ...pick(options, 'fee'),
          ...pick(options, 'late'),
        }),
      },
      {
        usage: 'fail <id>',
        description: 'reports that a delivery will never be paid: its money goes back to the profile',
        example: 'delivery fail DELIVERY_ID --reason "the account is closed" --attempt 1',
        method: 'POST',
        path: '/deliveries/:id/fail',
        options: [
          { flags: '--reason <text>', description: 'why, as its customer sees it', isRequired: true },
          ATTEMPT,
          {
            flags: '--earlier-attempts <statement>',
            description: 'not_paid: no attempt without a result was paid or ever will be',
          },
        ],
        body: ({ options }) => ({
          reason: options.reason,
          attempt: options.attempt,
          ...(options.earlierAttempts === undefined ? {} : { earlier_attempts: options.earlierAttempts }),
        }),
      },
    ],
  },
]

/**
 * The schemas of ledger entries, and their list's filters. `entries` checks assets and amounts, because a schema
 * cannot.
 */
import { type Static, Type } from 'typebox'
import { choices, orderBy, texts, times, uuids } from '../../platform/http/list-query.ts'
import { pageOf } from '../../platform/http/page-query.ts'
import { textChoice } from '../../platform/http/text-choice.ts'
import { ENTRY_DIRECTIONS, ENTRY_KINDS } from './entry-kinds.ts'

const strict = { additionalProperties: false }
const Kind = textChoice(ENTRY_KINDS)
const Name = Type.String({ minLength: 1, maxLength: 200 })
const Reason = Type.String({ minLength: 1, maxLength: 1_000 })
const Time = Type.String({ format: 'date-time' })
const Uuid = Type.String({ format: 'uuid' })

const legMembers = {
  amount: Type.String({ minLength: 1, maxLength: 100, description: 'Decimal text above zero' }),
  direction: Type.Optional({
    ...textChoice(ENTRY_DIRECTIONS),
    description: 'Into or out of the desk or the fees. May be absent where the kind fixes it',
  }),
}

export const EntryBody = Type.Object(
  {
    kind: Kind,
    legs: Type.Array(Type.Object({ asset: Name, ...legMembers }, strict), {
      minItems: 1,
      maxItems: 2,
      description: 'Two for `desk_hedge`, one IN and one OUT. One for every other kind',
    }),
    profile_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'Only for `debt_repayment` and `write_off`',
      }),
    ),
    reference: Type.String({ minLength: 1, maxLength: 200, description: 'Your own name for it: booked once' }),
    reason: Reason,
    effective_at: Type.Optional(
      Type.String({ minLength: 1, maxLength: 100, description: 'When it happened. Absent: now' }),
    ),
  },
  strict,
)

export type EntryRequest = Static<typeof EntryBody>

export const ReverseBody = Type.Object({ reason: Reason }, strict)

export const LedgerEntry = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'Its postings’ `group_id`' }),
    kind: Kind,
    legs: Type.Array(Type.Object({ asset: Type.String(), ...legMembers })),
    profile_id: Type.Optional(Uuid),
    reference: Type.Optional(Type.String({ description: 'Absent of a reversal' })),
    reason: Type.String(),
    effective_at: Type.Optional(Type.String({ format: 'date-time', description: 'Absent: `created_at`' })),
    reverses: Type.Optional(Type.String({ format: 'uuid', description: 'The entry reversed by this one' })),
    reversed_by: Type.Optional(Type.String({ format: 'uuid', description: 'The entry that reverses this one' })),
    created_at: Time,
  },
  { title: 'LedgerEntry' },
)

export const LedgerEntryPage = pageOf(LedgerEntry)

export const ENTRY_FILTERS = {
  kind: choices(ENTRY_KINDS, 'Filter by kinds'),
  reference: texts('Filter by references'),
  profile_id: uuids('Filter by profiles'),
  created_at: times('Created'),
  order_by: orderBy(['CREATED_AT'], 'Ordering method'),
}

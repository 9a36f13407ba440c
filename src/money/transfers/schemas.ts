/** Response schemas for transfers and balances, and the filters for the transfer list. */
import { Type } from 'typebox'
import { choices, orderBy, texts, times, uuids } from '../../platform/http/list-query.ts'
import { NextPageCursor } from '../../platform/http/page-query.ts'
import { textChoice } from '../../platform/http/text-choice.ts'
import { TRANSFER_DIRECTIONS, TRANSFER_SECONDARY_STATUSES, TRANSFER_STATUSES, TRANSFER_TYPES } from './model.ts'

const Time = Type.String({ format: 'date-time' })
const Amount = Type.String({ description: 'Decimal text without trailing zeros, such as 12.5' })

export const Transfer = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    customer_id: Type.String(),
    profile_id: Type.String(),
    account_id: Type.Optional(Type.String()),
    asset: Type.String(),
    amount: Amount,
    fee: Amount,
    total: Type.String({ description: 'The sum of amount and fee' }),
    direction: textChoice(TRANSFER_DIRECTIONS),
    type: textChoice(TRANSFER_TYPES),
    status: textChoice(TRANSFER_STATUSES),
    secondary_status: Type.Optional(textChoice(TRANSFER_SECONDARY_STATUSES)),
    disposition: Type.Optional(
      Type.Object(
        { code: Type.String() },
        { description: 'Why the deposit was or was not converted. See the table of disposition codes' },
      ),
    ),
    crypto_network: Type.Optional(Type.String()),
    crypto_tx_hash: Type.Optional(Type.String()),
    crypto_tx_index: Type.Optional(Type.Integer()),
    confirmations: Type.Optional(Type.Integer()),
    destination_address: Type.Optional(Type.String()),
    memo: Type.Optional(Type.String()),
    group_id: Type.String({ description: 'The common id of one movement’s transfers' }),
    metadata: Type.Object({}, { additionalProperties: true }),
    created_at: Time,
    updated_at: Time,
  },
  { title: 'Transfer' },
)

export const TransferPage = Type.Object({
  items: Type.Array(Transfer),
  next_page_cursor: Type.Optional(NextPageCursor),
})

/** The list's query parameters. */
export const TRANSFER_FILTERS = {
  ids: uuids('Filter by transfer UUIDs'),
  group_id: texts('Filter by groups'),
  profile_id: texts('Filter by profiles'),
  asset: texts('Filter by assets'),
  type: choices(TRANSFER_TYPES, 'Filter by types'),
  status: choices(TRANSFER_STATUSES, 'Filter by statuses'),
  created_at: times('Created'),
  updated_at: times('Last updated'),
  order_by: orderBy(['CREATED_AT'], 'Ordering method'),
}

const balance = {
  asset: Type.String(),
  available: Type.String({ description: 'The amount the profile can use now' }),
  in_transit: Type.String({ description: 'Reserved by an orchestration or a withdrawal' }),
  held: Type.String({ description: 'Credited and on hold' }),
}

const Balance = Type.Object(balance, { title: 'Balance' })

export const Balances = Type.Object({ items: Type.Array(Balance) })

const OperatorBalance = Type.Object(
  {
    ...balance,
    receivable: Type.String({
      description: 'The amount the profile owes, such as the spent part of reversed deposits',
    }),
  },
  { title: 'OperatorBalance' },
)

export const OperatorBalances = Type.Object({ items: Type.Array(OperatorBalance) })

const StatementBalances = Type.Object(
  {
    balance: Type.String({ description: 'Available, in transit and held together, less what is owed' }),
    available: Type.String(),
    in_transit: Type.String(),
    held: Type.String(),
    receivable: Type.String(),
  },
  { title: 'StatementBalances' },
)

const StatementLine = Type.Object(
  {
    posting_id: Type.String(),
    group_id: Type.String({ format: 'uuid' }),
    created_at: Time,
    effective_at: Time,
    debit: Type.String(),
    debit_profile_id: Type.Optional(Type.String({ description: 'Another profile’s account' })),
    credit: Type.String(),
    credit_profile_id: Type.Optional(Type.String({ description: 'Another profile’s account' })),
    amount: Amount,
    change: Type.String({ description: 'Change in the balance: `0` when the money stays with the profile' }),
    balance: Type.String({ description: 'After this line' }),
  },
  { title: 'StatementLine' },
)

export const Statement = Type.Object(
  {
    profile_id: Type.String({ format: 'uuid' }),
    from: Time,
    to: Type.String({ format: 'date-time', description: 'Not included' }),
    assets: Type.Array(
      Type.Object({
        asset: Type.String(),
        opening: StatementBalances,
        lines: Type.Array(StatementLine),
        closing: StatementBalances,
      }),
    ),
  },
  { title: 'Statement' },
)

/** The comparison results for balances, transfers and postings. */
export const Ledger = Type.Object(
  {
    compared_at: Type.Optional(Type.String({ format: 'date-time', description: 'Absent until the first is complete' })),
    overdue: Type.Boolean({ description: 'Whether no comparison was completed within the last hour' }),
    balances: Type.Integer({ minimum: 0, description: 'Number of profile balances' }),
    differences: Type.Array(
      Type.Object({ account: Type.String(), asset: Type.String(), kept: Type.String(), recomputed: Type.String() }),
    ),
    transfers_compared_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'Absent until all were compared once' }),
    ),
    postings_read_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'Every posting was read since then. Absent until it is known' }),
    ),
    changed_postings: Type.Array(Type.Object({ first_id: Type.String(), last_id: Type.String() }), {
      description: 'Posting ranges changed, added or removed after they had been read',
    }),
  },
  { title: 'Ledger' },
)

/** Schemas of transfers and balances in responses, and the filters of the list of transfers. */
import { Type } from 'typebox'
import { choices, orderBy, texts, times, uuids } from '../http/list-query.ts'
import { NextPageCursor } from '../http/page-query.ts'
import { textChoice } from '../http/text-choice.ts'
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
        { description: 'Why the deposit was or was not converted; see the table of disposition codes' },
      ),
    ),
    crypto_network: Type.Optional(Type.String()),
    crypto_tx_hash: Type.Optional(Type.String()),
    crypto_tx_index: Type.Optional(Type.Integer()),
    confirmations: Type.Optional(Type.Integer()),
    destination_address: Type.Optional(Type.String()),
    memo: Type.Optional(Type.String()),
    group_id: Type.String({ description: 'The id that transfers of one movement share' }),
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

/** The query parameters of the list. */
export const TRANSFER_FILTERS = {
  ids: uuids('Filter by transfer UUIDs'),
  group_id: texts('Filter by groups'),
  profile_id: texts('Filter by profiles'),
  asset: texts('Filter by assets'),
  type: choices(TRANSFER_TYPES, 'Filter by types'),
  status: choices(TRANSFER_STATUSES, 'Filter by statuses'),
  created_at: times('Created'),
  order_by: orderBy(['CREATED_AT'], 'Ordering method'),
}

const balance = {
  asset: Type.String(),
  available: Type.String({ description: 'The amount that the profile can use now' }),
  in_transit: Type.String({ description: 'Reserved by an orchestration or a withdrawal' }),
  held: Type.String({ description: 'Credited and on hold' }),
}

const Balance = Type.Object(balance, { title: 'Balance' })

export const Balances = Type.Object({ items: Type.Array(Balance) })

export const OperatorBalances = Type.Object({
  items: Type.Array(
    Type.Object({
      ...balance,
      receivable: Type.String({
        description: 'The amount that the profile owes, such as the part of reversed deposits that it had spent',
      }),
    }),
  ),
})

/** Reads and locks deliveries. SQL writes their JSON text, for single records and lists. */
import type { EncryptionKey } from '../../access/clients/encryption-key.ts'
import { isUuid } from '../../platform/base/ids.ts'
import { Problem } from '../../platform/http/problem.ts'
import { RawJson } from '../../platform/http/raw-json.ts'
import type { Db, Kysely, Transaction } from '../../platform/store/db.ts'
import { forUpdate } from '../../platform/store/lock-order.ts'
import { type PageOrder, recordsOf } from '../../platform/store/page.ts'
import {
  flagText,
  type ItemText,
  jsonbText,
  objectText,
  plainText,
  quotedText,
  rawText,
  readTextPage,
  type TextPage,
  timeText,
} from '../../platform/store/page-text.ts'
import { sql } from '../../platform/store/sql.ts'
import { amountText } from '../ledger/amount-text.ts'
import { type PartiesForm, partiesOf, withParties } from '../screening/parties.ts'
import type { Delivery, DeliveryChannel, DeliveryStatus } from './model.ts'
import type { DeliveriesTable, DeliveryTables } from './tables.ts'

/** The columns used by this folder's code. */
const ROW_COLUMNS = [
  'id',
  'customer_id',
  'profile_id',
  'account_id',
  'orchestration_id',
  'deposit_id',
  'asset',
  'amount',
  'destination',
  'fails_to',
  'status',
  'attempt',
  'waiting_for',
  'gates',
  'opened_gates',
  'reference',
  'late',
] as const satisfies readonly (keyof DeliveriesTable)[]

/** `has_limits`: whether the customer has limits of its own. */
export type DeliveryRow = Pick<DeliveriesTable, (typeof ROW_COLUMNS)[number]> & { readonly has_limits: boolean }

/** The columns in `DeliveryRow`, for SQL text. */
export const rowColumns = sql.join([
  ...ROW_COLUMNS.map((name) => sql.ref(`deliveries.${name}`)),
  sql`exists (select from limit_overrides where limit_overrides.customer_id = deliveries.customer_id) as has_limits`,
])

/**
 * Whether an executor holds a delivery. With `waiting_for` there is no running claim: a gate stopped the delivery after
 * its claim had ended, and `next_attempt_at` only says when it is due again.
 */
export const isClaimRunning = sql<boolean>`(
  deliveries.status = 'CLAIMED' and deliveries.waiting_for is null
    and coalesce(deliveries.next_attempt_at > clock_timestamp(), false)
)`

/**
 * When a delivery CLAIMED through this channel can be handed out again. Null at a closed gate: every look moves the
 * time, and no person could confirm a report about a changing record.
 */
function dueText(channel: DeliveryChannel) {
  const isClaimed = sql`
    record.status = 'CLAIMED' and record.channel = ${sql.lit(channel)} and record.waiting_for is null`
  return sql<string>`case when ${isClaimed} then ${timeText('next_attempt_at')} end`
}

/** A delivery in the operator API. */
const ITEM: ItemText = {
  members: [
    ['id', plainText('id')],
    ['status', plainText('status')],
    ['attempt', sql`record.attempt::text`],
    ['asset', quotedText('asset')],
    ['amount', amountText('amount')],
    ['fee', amountText('fee')],
    ['destination', jsonbText('destination')],
    ['customer_id', plainText('customer_id')],
    ['profile_id', plainText('profile_id')],
    ['account_id', plainText('account_id')],
    ['orchestration_id', plainText('orchestration_id')],
    ['deposit_id', plainText('deposit_id')],
    ['channel', plainText('channel')],
    ['executor', quotedText('executor')],
    ['lease_until', dueText('manual')],
    ['next_attempt_at', dueText('webhook')],
    ['waiting_for', plainText('waiting_for')],
    ['waiting_detail', quotedText('waiting_detail')],
    ['gates', jsonbText('gates')],
    ['reference', quotedText('reference')],
    ['late', flagText('late')],
    [
      'fail_reason',
      sql`case when record.fail_code is not null then ${objectText([
        ['code', quotedText('fail_code')],
        ['detail', quotedText('fail_detail')],
      ])} end`,
    ],
    ['metadata', jsonbText('metadata')],
    ['first_attempt_at', timeText('first_attempt_at')],
    ['created_at', timeText('created_at')],
    ['updated_at', timeText('updated_at')],
  ],
  large: { text: [], jsonb: ['destination', 'metadata'] },
}

const ATTEMPT_TEXT = objectText([
  ['attempt', sql`record.attempt::text`],
  ['executor', quotedText('executor')],
  ['outcome', plainText('outcome')],
  ['detail', quotedText('detail')],
  ['started_at', timeText('started_at')],
  ['ended_at', timeText('ended_at')],
])

/** A delivery's attempts, in order. */
const ATTEMPTS = sql<string>`(
  select '[' || coalesce(string_agg(record.text, ',' order by record.attempt), '') || ']'
  from (
    select record.attempt, ${ATTEMPT_TEXT} as text from delivery_attempts as record
    where record.delivery_id = delivery.id
  ) as record
)`

interface DeliveryText {
  readonly text: string
  readonly orchestration_id: string | null
}

/** The texts with the parties of their orchestrations, for the executors. */
async function textsWithParties<Tables>(
  tables: Kysely<Tables>,
  rows: readonly DeliveryText[],
  key: EncryptionKey | undefined,
  form: PartiesForm = 'shown',
): Promise<readonly string[]> {
  const parties = await partiesOf(
    tables,
    rows.flatMap((row) => row.orchestration_id ?? []),
    key,
    form,
  )
  return rows.map(({ text, orchestration_id }) => withParties(text, parties.get(orchestration_id ?? '')))
}

/** The deliveries' JSON texts, in the order of `ids`. */
export async function deliveryTexts<Tables>(
  tables: Kysely<Tables>,
  ids: readonly string[],
  key?: EncryptionKey | undefined,
): Promise<readonly string[]> {
  const { rows } = await sql<DeliveryText>`
    select ${objectText(ITEM.members)} as text, orchestration_id
    from unnest(${[...ids]}::uuid[]) with ordinality as wanted (id, number)
    join deliveries as record on record.id = wanted.id
    order by wanted.number
  `.execute(tables)
  return await textsWithParties(tables, rows, key, 'sent')
}

/**
 * True until the customer has a settled payment to the same destination. Other customers' payments do not count,
 * because they would make a thief's destination look known.
 */
const FIRST_TO_DESTINATION = sql<string>`
  case when record.status <> 'SETTLED' and not exists (
    select from deliveries as paid
    where paid.status = 'SETTLED' and paid.customer_id = record.customer_id
      and md5(paid.destination::text) = md5(record.destination::text)
  ) then 'true' end
`

/** A delivery with its attempts. Throws 404 when there is none with this id. */
export async function deliveryDocument<Tables>(
  tables: Kysely<Tables>,
  id: string,
  key?: EncryptionKey | undefined,
  form?: PartiesForm,
): Promise<RawJson> {
  const members = [
    ...ITEM.members,
    ['first_to_destination', FIRST_TO_DESTINATION] as const,
    ['attempts', rawText('attempts')] as const,
  ]
  const { rows } = await sql<DeliveryText>`
    select ${objectText(members)} as text, orchestration_id
    from (select delivery.*, ${ATTEMPTS} as attempts from deliveries as delivery where delivery.id = ${id}) as record
  `.execute(tables)
  const [text = noDelivery()] = await textsWithParties(tables, rows, key, form)
  return new RawJson(text)
}

export interface DeliveryFilters {
  readonly status?: DeliveryStatus | undefined
  readonly profile_id?: string | undefined
  readonly orchestration_id?: string | undefined
  readonly executor?: string | undefined
}

/** All customers' deliveries, in pages. */
export async function listDeliveries(
  db: Db,
  request: { readonly limit: number; readonly order: PageOrder; readonly pageCursor?: string },
  { status, profile_id, orchestration_id, executor }: DeliveryFilters,
): Promise<TextPage> {
  const tables = db.tables<DeliveryTables>()
  let query = tables.selectFrom('deliveries').selectAll()
  if (status !== undefined) query = query.where('status', '=', status)
  if (executor !== undefined) query = query.where('executor', '=', executor)
  for (const [column, id] of [
    ['profile_id', profile_id],
    ['orchestration_id', orchestration_id],
  ] as const) {
    if (id === undefined) continue
    query = isUuid(id) ? query.where(column, '=', id.toLowerCase()) : query.where(sql<boolean>`false`)
  }
  const filters = { status, profile_id, orchestration_id, executor }
  const binding = { operation: 'deliveries', owner: 'operator', filters, idType: 'uuid' } as const
  const list = { ...request, ...binding, indexes: 'all' } as const
  return await readTextPage(tables, recordsOf(query, list), ITEM, list)
}

/** The delivery, locked until the transaction ends. Throws 404 when there is none with this id. */
export async function lockDelivery<Tables>(transaction: Transaction<Tables>, id: string): Promise<DeliveryRow> {
  const { rows } = await sql<DeliveryRow>`
    select ${rowColumns} from deliveries where id = ${id} ${forUpdate(transaction, 'delivery', [id])}
  `.execute(transaction)
  return rows[0] ?? noDelivery()
}

/** A row in the form passed to the delivery's owner. */
export function deliveryOf(row: DeliveryRow): Delivery {
  const { orchestration_id: orchestrationId, deposit_id: depositId } = row
  return {
    id: row.id,
    customerId: row.customer_id,
    profileId: row.profile_id,
    accountId: row.account_id,
    owner: orchestrationId === null ? { depositId: depositId as string } : { orchestrationId },
    asset: row.asset,
    amount: BigInt(row.amount),
    destination: row.destination,
    failsTo: row.fails_to,
    status: row.status,
    attempt: row.attempt,
    reference: row.reference,
    late: row.late,
  }
}

function noDelivery(): never {
  throw new Problem('not_found', 'there is no delivery with this id')
}

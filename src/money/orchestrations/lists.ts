/** Reads orchestrations as JSON text written by SQL: one by id, and lists in pages. Read-only. */
import type { EncryptionKey } from '../../access/clients/encryption-key.ts'
import type { AllApplied, ListQuery } from '../../platform/http/list-query.ts'
import type { Db, Kysely } from '../../platform/store/db.ts'
import { readFilteredPage } from '../../platform/store/filtered-list.ts'
import { isMadeWithin, isOwnedBy, PAGE_BYTES_MAX } from '../../platform/store/page.ts'
import {
  type ItemText,
  jsonbText,
  objectText,
  plainText,
  quotedText,
  readItemText,
  type TextPage,
  timeText,
} from '../../platform/store/page-text.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { amountText } from '../ledger/amount-text.ts'
import { DESTINATION_TEXT, SOURCE_TEXT } from '../rules/list-items.ts'
import { type PartiesForm, partiesOf, withParties } from '../screening/parties.ts'
import type { OPERATOR_ORCHESTRATION_FILTERS, ORCHESTRATION_FILTERS } from './schemas.ts'
import type { OrchestrationTables } from './tables.ts'

/** The tables that map a filter's value to its customer, because the indexes begin with the customer. */
const OWNER_TABLES: Readonly<Record<string, string>> = { profile_id: 'profiles', rule_id: 'rules' }

/** A list response contains its items twice: as `items` and as `orchestrations`. */
const COPIES = 2

/** The JSON text of one customer's orchestration. Undefined when the customer has none with this id or `ref_id`. */
export async function getOrchestration<Tables>(
  tables: Kysely<Tables>,
  customerId: string,
  found: { readonly id: string } | { readonly refId: string },
): Promise<string | undefined> {
  const ours = tables as unknown as Kysely<OrchestrationTables>
  const all = ours.selectFrom('orchestrations').selectAll().where('customer_id', '=', customerId)
  const query = 'id' in found ? all.where('id', '=', found.id) : all.where('ref_id', '=', found.refId)
  return await readItemText(ours, query, ORCHESTRATION_ITEM)
}

/** A single orchestration's JSON text, with its parties. Lists leave them out. */
export async function textWithParties<Tables>(
  tables: Kysely<Tables>,
  id: string,
  text: string,
  key: EncryptionKey | undefined,
  form: PartiesForm = 'shown',
): Promise<string> {
  return withParties(text, (await partiesOf(tables, [id], key, form)).get(id))
}

/** Any customer's orchestration, in its form for the operator. */
export async function getAnyOrchestration<Tables>(tables: Kysely<Tables>, id: string): Promise<string | undefined> {
  const ours = tables as unknown as Kysely<OrchestrationTables>
  const query = ours.selectFrom('orchestrations').selectAll().where('id', '=', id)
  return await readItemText(ours, query, OPERATOR_ORCHESTRATION_ITEM)
}

/** One page of a customer's orchestrations. The items equal those from `getOrchestration`. */
export async function listOrchestrations(
  db: Db,
  customerId: string,
  { filters, binding, ...paging }: ListQuery<typeof ORCHESTRATION_FILTERS>,
): Promise<TextPage> {
  const tables = db.tables<OrchestrationTables>()
  const owned = tables.selectFrom('orchestrations').selectAll().where(isOwnedBy(customerId))
  const { created_at, updated_at, ids, orchestration_id, ref_id, status, source_asset, destination_asset, ...others } =
    filters
  const { orchestration_rule_id, orchestration_rule_ids, profile_id, profile_ids, ...left } = others
  left satisfies AllApplied
  return await readFilteredPage(tables, {
    query: created_at === undefined ? owned : owned.where(isMadeWithin(created_at)),
    range:
      updated_at === undefined ? undefined : { column: 'updated_at', range: updated_at, owned, created: created_at },
    filters: [
      { column: 'id', type: 'uuid', values: ids, index: 'one' },
      { column: 'id', type: 'uuid', values: orchestration_id, index: 'one' },
      { column: 'ref_id', type: 'text', values: ref_id, index: 'one' },
      {
        column: 'rule_id',
        type: 'uuid',
        values: union(orchestration_rule_id, orchestration_rule_ids),
        index: 'filter',
      },
      { column: 'profile_id', type: 'uuid', values: union(profile_id, profile_ids), index: 'filter' },
      { column: 'status', type: 'text', values: status, index: 'filter', leftOut: ['COMPLETED'] },
      { column: 'source_asset', type: 'text', values: source_asset },
      { column: 'destination_asset', type: 'text', values: destination_asset },
    ],
    item: ORCHESTRATION_ITEM,
    request: { ...paging, operation: 'listOrchestrations', owner: customerId, filters: binding, idType: 'uuid' },
    bytesMax: PAGE_BYTES_MAX / COPIES,
  })
}

/** One page of all customers' orchestrations, for the operator. */
export async function listAllOrchestrations(
  db: Db,
  { filters, binding, ...paging }: ListQuery<typeof OPERATOR_ORCHESTRATION_FILTERS>,
): Promise<TextPage> {
  const tables = db.tables<OrchestrationTables>()
  const common = { operation: 'orchestrations', owner: 'operator', idType: 'uuid', indexes: 'all' } as const
  const { deposit_id, orchestration_rule_id, profile_id, waiting_for, customer_id, status, ...left } = filters
  left satisfies AllApplied
  return await readFilteredPage(tables, {
    query: tables.selectFrom('orchestrations').selectAll(),
    filters: [
      { column: 'deposit_id', type: 'uuid', values: deposit_id, index: 'filter' },
      { column: 'rule_id', type: 'uuid', values: orchestration_rule_id, index: 'filter' },
      { column: 'profile_id', type: 'uuid', values: profile_id, index: 'filter' },
      { column: 'waiting_for', type: 'text', values: waiting_for, index: 'filter' },
      { column: 'customer_id', type: 'uuid', values: customer_id, index: 'owner' },
      { column: 'status', type: 'text', values: status, index: 'filter', leftOut: ['COMPLETED'] },
    ],
    item: OPERATOR_ORCHESTRATION_ITEM,
    request: { ...paging, ...common, filters: binding },
    hasValue: hasValueOfAll,
  })
}

function hasValueOfAll(column: string, value: RawBuilder<string>): RawBuilder<boolean> {
  const isValue = sql<boolean>`${sql.ref(column)} = ${value}`
  const owner = OWNER_TABLES[column]
  if (owner === undefined) return isValue
  return sql<boolean>`${isValue} and customer_id = (select customer_id from ${sql.table(owner)} where id = ${value})`
}

function union(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): readonly string[] | undefined {
  return one === undefined || other === undefined ? (one ?? other) : [...one, ...other]
}

/** An object, absent when the column is null. */
function objectIf(column: string, members: Parameters<typeof objectText>[0]): RawBuilder<string | null> {
  return sql`case when ${sql.ref(`record.${column}`)} is not null then ${objectText(members)} end`
}

/** The linked transfer, with its current status. */
function transferText(column: 'source_transfer_id' | 'destination_transfer_id'): RawBuilder<string | null> {
  return sql`(
    select ${objectText([
      ['transfer_id', sql`'"' || linked.id || '"'`],
      ['status', sql`'"' || linked.status || '"'`],
    ])}
    from transfers as linked where linked.id = ${sql.ref(`record.${column}`)}
  )`
}

const destinationAmount = amountText('destination_amount', 'destination_asset')
const sourceAmount = amountText('source_amount', 'source_asset')

/** An orchestration in the customer API. */
const ORCHESTRATION_ITEM: ItemText = {
  members: [
    ['id', plainText('id')],
    ['customer_id', plainText('customer_id')],
    ['profile_id', plainText('profile_id')],
    ['identity_id', quotedText('identity_id')],
    ['account_id', plainText('account_id')],
    ['ref_id', quotedText('ref_id')],
    ['orchestration_rule_id', plainText('rule_id')],
    ['deposit_id', plainText('deposit_id')],
    ['retry_of', plainText('retry_of')],
    ['source_asset', quotedText('source_asset')],
    ['source_amount', sourceAmount],
    ['destination_asset', quotedText('destination_asset')],
    ['destination_amount', destinationAmount],
    ['price', plainText('price')],
    ['price_source', quotedText('price_source')],
    [
      'receipt',
      objectIf('destination_amount', [
        ['initial_amount', sourceAmount],
        // Null means that the fee was given back.
        ['fee_amount', amountText(sql`coalesce(record.fee_amount, 0)`, 'source_asset')],
        ['converted_amount', amountText('converted_amount', 'source_asset')],
        ['rate', plainText('price')],
        ['outgoing_amount', destinationAmount],
      ]),
    ],
    ['status', plainText('status')],
    ['waiting_for', plainText('waiting_for')],
    ['expires_at', timeText('expires_at')],
    [
      'fail_reason',
      objectIf('fail_code', [
        ['code', plainText('fail_code')],
        ['detail', quotedText('fail_detail')],
      ]),
    ],
    ['source', SOURCE_TEXT],
    ['destination', DESTINATION_TEXT],
    ['source_transfer', transferText('source_transfer_id')],
    ['destination_transfer', transferText('destination_transfer_id')],
    ['metadata', jsonbText('metadata')],
    ['created_at', timeText('created_at')],
    ['updated_at', timeText('updated_at')],
  ],
  large: { text: ['identity_id', 'ref_id', 'fail_detail'], jsonb: ['destination', 'metadata'] },
}

/** An orchestration in the operator API. */
const OPERATOR_ORCHESTRATION_ITEM: ItemText = {
  ...ORCHESTRATION_ITEM,
  members: [
    ...ORCHESTRATION_ITEM.members,
    ['step', plainText('step')],
    ['waiting_detail', quotedText('waiting_detail')],
    ['waiting_since', timeText('waiting_since')],
    ['gates', jsonbText('gates')],
    ['version', timeText('updated_at')],
  ],
}

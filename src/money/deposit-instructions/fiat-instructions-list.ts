/** Reads a customer's fiat deposit instructions as JSON text, singly and in lists, with the configured bank details. */
import { FIAT_NETWORKS } from '../../contract/assets.ts'
import { BANK_FORMS, type BankInstructions } from '../../contract/bank-details.ts'
import {
  type AllApplied,
  choices,
  type ListQuery,
  orderBy,
  texts,
  times,
  uuids,
} from '../../platform/http/list-query.ts'
import type { Db, Kysely } from '../../platform/store/db.ts'
import { readFilteredPage } from '../../platform/store/filtered-list.ts'
import { isMadeWithin, isOwnedBy } from '../../platform/store/page.ts'
import {
  type ItemText,
  plainText,
  quotedText,
  readItemText,
  type TextPage,
  timeText,
} from '../../platform/store/page-text.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import type { FiatInstructionTables } from './tables.ts'

/** The list's parameters. */
export const FIAT_INSTRUCTIONS_FILTERS = {
  profile_ids: texts('Filter by profile IDs'),
  ids: uuids('Filter by fiat deposit instruction UUIDs'),
  ref_ids: texts('Filter by client-specified IDs'),
  fiat_networks: choices(FIAT_NETWORKS, 'Filter by fiat networks'),
  created_at: times('Created'),
  order_by: orderBy(['CREATED_AT'], 'Ordering method'),
}

/** The text of one customer's instructions. Undefined when the customer has none with this id or `ref_id`. */
export async function fiatInstructionsText(
  tables: Kysely<FiatInstructionTables>,
  found: { readonly customerId: string } & ({ readonly id: string } | { readonly ref_id: string }),
  banks: BankInstructions,
): Promise<string | undefined> {
  const all = tables.selectFrom('fiat_instructions').selectAll().where('customer_id', '=', found.customerId)
  const query = 'id' in found ? all.where('id', '=', found.id) : all.where('ref_id', '=', found.ref_id)
  return await readItemText(tables, query, itemOf(banks))
}

export async function listFiatInstructions(
  db: Db,
  customerId: string,
  { filters, binding, ...paging }: ListQuery<typeof FIAT_INSTRUCTIONS_FILTERS>,
  banks: BankInstructions,
): Promise<TextPage> {
  const tables = db.tables<FiatInstructionTables>()
  const { created_at, ids, ref_ids, profile_ids, fiat_networks, ...left } = filters
  left satisfies AllApplied
  const owned = tables.selectFrom('fiat_instructions').selectAll().where(isOwnedBy(customerId))
  return await readFilteredPage(tables, {
    query: created_at === undefined ? owned : owned.where(isMadeWithin(created_at)),
    filters: [
      { column: 'id', type: 'uuid', values: ids, index: 'one' },
      { column: 'ref_id', type: 'text', values: ref_ids, index: 'one' },
      { column: 'profile_id', type: 'uuid', values: profile_ids, index: 'filter' },
      { column: 'network', type: 'text', values: fiat_networks },
    ],
    item: itemOf(banks),
    request: {
      ...paging,
      operation: 'listFiatDepositInstructions',
      owner: customerId,
      filters: binding,
      idType: 'uuid',
    },
  })
}

/** The JSON text of a place's bank details, or null. */
export function bankText(
  banks: BankInstructions,
  network: RawBuilder<unknown>,
  accountType: RawBuilder<unknown>,
): RawBuilder<string | null> {
  const cases = FIAT_NETWORKS.flatMap((name) =>
    Object.keys(BANK_FORMS[name]).flatMap((type) => {
      const bank = banks[name]?.[type]
      if (bank === undefined) return []
      const isType = type === 'ANY' ? sql`true` : sql`${accountType} = ${sql.lit(type)}`
      return [sql`when ${network} = ${sql.lit(name)} and ${isType} then ${JSON.stringify(bank)}::text`]
    }),
  )
  return cases.length === 0 ? sql<null>`null::text` : sql<string | null>`case ${sql.join(cases, sql` `)} end`
}

function itemOf(banks: BankInstructions): ItemText {
  return {
    members: [
      ['id', plainText('id')],
      ['profile_id', plainText('profile_id')],
      ['customer_id', plainText('customer_id')],
      ['account_id', plainText('account_id')],
      ['identity_id', quotedText('identity_id')],
      ['ref_id', quotedText('ref_id')],
      ['memo_id', plainText('memo_id')],
      ['fiat_network', plainText('network')],
      ['account_type', plainText('account_type')],
      ['bank', bankText(banks, sql`record.network`, sql`record.account_type`)],
      ['status', sql`'"ACTIVE"'`],
      ['created_at', timeText('created_at')],
    ],
    large: { text: ['identity_id', 'ref_id'], jsonb: [] },
  }
}

/**
 * Accounts filtered by `updated_at`, in the order of creation. For accounts that were never changed, `updated_at` equals
 * `created_at`, so their index by creation is used. For changed ones, `account_changes` has one row per level of time slices:
 * a range of times is a set of slices, and each slice has its accounts in the order of the list. A page reads at most one
 * page of unchanged accounts and one page of each slice. A change moves an account in its own transaction and a page is one
 * statement, so every account is found exactly once.
 */
import { assert } from '../base/assert.ts'
import type { TimeRange } from '../http/list-times.ts'
import type { Kysely, Transaction } from '../store/db.ts'
import {
  isMadeWithin,
  isOwnedBy,
  type PageRecords,
  type PageRequest,
  pageQuery,
  recordsOfParts,
} from '../store/page.ts'
import { type RawBuilder, type SelectQueryBuilder, sql } from '../store/sql.ts'
import { type ChangeSlice, slicesAt, slicesOf } from './change-slices.ts'
import type { AccountRow } from './documents.ts'
import type { AccountTables } from './tables.ts'

interface WantedChanges {
  readonly customerId: string
  readonly identityId: string | undefined
  readonly created: TimeRange | undefined
  readonly changed: TimeRange
}

/** Moves a changed account to the slices of its new `updated_at`; the caller holds its lock. */
export async function recordChange(
  transaction: Transaction<AccountTables>,
  before: AccountRow,
  after: AccountRow,
): Promise<void> {
  const slices = slicesAt(after.updated_at)
  if (before.updated_at === before.created_at) {
    await sql`
      insert into account_changes (customer_id, level, slice, created_at, account_id, identity_id)
      select ${after.customer_id}::uuid, level, slice, ${after.created_at}::timestamptz, ${after.id}::uuid,
        ${after.identity_id}::text
      from ${unnest(slices)} as wanted (level, slice)
    `.execute(transaction)
    return
  }
  const slicesBefore = slicesAt(before.updated_at)
  const moved = slices.filter(({ level, slice }) => slice !== slicesBefore[level]?.slice)
  const { numAffectedRows } = await sql`
    update account_changes set slice = wanted.slice
    from ${unnest(moved)} as wanted (level, slice)
    join ${unnest(slicesBefore)} as present (level, slice) on present.level = wanted.level
    where customer_id = ${after.customer_id} and account_changes.level = present.level
      and account_changes.slice = present.slice and created_at = ${after.created_at} and account_id = ${after.id}
  `.execute(transaction)
  assert(numAffectedRows === BigInt(moved.length), 'a changed account has a row for each level')
}

/**
 * One page of the accounts of a customer whose `updated_at` is within a range.
 * @param accountOf the query of the account with an id
 */
export function recordsByChange<Table extends keyof AccountTables>(
  tables: Kysely<AccountTables>,
  wanted: WantedChanges,
  accountOf: (id: RawBuilder<string>) => SelectQueryBuilder<AccountTables, Table, AccountRow>,
  request: PageRequest,
): PageRecords<AccountRow> {
  const { customerId, identityId, created, changed } = wanted

  let unchanged = tables
    .selectFrom('accounts')
    .select(['created_at', 'id'])
    .where(isOwnedBy(customerId))
    .where(isMadeWithin(changed))
    // The two equivalent conditions select different indexes; see the migration.
    .where(identityId === undefined ? sql<boolean>`updated_at = created_at` : sql<boolean>`updated_at <= created_at`)
  let inSlice = tables
    .selectFrom('account_changes')
    .select(['created_at', 'account_id as id'])
    .where(isOwnedBy(customerId))
    .where(sql<boolean>`account_changes.level = wanted.level and account_changes.slice = wanted.slice`)
  if (identityId !== undefined) {
    unchanged = unchanged.where('identity_id', '=', identityId)
    inSlice = inSlice.where('identity_id', '=', identityId)
  }
  if (created !== undefined) {
    unchanged = unchanged.where(isMadeWithin(created))
    inSlice = inSlice.where(isMadeWithin(created))
  }
  const pageOfSlice = pageQuery(inSlice, {
    ...request,
    columns: { createdAt: 'created_at', id: 'account_id' },
    indexes: identityId === undefined ? 'owner' : 'filter',
  })
  const parts = [
    sql`${pageQuery(unchanged, { ...request, indexes: 'filters' })}`,
    sql`
      select page.* from ${unnest(slicesOf(changed))} as wanted (level, slice)
      cross join lateral ${pageOfSlice} as page`,
  ]
  return recordsOfParts(parts, accountOf, request)
}

/** Slices as a table of their levels and numbers. */
function unnest(slices: readonly ChangeSlice[]): RawBuilder<unknown> {
  const levels = slices.map(({ level }) => String(level))
  const numbers = slices.map(({ slice }) => String(slice))
  return sql`unnest(${levels}::smallint[], ${numbers}::bigint[])`
}

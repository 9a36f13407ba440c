/**
 * Accounts in the store. Creating an account is a transaction by itself. Other writes run in the caller's transaction.
 * Each write adds one audit row. A request for the current state writes nothing. A `ref_id` is reserved for its first
 * account for ever: the customer's other accounts can never have it. Other customers' accounts are never found.
 */
import { newId } from '../../platform/base/ids.ts'
import { Problem } from '../../platform/http/problem.ts'
import { auditInsert, writeAudit } from '../../platform/store/audit.ts'
import { accountCreation, NOT_NULL_VIOLATION } from '../../platform/store/creation-time.ts'
import { type Db, type Kysely, StatementFailed, type Transaction } from '../../platform/store/db.ts'
import { forUpdate } from '../../platform/store/lock-order.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { type AccountRow, accountDocument } from './documents.ts'
import {
  type AccountMember,
  type AccountType,
  type NewMember,
  type ReviewStatus,
  replaceMembers,
  reviewAfter,
  type SummaryStatus,
} from './model.ts'
import type { Quotas } from './quotas.ts'
import type { AccountTables } from './tables.ts'

export interface NewAccount {
  readonly identityId: string
  readonly refId: string | undefined
  readonly description: string | undefined
  /** A JSON object's compact text. */
  readonly metadata: string
  readonly members: readonly NewMember[]
  readonly type: AccountType
  readonly withProfile: boolean
}

/** Changes by a customer. Undefined members stay as they are. */
export interface AccountChange {
  readonly refId: string | undefined
  readonly description: string | undefined
  readonly metadata: string | undefined
  readonly members: readonly NewMember[] | undefined
  readonly userDisabled: boolean | undefined
}

/** Changes by the operator. */
export interface AccountReview {
  readonly summary_status?: SummaryStatus
  readonly admin_disabled?: boolean
}

interface Writer {
  readonly customerId: string
  /** The actor in the audit trail. */
  readonly actor: string
}

type Changes = Partial<
  Pick<AccountRow, 'ref_id' | 'description' | 'metadata' | 'members' | 'user_disabled' | 'admin_disabled'>
> & { readonly review_status?: ReviewStatus }

/** The columns in `AccountRow`. */
export const ACCOUNT_COLUMNS = [
  'id',
  'customer_id',
  'identity_id',
  'ref_id',
  'description',
  'metadata',
  'members',
  'type',
  'review_status',
  'admin_disabled',
  'user_disabled',
  'profile_id',
  'created_at',
  'updated_at',
] as const

/**
 * Creates an account with one statement, which is also one transaction. The customer's other creations wait for its
 * `customer_clocks` row, so nothing outside the store may happen while the row is locked.
 */
export async function createAccount(
  db: Db,
  { customerId, actor }: Writer,
  account: NewAccount,
  quotas: Quotas,
): Promise<AccountRow> {
  const id = newId()
  const { refId, identityId, type } = account
  const profileId = account.withProfile ? newId() : null
  const detail = { customer_id: customerId, identity_id: identityId, ref_id: refId, type, profile_id: profileId }
  const entry = { actor, action: 'account.create', subject: id, detail }
  // Reserved before the `customer_clocks` row is locked, because another transaction may hold the same `ref_id`.
  const reserved = refId === undefined ? sql`select 1` : reserveRefId(customerId, refId, id)
  const profile = sql`insert into profiles (id, customer_id, type, created_at)
    select ${profileId}::uuid, ${customerId}::uuid, 'NORMAL', last_created_at from clock`
  const inserted = sql`insert into accounts (${sql.join(ACCOUNT_COLUMNS.map((name) => sql.ref(name)))})
    select ${id}::uuid, ${customerId}::uuid, ${identityId}, ${refId ?? null}, ${account.description ?? null},
      ${account.metadata}, ${JSON.stringify(replaceMembers([], account.members, newId))}::jsonb, ${type}, 'PENDING',
      false, false, ${profileId}::uuid, last_created_at, last_created_at
    from clock returning *`
  const query = sql<AccountRow>`
    with reserved as (${reserved}),
      clock as (${accountCreation(customerId, quotas.accountLimits, sql`reserved`)}),
      ${profileId === null ? sql`` : sql`profile as (${profile}),`}
      account as (${inserted}),
      entry as (${auditInsert(entry, sql`account`)})
    select * from account`
  try {
    const [row] = (await query.execute(db.tables())).rows
    if (row !== undefined) return row
  } catch (error) {
    if (!(error instanceof StatementFailed) || error.sqlState !== NOT_NULL_VIOLATION) throw error
    await quotas.refuseAccount(db, customerId)
    // The day has ended, or the quota was raised.
    throw new Problem('unavailable', 'the quota has changed: try again', { headers: { 'retry-after': '1' } })
  }
  throw refIdTaken(await holderOf(db.tables(), customerId, refId as string))
}

/** Changes an account owned by the writer's customer. Returns `undefined` when there is none with this id. */
export async function changeAccount(
  transaction: Transaction<AccountTables>,
  { customerId, actor }: Writer,
  id: string,
  wanted: AccountChange,
): Promise<AccountRow | undefined> {
  const account = await lockAccount(transaction, id, customerId)
  if (account === undefined) return undefined
  const { refId = account.ref_id, description = account.description, metadata = account.metadata } = wanted
  const members = replaceMembers(account.members, wanted.members ?? account.members, newId)
  const changes: Changes = {
    ...(refId === account.ref_id ? {} : { ref_id: refId }),
    ...(description === account.description ? {} : { description }),
    ...(metadata === account.metadata ? {} : { metadata }),
    ...(areSame(members, account.members) ? {} : { members }),
    ...different('user_disabled', wanted.userDisabled, account),
  }
  if (Object.keys(changes).length === 0) return account
  if (typeof changes.ref_id === 'string') await takeRefId(transaction, customerId, changes.ref_id, id)
  // Only member names, and the values of `ref_id` and `user_disabled`: customers' other texts may be long and do not
  // belong in the audit trail.
  const detail = { changed: Object.keys(changes), ref_id: changes.ref_id, user_disabled: changes.user_disabled }
  await writeAudit(transaction, { actor, action: 'account.update', subject: id, detail })
  return await applyChanges(transaction, account, changes)
}

/** Applies the operator's changes. Returns `undefined` when there is no account with this id. */
export async function reviewAccount(
  transaction: Transaction<AccountTables>,
  actor: string,
  id: string,
  wanted: AccountReview,
): Promise<AccountRow | undefined> {
  const account = await lockAccount(transaction, id)
  if (account === undefined) return undefined
  const review = reviewAfter(account, wanted.summary_status ?? account.review_status)
  if (review === undefined) {
    const detail = `summary_status: the account is ${account.review_status} and cannot become ${wanted.summary_status}`
    throw new Problem('invalid_state', detail, { meta: { current: account.review_status } })
  }
  const changes: Changes = {
    ...(review === account.review_status ? {} : { review_status: review }),
    ...different('admin_disabled', wanted.admin_disabled, account),
  }
  if (Object.keys(changes).length === 0) return account
  await writeAudit(transaction, { actor, action: 'account.review', subject: id, detail: { ...wanted } })
  return await applyChanges(transaction, account, changes)
}

/** The account with this id, for one customer or for any. */
export async function getAccount(db: Db, id: string, customerId?: string): Promise<AccountRow | undefined> {
  const query = db.tables<AccountTables>().selectFrom('accounts').select(ACCOUNT_COLUMNS).where('id', '=', id)
  const visible = customerId === undefined ? query : query.where('customer_id', '=', customerId)
  return await visible.executeTakeFirst()
}

/**
 * Locks the account until the transaction ends, for one customer or for any. Another customer's row is never waited
 * for, because the waiting time would reveal it.
 */
export async function lockAccount(
  transaction: Transaction<AccountTables>,
  id: string,
  customerId?: string,
): Promise<AccountRow | undefined> {
  const all = transaction.selectFrom('accounts').select(ACCOUNT_COLUMNS).where('id', '=', id)
  const query = all.modifyEnd(forUpdate(transaction, 'account', [id]))
  return await (customerId === undefined ? query : query.where('customer_id', '=', customerId)).executeTakeFirst()
}

/**
 * Reserves `refId` for this account for ever. A concurrent request for the same `refId` waits until the first one ends.
 */
async function takeRefId(
  transaction: Transaction<AccountTables>,
  customerId: string,
  refId: string,
  accountId: string,
): Promise<void> {
  const { rows } = await reserveRefId(customerId, refId, accountId).execute(transaction)
  if (rows.length > 0) return
  const holder = await holderOf(transaction, customerId, refId)
  // An account may reuse a `ref_id` that it had before.
  if (holder.id !== accountId) throw refIdTaken(holder)
}

/** A statement, or part of one. Returns a row unless the `ref_id` is taken. */
function reserveRefId(customerId: string, refId: string, accountId: string): RawBuilder<unknown> {
  return sql`
    insert into account_ref_ids (customer_id, ref_id, account_id)
    values (${customerId}::uuid, ${refId}, ${accountId}::uuid)
    on conflict on constraint account_ref_ids_once do nothing
    returning account_id`
}

/** The account for which a `ref_id` is reserved. */
async function holderOf(tables: Kysely<AccountTables>, customerId: string, refId: string): Promise<AccountRow> {
  return await tables
    .selectFrom('account_ref_ids')
    .innerJoin('accounts', 'accounts.id', 'account_ref_ids.account_id')
    .selectAll('accounts')
    .where('account_ref_ids.customer_id', '=', customerId)
    .where('account_ref_ids.ref_id', '=', refId)
    .executeTakeFirstOrThrow()
}

function refIdTaken(holder: AccountRow): Problem {
  return new Problem('already_exists', 'ref_id: it has been used for another account', {
    meta: { existing: accountDocument(holder) },
  })
}

async function applyChanges(
  transaction: Transaction<AccountTables>,
  before: AccountRow,
  { members, ...changes }: Changes,
): Promise<AccountRow> {
  return await transaction
    .updateTable('accounts')
    .set({
      ...changes,
      ...(members === undefined ? {} : { members: JSON.stringify(members) }),
      // Later than the last change, even when the clock was set back.
      updated_at: sql`greatest(date_trunc('milliseconds', clock_timestamp()), updated_at + interval '1 millisecond')`,
    })
    .where('id', '=', before.id)
    .returning(ACCOUNT_COLUMNS)
    .executeTakeFirstOrThrow()
}

/** The flag as a change. Empty when the flag was not requested or already has the requested value. */
function different<Name extends 'user_disabled' | 'admin_disabled'>(
  name: Name,
  wanted: boolean | undefined,
  account: AccountRow,
): { readonly [Member in Name]?: boolean } {
  const isChange = wanted !== undefined && wanted !== account[name]
  return (isChange ? { [name]: wanted } : {}) as { readonly [Member in Name]?: boolean }
}

function areSame(left: readonly AccountMember[], right: readonly AccountMember[]): boolean {
  const textOf = (members: readonly AccountMember[]): string =>
    JSON.stringify(members.map(({ id, identity_id, roles }) => [id, identity_id, roles]))
  return textOf(left) === textOf(right)
}

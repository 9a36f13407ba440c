/**
 * Profiles, the holders of balances. A profile is created with an account or by the operator. It never changes and is
 * never deleted. This module also checks whether addresses and rules may be created for a profile.
 */
import { isUuid, newId } from '../../platform/base/ids.ts'
import type { AllApplied, ListQuery } from '../../platform/http/list-query.ts'
import { invalidRequest, Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import { nextCreationTime } from '../../platform/store/creation-time.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { forShare } from '../../platform/store/lock-order.ts'
import { isMadeWithin, isOwnedBy, type Page, type PageOrder, readPage, recordsOf } from '../../platform/store/page.ts'
import { readTextPage, type TextPage } from '../../platform/store/page-text.ts'
import { sql } from '../../platform/store/sql.ts'
import { PROFILE_ITEM } from './list-items.ts'
import { BLOCKED_STATUSES, summaryStatus } from './model.ts'
import type { PROFILE_FILTERS } from './schemas.ts'
import type { AccountTables } from './tables.ts'

/** A profile in the operator API. */
export interface ProfileDocument {
  readonly id: string
  readonly customer_id: string
  readonly nickname?: string
  readonly type: 'NORMAL'
  readonly created_at: string
}

/** A profile for which addresses and rules may be created. */
export interface WritableProfile {
  readonly id: string
  readonly customerId: string
  /** Absent when the operator created the profile, without an account. */
  readonly account?: { readonly id: string; readonly identityId: string }
  /** Whether its customer has limits of its own. Absent: not read. */
  readonly hasLimits?: boolean
}

/** A profile in the customer's API. */
interface OwnProfileDocument {
  readonly id: string
  readonly nickname?: string
  readonly type: 'NORMAL'
  /** The account created together with the profile. */
  readonly account_id?: string
  readonly created_at: string
}

type ProfileRow = Omit<ProfileDocument, 'nickname'> & { readonly nickname: string | null }

const COLUMNS = ['id', 'customer_id', 'nickname', 'type', 'created_at'] as const

/**
 * The profile for a new address or rule, with its account, which is locked against disabling until `transaction` ends.
 * Throws 404 for an unknown profile and for another customer's profile. Throws 403 when its account is DISABLED, DENIED
 * or ERROR, or PENDING while accounts need approval. All errors name `pointer`, the request member.
 * @param needsApproval whether accounts need approval for what is created (the setting `accounts.approval`)
 */
export async function profileForWrite<Tables>(
  transaction: Transaction<Tables>,
  customerId: string,
  profileId: string,
  pointer: string,
  needsApproval = false,
): Promise<WritableProfile> {
  // The caller's transaction type has the caller's tables. This module's tables are in the same store.
  const ours = transaction as unknown as Transaction<AccountTables>
  const profile = isUuid(profileId)
    ? await ours
        .selectFrom('profiles')
        .select('id')
        .where('id', '=', profileId.toLowerCase())
        .where('customer_id', '=', customerId)
        .executeTakeFirst()
    : undefined
  if (profile === undefined) throw notThere(pointer, 'there is no profile with this id')
  const account = await ours
    .selectFrom('accounts')
    .select(['id', 'identity_id', 'review_status', 'admin_disabled', 'user_disabled'])
    .where('profile_id', '=', profile.id)
    .modifyEnd(forShare(transaction, 'account', [profile.id]))
    .executeTakeFirst()
  if (account === undefined) return { id: profile.id, customerId }
  const summary_status = summaryStatus(account)
  if (BLOCKED_STATUSES.has(summary_status)) {
    const detail = `this profile’s account is ${summary_status}`
    throw new Problem('account_blocked', `${pointer}: ${detail}`, {
      errors: [{ pointer, detail }],
      meta: { summary_status },
    })
  }
  if (needsApproval && summary_status === 'PENDING') {
    const detail = 'this profile’s account is PENDING, and has to be approved first'
    throw new Problem('account_not_approved', `${pointer}: ${detail}`, { errors: [{ pointer, detail }] })
  }
  return { id: profile.id, customerId, account: { id: account.id, identityId: account.identity_id } }
}

/**
 * Rejects a request whose account is not its profile's account: 404 when the account is unknown or another customer's,
 * 400 when it is another account owned by the customer.
 * @param profile the result from `profileForWrite` in this transaction
 */
export async function refuseOtherAccount<Tables>(
  transaction: Transaction<Tables>,
  profile: WritableProfile,
  accountId: string | undefined,
): Promise<void> {
  const wanted = accountId?.toLowerCase()
  if (wanted === undefined || wanted === profile.account?.id) return
  const ours = transaction as unknown as Transaction<AccountTables>
  const account = isUuid(wanted)
    ? await ours
        .selectFrom('accounts')
        .select('id')
        .where('id', '=', wanted)
        .where('customer_id', '=', profile.customerId)
        .executeTakeFirst()
    : undefined
  const pointer = '/account_id'
  if (account === undefined) throw notThere(pointer, 'there is no account with this id')
  throw invalidRequest([{ pointer, detail: 'must be the profile’s account' }])
}

/** Profiles with these ids for any customer, each with its account. */
export async function profilesWithIds<Tables>(
  transaction: Transaction<Tables>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, WritableProfile>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<{
    id: string
    customer_id: string
    account_id: string | null
    identity_id: string | null
    has_limits: boolean
  }>`
    select profiles.id, profiles.customer_id, accounts.id as account_id, accounts.identity_id,
      exists (select from limit_overrides where limit_overrides.customer_id = profiles.customer_id) as has_limits
    from profiles left join accounts on accounts.profile_id = profiles.id
    where profiles.id = any(${[...new Set(ids)]}::uuid[])
  `.execute(transaction)
  return new Map(
    rows.map(({ id, customer_id: customerId, account_id, identity_id, has_limits: hasLimits }) => [
      id,
      account_id === null || identity_id === null
        ? { id, customerId, hasLimits }
        : { id, customerId, account: { id: account_id, identityId: identity_id }, hasLimits },
    ]),
  )
}

/** The customer's profile with this nickname. Creates it when there is none. */
export async function ensureProfile(
  transaction: Transaction<AccountTables>,
  actor: string,
  customerId: string,
  nickname: string,
): Promise<{ readonly profile: ProfileDocument; readonly isNew: boolean }> {
  const createdAt = await nextCreationTime(transaction, customerId)
  const made = await transaction
    .insertInto('profiles')
    .values({ id: newId(), customer_id: customerId, nickname, type: 'NORMAL', created_at: createdAt })
    .onConflict((conflict) => conflict.constraint('profiles_nickname').doNothing())
    .returning(COLUMNS)
    .executeTakeFirst()
  if (made !== undefined) {
    const detail = { customer_id: customerId, nickname }
    await writeAudit(transaction, { actor, action: 'profile.create', subject: made.id, detail })
    return { profile: documentOf(made), isNew: true }
  }
  const present = await transaction
    .selectFrom('profiles')
    .select(COLUMNS)
    .where('customer_id', '=', customerId)
    .where('nickname', '=', nickname)
    .executeTakeFirstOrThrow()
  return { profile: documentOf(present), isNew: false }
}

/** A customer's own profile, or `undefined` when it has none with this id. */
export async function getOwnProfile(db: Db, customerId: string, id: string): Promise<OwnProfileDocument | undefined> {
  const row = await db
    .tables<AccountTables>()
    .selectFrom('profiles')
    .leftJoin('accounts', 'accounts.profile_id', 'profiles.id')
    .select(['profiles.id', 'profiles.nickname', 'profiles.type', 'accounts.id as account_id', 'profiles.created_at'])
    .where('profiles.id', '=', id)
    .where('profiles.customer_id', '=', customerId)
    .executeTakeFirst()
  if (row === undefined) return undefined
  const { nickname, account_id } = row
  return {
    id: row.id,
    ...(nickname === null ? {} : { nickname }),
    type: row.type,
    ...(account_id === null ? {} : { account_id }),
    created_at: row.created_at,
  }
}

/** A customer's profiles in pages. The items have the same form as `getOwnProfile` results. */
export async function listOwnProfiles(
  db: Db,
  customerId: string,
  { filters, binding, ...paging }: ListQuery<typeof PROFILE_FILTERS>,
): Promise<TextPage> {
  const tables = db.tables<AccountTables>()
  const request = { ...paging, operation: 'listProfiles', owner: customerId, filters: binding, idType: 'uuid' } as const
  const all = tables.selectFrom('profiles').select(COLUMNS).where(isOwnedBy(customerId))
  const { created_at, ...left } = filters
  left satisfies AllApplied
  const query = created_at === undefined ? all : all.where(isMadeWithin(created_at))
  return await readTextPage(tables, recordsOf(query, request), PROFILE_ITEM, request)
}

/** A customer's profiles, for the operator. */
export async function listProfiles(
  db: Db,
  customerId: string,
  request: { readonly limit: number; readonly order: PageOrder; readonly pageCursor?: string },
): Promise<Page<ProfileDocument>> {
  const tables = db.tables<AccountTables>()
  const query = tables.selectFrom('profiles').select(COLUMNS).where('customer_id', '=', customerId)
  const filters = { customer_id: customerId }
  const binding = { operation: 'profiles', owner: 'operator', filters, idType: 'uuid' } as const
  const page = await readPage(tables, query, { ...request, ...binding })
  return { ...page, items: page.items.map(documentOf) }
}

function documentOf({ nickname, ...row }: ProfileRow): ProfileDocument {
  return { ...row, ...(nickname === null ? {} : { nickname }) }
}

function notThere(pointer: string, detail: string): Problem {
  return new Problem('not_found', `${pointer}: ${detail}`, { errors: [{ pointer, detail }] })
}

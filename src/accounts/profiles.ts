/**
 * Profiles: what balances are kept for. A profile comes with an account or is made by the operator; it never changes
 * and never goes. It owns the question whether something may be made for a profile now.
 */
import { isUuid, newId } from '../base/ids.ts'
import { Problem } from '../http/problem.ts'
import { writeAudit } from '../store/audit.ts'
import { nextCreationTime } from '../store/creation-time.ts'
import type { Db, Transaction } from '../store/db.ts'
import { type Page, type PageOrder, readPage } from '../store/page.ts'
import { summaryStatus } from './model.ts'
import type { AccountTables } from './tables.ts'

/** A profile as the operator API shows it. */
export interface ProfileDocument {
  readonly id: string
  readonly customer_id: string
  readonly nickname?: string
  readonly type: 'NORMAL'
  readonly created_at: string
}

/** A profile that something may be made for. */
export interface WritableProfile {
  readonly id: string
  readonly customerId: string
  /** Absent when the operator made it, for no account. */
  readonly account?: { readonly id: string; readonly identityId: string }
}

type ProfileRow = Omit<ProfileDocument, 'nickname'> & { readonly nickname: string | null }

const COLUMNS = ['id', 'customer_id', 'nickname', 'type', 'created_at'] as const

/**
 * The profile that something is about to be made for, with its account, which nobody can disable before `transaction`
 * ends. To be asked before the creation is counted. A profile that is not there or not this customer's is 404, one whose
 * account is DISABLED 403, both with `pointer`: where in the request the profile stands.
 */
export async function profileForWrite<Tables>(
  transaction: Transaction<Tables>,
  customerId: string,
  profileId: string,
  pointer: string,
): Promise<WritableProfile> {
  // The caller's transaction knows the caller's tables; the tables of this room are in the same store.
  const ours = transaction as unknown as Transaction<AccountTables>
  const profile = isUuid(profileId)
    ? await ours
        .selectFrom('profiles')
        .select('id')
        .where('id', '=', profileId.toLowerCase())
        .where('customer_id', '=', customerId)
        .executeTakeFirst()
    : undefined
  if (profile === undefined) throw refusal('not_found', pointer, 'there is no profile with this id')
  const account = await ours
    .selectFrom('accounts')
    .select(['id', 'identity_id', 'review_status', 'admin_disabled', 'user_disabled'])
    .where('profile_id', '=', profile.id)
    .forShare()
    .executeTakeFirst()
  if (account === undefined) return { id: profile.id, customerId }
  if (summaryStatus(account) === 'DISABLED') {
    throw refusal('account_disabled', pointer, 'the account of this profile is disabled')
  }
  return { id: profile.id, customerId, account: { id: account.id, identityId: account.identity_id } }
}

/** Makes the profile of a new account. */
export async function insertAccountProfile(
  transaction: Transaction<AccountTables>,
  customerId: string,
  createdAt: string,
): Promise<string> {
  const id = newId()
  const values = { id, customer_id: customerId, nickname: null, type: 'NORMAL', created_at: createdAt } as const
  await transaction.insertInto('profiles').values(values).execute()
  return id
}

/** The customer's profile with this nickname, made when there is none. */
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

function refusal(code: 'not_found' | 'account_disabled', pointer: string, detail: string): Problem {
  return new Problem(code, `${pointer}: ${detail}`, { errors: [{ pointer, detail }] })
}

/**
 * Writes postings together with the balances they change, in the caller's transaction. Nothing else writes either. No
 * profile bucket goes below zero. Money that becomes available first repays the profile's debt in the asset. A new debt
 * is repaid at once from available money.
 */
import { assert } from '../../platform/base/assert.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { forUpdate } from '../../platform/store/lock-order.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { type Column, inserting, unnested } from '../../platform/store/unnested.ts'
import {
  type BalanceChange,
  balanceChanges,
  type LedgerAccount,
  type MinorUnits,
  type Posting,
  PROFILE_BUCKETS,
  type ProfileBucket,
  withRepayments,
} from './posting.ts'

/** A bucket has less than a posting debits. No statement failed, so the transaction may continue. */
export class InsufficientBalance extends Error {
  override name = 'InsufficientBalance'
  readonly profileId: string
  readonly asset: string
  readonly bucket: ProfileBucket
  readonly balance: MinorUnits
  readonly needed: MinorUnits

  constructor({ profileId, asset }: BalanceChange, bucket: ProfileBucket, balance: MinorUnits, needed: MinorUnits) {
    super(`${bucket} does not have enough ${asset}`)
    this.profileId = profileId
    this.asset = asset
    this.bucket = bucket
    this.balance = balance
    this.needed = needed
  }
}

export type Balances = Readonly<Record<ProfileBucket, MinorUnits>>

export interface BalanceKey {
  readonly profileId: string
  readonly asset: string
}

/** Returns a locked key's balances. Throws for any other key. */
export type LockedBalances = (key: BalanceKey) => Balances

type BalanceRow = { readonly profile_id: string; readonly asset: string } & Readonly<Record<ProfileBucket, string>>

const NOW = sql`date_trunc('milliseconds', clock_timestamp())`

const POSTING: readonly Column<Posting>[] = [
  ['group_id', 'uuid', ({ groupId }) => groupId],
  ['asset', 'text', ({ asset }) => asset],
  ['amount', 'numeric', ({ amount }) => amount],
  ['debit_bucket', 'text', ({ debit }) => debit.bucket],
  ['debit_profile_id', 'uuid', ({ debit }) => profileOf(debit)],
  ['credit_bucket', 'text', ({ credit }) => credit.bucket],
  ['credit_profile_id', 'uuid', ({ credit }) => profileOf(credit)],
  ['effective_at', 'timestamptz', ({ effectiveAt }) => effectiveAt ?? null],
]

const KEY: readonly Column<BalanceKey>[] = [
  ['profile_id', 'uuid', ({ profileId }) => profileId],
  ['asset', 'text', ({ asset }) => asset],
]

const CHANGE: readonly Column<BalanceChange>[] = [
  ...KEY,
  ...PROFILE_BUCKETS.map((bucket): Column<BalanceChange> => [bucket, 'numeric', (change) => change[bucket]]),
]

/**
 * Locks the balances for these profiles and assets until the transaction ends. A transaction that reads a balance
 * before it posts must lock all balances it will post to in this one call.
 */
export async function lockBalances<Tables>(
  transaction: Transaction<Tables>,
  keys: readonly BalanceKey[],
): Promise<LockedBalances> {
  let { rows } = keys.length === 0 ? { rows: [] } : await lockedRows(transaction, keys).execute(transaction)
  if (rows.length === 0 && keys.length > 0) {
    await insertMissing(transaction, keys)
    rows = (await lockedRows(transaction, keys).execute(transaction)).rows
  }
  const found = new Map(rows.map((row) => [keyOf(row.profile_id, row.asset), balancesOf(row)]))
  return ({ profileId, asset }) => {
    const balances = found.get(keyOf(profileId, asset))
    assert(balances !== undefined, 'the balance is not locked')
    return balances
  }
}

/**
 * Writes postings with the due repayments, and the balances they change. Throws `InsufficientBalance` before anything
 * is written when a bucket would go below zero.
 *
 * The lock is a separate statement. A statement that waits for a lock still reads with its snapshot from before the
 * wait, so one statement that locked and wrote could miss a balance change. Posting ids are taken after the locks, so
 * one balance's ids are in commit order.
 */
export async function post<Tables>(transaction: Transaction<Tables>, requested: readonly Posting[]): Promise<void> {
  const write = await preparePostings(transaction, requested)
  await write()
}

/** Like `post`, up to the locks. The returned function writes. */
export async function preparePostings<Tables>(
  transaction: Transaction<Tables>,
  requested: readonly Posting[],
): Promise<() => Promise<void>> {
  if (requested.length === 0) return async () => undefined
  const balances = await lockBalances(transaction, balanceChanges(requested))
  const postings = withRepayments(requested, balances)
  const changes = balanceChanges(postings)
  for (const change of changes) refuseOverdraft(change, balances(change))
  const written = inserting('postings', postings, POSTING, {
    effective_at: sql`coalesce(effective_at, ${NOW})`,
    created_at: NOW,
  })
  const statement = sql`
    with written as (${written} returning id)
    update balances set
      ${sql.join(PROFILE_BUCKETS.map((bucket) => sql.raw(`${bucket} = balances.${bucket} + wanted.${bucket}`)))},
      version = balances.version + 1,
      last_posting_id = (select max(id) from written)
    from ${unnested(changes, CHANGE)}
    where balances.profile_id = wanted.profile_id and balances.asset = wanted.asset
  `
  return async () => void (await statement.execute(transaction))
}

function profileOf(account: LedgerAccount): string | null {
  return 'profileId' in account ? account.profileId : null
}

function refuseOverdraft(change: BalanceChange, balances: Balances): void {
  for (const bucket of PROFILE_BUCKETS) {
    if (balances[bucket] + change[bucket] < 0n) {
      throw new InsufficientBalance(change, bucket, balances[bucket], -change[bucket])
    }
  }
}

/**
 * Locks these keys' balances in order and returns them. When one is missing, it returns and locks none. Missing rows
 * are inserted before any lock, so an insert never waits for a transaction that waits for one of this transaction's
 * locks.
 */
function lockedRows<Tables>(transaction: Transaction<Tables>, keys: readonly BalanceKey[]): RawBuilder<BalanceRow> {
  const distinct = new Map(keys.map((key) => [keyOf(key.profileId, key.asset), key]))
  const wanted = [...distinct.values()]
  const isWanted = sql<boolean>`(profile_id, asset) in (
    select * from unnest(${wanted.map((key) => key.profileId)}::uuid[], ${wanted.map((key) => key.asset)}::text[])
  )`
  return sql<BalanceRow>`
    select profile_id, asset, ${sql.raw(PROFILE_BUCKETS.join(', '))} from balances
    where ${isWanted} and (select count(*) from balances where ${isWanted}) = ${wanted.length}
    order by profile_id, asset collate "C"
    ${forUpdate(transaction, 'balance', [...distinct.keys()])}
  `
}

/** Inserts the missing balances in locking order. */
async function insertMissing<Tables>(transaction: Transaction<Tables>, keys: readonly BalanceKey[]): Promise<void> {
  await sql`
    ${inserting('balances', keys, KEY)}
    where not exists (
      select from balances where balances.profile_id = wanted.profile_id and balances.asset = wanted.asset
    )
    order by profile_id, asset collate "C"
    on conflict do nothing
  `.execute(transaction)
}

/** Profile ids are in lower case, as the store writes them. */
function keyOf(profileId: string, asset: string): string {
  return `${profileId}/${asset}`
}

function balancesOf(row: BalanceRow): Balances {
  const { available, in_transit, held, receivable } = row
  return {
    available: BigInt(available),
    in_transit: BigInt(in_transit),
    held: BigInt(held),
    receivable: BigInt(receivable),
  }
}

/** A profile's balances as documents: one for each asset that the profile ever had, ordered by symbol. */
import type { Db } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { formatAmount } from '../ledger/amounts.ts'
import { PROFILE_BUCKETS, type ProfileBucket } from '../ledger/posting.ts'

/** Amounts as decimal text. */
export type BalanceDocument = { readonly asset: string } & Readonly<Record<ProfileBucket, string>>

type Row = { readonly asset: string | null; readonly decimals: number } & Readonly<Record<ProfileBucket, string>>

/**
 * @param customerId the customer that must own the profile. Absent: any customer.
 * @returns undefined when there is no such profile
 */
export async function readBalances(
  db: Db,
  profileId: string,
  customerId?: string,
): Promise<readonly BalanceDocument[] | undefined> {
  const { rows } = await sql<Row>`
    select asset, decimals, available, in_transit, held, receivable
    from profiles
    left join (balances join ledger_assets on symbol = asset) on profile_id = profiles.id
    where profiles.id = ${profileId} and customer_id = coalesce(${customerId ?? null}::uuid, customer_id)
    order by asset collate "C"
  `.execute(db.tables())
  if (rows.length === 0) return undefined
  return rows.flatMap((row) => (row.asset === null ? [] : [documentOf(row.asset, row)]))
}

function documentOf(asset: string, row: Row): BalanceDocument {
  const amounts = PROFILE_BUCKETS.map((bucket) => [bucket, formatAmount(BigInt(row[bucket]), row.decimals)] as const)
  // `PROFILE_BUCKETS` contains every bucket exactly once.
  return { asset, ...(Object.fromEntries(amounts) as Record<ProfileBucket, string>) }
}

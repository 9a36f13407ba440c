/** Customers, profiles and balances as rows, for suites that use the store without a service. */
import { LedgerComparison } from '../../src/money/ledger/comparison.ts'
import { post } from '../../src/money/ledger/ledger.ts'
import type { ProfileBucket } from '../../src/money/ledger/posting.ts'
import { TransferComparison } from '../../src/money/ledger/transfer-comparison.ts'
import { newId } from '../../src/platform/base/ids.ts'
import type { Db } from '../../src/platform/store/db.ts'
import { sql } from '../../src/platform/store/sql.ts'

export interface Owner {
  readonly customerId: string
  readonly profileId: string
  readonly accountId: string
}

/** Registers assets with these decimals. */
export async function addAssets(db: Db, assets: Readonly<Record<string, number>>): Promise<void> {
  for (const [symbol, decimals] of Object.entries(assets)) {
    await sql`insert into ledger_assets (symbol, decimals) values (${symbol}, ${decimals}) on conflict do nothing`.execute(
      db.tables(),
    )
  }
}

/** Creates a customer with one account and its profile. */
export async function addOwner(db: Db): Promise<Owner> {
  const [customerId, profileId, accountId] = [newId(), newId(), newId()]
  await sql`insert into customers (id, name, streaming) values (${customerId}, ${customerId}, false)`.execute(
    db.tables(),
  )
  await sql`
    insert into profiles (id, customer_id, nickname, type, created_at)
    values (${profileId}, ${customerId}, null, 'NORMAL', now())
  `.execute(db.tables())
  await sql`
    insert into accounts (id, customer_id, identity_id, metadata, members, type, review_status, admin_disabled,
      user_disabled, profile_id, created_at, updated_at)
    values (${accountId}, ${customerId}, 'alice', '{}', '[]', 'BROKERAGE', 'APPROVED', false, false, ${profileId}, now(),
      now())
  `.execute(db.tables())
  await sql`
    insert into audit (actor, action, subject, detail) values ('operator', 'account.create', ${accountId}, '{}')
  `.execute(db.tables())
  return { customerId, profileId, accountId }
}

/** Transfers money from outside into a profile's bucket. */
export async function credit(
  db: Db,
  profileId: string,
  asset: string,
  amount: bigint,
  bucket: ProfileBucket = 'available',
): Promise<void> {
  await db.transaction((transaction) =>
    post(transaction, [
      { asset, amount, debit: { bucket: 'external' }, credit: { bucket, profileId }, groupId: newId() },
    ]),
  )
}

/** Turns every posting without a record into a ledger entry's, which no transfer shows. */
export async function bookedAsEntries(db: Db): Promise<void> {
  await sql`
    insert into ledger_entries (id, kind, legs, reference, reason)
    select distinct group_id, 'desk_funding', '[]'::jsonb, group_id::text, 'a test' from postings
    where group_id not in (
      select id from ledger_entries union all select id from deposits
      union all select id from orchestrations union all select id from deliveries
    )
  `.execute(db.tables())
}

/** The differences that the service's own comparisons find in the ledger and in the transfers. */
export async function ledgerDifferences(db: Db): Promise<readonly string[]> {
  const passes = [new LedgerComparison(db), new TransferComparison(db)]
  for (const pass of passes) while (await pass.step());
  return passes.flatMap(({ differences }) =>
    differences.map((each) => `the comparison finds a difference: ${Object.values(each).join(' ')}`),
  )
}

/** A profile's buckets in an asset, in minor units. */
export async function balanceOf(
  db: Db,
  profileId: string,
  asset: string,
): Promise<Readonly<Record<ProfileBucket, bigint>>> {
  const { rows } = await sql<Readonly<Record<ProfileBucket, string>>>`
    select available, in_transit, held, receivable from balances where profile_id = ${profileId} and asset = ${asset}
  `.execute(db.tables())
  const { available = '0', in_transit = '0', held = '0', receivable = '0' } = rows[0] ?? {}
  return {
    available: BigInt(available),
    in_transit: BigInt(in_transit),
    held: BigInt(held),
    receivable: BigInt(receivable),
  }
}

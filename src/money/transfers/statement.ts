/**
 * A profile's statement for the operator. It shows each asset's balances at the period's start, every posting in the
 * period with the balance after it, and the balances at its end. One SQL statement reads all of it, so opening, lines
 * and closing add up exactly, whatever is posted meanwhile.
 */
import type { Db } from '../../platform/store/db.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { formatAmount } from '../ledger/amounts.ts'
import { PROFILE_BUCKETS, type ProfileBucket, type ServiceBucket } from '../ledger/posting.ts'

/** Amounts as decimal text. `balance` is available, in_transit and held together, less receivable. */
export type StatementBalances = { readonly balance: string } & Readonly<Record<ProfileBucket, string>>

/** One posting. */
export interface StatementLine {
  readonly posting_id: string
  readonly group_id: string
  readonly created_at: string
  readonly effective_at: string
  readonly debit: ProfileBucket | ServiceBucket
  /** Set when the debited account belongs to another profile. */
  readonly debit_profile_id?: string
  readonly credit: ProfileBucket | ServiceBucket
  readonly credit_profile_id?: string
  readonly amount: string
  /** The change in the balance: `0` when the money stays with the profile. */
  readonly change: string
  /** The balance after this line. */
  readonly balance: string
}

export interface StatementOfAsset {
  readonly asset: string
  readonly opening: StatementBalances
  readonly lines: readonly StatementLine[]
  readonly closing: StatementBalances
}

/** RFC 3339 times: `from` is included, `to` is not. */
export interface StatementPeriod {
  readonly from: string
  readonly to: string
}

/** The most lines in one statement. */
export const STATEMENT_LINES_MAX = 5_000

type Amounts = Record<ProfileBucket, bigint>

/** A posting. When `id` is null, an asset with its balances at the period's start. */
interface Row extends Readonly<Record<ProfileBucket, string>> {
  readonly asset: string
  readonly decimals: number
  readonly id: string | null
  readonly group_id: string
  readonly created_at: string
  readonly effective_at: string
  readonly amount: string
  readonly debit_bucket: ProfileBucket | ServiceBucket
  readonly debit_profile_id: string | null
  readonly credit_bucket: ProfileBucket | ServiceBucket
  readonly credit_profile_id: string | null
}

/** Returns undefined when the period has more lines than `STATEMENT_LINES_MAX`. */
export async function readStatement(
  db: Db,
  profileId: string,
  period: StatementPeriod,
): Promise<readonly StatementOfAsset[] | undefined> {
  const rows = await readRows(db, profileId, period)
  if (rows.filter(({ id }) => id !== null).length > STATEMENT_LINES_MAX) return undefined
  return rows
    .filter(({ id }) => id === null)
    .map((opening) =>
      statementOf(
        profileId,
        opening,
        rows.filter(({ id, asset }) => id !== null && asset === opening.asset),
      ),
    )
}

async function readRows(db: Db, profileId: string, { from, to }: StatementPeriod): Promise<readonly Row[]> {
  // Each row in `since` is the profile's side of a posting. A posting may have two such sides.
  const { rows } = await sql<Row>`
    with kept as materialized (
      select asset, decimals, available, in_transit, held, receivable
      from balances join ledger_assets on symbol = asset where profile_id = ${profileId}
    ), since as materialized (
      ${sidesSince('debit', profileId, from)} union all ${sidesSince('credit', profileId, from)}
    ), opening as (
      select kept.asset, decimals, ${sql.join(PROFILE_BUCKETS.map(openingOf))}
      from kept left join since on since.asset = kept.asset
      group by kept.asset, decimals, kept.available, kept.in_transit, kept.held, kept.receivable
    ), lines as (
      select distinct id, asset, group_id, created_at, effective_at, amount, debit_bucket, debit_profile_id,
        credit_bucket, credit_profile_id
      from since where created_at < ${to}::timestamptz
      order by asset, created_at, id
      limit ${STATEMENT_LINES_MAX + 1}
    )
    select * from (
      select asset, decimals, available, in_transit, held, receivable, null::bigint as id, null::uuid as group_id,
        null::timestamptz as created_at, null::timestamptz as effective_at, null::numeric as amount,
        null::text as debit_bucket, null::uuid as debit_profile_id, null::text as credit_bucket,
        null::uuid as credit_profile_id
      from opening
      union all
      select asset, 0, 0, 0, 0, 0, id, group_id, created_at, effective_at, amount, debit_bucket, debit_profile_id,
        credit_bucket, credit_profile_id
      from lines
    ) as rows
    order by asset collate "C", created_at nulls first, id nulls first
  `.execute(db.tables())
  return rows
}

/** The postings since `from` with the profile on this side, each with its changed bucket and the change. */
function sidesSince(side: 'debit' | 'credit', profileId: string, from: string): RawBuilder<unknown> {
  const bucket = sql.ref(`${side}_bucket`)
  const raises = side === 'credit' ? sql`${bucket} <> 'receivable'` : sql`${bucket} = 'receivable'`
  return sql`
    select postings.*, ${bucket} as bucket, case when ${raises} then amount else -amount end as change
    from kept cross join lateral (
      select * from postings
      where ${sql.ref(`${side}_profile_id`)} = ${profileId} and postings.asset = kept.asset
        and created_at >= ${from}::timestamptz
    ) as postings
  `
}

function openingOf(bucket: ProfileBucket): RawBuilder<unknown> {
  const kept = sql.ref(`kept.${bucket}`)
  return sql`${kept} - coalesce(sum(change) filter (where bucket = ${sql.lit(bucket)}), 0) as ${sql.ref(bucket)}`
}

function statementOf(profileId: string, first: Row, postings: readonly Row[]): StatementOfAsset {
  const { asset, decimals } = first
  const text = (amount: bigint): string => formatAmount(amount, decimals)
  const amounts: Amounts = {
    available: BigInt(first.available),
    in_transit: BigInt(first.in_transit),
    held: BigInt(first.held),
    receivable: BigInt(first.receivable),
  }
  const opening = balancesOf(amounts, text)
  const lines = postings.map((row): StatementLine => {
    const before = totalOf(amounts)
    const amount = BigInt(row.amount)
    if (row.debit_profile_id === profileId) add(amounts, row.debit_bucket as ProfileBucket, -amount)
    if (row.credit_profile_id === profileId) add(amounts, row.credit_bucket as ProfileBucket, amount)
    const after = totalOf(amounts)
    return {
      posting_id: row.id as string,
      group_id: row.group_id,
      created_at: row.created_at,
      effective_at: row.effective_at,
      debit: row.debit_bucket,
      ...otherProfile('debit_profile_id', row.debit_profile_id, profileId),
      credit: row.credit_bucket,
      ...otherProfile('credit_profile_id', row.credit_profile_id, profileId),
      amount: text(amount),
      change: text(after - before),
      balance: text(after),
    }
  })
  return { asset, opening, lines, closing: balancesOf(amounts, text) }
}

function otherProfile(name: 'debit_profile_id' | 'credit_profile_id', id: string | null, own: string) {
  return id === null || id === own ? {} : { [name]: id }
}

function add(amounts: Amounts, bucket: ProfileBucket, amount: bigint): void {
  amounts[bucket] += bucket === 'receivable' ? -amount : amount
}

function totalOf({ available, in_transit, held, receivable }: Amounts): bigint {
  return available + in_transit + held - receivable
}

function balancesOf(amounts: Amounts, text: (amount: bigint) => string): StatementBalances {
  const { available, in_transit, held, receivable } = amounts
  return {
    balance: text(totalOf(amounts)),
    available: text(available),
    in_transit: text(in_transit),
    held: text(held),
    receivable: text(receivable),
  }
}

/**
 * Balances of the service's accounts. Postings to them update no balance row. Such a balance is a checkpoint (the sum
 * of all postings up to an id) plus the later postings. Checkpoints advance in pieces of bounded size. A transaction
 * takes its ids before it commits, so the last id is read under a lock that waits for posting transactions. The lock is
 * held briefly or not obtained, and never held while sums are read. Any node may advance them: an advisory lock admits
 * one writer at a time.
 */
import { type Db, StatementFailed, type Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import type { MinorUnits, ServiceBucket } from './posting.ts'

/** The longest time that postings wait for the lock. */
const LOCK_MILLISECONDS_MAX = 50
const LOCK_NOT_AVAILABLE = '55P03'
/** Ids in one statement. It takes some tens of milliseconds, in which an embedded store serves no other caller. */
const PIECE_IDS = 10_000
/** Pieces in one call. The next call continues. */
const PIECES_MAX = 100

/** Advances the checkpoints over all final postings. */
export async function writeCheckpoints(db: Db): Promise<void> {
  if (!(await haveNewPostings(db))) return
  const end = await finalPostingId(db)
  if (end === undefined) return
  for (let piece = 0; piece < PIECES_MAX; piece++) {
    const reached = await db.transaction<unknown, bigint | undefined>((transaction) => writePiece(transaction, end))
    if (reached === undefined || reached >= end) return
  }
}

async function haveNewPostings(db: Db): Promise<boolean> {
  const { rows } = await sql<{ readonly are_new: boolean }>`
    select coalesce((select max(id) from postings), 0) > coalesce((select max(last_posting_id) from ledger_checkpoints), 0)
      as are_new
  `.execute(db.tables())
  return rows[0]?.are_new === true
}

/**
 * The last id for which all earlier ones are committed or rolled back. Undefined when the lock is not available in
 * time.
 */
async function finalPostingId(db: Db): Promise<bigint | undefined> {
  try {
    return await db.transaction<unknown, bigint>(async (transaction) => {
      await sql`select set_config('lock_timeout', ${`${LOCK_MILLISECONDS_MAX}ms`}, true)`.execute(transaction)
      await sql`lock table postings in share mode`.execute(transaction)
      const { rows } = await sql<{ readonly id: string }>`select coalesce(max(id), 0) as id from postings`.execute(
        transaction,
      )
      return BigInt((rows[0] as { readonly id: string }).id)
    })
  } catch (error) {
    if (error instanceof StatementFailed && error.sqlState === LOCK_NOT_AVAILABLE) return undefined
    throw error
  }
}

/** Advances the checkpoints by one piece. Returns the last covered id, or undefined while another node writes them. */
async function writePiece<Tables>(transaction: Transaction<Tables>, end: bigint): Promise<bigint | undefined> {
  const { rows: locked } = await sql<{ readonly is_ours: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended('tidegate ledger checkpoints', 0)) as is_ours
  `.execute(transaction)
  if (locked[0]?.is_ours !== true) return undefined
  const { rows } = await sql<{ readonly id: string }>`
    select coalesce(max(last_posting_id), 0) as id from ledger_checkpoints
  `.execute(transaction)
  const from = BigInt((rows[0] as { readonly id: string }).id)
  const until = from + BigInt(PIECE_IDS) < end ? from + BigInt(PIECE_IDS) : end
  if (until <= from) return from
  await sql`
    with piece as materialized (
      select bucket, asset, sum(debit) as debits, sum(credit) as credits
      from (
        select debit_bucket as bucket, asset, amount as debit, 0 as credit from postings
          where id > ${from} and id <= ${until} and debit_profile_id is null
        union all
        select credit_bucket, asset, 0, amount from postings
          where id > ${from} and id <= ${until} and credit_profile_id is null
      ) as sides
      group by bucket, asset
    ), moved as (
      update ledger_checkpoints as kept set
        last_posting_id = ${until},
        debits = kept.debits + coalesce(
          (select debits from piece where piece.bucket = kept.bucket and piece.asset = kept.asset), 0),
        credits = kept.credits + coalesce(
          (select credits from piece where piece.bucket = kept.bucket and piece.asset = kept.asset), 0)
    )
    insert into ledger_checkpoints (bucket, asset, last_posting_id, debits, credits)
    select bucket, asset, ${until}, debits, credits from piece
    where not exists (
      select from ledger_checkpoints as kept where kept.bucket = piece.bucket and kept.asset = piece.asset
    )
  `.execute(transaction)
  return until
}

/**
 * A service account's credits minus debits, including this transaction's postings. It takes no lock: a caller whose
 * decision depends on the balance must hold a lock that excludes concurrent postings to the account.
 */
export async function serviceBalance<Tables>(
  transaction: Transaction<Tables>,
  bucket: Exclude<ServiceBucket, 'external'>,
  asset: string,
): Promise<MinorUnits> {
  // A literal, not a parameter, to match the partial indexes' conditions.
  const account = sql.lit(bucket)
  const { rows } = await sql<{ readonly balance: string }>`
    with checkpoint as (
      select coalesce(max(last_posting_id), 0) as id, coalesce(sum(credits - debits), 0) as balance
      from ledger_checkpoints where bucket = ${account} and asset = ${asset}
    )
    select
      (select balance from checkpoint)
      + (select coalesce(sum(amount), 0) from postings
          where credit_bucket = ${account} and asset = ${asset} and id > (select id from checkpoint))
      - (select coalesce(sum(amount), 0) from postings
          where debit_bucket = ${account} and asset = ${asset} and id > (select id from checkpoint)) as balance
  `.execute(transaction)
  return BigInt((rows[0] as { readonly balance: string }).balance)
}

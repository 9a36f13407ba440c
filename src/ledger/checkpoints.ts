/**
 * Checkpoints of the accounts of the service: sums over all postings up to an id, written forward piece by piece. Ids are
 * taken before they are committed, so an id is passed only when no transaction that posts is under way: the table is
 * locked for that one look, briefly or not at all, and never while sums are read. Several nodes may do this at once; one
 * of them does it.
 */
import { type Db, StatementFailed, type Transaction } from '../store/db.ts'
import { sql } from '../store/sql.ts'

/** Longest that postings wait behind this look. */
const LOCK_MILLISECONDS_MAX = 50
const LOCK_NOT_AVAILABLE = '55P03'
/** Ids of one statement: some tens of milliseconds, in which an embedded store serves no other caller. */
const PIECE_IDS = 10_000
/** Pieces of one call; what is left is for the next. */
const PIECES_MAX = 100

/** Moves the checkpoints forward, as far as the postings that are final now. */
export async function writeCheckpoints(db: Db): Promise<void> {
  if (!(await areBehind(db))) return
  const end = await finalPostingId(db)
  if (end === undefined) return
  for (let piece = 0; piece < PIECES_MAX; piece++) {
    const reached = await db.transaction<unknown, bigint | undefined>((transaction) => writePiece(transaction, end))
    if (reached === undefined || reached >= end) return
  }
}

async function areBehind(db: Db): Promise<boolean> {
  const { rows } = await sql<{ readonly are_behind: boolean }>`
    select coalesce((select max(id) from postings), 0) > coalesce((select max(last_posting_id) from ledger_checkpoints), 0)
      as are_behind
  `.execute(db.tables())
  return rows[0]?.are_behind === true
}

/** The id up to which all postings are committed or will never be; undefined when that is not known now. */
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

/** @returns how far the checkpoints are now; undefined when another node is at it */
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

/**
 * Balances of the accounts of the service. They have no row that every posting would update: a balance is the sum of a
 * checkpoint, which covers every posting up to an id, and of the postings after it.
 */
import type { Transaction } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import type { MinorUnits, ServiceBucket } from './posting.ts'

/**
 * Credits minus debits of an account of the service, with everything that is committed and what this transaction
 * posted. Takes no lock: a decision that depends on it holds the lock of the account's asset already.
 */
export async function serviceBalance<Tables>(
  transaction: Transaction<Tables>,
  bucket: Exclude<ServiceBucket, 'external'>,
  asset: string,
): Promise<MinorUnits> {
  // The word itself, not a parameter: indexes of these postings name it in their condition.
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

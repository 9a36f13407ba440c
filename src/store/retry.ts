/**
 * Transactions that are run again when the store ended them because they stood in each other's way: a serialization
 * failure (40001) or a deadlock (40P01). Nothing of the failed attempt was stored, so a repetition is the first one.
 */
import { type Db, StatementFailed, type Transaction } from './db.ts'

/** Attempts in all; a conflict that outlives them is passed on. */
const ATTEMPTS_MAX = 5

const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01'])

/** `work` may run several times; everything that it does outside the transaction must bear that. */
export async function transactionWithRetries<Tables, Result>(
  db: Pick<Db, 'transaction'>,
  work: (transaction: Transaction<Tables>) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction(work)
    } catch (error) {
      if (!(error instanceof StatementFailed) || !CONFLICTS.has(error.sqlState) || attempt === ATTEMPTS_MAX) throw error
    }
  }
}

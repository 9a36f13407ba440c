/**
 * Retries transactions that the store aborted because they conflicted with others: a serialization failure (40001) or a
 * deadlock (40P01). A failed attempt stores nothing.
 */
import { type Db, StatementFailed, type Transaction } from './db.ts'

/** Attempts in total. The last one's error is rethrown. */
const ATTEMPTS_MAX = 5

const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01'])

/** Runs `work` up to ATTEMPTS_MAX times. Its effects outside the transaction must be idempotent. */
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

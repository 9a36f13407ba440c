/**
 * Retries transactions that the store aborted because they conflicted with others: a serialization failure (40001) or a
 * deadlock (40P01). Nothing of a failed attempt is stored.
 */
import { type Db, StatementFailed, type Transaction } from './db.ts'

/** Attempts in total; the error of the last one is rethrown. */
const ATTEMPTS_MAX = 5

const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01'])

/** Runs `work` up to ATTEMPTS_MAX times; its effects outside the transaction must be idempotent. */
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

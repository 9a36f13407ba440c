/**
 * Whether the deposits of a store are real or for testing, as its first deposit decided: the store is never served with
 * the other value of `rest.sandbox` afterwards, because deposits for testing are not backed by money, and deliveries of a
 * service for testing are settled without a payment.
 */
import type { Db, Transaction } from '../store/db.ts'
import { sql } from '../store/sql.ts'

export type DepositMode = 'real' | 'sandbox'

/** Keeps the mode of the first deposit, in the transaction that records it. */
export async function keepDepositMode<Tables>(transaction: Transaction<Tables>, isSandbox: boolean): Promise<void> {
  await sql`insert into deposit_mode (id, is_sandbox) values (1, ${isSandbox}) on conflict do nothing`.execute(
    transaction,
  )
}

/** Undefined before the first deposit. */
export async function readDepositMode(db: Db): Promise<DepositMode | undefined> {
  const { rows } = await sql<{ readonly is_sandbox: boolean }>`select is_sandbox from deposit_mode`.execute(db.tables())
  const [row] = rows
  if (row === undefined) return undefined
  return row.is_sandbox ? 'sandbox' : 'real'
}

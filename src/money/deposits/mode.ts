/**
 * Whether a store has real or sandbox deposits. The first deposit decides. From then on the service does not start on
 * this store with the other value of `rest.sandbox`: sandbox deposits are not backed by money, and a sandbox settles
 * deliveries without a payment.
 */
import type { Db, Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'

/** Stores the mode with the first deposit, in the same transaction. Later calls change nothing. */
export async function keepDepositMode<Tables>(transaction: Transaction<Tables>, isSandbox: boolean): Promise<void> {
  await sql`insert into deposit_mode (id, is_sandbox) values (1, ${isSandbox}) on conflict do nothing`.execute(
    transaction,
  )
}

/** Throws when `rest.sandbox` contradicts the deposits in the store. The error names the setting and the remedy. */
export async function checkDepositMode(db: Db, isSandbox: boolean): Promise<void> {
  const { rows } = await sql<{ readonly is_sandbox: boolean }>`select is_sandbox from deposit_mode`.execute(db.tables())
  const [row] = rows
  if (row === undefined || row.is_sandbox === isSandbox) return
  const [kept, other] = row.is_sandbox ? ['sandbox', 'real'] : ['real', 'sandbox']
  throw new Error(
    `rest.sandbox must be ${row.is_sandbox}: the store has ${kept} deposits. For ${other} deposits use another store: ` +
      'another data_dir, or another database in store.url',
  )
}

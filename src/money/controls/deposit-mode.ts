/**
 * Whether a store has real or sandbox deposits. The first deposit decides. From then on the service does not start on
 * this store with the other value of `rest.sandbox`: sandbox deposits are not backed by money, and a sandbox settles
 * deliveries without a payment. A process with the other value that started before the first deposit refuses deposits,
 * and moves nothing: it converts by other prices, and would pay for sandbox deposits or settle real ones without paying.
 */
import { Problem } from '../../platform/http/problem.ts'
import type { Kysely, Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'

interface ModeRow {
  readonly is_sandbox: boolean
}

/** Stores the mode with the first deposit, in the same transaction. Throws 503 when the store has the other one. */
export async function keepDepositMode<Tables>(transaction: Transaction<Tables>, isSandbox: boolean): Promise<void> {
  const { rows } = await sql<ModeRow>`
    with kept as (
      insert into deposit_mode (id, is_sandbox) values (1, ${isSandbox}) on conflict do nothing returning is_sandbox
    )
    select is_sandbox from kept union all select is_sandbox from deposit_mode
  `.execute(transaction)
  // Another transaction has stored it since this statement began: the next one sees that.
  if (rows[0] === undefined) return await keepDepositMode(transaction, isSandbox)
  refuseOtherMode(rows[0].is_sandbox, isSandbox)
}

/**
 * Throws 503 in a process whose deposits would be of the other kind.
 * @param kept whether the store has sandbox deposits. Null: it has none yet
 */
export function refuseOtherMode(kept: boolean | null, isSandbox: boolean): void {
  const fault = contradiction(kept === null ? undefined : { is_sandbox: kept }, isSandbox)
  if (fault !== undefined) throw new Problem('unavailable', fault, { headers: { 'retry-after': '60' } })
}

/** Throws when `rest.sandbox` contradicts the deposits in the store. The error names the setting and the remedy. */
export async function checkDepositMode<Tables>(tables: Kysely<Tables>, isSandbox: boolean): Promise<void> {
  const { rows } = await sql<ModeRow>`select is_sandbox from deposit_mode`.execute(tables)
  const fault = contradiction(rows[0], isSandbox)
  if (fault !== undefined) throw new Error(fault)
}

function contradiction(row: ModeRow | undefined, isSandbox: boolean): string | undefined {
  if (row === undefined || row.is_sandbox === isSandbox) return undefined
  const [kept, other] = row.is_sandbox ? ['sandbox', 'real'] : ['real', 'sandbox']
  return (
    `rest.sandbox must be ${row.is_sandbox}: the store has ${kept} deposits. For ${other} deposits use another store: ` +
    'another data_dir, or another database in store.url'
  )
}

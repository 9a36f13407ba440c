/** Fails an orchestration before its conversion: its amount is available again, and no work is left. */
import type { Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { post } from '../ledger/ledger.ts'
import { type StepChange, writeSteps } from './step-store.ts'
import type { OrchestrationTables } from './tables.ts'

export type UnconvertedRow = Pick<
  OrchestrationTables['orchestrations'],
  'id' | 'profile_id' | 'source_asset' | 'source_amount'
>

/** The row is locked, at step `convert`. A worker with an earlier claim on it finds the claim lost. */
export async function failUnconverted<Tables>(
  transaction: Transaction<Tables>,
  { id, profile_id: profileId, source_asset: asset, source_amount }: UnconvertedRow,
  failure: Required<Pick<StepChange, 'action' | 'failCode' | 'failDetail'>>,
  actor: string,
): Promise<void> {
  await writeSteps(transaction, [{ id, status: 'FAILED', step: null, ...failure }], actor)
  await sql`delete from orchestration_queue where orchestration_id = ${id}`.execute(transaction)
  const debit = { bucket: 'in_transit', profileId } as const
  const credit = { bucket: 'available', profileId } as const
  await post(transaction, [{ asset, amount: BigInt(source_amount), debit, credit, groupId: id }])
}

/**
 * Orchestrations that the transaction which starts them completes: for a profile, of the same asset or at par inside the
 * peg, where the desk has no limit. That takes no lock and waits for nothing, so there is nothing for a worker to do. What
 * is written is what the worker would have written; everything else is started and left to it.
 */
import type { AuditEntry } from '../store/audit.ts'
import type { Transaction } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import { unnested } from '../store/unnested.ts'
import type { ConvertSettings } from './convert.ts'
import { type Done, doneBy, doneUnconverted } from './done.ts'
import { feeOf } from './model.ts'
import type { Convertible } from './movements.ts'
import { priceWithoutLocks, recordConversions } from './pricing/price.ts'
import type { NewOrchestration, StartSettings } from './start.ts'

/** An orchestration that is completed as it is started. */
export interface Completion {
  readonly start: Omit<NewOrchestration, 'createdAt'> & Pick<Convertible, 'destinationAccountId'>
  readonly done: Done
}

/**
 * Those that can be completed at once, in the same order. All are for profiles; their gates have been found open, and
 * their amounts are reserved.
 */
export function completable(
  starts: readonly Completion['start'][],
  { feeBps, pricing }: ConvertSettings,
): readonly Completion[] {
  const converting = starts.filter(({ sourceAsset, destinationAsset }) => sourceAsset !== destinationAsset)
  const requests = converting.map(({ id, sourceAsset, sourceAmount, destinationAsset }) => ({
    orchestrationId: id,
    sourceAsset,
    sourceAmount: sourceAmount - feeOf(sourceAmount, feeBps),
    destinationAsset,
  }))
  const prices = priceWithoutLocks(requests, pricing)
  const priced = new Map(converting.map(({ id }, index) => [id, prices[index]]))
  return starts.flatMap((start) => {
    const { id, sourceAsset, sourceAmount, destinationAsset } = start
    const fee = feeOf(sourceAmount, feeBps)
    if (sourceAsset === destinationAsset) return [{ start, done: doneUnconverted(sourceAmount, fee) }]
    const price = priced.get(id)
    return price?.kind === 'priced' ? [{ start, done: doneBy(price.conversion, fee) }] : []
  })
}

/** Stores how their prices were made. */
export async function recordCompletedConversions<Tables>(
  transaction: Transaction<Tables>,
  completions: readonly Completion[],
): Promise<void> {
  await recordConversions(
    transaction,
    completions.flatMap(({ done: { conversion } }) => (conversion === undefined ? [] : [conversion])),
  )
}

/** Writes them; postings and entries are the caller's. */
export async function recordCompletions<Tables>(
  transaction: Transaction<Tables>,
  completions: readonly Completion[],
  createdAtOf: (start: Completion['start']) => string,
  { convertSecondsMax }: StartSettings,
): Promise<void> {
  if (completions.length === 0) return
  await sql`
    insert into orchestrations (id, customer_id, profile_id, account_id, identity_id, rule_id, deposit_id, source_asset,
      source_amount, destination_asset, source, destination, metadata, fee_amount, converted_amount, destination_amount,
      price, price_source, destination_transfer_id, created_at, updated_at, status, source_transfer_id, expires_at)
    select wanted.*, created_at, 'COMPLETED', deposit_id,
      created_at + make_interval(secs => ${convertSecondsMax}::double precision)
    from ${unnested(completions, [
      ['id', 'uuid', ({ start }) => start.id],
      ['customer_id', 'uuid', ({ start }) => start.customerId],
      ['profile_id', 'uuid', ({ start }) => start.profileId],
      ['account_id', 'uuid', ({ start }) => start.accountId],
      ['identity_id', 'text', ({ start }) => start.identityId],
      ['rule_id', 'uuid', ({ start }) => start.ruleId],
      ['deposit_id', 'uuid', ({ start }) => start.depositId],
      ['source_asset', 'text', ({ start }) => start.sourceAsset],
      ['source_amount', 'numeric', ({ start }) => start.sourceAmount],
      ['destination_asset', 'text', ({ start }) => start.destinationAsset],
      ['source', 'jsonb', ({ start }) => JSON.stringify(start.source)],
      ['destination', 'jsonb', ({ start }) => JSON.stringify(start.destination)],
      ['metadata', 'jsonb', ({ start }) => JSON.stringify(start.metadata)],
      ['fee_amount', 'numeric', ({ done }) => done.amounts.fee],
      ['converted_amount', 'numeric', ({ done }) => done.amounts.converted],
      ['destination_amount', 'numeric', ({ done }) => done.amounts.outgoing],
      ['price', 'text', ({ done }) => done.price],
      ['price_source', 'text', ({ done }) => done.priceSource],
      ['destination_transfer_id', 'uuid', ({ done }) => done.ids.destination],
      ['created_at', 'timestamptz', ({ start }) => createdAtOf(start)],
    ])}
  `.execute(transaction)
}

/** What the trail says of one; the worker does it, whoever reported the deposit. */
export function completionAudit({ start, done }: Completion): AuditEntry {
  return { actor: 'worker', action: 'orchestration.complete', subject: start.id, detail: { price: done.price } }
}

/**
 * Completes orchestrations in the transaction that starts them. Eligible are those whose destination is a profile and
 * whose conversion takes no lock: the same asset, or at par inside the peg into an asset without a desk limit. The rows
 * are those that a worker would write. All other orchestrations are started and left to a worker.
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

/** An orchestration that is completed by the transaction that starts it. */
export interface Completion {
  readonly start: Omit<NewOrchestration, 'createdAt'> & Pick<Convertible, 'destinationAccountId'>
  readonly done: Done
}

/**
 * The eligible ones, in the same order.
 *
 * @param starts orchestrations with a profile as destination, open gates and a reserved amount
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

/** Stores the conversions with the evidence of their prices. */
export async function recordCompletedConversions<Tables>(
  transaction: Transaction<Tables>,
  completions: readonly Completion[],
): Promise<void> {
  await recordConversions(
    transaction,
    completions.flatMap(({ done: { conversion } }) => (conversion === undefined ? [] : [conversion])),
  )
}

/** Inserts the orchestrations as COMPLETED; the caller writes postings and transfers. */
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

/** The audit row of a completion. Its actor is the worker, as for every conversion. */
export function completionAudit({ start, done }: Completion): AuditEntry {
  return { actor: 'worker', action: 'orchestration.complete', subject: start.id, detail: { price: done.price } }
}

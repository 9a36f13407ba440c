/**
 * Selects the orchestrations completed by the transaction that starts them. Their destination is a profile, and their
 * conversion takes no lock: the asset stays the same, or it is converted at par, inside the peg, into an asset without
 * a desk limit. The rows equal those a worker would write. All other orchestrations are started and left to a worker.
 */
import type { AuditEntry } from '../../platform/store/audit.ts'
import type { ConvertSettings } from './convert.ts'
import { type Done, priceAll } from './done.ts'
import { feeOf } from './model.ts'
import type { Convertible } from './movements.ts'
import { priceWithoutLocks } from './pricing/price.ts'
import type { NewOrchestration } from './start.ts'

/** An orchestration completed by the transaction that starts it. */
export interface Completion {
  readonly start: Omit<NewOrchestration, 'createdAt'> & Pick<Convertible, 'destinationAccountId'>
  readonly done: Done
}

/**
 * The eligible ones, in the same order.
 *
 * @param starts orchestrations with a profile as destination, open gates and a reserved amount
 */
export async function completable(
  starts: readonly Completion['start'][],
  { feeBps, pricing }: ConvertSettings,
): Promise<readonly Completion[]> {
  const price = async (requests: Parameters<typeof priceWithoutLocks>[0]) => priceWithoutLocks(requests, pricing)
  const outcomes = await priceAll(starts, ({ sourceAmount }) => feeOf(sourceAmount, feeBps), price)
  return starts.flatMap((start, index) => {
    const done = outcomes[index]
    return done?.kind === 'done' ? [{ start, done }] : []
  })
}

/** A completion's audit row. Its actor is the worker, as for every conversion. */
export function completionAudit({ start, done }: Completion): AuditEntry {
  return { actor: 'worker', action: 'orchestration.complete', subject: start.id, detail: { price: done.price } }
}

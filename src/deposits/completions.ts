/**
 * Which orchestrations of deposits are completed by the transaction that credits them, as `orchestrations/at-once` says.
 * Only deposits whose gates were found open in this transaction get here, on every network that a worker would look at.
 */
import { type Completion, completable } from '../orchestrations/at-once.ts'
import type { ConvertSettings } from '../orchestrations/convert.ts'
import { networksOf } from '../orchestrations/model.ts'
import type { Transaction } from '../store/db.ts'
import { ownersOf } from './attribution.ts'
import { type Credit, type Creditable, orchestrationOf } from './credit.ts'

/** @param settings undefined: none is, and a worker does everything */
export async function completionsOf<Tables>(
  transaction: Transaction<Tables>,
  credited: readonly { readonly deposit: Creditable; readonly credit: Credit }[],
  settings: ConvertSettings | undefined,
): Promise<readonly Completion[]> {
  if (settings === undefined) return []
  const starts = credited.flatMap(({ deposit, credit }) => {
    const start = orchestrationOf(deposit, credit)
    if (start === undefined || !('profile' in start.destination)) return []
    // The gates of a deposit are those of the network that it arrived on, those of an orchestration of the one it names.
    const isOpen = networksOf(start.source, start.destination).every((network) => network === deposit.network)
    return isOpen ? [{ ...start, profile: start.destination.profile.profile_id }] : []
  })
  const others = starts.filter(({ profile, profileId }) => profile !== profileId)
  const owners = await ownersOf(
    transaction,
    others.map(({ profile }) => profile),
  )
  return completable(
    starts.map(({ profile, ...start }) => ({
      ...start,
      destinationAccountId: profile === start.profileId ? start.accountId : (owners.get(profile)?.accountId ?? null),
    })),
    settings,
  )
}

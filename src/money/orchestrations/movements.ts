/** Computes the postings, transfers and delivery for an orchestration and its conversion. */
import type { NewDelivery } from '../deliveries/create.ts'
import type { LedgerAccount, MinorUnits, Posting } from '../ledger/posting.ts'
import type { RuleDestination } from '../rules/model.ts'
import type { NewTransfer } from '../transfers/store.ts'

/** The orchestration members its conversion needs. */
export interface Convertible {
  readonly id: string
  readonly customerId: string
  readonly profileId: string
  readonly accountId: string | null
  readonly sourceAsset: string
  readonly sourceAmount: MinorUnits
  readonly destinationAsset: string
  readonly destination: RuleDestination
  /** The destination profile's account. */
  readonly destinationAccountId: string | null
  readonly metadata: Readonly<Record<string, unknown>>
}

/** A conversion's amounts. `fee`, `converted` and `remainder` add up to the source amount. */
export interface Amounts {
  readonly fee: MinorUnits
  readonly converted: MinorUnits
  /** The part that the destination asset's decimals cannot represent. */
  readonly remainder: MinorUnits
  /** The amount for the destination, in the destination asset. */
  readonly outgoing: MinorUnits
}

/** The ids for a step's new records. They are generated in this order, which orders transfers with the same time. */
export interface StepIds {
  /** The DEBIT transfer in the source asset. */
  readonly debit: string
  /** The CREDIT transfer in the destination asset, when the profile is not the destination. */
  readonly credit: string
  /** The DEBIT transfer in the destination asset after a conversion, when the amount goes to another profile. */
  readonly move: string
  /** The destination profile's CREDIT transfer, or the delivery. */
  readonly destination: string
}

/** Makes the whole reserved amount available again. */
export function returnPosting({ id, profileId, sourceAsset, sourceAmount }: Convertible): Posting {
  return {
    asset: sourceAsset,
    amount: sourceAmount,
    debit: { bucket: 'in_transit', profileId },
    credit: { bucket: 'available', profileId },
    groupId: id,
  }
}

/** A conversion's postings, without zero amounts. */
export function conversionPostings(convertible: Convertible, amounts: Amounts): readonly Posting[] {
  const { id: groupId, profileId, sourceAsset, destinationAsset, destination } = convertible
  const { fee, converted, remainder, outgoing } = amounts
  const reserved: LedgerAccount = { bucket: 'in_transit', profileId }
  const desk: LedgerAccount = { bucket: 'desk' }
  const target: LedgerAccount =
    'profile' in destination ? { bucket: 'available', profileId: destination.profile.profile_id } : reserved
  const postings: readonly Posting[] = [
    { asset: sourceAsset, amount: fee, debit: reserved, credit: { bucket: 'fees' }, groupId },
    { asset: sourceAsset, amount: remainder, debit: reserved, credit: { bucket: 'available', profileId }, groupId },
    ...(sourceAsset === destinationAsset
      ? [{ asset: sourceAsset, amount: converted, debit: reserved, credit: target, groupId }]
      : [
          { asset: sourceAsset, amount: converted, debit: reserved, credit: desk, groupId },
          { asset: destinationAsset, amount: outgoing, debit: desk, credit: target, groupId },
        ]),
  ]
  return postings.filter(({ amount, debit, credit }) => amount > 0n && debit !== credit)
}

/**
 * The customer's transfers. A conversion has a DEBIT and a CREDIT. An amount for another profile has a DEBIT from one
 * profile and a CREDIT to the other. A delivery writes its own transfer.
 */
export function conversionTransfers(
  convertible: Convertible,
  { fee, converted, outgoing }: Amounts,
  ids: StepIds,
  createdAt: string,
): readonly NewTransfer[] {
  const { id: groupId, customerId, profileId, accountId, sourceAsset, destinationAsset, destination } = convertible
  const own = { customerId, profileId, accountId }
  const common = { status: 'COMPLETED', groupId, metadata: convertible.metadata, createdAt } as const
  const credited = 'profile' in destination ? destination.profile.profile_id : undefined
  const entries: NewTransfer[] = []
  const isConversion = sourceAsset !== destinationAsset
  if (isConversion) {
    const type = 'CONVERSION'
    const isLast = credited === profileId
    entries.push(
      { ...common, ...own, id: ids.debit, type, direction: 'DEBIT', asset: sourceAsset, amount: converted, fee },
      {
        ...common,
        ...own,
        id: isLast ? ids.destination : ids.credit,
        type,
        direction: 'CREDIT',
        asset: destinationAsset,
        amount: outgoing,
      },
    )
    if (isLast) return entries
  }
  if (credited === undefined) return entries
  const moved = { ...common, type: 'INTERNAL_TRANSFER', asset: destinationAsset, amount: outgoing } as const
  const other = { customerId, profileId: credited, accountId: convertible.destinationAccountId }
  entries.push(
    { ...moved, ...own, id: isConversion ? ids.move : ids.debit, direction: 'DEBIT', ...(isConversion ? {} : { fee }) },
    { ...moved, ...other, id: ids.destination, direction: 'CREDIT' },
  )
  return entries
}

/** The delivery that pays the amount out of the service. Undefined when the destination is a profile. */
export function deliveryOf(
  { id, customerId, profileId, accountId, sourceAsset, destinationAsset, destination, metadata }: Convertible,
  { fee, outgoing }: Amounts,
  ids: StepIds,
  createdAt: string,
): NewDelivery | undefined {
  if ('profile' in destination) return undefined
  return {
    id: ids.destination,
    customerId,
    profileId,
    accountId,
    owner: { orchestrationId: id },
    asset: destinationAsset,
    amount: outgoing,
    // Without a conversion, no other transfer shows the fee.
    ...(sourceAsset === destinationAsset ? { fee } : {}),
    destination,
    failsTo: 'available',
    groupId: id,
    createdAt,
    metadata,
  }
}

/** Computes the postings, the transfers and the delivery that follow from an orchestration and its conversion. */
import type { NewDelivery } from '../deliveries/create.ts'
import type { LedgerAccount, MinorUnits, Posting } from '../ledger/posting.ts'
import type { RuleDestination } from '../rules/model.ts'
import type { NewTransfer } from '../transfers/store.ts'

/** The members of an orchestration that its conversion needs. */
export interface Convertible {
  readonly id: string
  readonly customerId: string
  readonly profileId: string
  readonly accountId: string | null
  readonly sourceAsset: string
  readonly sourceAmount: MinorUnits
  readonly destinationAsset: string
  readonly destination: RuleDestination
  /** The account of the destination profile. */
  readonly destinationAccountId: string | null
  readonly metadata: Readonly<Record<string, unknown>>
}

/** The amounts of a conversion: `fee`, `converted` and `remainder` add up to the source amount. */
export interface Amounts {
  readonly fee: MinorUnits
  readonly converted: MinorUnits
  /** The part that the decimals of the destination asset cannot represent. */
  readonly remainder: MinorUnits
  /** The amount for the destination, in the destination asset. */
  readonly outgoing: MinorUnits
}

/** The ids of the records that a step creates. They are generated in this order, which orders transfers of one instant. */
export interface StepIds {
  /** The DEBIT transfer of the source asset. */
  readonly debit: string
  /** The CREDIT transfer of the destination asset, when the profile is not the destination. */
  readonly credit: string
  /** The DEBIT transfer of the destination asset, to another profile. */
  readonly move: string
  /** The CREDIT transfer of the destination profile, or the delivery. */
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

/** The postings of a conversion, without those of a zero amount. */
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
 * The customer's transfers. A conversion has a DEBIT and a CREDIT; an amount for another profile has a DEBIT of the one and
 * a CREDIT of the other. The transfer of a delivery is written by the delivery.
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

/** The delivery that pays the amount out of the service; undefined when the destination is a profile. */
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
    // Without a conversion there is no other transfer that shows the fee.
    ...(sourceAsset === destinationAsset ? { fee } : {}),
    destination,
    failsTo: 'available',
    groupId: id,
    createdAt,
    metadata,
  }
}

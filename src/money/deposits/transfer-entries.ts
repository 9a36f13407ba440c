/** The transfer that shows a deposit in its customer's lists and statements. */
import type { TransferSecondaryStatus, TransferType } from '../transfers/model.ts'
import type { NewTransfer } from '../transfers/store.ts'
import type { Owner } from './attribution.ts'
import type { DepositValues } from './tables.ts'
import type { DepositSecondaryStatus } from './transitions.ts'

/**
 * A deposit's first transfer has the deposit's id. A correction, or a report that changes the owner, adds another one.
 */
export function transferIdOf({ id, transfer_id }: Pick<DepositValues, 'id' | 'transfer_id'>): string {
  return transfer_id ?? id
}

/** @param createdAt from `nextCreationTimes` for the customer */
export function transferOf(
  deposit: DepositValues,
  { customerId, profileId, accountId }: Pick<Owner, 'customerId' | 'profileId' | 'accountId'>,
  metadata: Readonly<Record<string, unknown>>,
  createdAt: string,
): NewTransfer {
  const { secondary_status, disposition, network, tx_hash, tx_index, confirmations } = deposit
  const { address, memo_id } = isElsewhere(deposit) ? { address: null, memo_id: null } : deposit
  const secondaryStatus = shownSecondaryStatus(secondary_status)
  return {
    id: transferIdOf(deposit),
    customerId,
    profileId,
    accountId,
    asset: deposit.asset,
    amount: BigInt(deposit.amount),
    direction: 'CREDIT',
    type: typeOf(deposit),
    status: deposit.status,
    ...(secondaryStatus === null ? {} : { secondaryStatus }),
    ...(disposition === null ? {} : { disposition }),
    ...(tx_hash === null ? {} : { cryptoNetwork: network, cryptoTxHash: tx_hash }),
    ...(tx_index === null ? {} : { cryptoTxIndex: tx_index }),
    ...(confirmations === null ? {} : { confirmations }),
    ...(address === null ? {} : { destinationAddress: address }),
    ...(memo_id === null ? {} : { memo: memo_id }),
    groupId: deposit.id,
    metadata,
    createdAt,
  }
}

/** A correction gave it to a profile without its address or memo, which may be another customer's. */
function isElsewhere({ corrections, deposit_address_id, fiat_instructions_id }: DepositValues): boolean {
  return corrections.length > 0 && deposit_address_id === null && fiat_instructions_id === null
}

/** Customers see a rejected deposit as HELD: the rejection is the operator's own note until the money is returned. */
export function shownSecondaryStatus(secondary: DepositSecondaryStatus | null): TransferSecondaryStatus | null {
  return secondary === 'REJECTED' ? 'HELD' : secondary
}

function typeOf({ network, tx_hash }: DepositValues): TransferType {
  if (tx_hash !== null) return 'CRYPTO_DEPOSIT'
  return network === 'CUBIX' ? 'CUBIX_DEPOSIT' : 'WIRE_DEPOSIT'
}

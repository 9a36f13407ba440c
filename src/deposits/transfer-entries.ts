/** The transfer that a deposit is in its customer's lists and statements; it has the id of the deposit. */
import type { TransferSecondaryStatus, TransferType } from '../transfers/model.ts'
import type { NewTransfer } from '../transfers/store.ts'
import type { DepositsTable } from './tables.ts'
import type { DepositSecondaryStatus } from './transitions.ts'

/** The columns of a deposit that its transfer shows. */
export type EntryDeposit = Pick<
  DepositsTable,
  | 'id'
  | 'asset'
  | 'amount'
  | 'status'
  | 'secondary_status'
  | 'disposition'
  | 'network'
  | 'address'
  | 'tx_hash'
  | 'tx_index'
  | 'memo_id'
  | 'confirmations'
>

interface EntryOwner {
  readonly customerId: string
  readonly profileId: string
  readonly accountId: string | null
}

/** @param createdAt from `nextCreationTimes` of the customer */
export function transferOf(
  deposit: EntryDeposit,
  { customerId, profileId, accountId }: EntryOwner,
  metadata: Readonly<Record<string, unknown>>,
  createdAt: string,
): NewTransfer {
  const { id, secondary_status, disposition, network, address, tx_hash, tx_index, memo_id, confirmations } = deposit
  const secondaryStatus = shownSecondaryStatus(secondary_status)
  return {
    id,
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
    groupId: id,
    metadata,
    createdAt,
  }
}

/** Customers see a rejected deposit as HELD: the rejection is the operator's own note until the money is returned. */
export function shownSecondaryStatus(secondary: DepositSecondaryStatus | null): TransferSecondaryStatus | null {
  return secondary === 'REJECTED' ? 'HELD' : secondary
}

function typeOf({ network, tx_hash }: EntryDeposit): TransferType {
  if (tx_hash !== null) return 'CRYPTO_DEPOSIT'
  return network === 'CUBIX' ? 'CUBIX_DEPOSIT' : 'WIRE_DEPOSIT'
}

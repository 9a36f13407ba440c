/**
 * Finds a payment's owner. A crypto payment is matched by the deposit address, on any network in the address's family.
 * A bank payment is matched by the memo, either reported as such or found in the bank's text. A text with several known
 * memos gives no owner. Read-only.
 */
import type { CryptoNetwork } from '../../contract/crypto-networks.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { profilesWithIds } from '../accounts/profiles.ts'
import { type ReceivingAddress, receivingAddresses } from '../deposit-instructions/address-owner.ts'
import { memoOwners } from '../deposit-instructions/fiat-instructions.ts'
import { memoCandidates, plainMemo } from './memo-text.ts'
import type { PaymentTerms } from './report.ts'

/** A deposit's owner. */
export interface Owner {
  readonly customerId: string
  readonly profileId: string
  readonly accountId: string | null
  /** The account's identity. */
  readonly identityId: string | null
  /** Whether the customer has limits of its own. Absent: not read. */
  readonly hasLimits?: boolean | undefined
}

/** The address or fiat instructions at which a payment arrived. At most one is set. */
export interface Arrived {
  readonly address: ReceivingAddress | undefined
  readonly fiatInstructionsId: string | undefined
  /** The instructions' memo, when it was found in the payment's terms: as reported, or in the bank's text. */
  readonly memo?: string
}

/** An address or fiat instructions, and their profile. */
export interface Place extends Arrived {
  readonly profileId: string
}

/** Neither an address nor a memo, as for a deposit assigned by the operator. */
export const NOWHERE: Arrived = { address: undefined, fiatInstructionsId: undefined }

export interface Attribution extends Arrived {
  readonly owner: Owner
}

/** Each payment's owner, in the same order. Undefined when it is not known. */
export async function attribute<Tables>(
  transaction: Transaction<Tables>,
  payments: readonly PaymentTerms[],
): Promise<readonly (Attribution | undefined)[]> {
  const arrived = await findArrived(transaction, payments)
  const owners = await ownersOf(
    transaction,
    arrived.flatMap((found) => (found === undefined ? [] : [found.profileId])),
  )
  return arrived.map((found) => {
    if (found === undefined) return undefined
    const owner = owners.get(found.profileId)
    if (owner === undefined) return undefined
    const { profileId: _, ...rest } = found
    return { owner, ...rest }
  })
}

/** The owners of these profiles, by profile id. */
export async function ownersOf<Tables>(
  transaction: Transaction<Tables>,
  profileIds: readonly string[],
): Promise<ReadonlyMap<string, Owner>> {
  const profiles = await profilesWithIds(transaction, profileIds)
  return new Map(
    [...profiles.values()].map(({ id, customerId, account, hasLimits }) => [
      id,
      { customerId, profileId: id, accountId: account?.id ?? null, identityId: account?.identityId ?? null, hasLimits },
    ]),
  )
}

/** Where each payment arrived, in the same order. Undefined when the place is not known. */
export async function findArrived<Tables>(
  transaction: Transaction<Tables>,
  payments: readonly PaymentTerms[],
): Promise<readonly (Place | undefined)[]> {
  const crypto = payments.filter(({ address }) => address !== null)
  const memosOf = new Map(payments.map((payment) => [payment, possibleMemos(payment)]))
  const [addresses, owners] = await Promise.all([
    receivingAddresses(
      transaction,
      crypto.map(({ network, address }) => ({ network: network as CryptoNetwork, address: address as string })),
    ),
    memoOwners(transaction, [...new Set([...memosOf.values()].flat(2))]),
  ])
  const addressOf = new Map(crypto.map((payment, index) => [payment, addresses[index]]))
  const ownerOf = new Map(owners.map((owner) => [owner.memoId, owner]))
  return payments.map((payment) => {
    const address = addressOf.get(payment)
    if (address !== undefined) return { address, fiatInstructionsId: undefined, profileId: address.profileId }
    for (const memos of memosOf.get(payment) ?? []) {
      const found = memos.flatMap((memo) => ownerOf.get(memo) ?? [])
      const [first, second] = found
      if (second !== undefined) return undefined
      if (first === undefined) continue
      const { id: fiatInstructionsId, memoId: memo, profileId } = first
      return { address: undefined, fiatInstructionsId, memo, profileId }
    }
    return undefined
  })
}

/** Possible memos in order of preference: the reported one, then all candidates in the bank's text. */
function possibleMemos({ memoId, remittance }: PaymentTerms): readonly (readonly string[])[] {
  return [
    ...(memoId === null ? [] : [[plainMemo(memoId)]]),
    ...(remittance === null ? [] : [memoCandidates(remittance)]),
  ]
}

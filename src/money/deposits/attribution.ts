/**
 * Finds the owner of a payment: by the deposit address that it arrived at, on any network of the address's family, or by
 * its memo, which is reported as such or found in the bank's text. Read-only.
 */
import type { CryptoNetwork } from '../../contract/crypto-networks.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { profilesWithIds } from '../accounts/profiles.ts'
import { type ReceivingAddress, receivingAddresses } from '../deposit-instructions/address-owner.ts'
import { memoOwners } from '../deposit-instructions/fiat-instructions.ts'
import { memoCandidates, plainMemo } from './memo-text.ts'
import type { PaymentTerms } from './report.ts'

/** The owner of a deposit. */
export interface Owner {
  readonly customerId: string
  readonly profileId: string
  readonly accountId: string | null
  /** Of the account. */
  readonly identityId: string | null
}

/** The address or the fiat instructions that a payment arrived at; at most one of the two. */
export interface Arrived {
  readonly address: ReceivingAddress | undefined
  readonly fiatInstructionsId: string | undefined
  /** Of the fiat instructions, when it was found in the terms of the payment: as reported, or in the bank's text. */
  readonly memo?: string
}

/** Where a deposit arrived that the operator has assigned. */
export const NOWHERE: Arrived = { address: undefined, fiatInstructionsId: undefined }

export interface Attribution extends Arrived {
  readonly owner: Owner
}

/** The owner of each payment, in the same order; undefined when it is not known. */
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

/** The owner for each of these profiles, by profile id. */
export async function ownersOf<Tables>(
  transaction: Transaction<Tables>,
  profileIds: readonly string[],
): Promise<ReadonlyMap<string, Owner>> {
  const profiles = await profilesWithIds(transaction, profileIds)
  return new Map(
    [...profiles.values()].map(({ id, customerId, account }) => [
      id,
      { customerId, profileId: id, accountId: account?.id ?? null, identityId: account?.identityId ?? null },
    ]),
  )
}

async function findArrived<Tables>(
  transaction: Transaction<Tables>,
  payments: readonly PaymentTerms[],
): Promise<readonly ((Arrived & { readonly profileId: string }) | undefined)[]> {
  const crypto = payments.filter(({ address }) => address !== null)
  const addresses = await receivingAddresses(
    transaction,
    crypto.map(({ network, address }) => ({ network: network as CryptoNetwork, address: address as string })),
  )
  const addressOf = new Map(crypto.map((payment, index) => [payment, addresses[index]]))
  const memosOf = new Map(payments.map((payment) => [payment, possibleMemos(payment)]))
  const owners = await memoOwners(transaction, [...new Set([...memosOf.values()].flat(2))])
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

/** Candidates for the memo in order of preference: the reported one, then all that the bank's text may contain. */
function possibleMemos({ memoId, remittance }: PaymentTerms): readonly (readonly string[])[] {
  return [
    ...(memoId === null ? [] : [[plainMemo(memoId)]]),
    ...(remittance === null ? [] : [memoCandidates(remittance)]),
  ]
}

/**
 * Whose a payment is: by the deposit address that it arrived at, on any network of the address's family; or by its memo,
 * given as one or found in the text of the bank. It changes nothing.
 */
import { profilesWithIds } from '../accounts/profiles.ts'
import type { CryptoNetwork } from '../contract/crypto-networks.ts'
import { type ReceivingAddress, receivingAddresses } from '../deposit-instructions/address-owner.ts'
import { memoOwners } from '../deposit-instructions/fiat-instructions.ts'
import type { Transaction } from '../store/db.ts'
import { memoCandidates, plainMemo } from './memo-text.ts'
import type { PaymentTerms } from './report.ts'

/** Whose a deposit is. */
export interface Owner {
  readonly customerId: string
  readonly profileId: string
  readonly accountId: string | null
  /** Of the account. */
  readonly identityId: string | null
}

/** What a payment arrived at; at most one of the two. */
export interface Arrived {
  readonly address: ReceivingAddress | undefined
  readonly fiatInstructionsId: string | undefined
}

export interface Attribution extends Arrived {
  readonly owner: Owner
}

/** For each payment, in the same order, whose it is; undefined: that is not known. */
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
    return owner === undefined
      ? undefined
      : { owner, address: found.address, fiatInstructionsId: found.fiatInstructionsId }
  })
}

/** The owners that these profiles make, by profile. */
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
      if (first !== undefined) return { address: undefined, fiatInstructionsId: first.id, profileId: first.profileId }
    }
    return undefined
  })
}

/** Texts that may be the memo: the one that the source read, then every one that the bank's text may hold. */
function possibleMemos({ memoId, remittance }: PaymentTerms): readonly (readonly string[])[] {
  return [
    ...(memoId === null ? [] : [[plainMemo(memoId)]]),
    ...(remittance === null ? [] : [memoCandidates(remittance)]),
  ]
}

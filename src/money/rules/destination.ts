/** Resolves and checks the destination of a rule or a requested orchestration, before it is stored. */
import type { CryptoNetwork } from '../../contract/crypto-networks.ts'
import { Problem } from '../../platform/http/problem.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { profileForWrite, type WritableProfile } from '../accounts/profiles.ts'
import { isOwnAddress } from '../deposit-instructions/address-owner.ts'
import type { RuleDestination } from './model.ts'
import type { NewRuleBody } from './schemas.ts'

/**
 * The requested destination; default: the profile itself. An address that belongs to this service is 400 `own_address`.
 */
export async function destinationOf<Tables>(
  transaction: Transaction<Tables>,
  { id, customerId }: WritableProfile,
  destination: NewRuleBody['destination'],
): Promise<RuleDestination> {
  const { crypto, fiat, profile } = destination ?? {}
  if (crypto !== undefined) {
    await refuseOwnAddress(transaction, crypto)
    return { crypto }
  }
  if (fiat !== undefined) return { fiat }
  if (profile === undefined) return { profile: { profile_id: id } }
  const pointer = '/destination/profile/profile_id'
  const named = await profileForWrite(transaction, customerId, profile.profile_id, pointer)
  return { profile: { profile_id: named.id } }
}

/** Rejects this service's own addresses, where the payment would arrive as a deposit and be converted again. */
async function refuseOwnAddress<Tables>(
  transaction: Transaction<Tables>,
  { network, address }: { readonly network: CryptoNetwork; readonly address: string },
): Promise<void> {
  if (!(await isOwnAddress(transaction, network, address))) return
  const pointer = '/destination/crypto/address'
  const detail = 'is a deposit address of this service. Name its profile as the destination instead'
  throw new Problem('own_address', `${pointer}: ${detail}`, { errors: [{ pointer, detail }] })
}

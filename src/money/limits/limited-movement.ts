/** The limited movements: from a profile to another one, or to outside. */
import type { CryptoNetwork } from '../../contract/crypto-networks.ts'
import { addressKeyOf, shownAddress } from '../destinations/address-key.ts'
import type { GateSubject, MovementDestination } from '../gates/model.ts'
import type { MinorUnits } from '../ledger/posting.ts'

/** A movement with everything needed to count it. */
export interface LimitedMovement {
  /** The orchestration's id. */
  readonly id: string
  readonly customerId: string
  readonly asset: string
  readonly destination: string
  /** Undefined until it is known. */
  readonly amount: MinorUnits | undefined
  /** Whether a release has opened LIMIT for it: it is counted all the same. */
  readonly isOpened: boolean
  /** Whether the customer has limits of its own. Undefined: not known. */
  readonly hasOwnLimits: boolean | undefined
}

/**
 * The limited movement of a gate's subject. Undefined for a movement inside a profile, and for a returned
 * deposit. Every account has its own profile.
 */
export function limitedMovement(subject: GateSubject): LimitedMovement | undefined {
  const { owner, profileId, destination } = subject
  if (!('orchestrationId' in owner) || destination === undefined) return undefined
  if ('profile' in destination && destination.profile.profile_id === profileId) return undefined
  return {
    id: owner.orchestrationId,
    customerId: subject.customerId,
    asset: subject.asset,
    destination: destinationKey(destination),
    amount: subject.amount,
    isOpened: subject.openedGates.includes('LIMIT'),
    hasOwnLimits: subject.hasLimits,
  }
}

/** The key of a destination's use, which is equal for all notations of an address. */
function destinationKey(destination: MovementDestination): string {
  if ('profile' in destination) return `profile/${destination.profile.profile_id}`
  if ('fiat' in destination) return `fiat/${destination.fiat.fiat_account_id}`
  const { network, address } = destination.crypto
  return `crypto/${network}/${addressKeyOf(network, address)}`
}

/** The destination with this key, in the form of a movement's destination. */
export function destinationOfKey(key: string): MovementDestination {
  const [kind = '', ...rest] = key.split('/')
  const id = rest.join('/')
  if (kind === 'profile') return { profile: { profile_id: id } }
  if (kind === 'fiat') return { fiat: { fiat_account_id: id } }
  const [network, address = ''] = rest as [CryptoNetwork, string?]
  return { crypto: { address: shownAddress(network, address), network } }
}

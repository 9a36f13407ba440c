/** The limited movements: from a profile to another one, or to outside. */
import type { CryptoNetwork } from '../../contract/crypto-networks.ts'
import { isUuid } from '../../platform/base/ids.ts'
import type { Kysely } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { unnested } from '../../platform/store/unnested.ts'
import { addressKeyOf, shownAddress } from '../destinations/address-key.ts'
import type { GateSubject, MovementDestination } from '../gates/model.ts'
import type { MinorUnits } from '../ledger/posting.ts'

const FIAT = 'fiat/'

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

/**
 * The movements with their fiat accounts' ids: the migrated account of earlier rules is also named by their text, and
 * both names have one use.
 */
export async function withAccountIds<Tables>(
  tables: Kysely<Tables>,
  movements: readonly LimitedMovement[],
): Promise<readonly LimitedMovement[]> {
  const named = movements.flatMap(({ customerId, destination }) => {
    const text = destination.startsWith(FIAT) ? destination.slice(FIAT.length) : undefined
    return text === undefined || isUuid(text) ? [] : [{ customerId, text }]
  })
  if (named.length === 0) return movements
  const { rows } = await sql<{ readonly customer_id: string; readonly ref_id: string; readonly id: string }>`
    select destinations.customer_id, ref_id, id from destinations
    join ${unnested(named, [
      ['customer_id', 'uuid', ({ customerId }) => customerId],
      ['text', 'text', ({ text }) => text],
    ])} on wanted.customer_id = destinations.customer_id and wanted.text = ref_id
    where kind = 'FIAT' and from_rules
  `.execute(tables)
  const ids = new Map(rows.map(({ customer_id, ref_id, id }) => [`${customer_id} ${FIAT}${ref_id}`, FIAT + id]))
  return movements.map((movement) => {
    const { customerId, destination } = movement
    return { ...movement, destination: ids.get(`${customerId} ${destination}`) ?? destination }
  })
}

/** The key of a destination's use, which is equal for all notations of an address. */
function destinationKey(destination: MovementDestination): string {
  if ('profile' in destination) return `profile/${destination.profile.profile_id}`
  if ('fiat' in destination) {
    const { fiat_account_id: text } = destination.fiat
    return FIAT + (isUuid(text) ? text.toLowerCase() : text)
  }
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

/** Resolves and checks the destination of a rule or a requested orchestration, before it is stored. */
import { invalidRequest, Problem } from '../../platform/http/problem.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { profileForWrite, type WritableProfile } from '../accounts/profiles.ts'
import { refuseOwnAddress } from '../deposit-instructions/address-owner.ts'
import { memoOf, NO_MEMO, type Place } from '../destinations/model.ts'
import { closedBecause, type DestinationPolicy, type Registration, registrationsOf } from '../destinations/standing.ts'
import type { RuleDestination } from './model.ts'
import type { NewRuleBody } from './schemas.ts'

/**
 * The requested destination; default: the profile itself. An address that belongs to this service is 400 `own_address`.
 * A registered destination gives its memo and fiat network. One that may not be paid now is 403.
 */
export async function destinationOf<Tables>(
  transaction: Transaction<Tables>,
  { id, customerId }: WritableProfile,
  destination: NewRuleBody['destination'],
  policy: DestinationPolicy,
): Promise<RuleDestination> {
  const { crypto, fiat, profile } = destination ?? {}
  if (crypto !== undefined) await refuseOwnAddress(transaction, crypto, '/destination/crypto/address')
  const place = crypto === undefined ? fiat && { fiat } : { crypto }
  if (place !== undefined) return await registeredPlace(transaction, customerId, place, policy)
  if (profile === undefined) return { profile: { profile_id: id } }
  const pointer = '/destination/profile/profile_id'
  const named = await profileForWrite(transaction, customerId, profile.profile_id, pointer)
  return { profile: { profile_id: named.id } }
}

async function registeredPlace<Tables>(
  transaction: Transaction<Tables>,
  customerId: string,
  requested: Place,
  policy: DestinationPolicy,
): Promise<Place> {
  const [registration] = await registrationsOf(transaction, [{ customerId, place: requested }], false)
  const place = registration === undefined ? requested : withRegistration(requested, registration)
  const closed = closedBecause(place, registration, policy)
  if (closed === undefined) return place
  const meta = closed.usableAt === undefined ? {} : { meta: { usable_at: closed.usableAt } }
  throw new Problem(closed.code, closed.detail, meta)
}

/** The place with its registration's memo and network. Throws 400 for another memo. */
function withRegistration(place: Place, { network, memos, status }: Registration): Place {
  // It cannot be paid, and its memo is not shown.
  if (status === 'DELETED' || status === 'REJECTED') return place
  const requested = 'crypto' in place ? place.crypto.memo : place.fiat.memo
  const found = memoOf(memos, requested)
  if (found === undefined) throw wrongMemo(place, memos, requested)
  const memo = found === NO_MEMO ? {} : { memo: found }
  if ('crypto' in place) return { crypto: { ...place.crypto, ...memo } }
  return { fiat: { ...place.fiat, ...memo, ...(network === 'CUBIX' ? { network } : {}) } }
}

function wrongMemo(place: Place, memos: readonly string[], requested: string | undefined): Problem {
  const pointer = `/destination/${'crypto' in place ? 'crypto' : 'fiat'}/memo`
  if (requested === undefined) return invalidRequest([{ pointer, detail: 'is required: the destination has several' }])
  const hasNone = memos.every((memo) => memo === NO_MEMO)
  const detail = hasNone ? 'is not allowed: the destination is registered without one' : 'is not the destination’s memo'
  return invalidRequest([{ pointer, detail }])
}

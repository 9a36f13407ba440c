/**
 * Whether places may be paid: finds each one's registration, and decides by the settings. A place is found by its
 * network and address, or by the fiat account's id. The last registration counts. Time is the store's.
 */
import type { CryptoNetwork } from '../../contract/crypto-networks.ts'
import { isUuid } from '../../platform/base/ids.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { shareUnlessLocked } from '../../platform/store/lock-order.ts'
import { sql } from '../../platform/store/sql.ts'
import { unnested } from '../../platform/store/unnested.ts'
import { addressKeyOf } from './address-key.ts'
import { magicOutcome } from './magic-places.ts'
import { type DestinationStatus, NO_MEMO, type Place } from './model.ts'

/** How destinations are checked. */
export interface DestinationPolicy {
  /** The setting `destinations.required`. */
  readonly isRequired: boolean
  /** The setting `rest.sandbox`: magic destinations count as registered. */
  readonly isSandbox: boolean
}

/** A customer's place. */
export interface CustomerPlace {
  readonly customerId: string
  readonly place: Place
}

/** A registration, as it is now. */
export interface Registration {
  readonly id: string
  readonly network: string
  readonly memos: readonly string[]
  /** `LOCKED`: another transaction is changing it. */
  readonly status: DestinationStatus | 'LOCKED'
  readonly usableAt: string
  readonly isUsable: boolean
}

/** Why a place may not be paid. */
export interface Closed {
  readonly code: 'destination_not_registered' | 'destination_cooling'
  readonly detail: string
  /** Only while it is cooling. */
  readonly usableAt?: string
}

interface Row {
  readonly number: number
  readonly id: string
  readonly network: string
  readonly memos: readonly string[]
  readonly status: DestinationStatus
  readonly usable_at: string
  readonly is_usable: boolean
  readonly is_locked: boolean
}

/**
 * The places' registrations, in the same order. Undefined: never registered.
 *
 * @param areHandedOut keeps the registrations from changing until the transaction ends. It never waits: one that another
 *   transaction is changing is `LOCKED`
 */
export async function registrationsOf<Tables>(
  transaction: Transaction<Tables>,
  places: readonly CustomerPlace[],
  areHandedOut: boolean,
): Promise<readonly (Registration | undefined)[]> {
  if (places.length === 0) return []
  const numbered = places.map((one, number) => ({ ...namesOf(one), number }))
  const current = areHandedOut
    ? sql`left join lateral (
      select status, usable_at from destinations where id = found.id ${shareUnlessLocked}
    ) as current on true`
    : sql`cross join lateral (select found.status, found.usable_at) as current`
  const { rows } = await sql<Row>`
    select number, found.id, found.network, memos, coalesce(current.status, found.status) as status,
      coalesce(current.usable_at, found.usable_at) as usable_at,
      coalesce(current.usable_at <= clock_timestamp(), false) as is_usable, current.status is null as is_locked
    from ${unnested(numbered, [
      ['number', 'integer', ({ number }) => number],
      ['customer_id', 'uuid', ({ customerId }) => customerId],
      ['network', 'text', ({ network }) => network],
      ['address_key', 'text', ({ key }) => key],
      ['account_id', 'uuid', ({ accountId }) => accountId],
      ['account_text', 'text', ({ accountText }) => accountText],
    ])}
    cross join lateral (
      (
        select id, network, memos, status, usable_at from destinations
        where kind = 'CRYPTO' and customer_id = wanted.customer_id and network = wanted.network
          and address_key = wanted.address_key
        order by created_at desc, id desc limit 1
      ) union all (
        select id, network, memos, status, usable_at from destinations
        where kind = 'FIAT' and customer_id = wanted.customer_id and id = wanted.account_id
      ) union all (
        select id, network, memos, status, usable_at from destinations
        where kind = 'FIAT' and customer_id = wanted.customer_id and ref_id = wanted.account_text and from_rules
      )
      limit 1
    ) as found
    ${current}
  `.execute(transaction)
  const found = new Map(rows.map((row) => [row.number, registrationOf(row)]))
  return places.map((_, number) => found.get(number))
}

function registrationOf({ id, network, memos, status, usable_at, is_usable, is_locked }: Row): Registration {
  const state = is_locked ? 'LOCKED' : status
  return { id, network, memos, status: state, usableAt: usable_at, isUsable: is_usable }
}

/** The columns that find a place. */
function namesOf({ customerId, place }: CustomerPlace) {
  const none = { customerId, network: null, key: null, accountId: null, accountText: null }
  if ('crypto' in place) {
    const { network, address } = place.crypto
    return { ...none, network: network as CryptoNetwork, key: addressKeyOf(network, address) }
  }
  const { fiat_account_id: text } = place.fiat
  return { ...none, accountId: isUuid(text) ? text.toLowerCase() : null, accountText: text }
}

/**
 * Why the place may not be paid now. Undefined when it may. A destination that was deleted or rejected is never paid,
 * whatever the settings.
 */
export function closedBecause(
  place: Place,
  registration: Registration | undefined,
  { isRequired, isSandbox }: DestinationPolicy,
): Closed | undefined {
  if (isSandbox && magicOutcome(place) !== undefined) return undefined
  const refuse = (detail: string): Closed => ({ code: 'destination_not_registered', detail })
  if (registration === undefined) return isRequired ? refuse('the destination is not registered') : undefined
  const { status, usableAt, isUsable, memos } = registration
  if (status === 'DELETED' || status === 'REJECTED') return refuse(`the destination is ${status}`)
  if (status === 'LOCKED') return refuse('the destination is being changed')
  if (!isRequired) return undefined
  if (status === 'PENDING') return refuse('the destination waits for approval')
  if (!memos.includes(memoIn(place))) return refuse('the destination is registered with another memo')
  if (isUsable) return undefined
  return { code: 'destination_cooling', detail: `the destination is usable from ${usableAt} on`, usableAt }
}

function memoIn(place: Place): string {
  return ('crypto' in place ? place.crypto.memo : place.fiat.memo) ?? NO_MEMO
}

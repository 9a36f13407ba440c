/**
 * Destinations: crypto addresses and fiat accounts to which a customer's money may leave. A destination is registered
 * with its memo, because at a shared account the memo identifies the beneficiary. Pure.
 *
 * It starts as ACTIVE, or as PENDING if an operator must approve it. STEPS are its only transitions: REJECTED and
 * DELETED are final. An ACTIVE one is paid from `usable_at` on.
 */
import type { CryptoNetwork } from '../../contract/crypto-networks.ts'
import type { MovementDestination } from '../gates/model.ts'

export const DESTINATION_STATUSES = ['PENDING', 'ACTIVE', 'REJECTED', 'DELETED'] as const

export type DestinationStatus = (typeof DESTINATION_STATUSES)[number]

export const DESTINATION_KINDS = ['CRYPTO', 'FIAT'] as const

export type DestinationKind = (typeof DESTINATION_KINDS)[number]

/** The transitions from each state. */
const STEPS: Readonly<Record<DestinationStatus, readonly DestinationStatus[]>> = {
  PENDING: ['ACTIVE', 'REJECTED', 'DELETED'],
  ACTIVE: ['REJECTED', 'DELETED'],
  REJECTED: [],
  DELETED: [],
}

/** The effect of requesting the state `wanted`: a transition, nothing because it already has it, or an error. */
export function stepTo(present: DestinationStatus, wanted: DestinationStatus): 'step' | 'unchanged' | 'impossible' {
  if (present === wanted) return 'unchanged'
  return STEPS[present].includes(wanted) ? 'step' : 'impossible'
}

/** An address, which may have a memo, or a fiat account, as rules and payments name them. */
export type Place = Exclude<MovementDestination, { readonly profile: unknown }>

/** The memo stored for a place without one. */
export const NO_MEMO = ''

/** The crypto networks with shared accounts, where a memo identifies the beneficiary. */
const MEMO_NETWORKS: ReadonlySet<string> = new Set<CryptoNetwork>(['STELLAR'])

/** Why an address cannot have a memo. Undefined when it can. */
export function memoFault(network: CryptoNetwork, address: string): string | undefined {
  if (!MEMO_NETWORKS.has(network)) return `is not allowed: payments on ${network} have no memo`
  if (address.startsWith('M')) return 'is not allowed: a muxed address contains its memo'
  return undefined
}

/**
 * The memo with which a destination is paid: the requested one, which must be the destination's, or its only one.
 * Undefined: there is none.
 */
export function memoOf(memos: readonly string[], requested: string | undefined): string | undefined {
  if (memos.includes(requested ?? NO_MEMO)) return requested ?? NO_MEMO
  return requested === undefined && memos.length === 1 ? memos[0] : undefined
}

/**
 * Selects the conversion of a deposit: the rule of its address or memo, else the target asset of its address, else the
 * oldest active rule of its profile; and checks that the deposit can be converted. The candidates are read by the caller
 * in the transaction that credits the deposit.
 */
import { type Conversions, isConvertible } from '../../contract/assets.ts'
import type { CryptoNetwork } from '../../contract/crypto-networks.ts'
import type { ReviewLimits } from '../controls/review.ts'
import { NO_CONVERSION } from '../deposit-instructions/deposit-addresses.ts'
import type { MinorUnits } from '../ledger/posting.ts'
import type { CandidateRule } from '../rules/matching.ts'
import type { RuleDestination, RuleSource } from '../rules/model.ts'
import type { Disposition } from './dispositions.ts'

export interface Arrival {
  readonly profileId: string
  readonly asset: string
  readonly amount: MinorUnits
  readonly network: string
}

/** The deposit address that a deposit arrived at. */
export interface ArrivalAddress {
  readonly id: string
  readonly address: string
  readonly network: CryptoNetwork
  readonly conversionTargetAsset: string
}

export interface Candidates {
  /** The rule that the address or the memo was created for, in any status. */
  readonly own: CandidateRule | undefined
  readonly address: ArrivalAddress | undefined
  /** The oldest ACTIVE rule whose source is the profile and this asset. */
  readonly ofProfile: CandidateRule | undefined
  /** Whether a rule of the profile and this asset is PENDING or DELETED. */
  readonly hasInactiveOfProfile: boolean
}

export interface MatchSettings {
  readonly conversions: Conversions
  /** The setting `orchestrations.minimums`; undefined: the asset has none. */
  minimumOf(asset: string): MinorUnits | undefined
  /** The setting `review_above.deposits`. */
  readonly reviewAbove: ReviewLimits
}

/** The orchestration to start with a deposit. */
export interface Wanted {
  /** Null: the target asset of the address, not a rule. */
  readonly ruleId: string | null
  readonly identityId: string | null
  readonly destinationAsset: string
  readonly source: RuleSource
  readonly destination: RuleDestination
}

export type Match =
  | { readonly kind: 'matched'; readonly wanted: Wanted }
  | { readonly kind: 'credited'; readonly disposition: Disposition; readonly ruleId: string | null }

export function match(arrival: Arrival, candidates: Candidates, settings: MatchSettings): Match {
  const found = findWanted(arrival, candidates)
  if (found.kind === 'credited') return found
  const { ruleId, destinationAsset } = found.wanted
  if (!isConvertible(arrival.asset, destinationAsset, settings.conversions)) {
    return { kind: 'credited', disposition: 'NOT_CONVERTIBLE', ruleId }
  }
  const minimum = settings.minimumOf(arrival.asset)
  if (minimum !== undefined && arrival.amount < minimum) {
    return { kind: 'credited', disposition: 'BELOW_MINIMUM', ruleId }
  }
  return found
}

function findWanted({ profileId, asset, network }: Arrival, candidates: Candidates): Match {
  const { own, address, ofProfile, hasInactiveOfProfile } = candidates
  if (own !== undefined) {
    const disposition = mismatchOf(own, asset, network)
    return disposition === undefined ? matched(own) : { kind: 'credited', disposition, ruleId: own.id }
  }
  if (address !== undefined && address.conversionTargetAsset !== NO_CONVERSION) {
    // A deposit of the target asset needs no conversion, and the target asset takes precedence over rules of the profile.
    if (address.conversionTargetAsset === asset) return { kind: 'credited', disposition: 'NO_RULE', ruleId: null }
    const source = { crypto: { address_id: address.id, address: address.address, network: address.network } }
    const destination = { profile: { profile_id: profileId } }
    const destinationAsset = address.conversionTargetAsset
    return { kind: 'matched', wanted: { ruleId: null, identityId: null, destinationAsset, source, destination } }
  }
  if (ofProfile !== undefined) return matched(ofProfile)
  return { kind: 'credited', disposition: hasInactiveOfProfile ? 'RULE_NOT_ACTIVE' : 'NO_RULE', ruleId: null }
}

function matched({ id, identityId, destinationAsset, source, destination }: CandidateRule): Match {
  return { kind: 'matched', wanted: { ruleId: id, identityId, destinationAsset, source, destination } }
}

/** Why the rule of an address or memo does not apply to this deposit; undefined when it applies. */
function mismatchOf({ status, source, sourceAsset }: CandidateRule, asset: string, network: string) {
  if (status !== 'ACTIVE') return 'RULE_NOT_ACTIVE'
  const wanted = 'crypto' in source ? source.crypto.network : 'fiat' in source ? source.fiat.network : network
  if (wanted !== network) return 'NETWORK_MISMATCH'
  return sourceAsset === asset ? undefined : 'ASSET_MISMATCH'
}

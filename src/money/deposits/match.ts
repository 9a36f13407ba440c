/**
 * Selects a deposit's conversion: the rule for its address or memo, else its address's target asset, else its profile's
 * oldest active rule. Also checks that the deposit can be converted. The caller reads the candidates in the transaction
 * that credits the deposit.
 */
import { type Conversions, isConvertible } from '../../contract/assets.ts'
import type { CryptoNetwork } from '../../contract/crypto-networks.ts'
import type { GateSettings } from '../controls/gates.ts'
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

/** The deposit address at which a deposit arrived. */
export interface ArrivalAddress {
  readonly id: string
  readonly address: string
  readonly network: CryptoNetwork
  readonly conversionTargetAsset: string
}

export interface Candidates {
  /** The rule for which the address or the memo was created, in any status. */
  readonly own: CandidateRule | undefined
  readonly address: ArrivalAddress | undefined
  /** The oldest ACTIVE rule whose source is the profile and this asset. */
  readonly ofProfile: CandidateRule | undefined
  /** Whether a rule for the profile and this asset is PENDING or DELETED. */
  readonly hasInactiveOfProfile: boolean
}

export interface MatchSettings {
  readonly conversions: Conversions
  /** The setting `orchestrations.minimums`. Undefined: the asset has none. */
  minimumOf(asset: string): MinorUnits | undefined
  readonly gates: GateSettings
}

/** The orchestration to start with a deposit. */
export interface Wanted {
  /** Null: the address's target asset applies, not a rule. */
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
    // A deposit in the target asset needs no conversion, and the target asset takes precedence over the profile's
    // rules.
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

/** Why the rule for an address or memo does not apply to this deposit. Undefined when it applies. */
function mismatchOf({ status, source, sourceAsset }: CandidateRule, asset: string, network: string) {
  if (status !== 'ACTIVE') return 'RULE_NOT_ACTIVE'
  const wanted = 'crypto' in source ? source.crypto.network : 'fiat' in source ? source.fiat.network : network
  if (wanted !== network) return 'NETWORK_MISMATCH'
  return sourceAsset === asset ? undefined : 'ASSET_MISMATCH'
}

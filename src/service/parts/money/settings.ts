/** The money settings as its modules take them: assets and markets together, amounts in minor units. */
import type { Conversions } from '../../../contract/assets.ts'
import type { Quotas } from '../../../money/accounts/quotas.ts'
import type { GateSettings } from '../../../money/controls/gates.ts'
import type { AddressSupply } from '../../../money/deposit-instructions/allocation.ts'
import type { DepositSettings } from '../../../money/deposits/record.ts'
import type { RegistrationSettings } from '../../../money/destinations/service.ts'
import type { DestinationPolicy } from '../../../money/destinations/standing.ts'
import type { RequestSettings } from '../../../money/orchestrations/request.ts'
import type { RuleSettings } from '../../../money/rules/routes.ts'
import { minorUnitsOf } from '../../config/asset-amounts.ts'
import { limitsIn } from '../../config/limits.ts'
import type { Config } from '../../config/settings.ts'
import { addressKeys } from '../../keys/address-keys.ts'

interface SupplyParts {
  readonly current: { readonly config: Config }
  readonly quotas: Quotas
  readonly hasTestSeed?: boolean
}

export function supplyOf({ current, quotas, hasTestSeed = false }: SupplyParts): AddressSupply {
  return {
    keys: addressKeys(current.config, hasTestSeed),
    banks: () => current.config['banking.instructions'],
    quotas,
    needsAccountApproval: () => areAccountsApproved(current.config),
  }
}

export function conversionsOf(config: Config): Conversions {
  const markets = config.markets.map(({ definition }) => definition)
  return { assets: config.assets, parAssets: config['conversion.par_assets'], markets }
}

/** The settings by which gates close. */
export function gateSettings(config: Config): GateSettings {
  const deposits = minorUnitsOf(config['review_above.deposits'], config.assets)
  const payments = minorUnitsOf(config['review_above.payments'], config.assets)
  return {
    reviewAbove: { deposits, payments },
    limits: limitsIn(config['limits.defaults'], config.assets),
    needsAccountApproval: areAccountsApproved(config),
    destinations: destinationPolicy(config),
    screening: config['screening.url'] === '' ? undefined : { validHours: config['screening.valid_hours'] },
  }
}

function areAccountsApproved(config: Config): boolean {
  return config['accounts.approval'] === 'required'
}

function destinationPolicy(config: Config): DestinationPolicy {
  return { isRequired: config['destinations.required'], isSandbox: config['rest.sandbox'] }
}

export function registrationSettings(config: Config): RegistrationSettings {
  return {
    needsApproval: config['destinations.approval'] === 'required',
    coolingHours: config['destinations.cooling_hours'],
    isScreening: config['screening.url'] !== '',
  }
}

export function depositSettings(config: Config): DepositSettings {
  const minimums = minorUnitsOf(config['orchestrations.minimums'], config.assets)
  return {
    conversions: conversionsOf(config),
    minimumOf: (asset) => minimums.get(asset),
    gates: gateSettings(config),
    start: { convertSecondsMax: config['orchestrations.convert_seconds_max'] },
    isSandbox: config['rest.sandbox'],
  }
}

export function deskLimitsOf(config: Config): ReadonlyMap<string, bigint> {
  return minorUnitsOf(config['conversion.desk_limits'], config.assets)
}

export function requestSettings(config: Config): RequestSettings {
  const { conversions, minimumOf, start, gates } = depositSettings(config)
  return { conversions, minimumOf, ...start, gates, feeBps: config['orchestrations.fee_bps'] }
}

export function ruleSettings(config: Config): RuleSettings {
  return {
    terms: conversionsOf(config),
    needsApproval: config['rules.approval'] === 'required',
    destinations: destinationPolicy(config),
    hasRulesField: config['rest.rules_field'],
  }
}

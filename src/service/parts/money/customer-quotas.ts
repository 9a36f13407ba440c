/** The customers' quotas, with the current settings. Both listeners share the process's one instance. */
import { Quotas } from '../../../money/accounts/quotas.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import type { Config } from '../../config/settings.ts'

/** @param current has the current configuration, which a reload replaces */
export function createQuotas(metrics: MetricsRegistry, current: { readonly config: Config }): Quotas {
  return new Quotas(metrics, () => {
    const { config } = current
    return {
      accountsMax: config['quotas.accounts_max'],
      addressesMax: config['quotas.addresses_max'],
      rulesMax: config['quotas.rules_max'],
      creationsPerDay: config['quotas.creations_per_day'],
      poolReservePercent: config['quotas.pool_reserve_percent'],
    }
  })
}

/**
 * Creates this process's converter, which prices by the current configuration and the live books. The runner of
 * orchestrations and the deposits converted when they are credited share it, and its metrics count both.
 */
import type { Converter } from '../../../money/orchestrations/convert.ts'
import { createStepMetrics, createWaitingMetrics } from '../../../money/orchestrations/metrics.ts'
import { createPricingMetrics } from '../../../money/orchestrations/pricing/metrics.ts'
import type { Clock } from '../../../platform/base/clock.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import type { Db } from '../../../platform/store/db.ts'
import type { Config } from '../../config/settings.ts'
import type { Parts } from '../parts.ts'
import { type PricingParts, pricingContext } from './pricing-context.ts'
import { gateSettings } from './settings.ts'

/** The markets' books. */
export type PriceBooks = Pick<PricingParts, 'replicas' | 'want'>

export interface ConverterParts {
  readonly clock: Clock
  readonly metrics: MetricsRegistry
  readonly current: { readonly config: Config }
  /** Has where this process last saw the store. */
  readonly state: Pick<Parts['state'], 'seenStore'>
}

/** Also registers the metrics of conversions, so it is called once per process. */
export function createConverter(
  { clock, metrics, current, state }: ConverterParts,
  db: Db,
  books: PriceBooks,
): Converter {
  const pricing = () => pricingContext({ config: current.config, clock, ...books })
  createPricingMetrics(metrics, db, pricing)
  createWaitingMetrics(metrics, db)
  return {
    settings: () => ({
      feeBps: current.config['orchestrations.fee_bps'],
      pricing: pricing(),
      gates: { ...gateSettings(current.config), seenStore: state.seenStore },
    }),
    metrics: createStepMetrics(metrics),
  }
}

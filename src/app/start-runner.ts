/** Starts the worker that takes orchestrations on, priced from the live books of this process. */

import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { MetricsRegistry } from '../base/metrics.ts'
import type { Config } from '../config/settings.ts'
import { createStepMetrics } from '../orchestrations/metrics.ts'
import { createPricingMetrics } from '../orchestrations/pricing/metrics.ts'
import { OrchestrationRunner } from '../orchestrations/runner.ts'
import type { Db } from '../store/db.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { MarketData } from './market-data.ts'
import { pricingContext } from './pricing-context.ts'

export interface RunnerParts {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly lifecycle: Lifecycle
  readonly live: { readonly config: Config }
  /** Whether addresses come from a seed for testing, as those of the demo do. */
  readonly hasTestSeed?: boolean
}

/** To be called when the store has its schema and the markets are there. */
export function startRunner(parts: RunnerParts, marketData: MarketData): void {
  const { live, clock, lifecycle, db, metrics } = parts
  const isSandbox = parts.hasTestSeed === true
  const pricing = () => pricingContext({ config: live.config, clock, marketData, isSandbox })
  createPricingMetrics(metrics, db, pricing)
  const runner = new OrchestrationRunner({
    ...parts,
    metrics: createStepMetrics(metrics),
    settings: () => ({ feeBps: live.config['orchestrations.fee_bps'], pricing: pricing() }),
  })
  runner.start()
  lifecycle.started('orchestration runner', () => runner.stop())
}

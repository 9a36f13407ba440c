/** The operator's calls about accounts, deposits, conversions and deliveries, and the controls. */
import { type ApprovalHooks, registerAccountOperatorRoutes } from '../../../money/accounts/operator-routes.ts'
import { registerControlOperatorRoutes } from '../../../money/controls/operator-routes.ts'
import { wakeWaitingDeliveries } from '../../../money/deliveries/create.ts'
import { createDeliveryMetrics } from '../../../money/deliveries/metrics.ts'
import { registerDeliveryOperatorRoutes } from '../../../money/deliveries/operator-routes.ts'
import { registerAddressOperatorRoutes } from '../../../money/deposit-instructions/operator-routes.ts'
import { registerDepositOperatorRoutes } from '../../../money/deposits/operator-routes.ts'
import { DepositReporter } from '../../../money/deposits/reporter.ts'
import { registerDestinationOperatorRoutes } from '../../../money/destinations/operator-routes.ts'
import type { LedgerState } from '../../../money/ledger/upkeep.ts'
import { registerLimitOperatorRoutes } from '../../../money/limits/routes.ts'
import type { Converter } from '../../../money/orchestrations/convert.ts'
import { registerOrchestrationOperatorRoutes } from '../../../money/orchestrations/operator-routes.ts'
import { registerPricingOperatorRoutes } from '../../../money/orchestrations/pricing/operator-routes.ts'
import { wakeLimited, wakeWaiting } from '../../../money/orchestrations/start.ts'
import { registerRuleOperatorRoutes } from '../../../money/rules/operator-routes.ts'
import { createScreeningMetrics } from '../../../money/screening/metrics.ts'
import { registerScreeningOperatorRoutes } from '../../../money/screening/operator-routes.ts'
import { registerTransferOperatorRoutes } from '../../../money/transfers/operator-routes.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import type { Transaction } from '../../../platform/store/db.ts'
import type { ModuleRoutes } from '../../listeners/listener.ts'
import { deliveryOwners } from './delivery-owners.ts'
import type { MoneyRoutesOptions } from './public-routes.ts'
import { screenedKinds } from './screening.ts'
import { conversionsOf, depositSettings, deskLimitsOf, gateSettings, requestSettings, supplyOf } from './settings.ts'

export interface MoneyOperatorOptions extends MoneyRoutesOptions {
  readonly log: Log
  readonly metrics: MetricsRegistry
  /** The result of the last comparison between balances and postings. */
  ledgerState(): LedgerState
  /** How deposits are converted as they are credited. Absent: a worker does it. */
  readonly converter?: Converter
}

/** Relative to `/admin/v1`. */
export function moneyOperatorRoutes(options: MoneyOperatorOptions): readonly ModuleRoutes[] {
  const { db, current, quotas, encryptionKey } = options
  const supply = supplyOf(options)
  const settings = () => depositSettings(current.config)
  const reporter = new DepositReporter({ ...options, settings })
  const metrics = createDeliveryMetrics(options.metrics, db)
  createScreeningMetrics(options.metrics, db)
  const owners = deliveryOwners(current, options.state)
  const hasWebhook = () => current.config['deliveries.webhook_url'] !== ''
  return [
    (app) => registerAccountOperatorRoutes(app, { db, quotas, onApproval: WAKE_APPROVED_ACCOUNT }),
    (app) => registerAddressOperatorRoutes(app, db),
    (app) => registerTransferOperatorRoutes(app, db, options.ledgerState),
    (app) => registerDestinationOperatorRoutes(app, { db, encryptionKey, onApproval: WAKE_APPROVED_DESTINATION }),
    (app) => registerRuleOperatorRoutes(app, { db, supply }),
    (app) => registerDepositOperatorRoutes(app, { db, reporter, settings, encryptionKey }),
    (app) =>
      registerOrchestrationOperatorRoutes(app, { db, encryptionKey, settings: () => requestSettings(current.config) }),
    (app) =>
      registerLimitOperatorRoutes(app, {
        db,
        settings: () => gateSettings(current.config),
        assets: () => current.config.assets,
        wake: wakeLimited,
      }),
    (app) => registerPricingOperatorRoutes(app, { db, deskLimits: () => deskLimitsOf(current.config) }),
    (app) => registerScreeningOperatorRoutes(app, { db, kinds: screenedKinds(current, options.state) }),
    (app) => registerDeliveryOperatorRoutes(app, { ...options, owners, hasWebhook, metrics }),
  ]
}

/** The controls, relative to `/admin/v1`: every process can pause, because the gates read the store. */
export function controlRoutes({ db, current }: Pick<MoneyRoutesOptions, 'db' | 'current'>): ModuleRoutes {
  const conversions = () => conversionsOf(current.config)
  return (app) => registerControlOperatorRoutes(app, { db, conversions, wake: wakeAll })
}

/** Resumes the orchestrations and deliveries that waited because something was paused. */
async function wakeAll<Tables>(transaction: Transaction<Tables>): Promise<void> {
  await wakeWaitingDeliveries(transaction, 'PAUSED')
  await wakeWaiting(transaction, 'PAUSED')
}

/** Resumes what waited for an account's approval. */
const WAKE_APPROVED_ACCOUNT: ApprovalHooks = {
  before: (transaction, profileId) => wakeWaitingDeliveries(transaction, 'APPROVAL', { profileId }),
  after: (transaction, profileId) => wakeWaiting(transaction, 'APPROVAL', { profileId }),
}

/** Resumes what waited for a destination's approval. */
const WAKE_APPROVED_DESTINATION: ApprovalHooks = {
  before: (transaction, customerId) => wakeWaitingDeliveries(transaction, 'DESTINATION', { customerId }),
  after: (transaction, customerId) => wakeWaiting(transaction, 'DESTINATION', { customerId }),
}

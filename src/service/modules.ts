/**
 * The modules of the two listeners, each with its dependencies: the operations of the public REST API, which the guard
 * protects, and the operator's calls. It starts nothing and keeps no state.
 */
import type { FastifyInstance } from 'fastify'
import { registerClientRoutes } from '../access/clients/client-routes.ts'
import type { Directory } from '../access/clients/directory.ts'
import type { EncryptionKey } from '../access/clients/encryption-key.ts'
import { createGuard } from '../access/clients/guard.ts'
import { registerAuthOperatorRoutes } from '../access/clients/operator-routes.ts'
import type { TokenVerifier } from '../access/clients/token-verifier.ts'
import { type OperatorRoutesOptions, registerOperatorRoutes } from '../access/operators/operator-routes.ts'
import type { Conversions } from '../contract/assets.ts'
import type { Scope } from '../contract/scopes.ts'
import { registerAccountOperatorRoutes } from '../money/accounts/operator-routes.ts'
import { registerProfileRoutes } from '../money/accounts/profile-routes.ts'
import type { Quotas } from '../money/accounts/quotas.ts'
import { registerAccountRoutes } from '../money/accounts/routes.ts'
import { registerControlOperatorRoutes } from '../money/controls/operator-routes.ts'
import { wakePausedDeliveries } from '../money/deliveries/create.ts'
import { createDeliveryMetrics } from '../money/deliveries/metrics.ts'
import { registerDeliveryOperatorRoutes } from '../money/deliveries/operator-routes.ts'
import type { AddressSupply } from '../money/deposit-instructions/allocation.ts'
import { registerAddressOperatorRoutes } from '../money/deposit-instructions/operator-routes.ts'
import { registerDepositAddressRoutes } from '../money/deposit-instructions/routes.ts'
import { registerDepositOperatorRoutes } from '../money/deposits/operator-routes.ts'
import type { DepositSettings } from '../money/deposits/record.ts'
import { DepositReporter } from '../money/deposits/reporter.ts'
import { registerSandboxRoutes } from '../money/deposits/sandbox-routes.ts'
import type { LedgerState } from '../money/ledger/upkeep.ts'
import type { Converter } from '../money/orchestrations/convert.ts'
import { registerOrchestrationOperatorRoutes } from '../money/orchestrations/operator-routes.ts'
import { registerPricingOperatorRoutes } from '../money/orchestrations/pricing/operator-routes.ts'
import type { RequestSettings } from '../money/orchestrations/request.ts'
import { registerOrchestrationRoutes } from '../money/orchestrations/routes.ts'
import { wakePaused } from '../money/orchestrations/start.ts'
import { registerRuleOperatorRoutes } from '../money/rules/operator-routes.ts'
import { type RuleSettings, registerRuleRoutes } from '../money/rules/routes.ts'
import { registerTransferOperatorRoutes } from '../money/transfers/operator-routes.ts'
import { registerTransferRoutes } from '../money/transfers/routes.ts'
import type { Clock } from '../platform/base/clock.ts'
import type { Log } from '../platform/base/log.ts'
import type { MetricsRegistry } from '../platform/base/metrics.ts'
import type { Db, Transaction } from '../platform/store/db.ts'
import { registerNodeRoutes } from '../streaming/cluster/routes.ts'
import type { GatewayProcesses } from '../streaming/gateway/gateway-processes.ts'
import type { Hub } from '../streaming/gateway/hub.ts'
import { registerMarketRoutes } from '../streaming/gateway/market-routes.ts'
import { registerStreamOperatorRoutes } from '../streaming/gateway/operator-routes.ts'
import type { PriceHistory } from '../streaming/gateway/price-history.ts'
import type { Proof } from '../streaming/market/event.ts'
import type { Markets } from '../streaming/markets/market-changes.ts'
import type { SourceState } from '../streaming/markets/market-writers.ts'
import { minorUnitsOf } from './config/asset-amounts.ts'
import type { Config } from './config/settings.ts'
import type { Origins } from './config/settings-in-force.ts'
import { issuesTokens } from './config/token-issuer.ts'
import { registerDoctorRoutes } from './doctor/doctor.ts'
import { type OverviewHistory, registerOverviewRoute } from './health/overview.ts'
import type { Readiness } from './health/readiness.ts'
import { addressKeys } from './keys/address-keys.ts'
import type { ModuleRoutes } from './listeners/listener.ts'
import { deliveryOwners } from './parts/money/delivery-owners.ts'
import type { Cluster } from './parts/streaming/start-cluster.ts'

/** The source of keys, settings and limits. */
interface Configured {
  /** The current configuration. */
  readonly current: { readonly config: Config }
  /** How many records a customer may create; both listeners share one instance. */
  readonly quotas: Quotas
  /** Whether addresses without a configured key are derived from a seed for testing. */
  readonly hasTestSeed?: boolean
}

export interface PublicModulesOptions extends Configured {
  readonly db: Db
  readonly directory: Directory
  readonly verifier: TokenVerifier
  readonly clock: Clock
  /** The setting `rest.rate_per_second`. */
  readonly ratePerSecond: number
  readonly hub: Pick<Hub, 'markets'>
  isSimulated(symbol: string): boolean
  proofOf(symbol: string): Proof
}

export interface OperatorModulesOptions
  extends Configured,
    Pick<OperatorRoutesOptions, 'linkAddress' | 'renewFirstLink'> {
  readonly current: { readonly config: Config; readonly origins: Origins }
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly issuesTokens: boolean
  /** Scopes that clients may hold. */
  readonly scopes: readonly Scope[]
  readonly encryptionKey?: EncryptionKey | undefined
  /** The address that customers use. */
  publicUrl(): string
  /** The setting `stream.public_url`. */
  readonly streamUrl?: string
  refreshDirectory(): Promise<void>
  readonly readiness: () => Readiness
  readonly overview: Pick<OverviewHistory, 'document'>
  readonly hub: Hub
  readonly prices: Pick<PriceHistory, 'intervalSeconds' | 'pricesOf'>
  readonly cluster: Pick<Cluster, 'nodes' | 'questions'>
  readonly processes?: GatewayProcesses | undefined
  readonly markets?: Pick<Markets, 'recorder'>
  sourcesOf(symbol: string): readonly SourceState[]
  /** The result of the last comparison of balances with postings. */
  ledgerState(): LedgerState
  /** How deposits are converted as they are credited; absent: a worker does it. */
  readonly converter?: Converter
}

/** None on a node without the role `api`. */
export function publicModules(options: PublicModulesOptions): readonly ModuleRoutes[] {
  const { db, current, quotas, clock } = options
  if (!current.config.roles.includes('api')) return []
  const guard = createGuard(options)
  const supply = supplyOf(options)
  return [
    (app) => registerMarketRoutes(app, { ...options, guard }),
    (app) => registerAccountRoutes(app, { db, guard, quotas, clock }),
    (app) => registerClientRoutes(app, { ...options, guard, ...clientSettings(options) }),
    (app) => registerProfileRoutes(app, { db, guard }),
    (app) => registerTransferRoutes(app, { db, guard }),
    (app) => registerDepositAddressRoutes(app, { db, guard, supply, conversions: () => conversionsOf(current.config) }),
    (app) => registerRuleRoutes(app, { db, guard, supply, settings: () => ruleSettings(current.config) }),
    (app) =>
      registerOrchestrationRoutes(app, {
        db,
        guard,
        deliveryOwners: deliveryOwners(current),
        settings: () => requestSettings(current.config),
      }),
    ...(current.config['rest.sandbox']
      ? [
          (app: FastifyInstance) =>
            registerSandboxRoutes(app, { db, guard, settings: () => depositSettings(current.config) }),
        ]
      : []),
  ]
}

function clientSettings({ current, ratePerSecond }: PublicModulesOptions) {
  return {
    issuesTokens: issuesTokens(current.config),
    limits: () => ({
      connections_max: current.config['stream.connections_per_client_max'],
      subscriptions_max: current.config['stream.subscriptions_max'],
      inbound_per_second: current.config['stream.inbound_per_second'],
      rest_rate_per_second: ratePerSecond,
    }),
  }
}

/** Relative to `/admin/v1`. */
export function operatorModules(options: OperatorModulesOptions): readonly ModuleRoutes[] {
  const { db, current, quotas } = options
  const supply = supplyOf(options)
  const settings = () => depositSettings(current.config)
  const reporter = new DepositReporter({ ...options, settings })
  const deliveryMetrics = createDeliveryMetrics(options.metrics, db)
  const hasWebhook = () => current.config['deliveries.webhook_url'] !== ''
  return [
    (app) => registerOverviewRoute(app, options.overview),
    (app) => registerDoctorRoutes(app, options),
    (app) => registerAuthOperatorRoutes(app, options),
    (app) => registerNodeRoutes(app, options.cluster.nodes),
    (app) => registerOperatorRoutes(app, options),
    (app) => registerStreamOperatorRoutes(app, { ...options, pastBooks: options.markets?.recorder?.pastBooks }),
    (app) => registerAccountOperatorRoutes(app, db, quotas),
    (app) => registerAddressOperatorRoutes(app, db),
    (app) => registerTransferOperatorRoutes(app, db, options.ledgerState),
    (app) => registerRuleOperatorRoutes(app, { db, supply }),
    (app) => registerDepositOperatorRoutes(app, { db, reporter, settings }),
    (app) => registerOrchestrationOperatorRoutes(app, { db, settings: () => requestSettings(current.config) }),
    (app) => registerPricingOperatorRoutes(app, { db, deskLimits: () => deskLimitsOf(current.config) }),
    (app) =>
      registerControlOperatorRoutes(app, { db, conversions: () => conversionsOf(current.config), wake: wakeAll }),
    (app) =>
      registerDeliveryOperatorRoutes(app, {
        ...options,
        owners: deliveryOwners(current),
        hasWebhook,
        metrics: deliveryMetrics,
      }),
  ]
}

/** Resumes the orchestrations and deliveries that waited because something was paused. */
async function wakeAll<Tables>(transaction: Transaction<Tables>): Promise<void> {
  await wakePausedDeliveries(transaction)
  await wakePaused(transaction)
}

function supplyOf({ current, quotas, hasTestSeed = false }: Configured): AddressSupply {
  return { keys: addressKeys(current.config, hasTestSeed), quotas }
}

function conversionsOf(config: Config): Conversions {
  const markets = config.markets.map(({ definition }) => definition)
  return { assets: config.assets, parAssets: config['conversion.par_assets'], markets }
}

function depositSettings(config: Config): DepositSettings {
  const minimums = minorUnitsOf(config['orchestrations.minimums'], config.assets)
  return {
    conversions: conversionsOf(config),
    minimumOf: (asset) => minimums.get(asset),
    reviewAbove: minorUnitsOf(config['review_above.deposits'], config.assets),
    start: { convertSecondsMax: config['orchestrations.convert_seconds_max'] },
    isSandbox: config['rest.sandbox'],
  }
}

function deskLimitsOf(config: Config): ReadonlyMap<string, bigint> {
  return minorUnitsOf(config['conversion.desk_limits'], config.assets)
}

function requestSettings(config: Config): RequestSettings {
  const { conversions, minimumOf, start } = depositSettings(config)
  return { conversions, minimumOf, ...start }
}

function ruleSettings(config: Config): RuleSettings {
  return {
    terms: conversionsOf(config),
    needsApproval: config['rules.approval'] === 'required',
    hasRulesField: config['rest.rules_field'],
  }
}

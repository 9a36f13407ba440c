/**
 * The modules of the two listeners: the operations of the public REST API, which the guard protects, and the operator's
 * calls. It starts nothing and keeps no state.
 */
import { createGuard, type GuardOptions } from '../access/clients/guard.ts'
import type { MarketRoutesOptions } from '../streaming/gateway/market-routes.ts'
import { type DoctorOptions, registerDoctorRoutes } from './doctor/doctor.ts'
import { type OverviewHistory, registerOverviewRoute } from './health/overview.ts'
import type { ModuleRoutes } from './listeners/listener.ts'
import {
  type AccessOperatorOptions,
  type AccessPublicOptions,
  accessOperatorRoutes,
  accessPublicRoutes,
} from './parts/access/routes.ts'
import { controlRoutes, type MoneyOperatorOptions, moneyOperatorRoutes } from './parts/money/operator-routes.ts'
import { accountRoutes, type MoneyPublicOptions, moneyPublicRoutes } from './parts/money/public-routes.ts'
import {
  type StreamingOperatorOptions,
  streamingOperatorRoutes,
  streamingPublicRoutes,
} from './parts/streaming/routes.ts'

export type PublicModulesOptions = GuardOptions &
  Omit<AccessPublicOptions & MarketRoutesOptions & MoneyPublicOptions, 'guard'>

export interface OperatorModulesOptions
  extends AccessOperatorOptions,
    StreamingOperatorOptions,
    MoneyOperatorOptions,
    Omit<DoctorOptions, 'current' | 'ledgerState' | 'cluster'> {
  readonly current: DoctorOptions['current']
  readonly overview: Pick<OverviewHistory, 'document'>
}

export function publicModules(options: PublicModulesOptions): readonly ModuleRoutes[] {
  const guarded = { ...options, guard: createGuard(options) }
  // The API description lists the paths in this order.
  return [
    ...streamingPublicRoutes(guarded),
    accountRoutes(guarded),
    ...accessPublicRoutes(guarded),
    ...moneyPublicRoutes(guarded),
  ]
}

/** Relative to `/admin/v1`. */
export function operatorModules(options: OperatorModulesOptions): readonly ModuleRoutes[] {
  return [
    (app) => registerOverviewRoute(app, options.overview),
    (app) => registerDoctorRoutes(app, options),
    ...accessOperatorRoutes(options),
    ...streamingOperatorRoutes(options),
    ...moneyOperatorRoutes(options),
    controlRoutes(options),
  ]
}

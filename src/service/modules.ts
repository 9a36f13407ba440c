/**
 * The two listeners' modules: the public REST operations, which the guard protects, and the operator's calls. It starts
 * nothing and keeps no state.
 */
import type { FastifyInstance, HTTPMethods } from 'fastify'
import { createGuard, type GuardOptions } from '../access/clients/guard.ts'
import { OPERATOR_CALLS } from '../contract/operator-calls.ts'
import { Problem } from '../platform/http/problem.ts'
import { MONEY_ROLES } from './config/roles.ts'
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
  type MarketViewOptions,
  marketViewRoutes,
  type StreamingOperatorOptions,
  type StreamingPublicOptions,
  streamingOperatorRoutes,
  streamingPublicRoutes,
} from './parts/streaming/routes.ts'

export type PublicModulesOptions = GuardOptions &
  Omit<AccessPublicOptions & StreamingPublicOptions & MoneyPublicOptions, 'guard'>

export interface OperatorModulesOptions
  extends AccessOperatorOptions,
    StreamingOperatorOptions,
    Omit<MoneyOperatorOptions, keyof MoneyParts>,
    Omit<DoctorOptions, 'current' | 'ledgerState' | 'cluster'> {
  readonly current: DoctorOptions['current']
  readonly overview: Pick<OverviewHistory, 'document'>
  /**
   * Absent in a process whose roles move no money. Such a process answers these calls 503 and names the roles that do.
   */
  readonly money: MoneyParts | undefined
}

type MoneyParts = Pick<MoneyOperatorOptions, 'quotas' | 'ledgerState' | 'converter'>

/** What a process with the role `gateway` and without `api` serves of the public API. */
export function gatewayModules(options: GuardOptions & Omit<MarketViewOptions, 'guard'>): readonly ModuleRoutes[] {
  return marketViewRoutes({ ...options, guard: createGuard(options) })
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
  const { money } = options
  return [
    (app) => registerOverviewRoute(app, options.overview),
    (app) => registerDoctorRoutes(app, { ...options, ledgerState: money?.ledgerState }),
    ...accessOperatorRoutes(options),
    ...streamingOperatorRoutes(options),
    ...(money === undefined ? [] : moneyOperatorRoutes({ ...options, ...money })),
    controlRoutes(options),
    ...(money === undefined ? [registerMissingRoles] : []),
  ]
}

/** Answers each operator call that no module in this process has declared. */
function registerMissingRoles(app: FastifyInstance): void {
  const roles = MONEY_ROLES.join(' or ')
  const refuse = () => {
    const detail = `this process does not serve the call: one with the role ${roles} does`
    throw new Problem('role_missing', detail, { meta: { roles: MONEY_ROLES } })
  }
  for (const call of Object.keys(OPERATOR_CALLS)) {
    const [method, url] = call.split(' ') as [HTTPMethods, string]
    if (!app.hasRoute({ method, url: `${app.prefix}${url}` })) app.route({ method, url, handler: refuse })
  }
}

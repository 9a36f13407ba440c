/** The REST operations for accounts, deposits, rules and orchestrations. */
import type { FastifyInstance } from 'fastify'
import type { EncryptionKey } from '../../../access/clients/encryption-key.ts'
import type { Guard } from '../../../access/clients/guard.ts'
import { registerProfileRoutes } from '../../../money/accounts/profile-routes.ts'
import type { Quotas } from '../../../money/accounts/quotas.ts'
import { registerAccountRoutes } from '../../../money/accounts/routes.ts'
import { registerFiatInstructionsRoutes } from '../../../money/deposit-instructions/fiat-routes.ts'
import { registerDepositAddressRoutes } from '../../../money/deposit-instructions/routes.ts'
import { registerSandboxRoutes } from '../../../money/deposits/sandbox-routes.ts'
import { registerDestinationRoutes } from '../../../money/destinations/routes.ts'
import { registerLimitRoutes } from '../../../money/limits/routes.ts'
import { registerOrchestrationRoutes } from '../../../money/orchestrations/routes.ts'
import { registerRuleRoutes } from '../../../money/rules/routes.ts'
import { registerTransferRoutes } from '../../../money/transfers/routes.ts'
import type { Clock } from '../../../platform/base/clock.ts'
import type { Db } from '../../../platform/store/db.ts'
import type { Config } from '../../config/settings.ts'
import type { ModuleRoutes } from '../../listeners/listener.ts'
import type { Parts } from '../parts.ts'
import { deliveryOwners } from './delivery-owners.ts'
import {
  conversionsOf,
  depositSettings,
  gateSettings,
  registrationSettings,
  requestSettings,
  ruleSettings,
  supplyOf,
} from './settings.ts'

/** The parts for both listeners' routes. */
export interface MoneyRoutesOptions {
  readonly db: Db
  readonly clock: Clock
  /** The current configuration. */
  readonly current: { readonly config: Config }
  /** Has where this process last saw the store. */
  readonly state?: Pick<Parts['state'], 'seenStore'>
  /** How many records a customer may create. Both listeners share one instance. */
  readonly quotas: Quotas
  /** Encrypts bank details. Undefined: none can be stored or read. */
  readonly encryptionKey?: EncryptionKey | undefined
  /** Whether addresses without a configured key are derived from a seed for testing. */
  readonly hasTestSeed?: boolean
}

export interface MoneyPublicOptions extends MoneyRoutesOptions {
  readonly guard: Guard
}

export function accountRoutes(options: MoneyPublicOptions): ModuleRoutes {
  return (app) => registerAccountRoutes(app, options)
}

export function moneyPublicRoutes(options: MoneyPublicOptions): readonly ModuleRoutes[] {
  const { db, current, guard } = options
  const supply = supplyOf(options)
  const { encryptionKey } = options
  const registrar = { quotas: options.quotas, encryptionKey, settings: () => registrationSettings(current.config) }
  return [
    (app) => registerProfileRoutes(app, { db, guard }),
    (app) => registerTransferRoutes(app, { db, guard }),
    (app) => registerDepositAddressRoutes(app, { db, guard, supply, conversions: () => conversionsOf(current.config) }),
    (app) => registerLimitRoutes(app, { db, guard, settings: () => gateSettings(current.config) }),
    (app) => registerFiatInstructionsRoutes(app, { db, guard, supply }),
    (app) => registerDestinationRoutes(app, { db, guard, registrar }),
    (app) => registerRuleRoutes(app, { db, guard, supply, settings: () => ruleSettings(current.config) }),
    (app) =>
      registerOrchestrationRoutes(app, {
        db,
        guard,
        encryptionKey,
        deliveryOwners: deliveryOwners(current, options.state),
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

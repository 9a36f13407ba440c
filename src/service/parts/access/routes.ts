/** The routes for customers' clients, and for the people who operate the service. */
import { type ClientRoutesOptions, registerClientRoutes } from '../../../access/clients/client-routes.ts'
import type { EncryptionKey } from '../../../access/clients/encryption-key.ts'
import {
  type OperatorRoutesOptions as ClientOperatorRoutesOptions,
  registerAuthOperatorRoutes,
} from '../../../access/clients/operator-routes.ts'
import { registerEventOperatorRoutes, registerEventRoutes } from '../../../access/events/routes.ts'
import { registerUsageOperatorRoutes, registerUsageRoutes } from '../../../access/metering/routes.ts'
import { type OperatorRoutesOptions, registerOperatorRoutes } from '../../../access/operators/operator-routes.ts'
import { registerEndpointOperatorRoutes } from '../../../access/webhook-endpoints/operator-routes.ts'
import { registerEndpointRoutes } from '../../../access/webhook-endpoints/routes.ts'
import type { EndpointMaker } from '../../../access/webhook-endpoints/service.ts'
import type { Clock } from '../../../platform/base/clock.ts'
import type { Config } from '../../config/settings.ts'
import { issuesTokens } from '../../config/token-issuer.ts'
import type { ModuleRoutes } from '../../listeners/listener.ts'

export interface AccessPublicOptions extends Pick<ClientRoutesOptions, 'db' | 'guard' | 'directory'> {
  readonly clock: Clock
  /** The current configuration. */
  readonly current: { readonly config: Config }
  /** The setting `rest.rate_per_second`. */
  readonly ratePerSecond: number
  readonly encryptionKey?: EncryptionKey | undefined
}

export interface AccessOperatorOptions extends ClientOperatorRoutesOptions, OperatorRoutesOptions {
  readonly clock: Clock
  /** The current configuration. */
  readonly current: { readonly config: Config }
}

export function accessPublicRoutes(options: AccessPublicOptions): readonly ModuleRoutes[] {
  const { current, ratePerSecond } = options
  const limits = () => ({
    connections_max: current.config['stream.connections_per_client_max'],
    subscriptions_max: current.config['stream.subscriptions_max'],
    inbound_per_second: current.config['stream.inbound_per_second'],
    rest_rate_per_second: ratePerSecond,
  })
  const issues = issuesTokens(current.config)
  return [
    (app) => registerClientRoutes(app, { ...options, issuesTokens: issues, limits }),
    (app) => registerEventRoutes(app, { ...options, issuesTokens: issues }),
    (app) => registerUsageRoutes(app, options),
    (app) => registerEndpointRoutes(app, { ...options, maker: endpointMaker(options) }),
  ]
}

/** Relative to `/admin/v1`. */
export function accessOperatorRoutes(options: AccessOperatorOptions): readonly ModuleRoutes[] {
  return [
    (app) => registerAuthOperatorRoutes(app, options),
    (app) => registerEventOperatorRoutes(app, options.db),
    (app) => registerUsageOperatorRoutes(app, options),
    (app) => registerEndpointOperatorRoutes(app, options.db, endpointMaker(options)),
    (app) => registerOperatorRoutes(app, options),
  ]
}

function endpointMaker({
  current,
  encryptionKey,
}: Pick<AccessPublicOptions, 'current' | 'encryptionKey'>): EndpointMaker {
  return {
    encryptionKey,
    settings: () => ({
      allowPrivate: current.config['webhooks.allow_private'],
      endpointsMax: current.config['webhooks.endpoints_max'],
    }),
  }
}

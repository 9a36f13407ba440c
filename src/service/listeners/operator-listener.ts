/**
 * The operator listener: the operator API below `/admin/v1`, whose calls require an operator, and the health endpoints,
 * the API documents and the web console's files, which require none. It rejects requests with a foreign `Host` and web
 * pages' requests from another origin, accepts no WebSocket but the operators' stream, and is never reachable through
 * the public listener.
 */
import type { FastifyInstance } from 'fastify'
import type { Access } from '../../access/operators/access.ts'
import { type AuthenticationOptions, OperatorAuthentication } from '../../access/operators/authentication.ts'
import { type FourEyesOptions, registerChangeRequestRoutes } from '../../access/operators/four-eyes.ts'
import { guardOperatorCalls } from '../../access/operators/guard.ts'
import type { OpenidLogin } from '../../access/operators/openid-login.ts'
import { registerOpenidRoutes } from '../../access/operators/openid-routes.ts'
import { registerLoginRoutes, registerSessionRoutes } from '../../access/operators/session-routes.ts'
import { OPERATOR_PREFIX } from '../../contract/operator-calls.ts'
import type { Log } from '../../platform/base/log.ts'
import { type MetricsRegistry, type MetricsSnapshot, metricsText } from '../../platform/base/metrics.ts'
import { SHARED_POOLS } from '../../platform/base/shared-pool.ts'
import { createClientAddress } from '../../platform/http/client-address.ts'
import { createHostCheck, type HostCheck } from '../../platform/http/host-check.ts'
import { createHttpServer } from '../../platform/http/server.ts'
import type { TlsFiles } from '../../platform/http/tls.ts'
import { describeOperatorCalls } from '../api-docs/operations-document.ts'
import { registerOperatorDescription } from '../api-docs/routes.ts'
import type { Readiness } from '../health/readiness.ts'
import { registerConsoleFiles } from '../pages/console-files.ts'
import { type Listener, listen, type ModuleRoutes, REQUEST_MILLISECONDS_MAX, translateStoreError } from './listener.ts'
import { readCertificate } from './listener-certificate.ts'
import { OperatorStream, type OperatorStreamOptions } from './operator-stream.ts'

export interface OperatorListenerOptions extends AuthenticationOptions, FourEyesOptions {
  readonly host: string
  readonly port: number
  /** The settings `operator.tls.*`, absent = plain HTTP. */
  readonly tls?: TlsFiles
  /** The setting `http.trusted_proxies`. */
  readonly trustedProxies: readonly string[]
  readonly access: Access
  /** Logins at the outside issuer. Absent when none is configured. */
  readonly openid?: OpenidLogin
  /** Serves the operators' stream. Without it every upgrade is answered as an ordinary request. */
  readonly stream?: OperatorStreamOptions
  /** `operator.allowed_hosts` as currently configured. */
  readonly allowedHosts: () => readonly string[]
  readonly log: Log
  readonly metrics: MetricsRegistry
  /** Metrics of the node's other processes, which are added to this process's own. */
  readonly otherMetrics?: () => Promise<readonly MetricsSnapshot[]>
  readonly readiness: () => Readiness
  /** Each declares one module's operator calls, relative to `/admin/v1`. */
  readonly modules: readonly ModuleRoutes[]
}

const HEADER_BYTES_MAX = 16_384

export interface OperatorListener extends Listener {
  /** Reloads the certificate and its key. Invalid files change nothing and are logged. */
  reloadTls(): void
}

export async function createOperatorListener(options: OperatorListenerOptions): Promise<OperatorListener> {
  const { log, metrics, clock } = options
  const authentication = new OperatorAuthentication(options)
  const checkHost = createListenerHostCheck(options)
  const clientAddress = createClientAddress(options.trustedProxies)
  const stream =
    options.stream === undefined
      ? undefined
      : new OperatorStream({ ...options.stream, db: options.db, authentication, checkHost, clientAddress })
  const certificate = readCertificate('operator', { ...options, files: options.tls })
  const app = createHttpServer({
    listener: 'operator',
    log,
    metrics,
    clock,
    headerBytesMax: HEADER_BYTES_MAX,
    requestMilliseconds: REQUEST_MILLISECONDS_MAX,
    translate: translateStoreError,
    connectionsMax: SHARED_POOLS.operator_connections.size,
    clientAddress,
    ...(stream === undefined ? {} : { upgrade: stream.upgrade }),
    ...(certificate === undefined ? {} : { tls: certificate.context }),
  })
  app.addHook('onRequest', async ({ raw }) => {
    const problem = checkHost(raw)
    if (problem !== undefined) throw problem
  })
  registerHealth(app, options)
  registerConsoleFiles(app)
  await describeOperatorCalls(app)
  registerOperatorApi(app, { ...options, authentication })
  registerOperatorDescription(app, options.channel.publicUrl)
  const scheme = certificate === undefined ? 'http' : 'https'
  const listener = await listen(app, { ...options, scheme, settings: 'operator' }, clock)
  return {
    ...listener,
    async close() {
      await stream?.stop()
      await listener.close()
    },
    reloadTls: () => certificate?.reload(app.server),
  }
}

export interface OperatorApiOptions
  extends FourEyesOptions,
    Pick<OperatorListenerOptions, 'access' | 'channel' | 'openid' | 'modules'> {
  readonly authentication: OperatorAuthentication
}

/** Declares every operator call: the login calls without the guard, and all others with it. */
export function registerOperatorApi(app: FastifyInstance, options: OperatorApiOptions): void {
  app.register(
    async (scope) => {
      registerLoginRoutes(scope, options)
      registerOpenidRoutes(scope, options)
    },
    { prefix: OPERATOR_PREFIX },
  )
  app.register(
    async (scope) => {
      const ownCalls = guardOperatorCalls(scope, options)
      registerSessionRoutes(scope, options)
      registerChangeRequestRoutes(scope, options, ownCalls)
      for (const registerRoutes of options.modules) registerRoutes(scope)
    },
    { prefix: OPERATOR_PREFIX },
  )
}

function createListenerHostCheck({ host, channel, allowedHosts }: OperatorListenerOptions): HostCheck {
  const publicUrl = channel.publicUrl === '' ? undefined : new URL(channel.publicUrl)
  const names = [host, ...(publicUrl === undefined ? [] : [publicUrl.hostname])]
  return createHostCheck(() => [...names, ...allowedHosts()], 'operator.allowed_hosts', publicUrl?.origin)
}

function registerHealth(app: FastifyInstance, { metrics, otherMetrics, readiness }: OperatorListenerOptions): void {
  const probe = { config: { isProbe: true } } as const
  app.get('/livez', probe, async () => ({ live: true }))
  app.get('/readyz', probe, async (_request, reply) => {
    const state = readiness()
    return reply.status(state.ready ? 200 : 503).send(state)
  })
  app.get('/metrics', probe, async (_request, reply) => {
    const others = (await otherMetrics?.()) ?? []
    const own = others.length === 0 ? metrics.metrics() : metricsText([await metrics.getMetricsAsJSON(), ...others])
    return reply.type(metrics.contentType).send(await own)
  })
}

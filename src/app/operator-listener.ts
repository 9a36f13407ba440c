/**
 * The operator listener: the operator API below `/admin/v1`, whose calls require an operator, and the health endpoints,
 * which require none. It rejects requests whose `Host` is not one of its names and requests of web pages of another origin,
 * accepts no WebSocket, and is never reachable through the public listener.
 */
import type { FastifyInstance } from 'fastify'
import type { Log } from '../base/log.ts'
import { type MetricsRegistry, type MetricsSnapshot, metricsText } from '../base/metrics.ts'
import { createHostCheck } from '../http/host-check.ts'
import { createHttpServer } from '../http/server.ts'
import { guardOperatorCalls, type OperatorGuardOptions } from '../operators/guard.ts'
import { type Listener, listen, REQUEST_MILLISECONDS_MAX, translateStoreError } from './listener.ts'
import type { ModuleRoutes } from './modules.ts'
import type { Readiness } from './readiness.ts'

export interface OperatorListenerOptions extends OperatorGuardOptions {
  readonly host: string
  readonly port: number
  /** The current value of `operator.allowed_hosts`. */
  readonly allowedHosts: () => readonly string[]
  readonly log: Log
  readonly metrics: MetricsRegistry
  /** Metrics of other processes of this node, which are added to those of this one. */
  readonly otherMetrics?: () => Promise<readonly MetricsSnapshot[]>
  readonly readiness: () => Readiness
  /** Each declares the operator's calls of one module, relative to `/admin/v1`. */
  readonly modules: readonly ModuleRoutes[]
}

const HEADER_BYTES_MAX = 16_384
/** Operators, probes and scrapers are few. */
const OPERATOR_CONNECTIONS_MAX = 256

export async function createOperatorListener(options: OperatorListenerOptions): Promise<Listener> {
  const { log, metrics, clock } = options
  const app = createHttpServer({
    listener: 'operator',
    log,
    metrics,
    clock,
    headerBytesMax: HEADER_BYTES_MAX,
    requestMilliseconds: REQUEST_MILLISECONDS_MAX,
    translate: translateStoreError,
    connectionsMax: OPERATOR_CONNECTIONS_MAX,
  })
  const checkHost = createHostCheck(() => [options.host, ...options.allowedHosts()], 'operator.allowed_hosts')
  app.addHook('onRequest', async ({ raw }) => {
    const problem = checkHost(raw)
    if (problem !== undefined) throw problem
  })
  registerHealth(app, options)
  app.register(
    async (scope) => {
      guardOperatorCalls(scope, options)
      for (const registerRoutes of options.modules) registerRoutes(scope)
    },
    { prefix: '/admin/v1' },
  )
  return listen(app, { ...options, scheme: 'http', settings: 'operator' }, clock)
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

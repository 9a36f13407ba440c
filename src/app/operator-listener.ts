/**
 * The operator's listener: the operator API below `/admin/v1` behind its token, and the signals of health, which
 * anybody who reaches this address may read. It is never reachable through the public listener.
 */
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { MetricsRegistry } from '../base/metrics.ts'
import { createOperatorGuard } from '../http/operator-guard.ts'
import { createHttpServer } from '../http/server.ts'
import { type Listener, listen, REQUEST_MILLISECONDS_MAX, translateStoreError } from './listener.ts'
import type { Readiness } from './readiness.ts'
import type { Room } from './rooms.ts'

export interface OperatorListenerOptions {
  readonly host: string
  readonly port: number
  readonly token: string
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly clock: Clock
  readonly readiness: () => Readiness
  /** Each declares the operator's calls of one room, relative to `/admin/v1`. */
  readonly rooms: readonly Room[]
}

const HEADER_BYTES_MAX = 16_384

export async function createOperatorListener(options: OperatorListenerOptions): Promise<Listener> {
  const { log, metrics, clock } = options
  const app = createHttpServer({
    listener: 'operator',
    log,
    metrics,
    headerBytesMax: HEADER_BYTES_MAX,
    requestMilliseconds: REQUEST_MILLISECONDS_MAX,
    translate: translateStoreError,
    clock,
  })
  registerHealth(app, options)
  app.register(
    async (scope) => {
      scope.addHook('onRequest', createOperatorGuard(options.token))
      for (const registerRoutes of options.rooms) registerRoutes(scope)
    },
    { prefix: '/admin/v1' },
  )
  return listen(app, { ...options, scheme: 'http' }, clock)
}

function registerHealth(app: FastifyInstance, { metrics, readiness }: OperatorListenerOptions): void {
  app.get('/livez', async () => ({ live: true }))
  app.get('/readyz', async (_request, reply) => {
    const state = readiness()
    return reply.status(state.ready ? 200 : 503).send(state)
  })
  app.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.metrics()))
}

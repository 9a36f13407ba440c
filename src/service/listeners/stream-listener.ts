/**
 * The stream's own listener (`stream.port`), in this process or in gateway processes: WebSocket handshakes at `/`, with
 * the public listener's host, certificate and limits, and nothing else.
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { MetricsRegistry } from '../../platform/base/metrics.ts'
import { Throttle } from '../../platform/base/throttle.ts'
import { type ClientAddress, createClientAddress } from '../../platform/http/client-address.ts'
import type { Upgrade } from '../../platform/http/connections.ts'
import { replaceCertificate, type TlsContext } from '../../platform/http/node-server.ts'
import { Problem } from '../../platform/http/problem.ts'
import { createHttpServer } from '../../platform/http/server.ts'
import type { Gateway } from '../../streaming/gateway/gateway.ts'
import type { Config } from '../config/settings.ts'
import type { Page } from '../pages/start-page.ts'
import { type Listener, listen, REQUEST_MILLISECONDS_MAX, translateStoreError } from './listener.ts'

export interface StreamListenerOptions {
  readonly config: Pick<
    Config,
    'http.host' | 'http.trusted_proxies' | 'http.header_bytes_max' | 'http.unfinished_bytes_max'
  >
  readonly port: number
  /** Whether other processes listen to the port too. */
  readonly reusePort: boolean
  readonly tls: TlsContext | undefined
  readonly gateway: Pick<Gateway, 'upgrade' | 'check'>
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly clock: Clock
}

export interface StreamListener extends Listener {
  /** For new connections. */
  replaceCertificate(tls: TlsContext): void
}

export async function createStreamListener(options: StreamListenerOptions): Promise<StreamListener> {
  const { config, tls, gateway, log, metrics, clock } = options
  const clientAddress = clientAddressOf(config['http.trusted_proxies'], options)
  const app = createHttpServer({
    listener: 'stream',
    log,
    metrics,
    clock,
    headerBytesMax: config['http.header_bytes_max'],
    unfinishedBytesMax: config['http.unfinished_bytes_max'],
    requestMilliseconds: REQUEST_MILLISECONDS_MAX,
    translate: translateStoreError,
    clientAddress,
    upgrade: upgradeTo(gateway, clientAddress),
    ...(tls === undefined ? {} : { tls }),
  })
  registerStreamPath(app, gateway)
  const address = {
    ...options,
    host: config['http.host'],
    scheme: tls === undefined ? 'ws' : 'wss',
    settings: 'stream',
  } as const
  const listener = await listen(app, address, clock)
  return { ...listener, replaceCertificate: (next) => replaceCertificate(app.server, next) }
}

export function upgradeTo({ upgrade }: Pick<Gateway, 'upgrade'>, clientAddress: ClientAddress): Upgrade {
  return (request, socket, head) => {
    const address = clientAddress(request)
    upgrade(request, socket, head, { address, holder: clientAddress.holderOf(address) })
  }
}

/** Time between two warnings about an untrusted peer's `X-Forwarded-For`, which any client can send. */
const PROXY_WARNING_MILLISECONDS = 600_000

/** Without its warning an operator cannot see all customers behind a proxy sharing its address and its limits. */
export function clientAddressOf(
  trustedProxies: readonly string[],
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): ClientAddress {
  const throttle = new Throttle(clock, PROXY_WARNING_MILLISECONDS)
  return createClientAddress(trustedProxies, (peer_address) =>
    throttle.run(() =>
      log.warn(
        { peer_address, key: 'http.trusted_proxies' },
        'X-Forwarded-For from an untrusted peer: if this is your proxy, all customers that it forwards count as one address',
      ),
    ),
  )
}

/** @param pageFor the page for a browser. Absent: a browser gets the answer for programs */
export function registerStreamPath(
  app: FastifyInstance,
  { check }: Pick<Gateway, 'check'>,
  pageFor?: (request: IncomingMessage) => Page,
): void {
  app.get('/', async (request, reply) => {
    if (request.headers.authorization !== undefined) {
      const refusal = await check(request.raw)
      if (refusal !== undefined) throw refusal
    } else if (pageFor !== undefined && wantsPage(request.raw)) {
      const { html, policy } = pageFor(request.raw)
      return reply.type('text/html; charset=utf-8').header('content-security-policy', policy).send(html)
    }
    throw new Problem('upgrade_required', 'the stream is a WebSocket: this request must ask for an upgrade to it', {
      headers: { upgrade: 'websocket', connection: 'upgrade, close', 'sec-websocket-version': '13' },
    })
  })
}

/** Browsers accept HTML by name, while programs send no `Accept`, or any type. */
function wantsPage({ headers }: IncomingMessage): boolean {
  return /(^|,)\s*text\/html\b/i.test(headers.accept ?? '')
}

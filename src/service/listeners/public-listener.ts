/**
 * The public listener, plain or over TLS. It serves the token endpoints, the REST operations and their description, and
 * at `/` the stream, whose upgrade requests the gateway handles. A request to `/` with credentials but without an
 * upgrade gets the refusal that an upgrade would get. A certificate is replaced without closing a connection.
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { registerReceiptKeySet } from '../../access/clients/receipt-key-routes.ts'
import { registerTokenEndpoints, type TokenEndpointOptions } from '../../access/clients/token-endpoint/token-routes.ts'
import { registerWellKnownRoutes } from '../../access/clients/well-known-routes.ts'
import { Throttle } from '../../platform/base/throttle.ts'
import { addressBlock, createClientAddress } from '../../platform/http/client-address.ts'
import { Problem } from '../../platform/http/problem.ts'
import { createHttpServer } from '../../platform/http/server.ts'
import type { TlsFiles } from '../../platform/http/tls.ts'
import type { Gateway } from '../../streaming/gateway/gateway.ts'
import { describeOperations } from '../api-docs/operations-document.ts'
import { registerDescription } from '../api-docs/routes.ts'
import type { DemoPage } from '../pages/demo-page.ts'
import { START_PAGE } from '../pages/start-page.ts'
import { type Listener, listen, type ModuleRoutes, REQUEST_MILLISECONDS_MAX, translateStoreError } from './listener.ts'
import { readCertificate } from './listener-certificate.ts'

export interface PublicListenerOptions extends Omit<TokenEndpointOptions, 'addressOf'> {
  readonly host: string
  readonly port: number
  /** The settings `http.tls.*`, absent = plain HTTP. */
  readonly tls?: TlsFiles
  /** The setting `http.trusted_proxies`. */
  readonly trustedProxies: readonly string[]
  /** The setting `http.cors_origins`. */
  readonly corsOrigins: readonly string[]
  /** The setting `http.header_bytes_max`. */
  readonly headerBytesMax: number
  /** The setting `http.unfinished_bytes_max`. */
  readonly unfinishedBytesMax: number
  /** Whether this service issues tokens. With an external issuer it has no token endpoints. */
  readonly issuesTokens: boolean
  /** The setting `receipts.enabled`. */
  readonly signsReceipts?: boolean
  /** The setting `http.public_url`. */
  readonly publicUrl: string
  /** The setting `stream.public_url`. */
  readonly streamUrl?: string
  readonly gateway: Pick<Gateway, 'upgrade' | 'check'>
  /** Each declares one module's REST operations. */
  readonly modules: readonly ModuleRoutes[]
  /** The demo's live ladder. Without it a browser gets a page with links. */
  readonly demoPage?: DemoPage
}

/** Time between two warnings about an untrusted peer's `X-Forwarded-For`, which any client can send. */
const PROXY_WARNING_MILLISECONDS = 600_000

export interface PublicListener extends Listener {
  /** Reloads the certificate and its key. Invalid files change nothing and are logged. */
  reloadTls(): void
}

export async function createPublicListener(options: PublicListenerOptions): Promise<PublicListener> {
  const { log, metrics, clock, gateway } = options
  const clientAddress = createClientAddress(options.trustedProxies, warnOfProxies(options))
  const certificate = readCertificate('public', { ...options, files: options.tls })
  const app = createHttpServer({
    listener: 'public',
    log,
    metrics,
    clock,
    headerBytesMax: options.headerBytesMax,
    unfinishedBytesMax: options.unfinishedBytesMax,
    requestMilliseconds: REQUEST_MILLISECONDS_MAX,
    translate: translateStoreError,
    clientAddress,
    corsOrigins: options.corsOrigins,
    upgrade: (request, socket, head) => {
      const address = clientAddress(request)
      gateway.upgrade(request, socket, head, { address, holder: clientAddress.holderOf(address) })
    },
    ...(certificate === undefined ? {} : { tls: certificate.context }),
  })
  if (options.issuesTokens) {
    registerTokenEndpoints(app, {
      ...options,
      addressOf: ({ clientAddress }) => addressBlock(clientAddress),
    })
    registerWellKnownRoutes(app, options)
  }
  registerReceiptKeySet(app, options.directory, options.signsReceipts === true)
  await describeOperations(app)
  for (const registerRoutes of options.modules) registerRoutes(app)
  registerDescription(app, options)
  options.demoPage?.register(app)
  registerStreamPath(app, options)
  const scheme = certificate === undefined ? 'http' : 'https'
  const listener = await listen(app, { ...options, scheme, settings: 'http' }, clock)
  return {
    ...listener,
    reloadTls: () => certificate?.reload(app.server),
  }
}

/** Without this warning an operator cannot see all customers behind a proxy sharing its address and its limits. */
function warnOfProxies({ clock, log }: PublicListenerOptions): (peer: string) => void {
  const throttle = new Throttle(clock, PROXY_WARNING_MILLISECONDS)
  return (peer_address) =>
    throttle.run(() =>
      log.warn(
        { peer_address, key: 'http.trusted_proxies' },
        'X-Forwarded-For from an untrusted peer: if this is your proxy, all customers that it forwards count as one address',
      ),
    )
}

function registerStreamPath(
  app: FastifyInstance,
  { gateway, demoPage }: Pick<PublicListenerOptions, 'gateway' | 'demoPage'>,
): void {
  app.get('/', async (request, reply) => {
    if (request.headers.authorization !== undefined) {
      const refusal = await gateway.check(request.raw)
      if (refusal !== undefined) throw refusal
    } else if (wantsPage(request.raw)) {
      const { html, policy } = demoPage?.pageFor(request.raw) ?? START_PAGE
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

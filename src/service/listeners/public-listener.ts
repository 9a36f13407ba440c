/**
 * The public listener, plain or over TLS. It serves the token endpoints, the REST operations and their description, and
 * at `/` the stream, whose upgrade requests the gateway handles. A request to `/` with credentials but without an
 * upgrade gets the refusal that an upgrade would get. A certificate is replaced without closing a connection.
 */
import { registerReceiptKeySet } from '../../access/clients/receipt-key-routes.ts'
import { registerTokenEndpoints, type TokenEndpointOptions } from '../../access/clients/token-endpoint/token-routes.ts'
import { registerWellKnownRoutes } from '../../access/clients/well-known-routes.ts'
import { addressBlock } from '../../platform/http/client-address.ts'
import type { TlsContext } from '../../platform/http/node-server.ts'
import { createHttpServer } from '../../platform/http/server.ts'
import type { TlsFiles } from '../../platform/http/tls.ts'
import type { Gateway } from '../../streaming/gateway/gateway.ts'
import { describeOperations } from '../api-docs/operations-document.ts'
import { registerDescription } from '../api-docs/routes.ts'
import type { DemoPage } from '../pages/demo-page.ts'
import { START_PAGE } from '../pages/start-page.ts'
import { type Listener, listen, type ModuleRoutes, REQUEST_MILLISECONDS_MAX, translateStoreError } from './listener.ts'
import { readCertificate } from './listener-certificate.ts'
import { clientAddressOf, registerStreamPath, upgradeTo } from './stream-listener.ts'

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
  /** The stream's address, once it is open. Empty, or absent: that of this listener. */
  readonly streamUrl?: () => string
  readonly gateway: Pick<Gateway, 'upgrade' | 'check'>
  /** Each declares one module's REST operations. */
  readonly modules: readonly ModuleRoutes[]
  /** The demo's live ladder. Without it a browser gets a page with links. */
  readonly demoPage?: DemoPage
}

export interface PublicListener extends Listener {
  /** The certificate and its key as they were read at the start. Undefined without TLS. */
  readonly tls: TlsContext | undefined
  /** Reloads both, and returns them. Invalid files change nothing and are logged. */
  reloadTls(): TlsContext | undefined
}

export async function createPublicListener(options: PublicListenerOptions): Promise<PublicListener> {
  const { log, metrics, clock, gateway } = options
  const clientAddress = clientAddressOf(options.trustedProxies, options)
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
    upgrade: upgradeTo(gateway, clientAddress),
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
  registerStreamPath(app, gateway, (request) => options.demoPage?.pageFor(request) ?? START_PAGE)
  const scheme = certificate === undefined ? 'http' : 'https'
  const listener = await listen(app, { ...options, scheme, settings: 'http' }, clock)
  return {
    ...listener,
    tls: certificate?.context,
    reloadTls: () => certificate?.reload(app.server),
  }
}

/**
 * The ingest listener of the process, if `ingest.port` is set: its settings, its server, plain or over TLS, and its
 * stop. A certificate is replaced without closing a connection.
 */
import type { Directory } from '../../../access/clients/directory.ts'
import type { TokenVerifier } from '../../../access/clients/token-verifier.ts'
import type { Clock } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import { SHARED_POOLS } from '../../../platform/base/shared-pool.ts'
import { createClientAddress } from '../../../platform/http/client-address.ts'
import { createHttpServer } from '../../../platform/http/server.ts'
import { Ingest } from '../../../streaming/ingest/ingest.ts'
import type { Config } from '../../config/settings.ts'
import { type Listener, listen, translateStoreError } from '../../listeners/listener.ts'
import { readCertificate } from '../../listeners/listener-certificate.ts'
import { ingestTlsFilesOf } from '../../listeners/tls-settings.ts'
import type { Lifecycle } from '../../process/lifecycle.ts'

interface IngestParts {
  readonly config: Config
  /** The current configuration, which a reload replaces. */
  readonly current: { readonly config: Config }
  readonly directory: Directory
  readonly verifier: TokenVerifier
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
}

interface ListenerParts extends IngestParts {
  readonly ingest: Ingest | undefined
  readonly lifecycle: Lifecycle
}

export interface IngestListener {
  readonly url: string
  /** Reloads certificates and key. Invalid files change nothing and are logged. */
  reloadTls(): void
}

const HEADER_BYTES_MAX = 32_768
/** The time limit for a body. A TLS handshake may take a fifth as long. */
const REQUEST_MILLISECONDS_MAX = 60_000

export function createIngest(parts: IngestParts): Ingest | undefined {
  const { config, current } = parts
  if (config['ingest.port'] === '') return undefined
  return new Ingest({
    ...parts,
    settings: {
      connectionsMax: () => current.config['ingest.connections_max'],
      lineWaitMilliseconds: () => current.config['ingest.line_wait_ms'],
      messageBytesMax: config['ingest.message_bytes_max'],
      closesExpired: config['stream.token_expiry'] === 'close',
      isShared: config['bus.url'] !== '',
    },
  })
}

/** Its stop closes the publishers' connections. Undefined without `ingest.port`. */
export async function startIngestListener(parts: ListenerParts): Promise<IngestListener | undefined> {
  const { config, ingest, log, metrics, clock, lifecycle } = parts
  const port = config['ingest.port']
  if (ingest === undefined || port === '') return undefined
  const certificate = readCertificate('ingest', { ...parts, files: ingestTlsFilesOf(config) })
  const clientAddress = createClientAddress(config['http.trusted_proxies'])
  const app = createHttpServer({
    listener: 'ingest',
    log,
    metrics,
    clock,
    headerBytesMax: HEADER_BYTES_MAX,
    requestMilliseconds: REQUEST_MILLISECONDS_MAX,
    translate: translateStoreError,
    clientAddress,
    connectionsMax: SHARED_POOLS.ingest_connections.size,
    unfinishedBytesMax: SHARED_POOLS.ingest_unfinished_bytes.size,
    upgrade: (request, socket, head) => {
      const address = clientAddress(request)
      ingest.upgrade(request, socket, head, { address, holder: clientAddress.holderOf(address) })
    },
    ...(certificate === undefined ? {} : { tls: certificate.context }),
  })
  ingest.registerRoutes(app)
  const scheme = certificate === undefined ? 'http' : 'https'
  const address = { host: config['ingest.host'], port, scheme, settings: 'ingest' } as const
  const listener: Listener = await listen(app, address, clock)
  lifecycle.started('ingest listener', async () => {
    const closed = listener.close()
    await ingest.stop()
    await closed
  })
  return {
    url: listener.url,
    reloadTls: () => certificate?.reload(app.server),
  }
}

/**
 * The ingest listener of the process, if `ingest.port` is set: its settings, its server, plain or over TLS, and its stop. A
 * certificate is replaced without closing a connection.
 */
import type { Directory } from '../auth/directory.ts'
import type { TokenVerifier } from '../auth/token-verifier.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Gauge, type MetricsRegistry } from '../base/metrics.ts'
import type { Config } from '../config/settings.ts'
import { createClientAddress } from '../http/client-address.ts'
import { replaceCertificate, type TlsContext } from '../http/node-server.ts'
import { createHttpServer } from '../http/server.ts'
import { readTlsFiles, TlsFileError, type TlsFiles } from '../http/tls.ts'
import { Ingest, PUBLISH_BODIES_MAX, PUBLISH_BODY_BYTES_MAX } from '../ingest/ingest.ts'
import type { Lifecycle } from './lifecycle.ts'
import { type Listener, listen, translateStoreError } from './listener.ts'
import { ingestTlsFilesOf, ingestTlsSettingOf } from './tls-settings.ts'

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
  /** Reloads certificates and key; invalid files change nothing and are logged. */
  reloadTls(): void
}

const HEADER_BYTES_MAX = 32_768
/** Connections that are no WebSockets: engines are few. */
const CONNECTIONS_MAX = 256
/** Longest that a body may take; a TLS handshake may take a fifth of it. */
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
    },
  })
}

/** Its stop closes the connections of publishers. Undefined without `ingest.port`. */
export async function startIngestListener(parts: ListenerParts): Promise<IngestListener | undefined> {
  const { config, ingest, log, metrics, clock, lifecycle } = parts
  const port = config['ingest.port']
  if (ingest === undefined || port === '') return undefined
  const files = ingestTlsFilesOf(config)
  const clientAddress = createClientAddress([])
  const app = createHttpServer({
    listener: 'ingest',
    log,
    metrics,
    clock,
    headerBytesMax: HEADER_BYTES_MAX,
    requestMilliseconds: REQUEST_MILLISECONDS_MAX,
    translate: translateStoreError,
    connectionsMax: CONNECTIONS_MAX,
    // Bytes of a body count until its answer, although they are not kept.
    unfinishedBytesMax: 2 * PUBLISH_BODIES_MAX * PUBLISH_BODY_BYTES_MAX,
    upgrade: (request, socket, head) => ingest.upgrade(request, socket, head, clientAddress(request)),
    ...(files === undefined ? {} : { tls: startTls(files, parts) }),
  })
  ingest.registerRoutes(app)
  const scheme = files === undefined ? 'http' : 'https'
  const address = { host: config['ingest.host'], port, scheme, settings: 'ingest' } as const
  const listener: Listener = await listen(app, address, clock)
  lifecycle.started('ingest listener', async () => {
    const closed = listener.close()
    await ingest.stop()
    await closed
  })
  return {
    url: listener.url,
    reloadTls() {
      if (files === undefined) return
      try {
        replaceCertificate(app.server, loadTls(files, parts))
        log.info({}, 'certificate of the ingest listener reloaded')
      } catch (error) {
        if (!(error instanceof TlsFileError)) throw error
        log.error({ key: ingestTlsSettingOf(error), err: error }, 'the certificate stays as it was')
      }
    },
  }
}

function startTls(files: TlsFiles, parts: IngestParts): TlsContext {
  try {
    return loadTls(files, parts)
  } catch (error) {
    if (error instanceof TlsFileError) throw new Error(`${ingestTlsSettingOf(error)} names ${error.message}`)
    throw error
  }
}

function loadTls(files: TlsFiles, { clock, log, metrics }: IngestParts): TlsContext {
  const { context, endsMilliseconds, warnings } = readTlsFiles(files, clock.wallInstant().milliseconds)
  for (const warning of warnings) log.warn({ warning }, 'certificate warning')
  certificateEnd(metrics).set(endsMilliseconds / 1000)
  return context
}

/** Registered with the first certificate; without TLS the metric is absent. */
function certificateEnd(registry: MetricsRegistry): Gauge {
  const name = 'tidegate_ingest_certificate_end_timestamp_seconds'
  const known = registry.getSingleMetric(name)
  if (known instanceof Gauge) return known
  return new Gauge({ name, help: 'When the certificate of the ingest listener ends', registers: [registry] })
}

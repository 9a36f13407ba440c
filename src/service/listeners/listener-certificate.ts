/**
 * A listener's certificate: read at the start, read again at a reload without closing a connection, and its end shown
 * in the metrics. Without TLS a listener has none, and the metric is absent.
 */
import type { Server } from 'node:http'
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { Gauge, type MetricsRegistry } from '../../platform/base/metrics.ts'
import { replaceCertificate, type TlsContext } from '../../platform/http/node-server.ts'
import { readTlsFiles, TlsFileError, type TlsFiles } from '../../platform/http/tls.ts'
import { ingestTlsSettingOf, operatorTlsSettingOf, tlsSettingOf } from './tls-settings.ts'

interface CertificateOptions {
  /** Absent: the listener serves plain HTTP. */
  readonly files: TlsFiles | undefined
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
}

export interface ListenerCertificate {
  /** For the server, as it was read at the start. */
  readonly context: TlsContext
  /**
   * Reads the files again for new connections, and returns what was read. Unusable files change nothing and are
   * logged.
   */
  reload(server: Server): TlsContext | undefined
}

/**
 * For each listener: the metric with the certificate's end in seconds since the epoch, and the setting of an unusable
 * file.
 */
const LISTENERS = {
  public: { metric: 'tidegate_certificate_end_timestamp_seconds', settingOf: tlsSettingOf },
  operator: { metric: 'tidegate_operator_certificate_end_timestamp_seconds', settingOf: operatorTlsSettingOf },
  ingest: { metric: 'tidegate_ingest_certificate_end_timestamp_seconds', settingOf: ingestTlsSettingOf },
} as const

/**
 * Undefined without TLS.
 * @throws Error that names the setting of an unusable file
 */
export function readCertificate(
  listener: keyof typeof LISTENERS,
  { files, clock, log, metrics }: CertificateOptions,
): ListenerCertificate | undefined {
  if (files === undefined) return undefined
  const { metric, settingOf } = LISTENERS[listener]
  const help = `When the certificate of the ${listener} listener ends`
  const end = new Gauge({ name: metric, help, registers: [metrics] })
  const read = (): TlsContext => {
    const { context, endsMilliseconds, warnings } = readTlsFiles(files, clock.wallInstant().milliseconds)
    for (const warning of warnings) log.warn({ warning }, 'certificate warning')
    end.set(endsMilliseconds / 1000)
    return context
  }
  const atStart = (): TlsContext => {
    try {
      return read()
    } catch (error) {
      if (error instanceof TlsFileError) throw new Error(`${settingOf(error)} names ${error.message}`)
      throw error
    }
  }
  return {
    context: atStart(),
    reload(server) {
      try {
        const context = read()
        replaceCertificate(server, context)
        log.info({}, `certificate of the ${listener} listener reloaded`)
        return context
      } catch (error) {
        if (!(error instanceof TlsFileError)) throw error
        log.error({ key: settingOf(error), err: error }, 'the certificate stays as it was')
        return undefined
      }
    },
  }
}

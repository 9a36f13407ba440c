/**
 * Opens the stream's own port (`stream.port`): this process listens to it, or its gateway processes do. Without the
 * setting, the public listener serves the stream.
 */
import type { TlsContext } from '../../../platform/http/node-server.ts'
import { hasRole } from '../../config/roles.ts'
import { listenerUrl } from '../../listeners/listener.ts'
import { createStreamListener } from '../../listeners/stream-listener.ts'
import type { Parts } from '../parts.ts'
import type { Streaming } from './streaming.ts'

/** The stream where it has its own port. */
export interface OwnStream {
  /** The bound address: `ws://host:port`, or `wss://`. */
  readonly url: string
  /** For new connections. */
  replaceCertificate(tls: TlsContext): void
  /** Stops accepting, and closes the open connections, spread over `seconds`. Resolves when none is left. */
  drain(seconds: number): Promise<void>
}

export async function startStream(
  parts: Parts,
  { gateway, local }: Pick<Streaming, 'gateway' | 'local'>,
  tls: TlsContext | undefined,
): Promise<OwnStream | undefined> {
  const { config } = parts
  const port = config['stream.port']
  if (port === '' || !hasRole(config, 'gateway')) return undefined
  const scheme = tls === undefined ? 'ws' : 'wss'
  if (local !== undefined) {
    return {
      url: listenerUrl(scheme, config['http.host'], await local.start(tls)),
      replaceCertificate: (next) => local.replaceCertificate(next),
      drain: (seconds) => local.processes.drain(seconds),
    }
  }
  const reusePort = config['stream.reuse_port']
  const listener = await createStreamListener({ ...parts, port, tls, reusePort, gateway })
  return {
    url: listener.url,
    replaceCertificate: (next) => listener.replaceCertificate(next),
    async drain(seconds) {
      const closed = listener.close()
      await gateway.drain(seconds)
      await closed
    },
  }
}

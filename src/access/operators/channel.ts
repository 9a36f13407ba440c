/**
 * How a browser's request reached the operator listener: encrypted, or from this machine. This decides whether
 * passwords and sessions are accepted. Also whether a cross-origin page sent it.
 */
import type { IncomingMessage } from 'node:http'
import { isLoopbackAddress, isLoopbackHost, isSameOrigin } from '../../platform/http/host-check.ts'

/**
 * `encrypted`: over TLS, or from a trusted proxy that terminates TLS for the https address in `operator.public_url`.
 * `local`: unencrypted, from a loopback address to a loopback name, and through no proxy. `open`: any other.
 */
export type Channel = 'encrypted' | 'local' | 'open'

export interface ChannelOptions {
  /** The setting `operator.public_url`. Empty: browsers use the listener's own address. */
  readonly publicUrl: string
  /** Whether an address is one of `http.trusted_proxies`. */
  isTrustedProxy(address: string): boolean
}

/** Header fields added by proxies. */
const PROXY_FIELDS = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip']

export function channelOf({ socket, headers }: IncomingMessage, options: ChannelOptions): Channel {
  if ('encrypted' in socket) return 'encrypted'
  const peer = socket.remoteAddress ?? ''
  const isForwarded = PROXY_FIELDS.some((field) => headers[field] !== undefined)
  if (isForwarded) {
    const isEncrypted = options.publicUrl.startsWith('https:') && headers['x-forwarded-proto'] !== 'http'
    return isEncrypted && options.isTrustedProxy(peer) ? 'encrypted' : 'open'
  }
  return isLoopbackAddress(peer) && isLoopbackHost(headers.host ?? '') ? 'local' : 'open'
}

/** Whether a page on this listener sent the request. False without `Origin`. */
export function isOwnOrigin(request: IncomingMessage, { publicUrl }: Pick<ChannelOptions, 'publicUrl'>): boolean {
  return isSameOrigin(request) || (publicUrl !== '' && request.headers.origin === new URL(publicUrl).origin)
}

/** The listeners' configured addresses, for programs on the same machine. Pure. */

/** The address to connect to: loopback for a listener on all addresses. */
export function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '::1' : host
}

export function addressText(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

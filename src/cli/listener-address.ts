/** The addresses of the listeners as the configuration gives them, for programs on the same machine. Pure. */

/** Where to connect to what listens on every address. */
export function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '::1' : host
}

export function addressText(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

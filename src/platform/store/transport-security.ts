/**
 * Checks that the address of a PostgreSQL server on another machine requires TLS with a checked certificate. The
 * address, which may contain a password, is never repeated in a message. Pure.
 */

/** With these the certificate is checked. With `prefer` and `allow`, PostgreSQL's own tools do not check it. */
const CHECKED_MODES = ['verify-full', 'verify-ca', 'require']
const LOOPBACK = /^(|localhost|127(\.[0-9]{1,3}){3}|::1)$/

/** The problem and its remedy, in one line. Undefined when the connection is protected, or local. */
export function transportProblem(url: string): string | undefined {
  if (url === '') return undefined
  // `URL` cannot parse an address whose host is only in the query.
  const parsed = new URL(URL.canParse(url) ? url : url.replace('@/', '@localhost/'))
  const query = parsed.searchParams
  const host = (query.get('host') ?? decodeURIComponent(parsed.hostname)).replace(/^\[(.*)\]$/, '$1')
  // A host that begins with a slash is the folder of a UNIX socket.
  if (host.startsWith('/') || LOOPBACK.test(host)) return undefined
  const mode = query.get('sslmode')
  // As libpq reads it, `require` checks the certificate only when it is given a root certificate.
  const isUnchecked = query.get('uselibpqcompat') === 'true' && mode === 'require' && !query.has('sslrootcert')
  if (mode !== null ? CHECKED_MODES.includes(mode) && !isUnchecked : ['true', '1'].includes(query.get('ssl') ?? '')) {
    return undefined
  }
  const state = mode === null ? 'sets no sslmode' : `has sslmode=${mode}`
  return `store.url ${state}: others can read and change what is sent to ${host} and back. Use sslmode=verify-full`
}

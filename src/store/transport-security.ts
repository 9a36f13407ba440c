/**
 * Whether the connection to a PostgreSQL server on another machine is protected by TLS with a checked certificate, as
 * its address requires. Pure; the address, which may hold a password, is never repeated.
 */

/** With these the certificate is checked; `prefer` and `allow` promise nothing in PostgreSQL's own tools. */
const CHECKED_MODES = ['verify-full', 'verify-ca', 'require']
const LOOPBACK = /^(|localhost|127(\.[0-9]{1,3}){3}|::1)$/

/** What is wrong, with what to do, in one line; undefined when it is protected, or stays on this machine. */
export function transportProblem(url: string): string | undefined {
  if (url === '') return undefined
  // An address whose host is in the query alone, which `URL` does not take as it is.
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
  return `store.url ${state}: others can read and change what is sent to ${host} and back; use sslmode=verify-full`
}

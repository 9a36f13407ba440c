/** A proxy in front of a test PostgreSQL database, and the database's address through it. */
import { TcpProxy } from './tcp-proxy.ts'

/** `url`: an address as `sharedDatabase` returns it, with the folder of the server's socket. */
export async function proxyPostgres(url: string): Promise<{ readonly proxy: TcpProxy; readonly url: string }> {
  // A URL with a user needs a host to be parsed.
  const { pathname, searchParams, username } = new URL(url.replace('@/', '@localhost/'))
  const proxy = await TcpProxy.listen(`${searchParams.get('host')}/.s.PGSQL.${searchParams.get('port')}`)
  return { proxy, url: `postgres://${username}@127.0.0.1:${proxy.port}${pathname}` }
}

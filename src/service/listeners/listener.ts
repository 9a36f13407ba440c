/**
 * Binds a listener to its address, and closes it. Closing stops accepting at once, lets requests in progress finish,
 * and cuts unfinished ones after `CLOSE_MILLISECONDS_MAX`. The gateway closes upgraded connections, and the listener is
 * closed when none is left.
 */
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../../platform/base/clock.ts'
import { Problem } from '../../platform/http/problem.ts'
import { StoreTooSlow, StoreUnavailable } from '../../platform/store/db.ts'
import { InvalidCursor } from '../../platform/store/page.ts'

export interface Listener {
  /** The bound address: `http://host:port`, or `https://`. */
  readonly url: string
  /** Resolves when no connection is left. */
  close(): Promise<void>
}

/** Declares one module's routes. */
export type ModuleRoutes = (app: FastifyInstance) => void

/** Longest a client may take to send a request. */
export const REQUEST_MILLISECONDS_MAX = 30_000
/** Time for requests in progress when the listener closes: as long as a store statement may take. */
const CLOSE_MILLISECONDS_MAX = 2_000
const RETRY_AFTER_SECONDS = 1

export interface ListenAddress {
  readonly host: string
  /** 0 = any free port. */
  readonly port: number
  readonly scheme: 'http' | 'https'
  /** Prefix of the address's settings, for errors. */
  readonly settings: 'http' | 'operator' | 'ingest'
}

/** When the address cannot be bound, rejects with one line that names the setting and the remedy. */
export async function listen(app: FastifyInstance, address: ListenAddress, clock: Clock): Promise<Listener> {
  await app.listen({ host: address.host, port: address.port }).catch((error: NodeJS.ErrnoException) => {
    throw listenError(error, address)
  })
  const { port } = app.server.address() as AddressInfo
  const host = address.host.includes(':') ? `[${address.host}]` : address.host
  return {
    url: `${address.scheme}://${host}:${port}`,
    async close() {
      const cut = clock.schedule(CLOSE_MILLISECONDS_MAX, () => app.server.closeAllConnections())
      await app.close()
      cut.cancel()
    },
  }
}

function listenError(error: NodeJS.ErrnoException, { host, port, settings }: ListenAddress): Error {
  const place = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const another = `name another port (--${settings}.port 0 takes any free one)`
  switch (error.code) {
    case 'EADDRINUSE':
      return new Error(`${settings}.port: another program listens on ${place} (EADDRINUSE): stop it, or ${another}`)
    case 'EACCES':
      return new Error(`${settings}.port: this user may not listen on ${place} (EACCES): ${another}`)
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new Error(
        `${settings}.host: ${host} is not an address of this machine (${error.code}): name one of its own`,
      )
    default:
      return error
  }
}

/** The problem to answer with for a store error. Undefined for any other error. */
export function translateStoreError(error: unknown): Problem | undefined {
  if (error instanceof InvalidCursor) {
    return new Problem('invalid_cursor', error.message, {
      errors: [{ parameter: 'page_cursor', detail: 'does not come from this list' }],
    })
  }
  if (error instanceof StoreUnavailable) {
    const what = error instanceof StoreTooSlow ? 'the store did not answer in time' : 'the store is unavailable'
    return new Problem('unavailable', `${what}: a write may or may not have been done`, {
      headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
    })
  }
  return undefined
}

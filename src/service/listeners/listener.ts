/**
 * Binds a listener to its address, and closes it. Closing stops accepting at once, lets requests in progress finish,
 * and cuts unfinished ones after `CLOSE_MILLISECONDS_MAX`. The gateway closes upgraded connections, and the listener is
 * closed when none is left.
 */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
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
  readonly scheme: 'http' | 'https' | 'ws' | 'wss'
  /** Whether other processes listen to the port too. Absent: none does. */
  readonly reusePort?: boolean
  /** Prefix of the address's settings, for errors. */
  readonly settings: 'http' | 'operator' | 'ingest' | 'stream'
}

/** When the address cannot be bound, rejects with one line that names the setting and the remedy. */
export async function listen(app: FastifyInstance, address: ListenAddress, clock: Clock): Promise<Listener> {
  const { host, port, reusePort, scheme } = address
  // Passed to Node's server, whose option is missing in the type declarations.
  const options = { host, port, ...(reusePort === true ? { reusePort } : {}) }
  await app.listen(options).catch((error: NodeJS.ErrnoException) => {
    throw listenError(error, address)
  })
  return {
    url: listenerUrl(scheme, host, (app.server.address() as AddressInfo).port),
    async close() {
      const cut = clock.schedule(CLOSE_MILLISECONDS_MAX, () => app.server.closeAllConnections())
      await app.close()
      cut.cancel()
    },
  }
}

export function listenerUrl(scheme: ListenAddress['scheme'], host: string, port: number): string {
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/**
 * Checks that no program listens to the stream's port before several processes share it, because then the system reports
 * no conflict. Resolves with the port, which it chooses for 0.
 */
export async function claimPort(host: string, port: number): Promise<number> {
  const server = createServer()
  try {
    await once(server.listen({ host, port, exclusive: true }), 'listening')
  } catch (error) {
    throw listenError(error as NodeJS.ErrnoException, { host, port, settings: 'stream' })
  }
  const { port: claimed } = server.address() as AddressInfo
  await once(server.close(), 'close')
  return claimed
}

function listenError(
  error: NodeJS.ErrnoException,
  { host, port, settings }: Pick<ListenAddress, 'host' | 'port' | 'settings'>,
): Error {
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
        `${settings === 'stream' ? 'http' : settings}.host: ${host} is not an address of this machine (${error.code}): name one of its own`,
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

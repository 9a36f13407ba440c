/**
 * What both listeners share: binding to an address, and letting go of it. Closing stops accepting at once, lets
 * requests under way be answered, and cuts what has not finished after a while; upgraded connections belong to whoever
 * took them, and the listener is closed when they are gone.
 */
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../base/clock.ts'
import { Problem } from '../http/problem.ts'
import { StoreUnavailable } from '../store/db.ts'
import { InvalidCursor } from '../store/page.ts'

export interface Listener {
  /** Where it really listens: `http://host:port`, or `https://`. */
  readonly url: string
  /** Resolves when no connection is left. */
  close(): Promise<void>
}

/** Longest a client may take to send a request. */
export const REQUEST_MILLISECONDS_MAX = 30_000
/** What a request under way gets when the listener closes: as long as the store may take to answer. */
const CLOSE_MILLISECONDS_MAX = 2_000
const RETRY_AFTER_SECONDS = 1

export async function listen(
  app: FastifyInstance,
  address: { readonly host: string; readonly port: number; readonly scheme: 'http' | 'https' },
  clock: Clock,
): Promise<Listener> {
  await app.listen({ host: address.host, port: address.port })
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

/** Errors of the store that are answers. */
export function translateStoreError(error: unknown): Problem | undefined {
  if (error instanceof InvalidCursor) {
    return new Problem('invalid_cursor', error.message, {
      errors: [{ parameter: 'page_cursor', detail: 'is not one that this list gave' }],
    })
  }
  if (error instanceof StoreUnavailable) {
    return new Problem('unavailable', 'the store cannot be reached: a write may or may not have been done', {
      headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
    })
  }
  return undefined
}

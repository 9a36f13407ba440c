/**
 * The platform for `@tidegate/client` on the command line: the environment's clock and randomness, and `ws` sockets.
 */
import { type ClientOptions, WebSocket } from 'ws'
import type { Platform, Socket } from '../../../packages/client/src/index.ts'
import type { CommandEnvironment } from '../terminal/environment.ts'

const SOCKET_OPTIONS: ClientOptions & { readonly closeTimeout: number } = {
  perMessageDeflate: false,
  // A whole book with 46,000 levels is 1.9 MB.
  maxPayload: 64 * 1024 * 1024,
  // A hanging service does not answer the close. The process ends all the same.
  closeTimeout: 1_000,
}

export function clientPlatform({ clock, random }: CommandEnvironment): Platform {
  return {
    fetch: (url, init) => fetch(url, init),
    socket: async (url, protocols) => new WebSocket(url, protocols, SOCKET_OPTIONS) as Socket,
    now: () => clock.monotonicMilliseconds(),
    after(milliseconds, callback) {
      const timer = clock.schedule(milliseconds, callback)
      return () => timer.cancel()
    },
    random,
  }
}

/**
 * A TCP relay with a fixed address, like a load balancer, for a service that restarts on another port. It forwards
 * bytes, and lets new connections wait while there is no service.
 */

import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { once } from './awaited.ts'

export interface Relay {
  readonly port: number
  /** The target for new connections, which wait until it is set. */
  target: Promise<number>
  close(): void
}

export async function startRelay(target: Promise<number>): Promise<Relay> {
  const sockets = new Set<Socket>()
  const keep = (socket: Socket) => {
    sockets.add(socket)
    // An error is followed by 'close'.
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  }
  const server = createServer((near) => {
    keep(near)
    void relay.target.then((port) => {
      if (near.destroyed) return
      const far = connect(port, '127.0.0.1')
      keep(far)
      near.pipe(far)
      far.pipe(near)
      near.on('close', () => far.destroy())
      far.on('close', () => near.destroy())
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const relay: Relay = {
    port: (server.address() as AddressInfo).port,
    target,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
  return relay
}

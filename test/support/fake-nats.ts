/**
 * A server that speaks enough of the NATS protocol for a client without messages, on a port of this machine, and that
 * fails as a network does: it refuses connections, closes them without a byte, accepts them and is silent, or becomes
 * silent on open ones.
 */

import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { once } from './awaited.ts'

export const NATS_FAULTS = ['refused', 'closed at once', 'silent', 'half-open', 'silent after the greeting'] as const
export type NatsFault = (typeof NATS_FAULTS)[number]

export class FakeNats {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly port: number
  /** How many connections were accepted. */
  accepted = 0
  /** How many pings were answered. */
  pings = 0
  #fault: NatsFault | undefined

  private constructor(server: Server) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
    server.on('connection', (socket) => this.#serve(socket))
  }

  static async listen(): Promise<FakeNats> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new FakeNats(server)
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`
  }

  /** Of clients that have not closed them. */
  get connections(): number {
    return this.#sockets.size
  }

  async begin(fault: NatsFault): Promise<void> {
    this.#fault = fault
    if (fault === 'refused') {
      this.#server.close()
      for (const socket of this.#sockets) socket.destroy()
      await once(this.#server, 'close')
    } else if (fault !== 'half-open') {
      for (const socket of this.#sockets) socket.destroy()
    }
  }

  /** Serves again. Connections silenced by the fault stay silent. */
  async end(): Promise<void> {
    const wasRefused = this.#fault === 'refused'
    this.#fault = undefined
    if (!wasRefused) return
    this.#server.listen(this.port, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #serve(socket: Socket): void {
    this.accepted++
    this.#sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket))
    if (this.#fault === 'closed at once') {
      socket.destroy()
      return
    }
    // Reads even while silent, to notice the other side's end.
    socket.on('data', (chunk) => {
      if (this.#fault !== undefined) return
      for (const _ of chunk.toString().matchAll(/PING\r\n/g)) {
        this.pings++
        socket.write('PONG\r\n')
      }
    })
    if (this.#fault === undefined || this.#fault === 'silent after the greeting') {
      socket.write('INFO {"server_id":"fake","version":"2.9.10","max_payload":1048576,"headers":true,"proto":1}\r\n')
    }
  }
}

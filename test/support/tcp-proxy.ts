/**
 * A TCP proxy to a server (PostgreSQL, NATS, …) that a test can disturb: it becomes silent in one or both directions, delays
 * what it forwards, cuts its connections, refuses new ones or closes them without a byte, or swallows the response to one
 * query and closes. Listens on a port of 127.0.0.1.
 */

import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net'
import { once } from './awaited.ts'
import { claimPort } from './ports.ts'

interface Pair {
  readonly near: Socket
  readonly far: Socket
}

/** The traffic that no longer passes: from clients, from the server, or both. */
type Direction = 'requests' | 'answers' | 'both'

export class TcpProxy {
  readonly port: number
  readonly #server: Server
  readonly #pairs = new Set<Pair>()
  #frozen: Direction | undefined
  #delayMilliseconds = 0
  #breakAfter: string | undefined
  #hangsUp = false

  private constructor(server: Server, connect: () => Socket) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
    server.on('connection', (near) => {
      if (this.#hangsUp) near.destroy()
      else this.#pair(near, connect())
    })
  }

  /** Forwards to a server on a Unix socket, or on a port of 127.0.0.1. */
  static async listen(target: string | number): Promise<TcpProxy> {
    const server = createServer()
    server.listen(await claimPort(), '127.0.0.1')
    await once(server, 'listening')
    return new TcpProxy(server, () =>
      typeof target === 'string' ? createConnection(target) : createConnection(target, '127.0.0.1'),
    )
  }

  /** How many connections are open. */
  get connections(): number {
    return this.#pairs.size
  }

  /**
   * Forwards nothing in these directions, without closing connections, like a network that drops all packets. New
   * connections are accepted. Data sent meanwhile arrives after `thaw`, as TCP repeats it.
   */
  freeze(direction: Direction = 'both'): void {
    this.#frozen = direction
    for (const pair of this.#pairs) this.#pause(pair)
  }

  thaw(): void {
    this.#frozen = undefined
    for (const { near, far } of this.#pairs) {
      near.resume()
      far.resume()
    }
  }

  /** Forwards everything after this delay from now on, in both directions and in order. 0: at once. */
  delay(milliseconds: number): void {
    this.#delayMilliseconds = milliseconds
  }

  /** Ends all connections, and refuses new ones until `accept`. */
  async refuse(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.cut()
    await closed
  }

  /** Ends all connections, and closes new ones without a byte until `accept`. */
  hangUp(): void {
    this.#hangsUp = true
    this.cut()
  }

  /** Accepts and forwards connections again, on the same port. */
  async accept(): Promise<void> {
    this.#hangsUp = false
    if (this.#server.listening) return
    this.#server.listen(this.port, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  /** Ends all connections without a close. New ones are accepted. */
  cut(): void {
    for (const { near, far } of this.#pairs) {
      near.destroy()
      far.destroy()
    }
  }

  /** Forwards the next query that contains this text, but not its response. */
  breakAfter(text: string): void {
    this.#breakAfter = text
  }

  close(): void {
    this.#server.close()
    for (const { near, far } of this.#pairs) {
      near.destroy()
      far.destroy()
    }
  }

  #pair(near: Socket, far: Socket): void {
    const pair = { near, far }
    let isBroken = false
    this.#pairs.add(pair)
    const end = () => {
      this.#pairs.delete(pair)
      near.destroy()
      far.destroy()
    }
    for (const socket of [near, far]) socket.on('error', end).on('close', end)
    const toFar = this.#forwarder(far)
    const toNear = this.#forwarder(near)
    near.on('data', (chunk) => {
      if (this.#breakAfter !== undefined && chunk.includes(this.#breakAfter)) {
        this.#breakAfter = undefined
        isBroken = true
      }
      toFar(chunk)
    })
    far.on('data', (chunk) => {
      if (isBroken) end()
      else toNear(chunk)
    })
    this.#pause(pair)
  }

  /** Forwards to a socket in order, even when the delay is shortened meanwhile. */
  #forwarder(socket: Socket): (chunk: Buffer) => void {
    const waiting: Buffer[] = []
    return (chunk) => {
      if (this.#delayMilliseconds === 0 && waiting.length === 0) {
        socket.write(chunk)
        return
      }
      waiting.push(chunk)
      setTimeout(() => {
        const first = waiting.shift()
        if (first !== undefined && !socket.destroyed) socket.write(first)
      }, this.#delayMilliseconds).unref()
    }
  }

  #pause({ near, far }: Pair): void {
    if (this.#frozen === 'requests' || this.#frozen === 'both') near.pause()
    if (this.#frozen === 'answers' || this.#frozen === 'both') far.pause()
  }
}

/**
 * A TCP proxy to a server that a test can disturb: it becomes silent, cuts its connections, or swallows the response to one
 * query and closes. Listens on a free port of 127.0.0.1.
 */
import { once } from 'node:events'
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net'

interface Pair {
  readonly near: Socket
  readonly far: Socket
}

export class TcpProxy {
  readonly port: number
  readonly #server: Server
  readonly #pairs = new Set<Pair>()
  #isFrozen = false
  #breakAfter: string | undefined

  private constructor(server: Server, connect: () => Socket) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
    server.on('connection', (near) => this.#pair(near, connect()))
  }

  /** Forwards to a server on a Unix socket, or on a port of 127.0.0.1. */
  static async listen(target: string | number): Promise<TcpProxy> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new TcpProxy(server, () =>
      typeof target === 'string' ? createConnection(target) : createConnection(target, '127.0.0.1'),
    )
  }

  /** The number of open connections. */
  get connections(): number {
    return this.#pairs.size
  }

  /** Forwards nothing any more without closing connections; new connections are accepted. */
  freeze(): void {
    this.#isFrozen = true
    for (const { near, far } of this.#pairs) {
      near.pause()
      far.pause()
    }
  }

  thaw(): void {
    this.#isFrozen = false
    for (const { near, far } of this.#pairs) {
      near.resume()
      far.resume()
    }
  }

  /** Ends all connections without a close; new ones are accepted. */
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
    near.on('data', (chunk) => {
      if (this.#breakAfter !== undefined && chunk.includes(this.#breakAfter)) {
        this.#breakAfter = undefined
        isBroken = true
      }
      far.write(chunk)
    })
    far.on('data', (chunk) => {
      if (isBroken) end()
      else near.write(chunk)
    })
    if (this.#isFrozen) {
      near.pause()
      far.pause()
    }
  }
}

/**
 * A publisher as an integrator writes it, over a real WebSocket: it sends what the test gives it, and keeps what the
 * server sends. `connect` rejects with `HandshakeRefused` when the service answers without an upgrade.
 */
import { WebSocket } from 'ws'
import { HandshakeRefused } from './sample-client.ts'
import { Waiters } from './waiters.ts'

export interface ServerMessage {
  readonly type: 'accepted' | 'snapshot_request' | 'rejected'
  readonly market?: string
  readonly reason?: string
  readonly message?: string
  readonly markets?: readonly { readonly market: string; readonly epoch?: string; readonly seq?: number }[]
}

export interface PublisherOptions {
  /** The ingest listener's address: `http://…` or `https://…`. */
  readonly url: string
  readonly token?: string
  readonly protocols?: readonly string[]
  readonly path?: string
  /** For TLS. */
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

export class PublisherClient {
  readonly received: ServerMessage[] = []
  closed: { readonly code: number; readonly reason: string } | undefined
  readonly #socket: WebSocket
  readonly #waiters = new Waiters()
  #pongs = 0

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on('message', (data) => {
      this.received.push(JSON.parse(String(data)))
      this.#waiters.notify()
    })
    socket.on('pong', () => {
      this.#pongs++
      this.#waiters.notify()
    })
    socket.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() }
      this.#waiters.notify()
    })
    // Every error is followed by 'close', which reports the end.
    socket.on('error', () => undefined)
  }

  static connect({ url, token, protocols, path = '/', ...tls }: PublisherOptions): Promise<PublisherClient> {
    return new Promise((resolve, reject) => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
      const address = new URL(path, url.replace(/^http/, 'ws'))
      const socket = new WebSocket(address, [...(protocols ?? ['tidegate.publish.v1'])], { headers, ...tls })
      const client = new PublisherClient(socket)
      socket.once('open', () => resolve(client))
      socket.once('error', reject)
      socket.on('unexpected-response', (request, response) => {
        let body = ''
        response.on('data', (chunk) => {
          body += chunk
        })
        response.on('end', () => {
          request.destroy()
          reject(new HandshakeRefused(response.statusCode ?? 0, response.headers, body))
        })
      })
    })
  }

  /** Bytes that wait in this process because the peer does not read. */
  get unsentBytes(): number {
    return this.#socket.bufferedAmount
  }

  /** Sends text and bytes unchanged, anything else as JSON. */
  send(message: unknown): void {
    const isRaw = typeof message === 'string' || Buffer.isBuffer(message)
    this.#socket.send(isRaw ? message : JSON.stringify(message))
  }

  /** Resolves when the text has been handed to the kernel. */
  sendAndWait(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#socket.send(text, (error) => (error ? reject(error) : resolve()))
    })
  }

  ping(): void {
    this.#socket.ping()
  }

  /** Resolves with the answer to a ping: the server has then read everything sent before. */
  async untilRead(): Promise<void> {
    const answered = this.#pongs + 1
    this.#socket.ping()
    await this.#waiters.until('a pong', () => this.#pongs >= answered || this.closed !== undefined)
    if (this.closed !== undefined) throw new Error(`closed with ${JSON.stringify(this.closed)} before a pong`)
  }

  /** Reads nothing from now on. */
  pause(): void {
    this.#socket.pause()
  }

  /** Resolves with the first matching message, including earlier ones. */
  async until(fits: (message: ServerMessage) => boolean, what = 'a message'): Promise<ServerMessage> {
    await this.#waiters.until(what, () => this.received.some(fits) || this.closed !== undefined)
    const found = this.received.find(fits)
    if (found === undefined) throw new Error(`closed with ${JSON.stringify(this.closed)} before ${what}`)
    return found
  }

  /** Resolves when the market is accepted up to this position. */
  async untilAccepted(market: string, epoch: string, seq: number): Promise<void> {
    const fits = ({ type, markets = [] }: ServerMessage) =>
      type === 'accepted' &&
      markets.some((entry) => entry.market === market && entry.epoch === epoch && entry.seq === seq)
    await this.until(fits, `accepted ${market} ${epoch}.${seq}`)
  }

  async untilClosed(): Promise<{ readonly code: number; readonly reason: string }> {
    await this.#waiters.until('the end of the connection', () => this.closed !== undefined)
    return this.closed as { code: number; reason: string }
  }

  close(): Promise<unknown> {
    this.#socket.close()
    return this.untilClosed()
  }

  /** Ends the connection without a close frame, like a killed process. */
  terminate(): void {
    this.#socket.terminate()
  }
}

/**
 * Requests at a constant rate over kept HTTP connections, written by hand: the generator takes less processor time than
 * the service that it measures. A delay counts from the moment when the request is due, so a slow answer delays no
 * later request unseen.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface LoadAnswer {
  readonly status: number
  readonly etag: string | undefined
  /** From the moment when the request was due. */
  readonly milliseconds: number
}

export interface LoadRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly onAnswer: (answer: LoadAnswer) => void
}

interface Waiting {
  readonly request: LoadRequest
  readonly dueMilliseconds: number
}

interface Connection {
  readonly socket: Socket
  sent: Waiting | undefined
  received: string
  lastHead: string
}

const HEAD_END = '\r\n\r\n'

export class HttpLoad {
  readonly #host: string
  readonly #connections: Connection[] = []
  readonly #idle: Connection[] = []
  readonly #queue: Waiting[] = []
  /** Makes requests for connections that have none to send. */
  #next: (() => LoadRequest | undefined) | undefined
  #isClosed = false

  private constructor(host: string) {
    this.#host = host
  }

  static async open(url: string, connections: number): Promise<HttpLoad> {
    const { hostname, port, host } = new URL(url)
    const load = new HttpLoad(host)
    for (let number = 0; number < connections; number++) {
      const socket = connect(Number(port), hostname)
      socket.setNoDelay(true)
      socket.setEncoding('latin1')
      const connection: Connection = { socket, sent: undefined, received: '', lastHead: 'no answer' }
      socket.on('data', (text: string) => load.#onData(connection, text))
      await once(socket, 'connect')
      socket.on('close', () => {
        if (!load.#isClosed) throw new Error(`the service closed a connection after ${connection.lastHead}`)
      })
      load.#connections.push(connection)
      load.#idle.push(connection)
    }
    return load
  }

  close(): void {
    this.#isClosed = true
    for (const { socket } of this.#connections) socket.destroy()
  }

  /** Resolves when all requests of the time are answered. */
  async atRate(perSecond: number, milliseconds: number, next: () => LoadRequest): Promise<void> {
    const start = performance.now()
    for (let number = 0; (number * 1_000) / perSecond < milliseconds; ) {
      const due = Math.floor(((performance.now() - start) / 1_000) * perSecond)
      for (; number <= due; number++) {
        this.#send({ request: next(), dueMilliseconds: start + (number * 1_000) / perSecond })
      }
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    await this.#settled()
  }

  /** Keeps every connection busy until there is no next request. */
  async always(next: () => LoadRequest | undefined): Promise<void> {
    this.#next = next
    for (const connection of this.#idle.splice(0)) this.#sendNext(connection)
    await this.#settled()
    this.#next = undefined
  }

  async #settled(): Promise<void> {
    while (this.#idle.length < this.#connections.length) await new Promise((resolve) => setTimeout(resolve, 1))
  }

  #sendNext(connection: Connection): void {
    const waiting = this.#queue.shift()
    const request = waiting === undefined ? this.#next?.() : undefined
    if (waiting !== undefined) this.#write(connection, waiting)
    else if (request !== undefined) this.#write(connection, { request, dueMilliseconds: performance.now() })
    else this.#idle.push(connection)
  }

  #send(waiting: Waiting): void {
    const connection = this.#idle.pop()
    if (connection === undefined) this.#queue.push(waiting)
    else this.#write(connection, waiting)
  }

  #write(connection: Connection, waiting: Waiting): void {
    const { path, headers } = waiting.request
    const fields = Object.entries({ host: this.#host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
    connection.sent = waiting
    connection.socket.write(`GET ${path} HTTP/1.1\r\n${fields.join('')}\r\n`)
  }

  #onData(connection: Connection, text: string): void {
    connection.received += text
    const end = connection.received.indexOf(HEAD_END)
    if (end === -1) return
    const head = connection.received.slice(0, end)
    const status = Number(head.slice(9, 12))
    const length = status === 304 ? 0 : Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
    if (connection.received.length < end + HEAD_END.length + length) return
    connection.received = ''
    connection.lastHead = head
    const { request, dueMilliseconds } = connection.sent as Waiting
    this.#sendNext(connection)
    const etag = /\r\netag: ([^\r]+)/i.exec(head)?.[1]
    request.onAnswer({ status, etag, milliseconds: performance.now() - dueMilliseconds })
  }
}

/**
 * A server that speaks the receiving side of docs/how-to/feeding-your-own-book.md, with a token endpoint on the same port. It
 * checks every message with `PublishedBook` and collects what breaks a rule in `violations`; a test requires that there
 * is nothing in it. It can stop reading, drop connections and request snapshots.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type WebSocket, WebSocketServer } from 'ws'
import { Waiters } from '../support/waiters.ts'
import { type Publication, PublishedBook } from './published-book.ts'

export const CLIENT = { clientId: 'engine', clientSecret: 'ingest-secret-4711' }
const TOKEN = 'token-of-the-publisher'

export class FakeIngest {
  readonly violations: string[] = []
  readonly books = new Map<string, PublishedBook>()
  heartbeats = 0
  connections = 0
  tokenRequests = 0
  /** Answers of the token endpoint before it gives a token, each once. */
  readonly refusals: number[] = []
  readonly #waiters: Waiters
  readonly #server = createServer((request, response) => void this.#grant(request, response))
  readonly #sockets = new WebSocketServer({ noServer: true })
  #socket: WebSocket | undefined

  private constructor(markets: readonly string[], waiters: Waiters) {
    this.#waiters = waiters
    for (const market of markets) this.books.set(market, new PublishedBook())
    this.#server.on('upgrade', (request, stream: Duplex, head: Buffer) => this.#upgrade(request, stream, head))
  }

  /** @param waiters Notified of every change; several servers of one test share it. */
  static async start(markets: readonly string[], waiters = new Waiters()): Promise<FakeIngest> {
    const ingest = new FakeIngest(markets, waiters)
    await new Promise<void>((resolve) => ingest.#server.listen(0, '127.0.0.1', resolve))
    return ingest
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** What an adapter needs to connect. */
  get options() {
    return { url: `ws://127.0.0.1:${this.port}/`, authUrl: `http://127.0.0.1:${this.port}`, ...CLIENT }
  }

  book(market: string): PublishedBook {
    return this.books.get(market) as PublishedBook
  }

  until(what: string, predicate: () => boolean): Promise<void> {
    return this.#waiters.until(what, () => predicate() || this.violations.length > 0)
  }

  /** As after a broken rule: nothing of the market counts until its SNAPSHOT. */
  requestSnapshot(market: string): void {
    this.book(market).isIgnoring = true
    this.#send({ type: 'snapshot_request', market, reason: 'a test requests it' })
  }

  reject(market: string): void {
    this.#send({ type: 'rejected', market, message: 'not a market of this client' })
  }

  /** Reports what was accepted, as the server does once a second. */
  accept(): void {
    this.#send({ type: 'accepted', markets: this.#accepted() })
  }

  /** Of the WebSocket, not of its stream: the receiver would read on when it has taken what it was given. */
  pause(): void {
    this.#socket?.pause()
  }

  resume(): void {
    this.#socket?.resume()
  }

  drop(): void {
    this.#socket?.terminate()
  }

  close(code: number): void {
    this.#socket?.close(code)
  }

  async stop(): Promise<void> {
    this.#socket?.terminate()
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #accepted(): object[] {
    return [...this.books].map(([market, { epoch, seq }]) => (epoch === '' ? { market } : { market, epoch, seq }))
  }

  #send(message: object): void {
    this.#socket?.send(JSON.stringify(message))
  }

  async #grant(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.tokenRequests++
    const form = new URLSearchParams(await text(request))
    const expected = `client_credentials ${CLIENT.clientId} ${CLIENT.clientSecret} exchange:publish_marketdata`
    const given = ['grant_type', 'client_id', 'client_secret', 'scope'].map((name) => form.get(name)).join(' ')
    if (given !== expected || request.url !== '/oauth2/token') this.violations.push(`token request ${request.url}`)
    const status = this.refusals.shift() ?? 200
    const body = status === 200 ? { access_token: TOKEN, expires_in: 3_600 } : { error: 'invalid_client' }
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    this.#waiters.notify()
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const { authorization, 'sec-websocket-protocol': protocol } = request.headers
    if (authorization !== `Bearer ${TOKEN}`) this.violations.push(`Authorization: ${authorization}`)
    if (protocol !== 'tidegate.publish.v1') this.violations.push(`the subprotocol ${protocol}`)
    this.#sockets.handleUpgrade(request, stream, head, (socket) => {
      this.connections++
      this.#socket = socket
      socket.on('message', (data, isBinary) => {
        if (isBinary) this.violations.push('a binary frame')
        this.#onMessage(JSON.parse(String(data)) as Record<string, unknown>)
      })
      socket.on('close', () => {
        if (this.#socket === socket) this.#socket = undefined
        this.#waiters.notify()
      })
      this.accept()
      this.#waiters.notify()
    })
  }

  #onMessage(message: Record<string, unknown>): void {
    if (message.channel === 'heartbeat') this.heartbeats++
    else if (message.channel === 'publication') {
      const publication = message as unknown as Publication
      const { market } = publication.payload
      try {
        this.book(market).apply(publication)
      } catch (error) {
        this.violations.push(`${market}: ${(error as Error).message}`)
      }
    } else this.violations.push(`the channel ${String(message.channel)}`)
    this.#waiters.notify()
  }
}

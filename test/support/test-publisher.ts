/**
 * A publisher that Tidegate can pull from, as an engine's engineer would write it: a WebSocket server with the
 * acknowledgements, resumption and heartbeats in docs/how-to/feeding-your-own-book.md, for several engines. It answers
 * anything but a request with an error. It can lose, damage and repeat messages, refuse clients and markets, fall
 * silent, and be killed and started again on the same port. It also serves a token endpoint.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { once } from './awaited.ts'
import { claimPort } from './ports.ts'
import type { WireMessage } from './publishing-engine.ts'
import { Waiters } from './waiters.ts'

interface Entry {
  readonly type: string
  readonly params?: { readonly market: string; readonly resume?: string }
}

interface Request {
  readonly type: 'subscribe' | 'unsubscribe'
  readonly channels: readonly Entry[]
}

/** A client's message, if it is a request with a known form. */
function requestOf(text: string): Request | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const { type, channels } = (value ?? {}) as Record<string, unknown>
  if ((type !== 'subscribe' && type !== 'unsubscribe') || !Array.isArray(channels)) return undefined
  const isEntry = (entry: unknown): entry is Entry => {
    const { type: channel, params } = (entry ?? {}) as Record<string, unknown>
    const { market, resume } = (params ?? {}) as Record<string, unknown>
    const isText = typeof market === 'string' && (resume === undefined || typeof resume === 'string')
    return channel === 'heartbeat' || (channel === 'publication' && isText)
  }
  return channels.every(isEntry) ? { type, channels } : undefined
}

/** One of the publisher's markets: a `PublishingEngine`, or a script. */
export interface PublishedEngine {
  readonly symbol: string
  readonly epoch: string
  readonly seq: number
  /** The state after message `seq`, by default the last one. */
  snapshot(seq?: number): WireMessage
  /** The messages after `EPOCH.SEQ`. Undefined where not all of them are kept. */
  after(position: string): readonly WireMessage[] | undefined
}

/** A request as it arrived: `subscribe BTCUSD run-1.3`, `subscribe heartbeat`, `unsubscribe BTCUSD`. */
export type Said = string

export interface TestPublisherOptions {
  /** The token that clients must present; absent = none is needed. */
  readonly token?: string
  /** The client that may request a token. Each grant gives a new one, and only the last is accepted. */
  readonly client?: { readonly id: string; readonly secret: string }
  /** Sent by itself; absent = only by `heartbeat`. */
  readonly heartbeatMilliseconds?: number
  /** Absent: a free one. */
  readonly port?: number
}

export class TestPublisher {
  readonly #options: TestPublisherOptions
  readonly #engines: ReadonlyMap<string, PublishedEngine>
  /** Everything requested by clients, in arrival order. */
  readonly said: Said[] = []
  /** Each handshake's `Authorization`. */
  readonly authorizations: (string | undefined)[] = []
  /** Markets whose subscription is refused, with the message. */
  readonly refused = new Map<string, string>()
  /** Answers a resumable subscription with a SNAPSHOT. */
  forgets = false
  /** Requests are read, and never answered. */
  isMute = false
  /** Answers the next subscriptions with a SNAPSHOT from this many messages ago, and the messages after it. */
  snapshotsBehind = 0
  readonly #subscribers = new Map<WebSocket, Set<string>>()
  readonly #wires = new Set<Socket>()
  readonly #waiters = new Waiters()
  #server: Server | undefined
  #port: number
  #heartbeats: NodeJS.Timeout | undefined
  #grants = 0

  private constructor(engines: readonly PublishedEngine[], options: TestPublisherOptions) {
    this.#engines = new Map(engines.map((engine) => [engine.symbol, engine]))
    this.#options = options
    this.#port = options.port ?? 0
  }

  static async start(engines: readonly PublishedEngine[], options: TestPublisherOptions = {}): Promise<TestPublisher> {
    const publisher = new TestPublisher(engines, options)
    if (publisher.#port === 0) publisher.#port = await claimPort()
    await publisher.listen()
    return publisher
  }

  get url(): string {
    return `ws://127.0.0.1:${this.#port}/`
  }

  get authUrl(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  get connections(): number {
    return this.#subscribers.size
  }

  /** Resolves as soon as the condition holds. It is checked after every request, connection and disconnection. */
  until(what: string, isMet: () => boolean): Promise<void> {
    return this.#waiters.until(what, isMet)
  }

  /** Whether any client is subscribed to the market. */
  isSubscribed(market: string): boolean {
    return [...this.#subscribers.values()].some((markets) => markets.has(market))
  }

  /** Listens again, on the same port, after `kill`. */
  async listen(): Promise<void> {
    const server = createServer((request, response) => this.#answerHttp(request, response))
    const webSockets = new WebSocketServer({
      noServer: true,
      handleProtocols: (offered) => (offered.has('tidegate.v1') ? 'tidegate.v1' : false),
    })
    server.on('connection', (wire) => {
      this.#wires.add(wire)
      wire.on('close', () => this.#wires.delete(wire))
    })
    server.on('upgrade', (request, wire: Socket, head) => {
      wire.on('error', () => undefined)
      this.authorizations.push(request.headers.authorization)
      if (!this.#isAccepted(request)) {
        wire.end('HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
        this.#waiters.notify()
        return
      }
      webSockets.handleUpgrade(request, wire, head, (socket) => this.#accept(socket))
    })
    server.listen(this.#port, '127.0.0.1')
    await once(server, 'listening')
    this.#server = server
    this.#port = (server.address() as AddressInfo).port
    const { heartbeatMilliseconds } = this.#options
    if (heartbeatMilliseconds !== undefined) {
      this.#heartbeats = setInterval(() => this.heartbeat(), heartbeatMilliseconds)
    }
  }

  /** The process dies: every connection is cut, and the port is closed. */
  async kill(): Promise<void> {
    clearInterval(this.#heartbeats)
    const server = this.#server
    this.#server = undefined
    for (const wire of this.#wires) wire.destroy()
    this.#subscribers.clear()
    if (server !== undefined) await new Promise((resolve) => server.close(resolve))
  }

  /** Cuts every connection without a close frame, while the process lives. */
  disconnectAll(): void {
    for (const socket of this.#subscribers.keys()) socket.terminate()
  }

  /** Sends a market's message to its subscribers. */
  publish(message: WireMessage): void {
    this.publishText(message.payload.market, JSON.stringify(message))
  }

  /** Sends a text unchanged to a market's subscribers. */
  publishText(market: string, text: string): void {
    for (const [socket, markets] of this.#subscribers) if (markets.has(market)) socket.send(text)
  }

  heartbeat(books: readonly object[] = []): void {
    const payload = { timestamp: new Date().toISOString(), ...(books.length === 0 ? {} : { books }) }
    const text = JSON.stringify({ channel: 'heartbeat', payload })
    for (const socket of this.#subscribers.keys()) socket.send(text)
  }

  /** Pings every client. Resolves with the answers. */
  async ping(): Promise<readonly string[]> {
    const sockets = [...this.#subscribers.keys()]
    const pongs = sockets.map(async (socket) => {
      const [data] = (await once(socket, 'pong')) as [Buffer]
      return String(data)
    })
    for (const [index, socket] of sockets.entries()) socket.ping(`ping ${index}`)
    return Promise.all(pongs)
  }

  /** Ends a market's subscriptions, as another Tidegate does when it removes or changes one. */
  endSubscriptions(market: string, message: string): void {
    const channels = [{ type: 'publication', params: { market }, success: true, message }]
    for (const [socket, markets] of this.#subscribers) {
      if (markets.delete(market)) socket.send(JSON.stringify({ type: 'unsubscribe', channels }))
    }
  }

  #isAccepted({ headers }: IncomingMessage): boolean {
    const { token, client } = this.#options
    if (client !== undefined) return headers.authorization === `Bearer grant-${this.#grants}`
    return token === undefined || headers.authorization === `Bearer ${token}`
  }

  #accept(socket: WebSocket): void {
    this.#subscribers.set(socket, new Set())
    socket.on('close', () => {
      this.#subscribers.delete(socket)
      this.#waiters.notify()
    })
    // Followed by 'close': a frame that breaks WebSocket's rules ends the connection.
    socket.on('error', () => undefined)
    socket.on('message', (data, isBinary) => {
      const request = isBinary ? undefined : requestOf(String(data))
      if (request === undefined) {
        socket.send(JSON.stringify({ type: 'error', message: 'it is no request' }))
        return
      }
      const { type, channels } = request
      for (const { type: channel, params } of channels) {
        const target = params === undefined ? channel : [params.market, params.resume].filter(Boolean).join(' ')
        this.said.push(`${type} ${target}`)
      }
      if (!this.isMute) this.#answer(socket, request)
      this.#waiters.notify()
    })
    this.#waiters.notify()
  }

  #answer(socket: WebSocket, { type, channels }: Request): void {
    const following: WireMessage[] = []
    const answers = channels.map((entry) => {
      if (entry.params === undefined) return { type: entry.type, success: true }
      const { market, resume } = entry.params
      const answer = { type: entry.type, params: { market } }
      const engine = this.#engines.get(market)
      const problem = engine === undefined ? `there is no market ${market}` : this.refused.get(market)
      if (engine === undefined || problem !== undefined) return { ...answer, success: false, message: problem }
      if (type === 'unsubscribe') {
        this.#subscribers.get(socket)?.delete(market)
        return { ...answer, success: true }
      }
      this.#subscribers.get(socket)?.add(market)
      const kept = resume === undefined || this.forgets ? undefined : engine.after(resume)
      const behind = Math.min(this.snapshotsBehind, engine.seq)
      const later = kept ?? engine.after(`${engine.epoch}.${engine.seq - behind}`) ?? []
      following.push(...(kept === undefined ? [engine.snapshot(engine.seq - later.length)] : []), ...later)
      return { ...answer, success: true, resumed: kept !== undefined }
    })
    socket.send(JSON.stringify({ type, channels: answers }))
    for (const message of following) socket.send(JSON.stringify(message))
  }

  #answerHttp(request: IncomingMessage, response: ServerResponse): void {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      const { client } = this.#options
      const form = new URLSearchParams(body)
      const isKnown =
        request.url === '/oauth2/token' &&
        client !== undefined &&
        form.get('grant_type') === 'client_credentials' &&
        form.get('client_id') === client.id &&
        form.get('client_secret') === client.secret
      this.said.push(`token ${form.get('scope')}`)
      response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' })
      if (isKnown) this.#grants++
      response.end(JSON.stringify(isKnown ? { access_token: `grant-${this.#grants}` } : { error: 'invalid_client' }))
      this.#waiters.notify()
    })
  }
}

/**
 * A service that sends what a test specifies: a token endpoint and a WebSocket on one port of 127.0.0.1. It checks that
 * clients request tokens and open the stream as documented, and acknowledges subscriptions by default. It has no books.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { Waiters } from './waiters.ts'

export interface FakeRequest {
  readonly type: string
  readonly channels?: readonly { readonly type: string; readonly params?: { readonly market?: string } }[]
}

/** One accepted connection, from the service's side. */
export interface FakeConnection {
  readonly requests: FakeRequest[]
  /** Sends an object as JSON, a string unchanged. */
  send(message: unknown): void
  /** Resolves when the kernel has taken everything sent so far. */
  flushed(): Promise<void>
  /** Resolves when the client has processed everything sent so far. */
  received(): Promise<void>
  close(code: number, reason?: string): void
  /** Terminates the connection without a close frame. */
  cut(): void
  /** Set when the client has closed. */
  closed: { readonly code: number } | undefined
}

export interface FakeAnswer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export interface FakeServiceOptions {
  /** Responses to the first handshakes. After them, and where one is undefined, the connection is accepted. */
  readonly handshakes?: readonly (FakeAnswer | undefined)[]
  /** Responses to the first token requests. After them, and where one is undefined, a token is granted. */
  readonly tokens?: readonly (FakeAnswer | undefined)[]
  readonly tokenSeconds?: number
  /** The response to `GET /v2/markets`; absent = 404, as from a service with the base protocol only. */
  readonly markets?: () => FakeAnswer
  /** The response to other GET requests below `/v2/markets`; absent = 404. */
  readonly marketData?: (path: string, tag: string | undefined) => FakeAnswer
  /** Replaces the acknowledgement of a request. */
  readonly onRequest?: (request: FakeRequest, connection: FakeConnection) => void
}

const BASE_SUBPROTOCOL = 'tidegate.default'
const CLIENT_ID = 'client-of-the-test'
const CLIENT_SECRET = 'a-secret-that-must-never-be-printed'

export class FakeService {
  readonly connections: FakeConnection[] = []
  /** The form of every token request. */
  readonly tokenRequests: URLSearchParams[] = []
  /** Every handshake's Authorization, as a header or as a subprotocol, refused ones included. */
  readonly handshakeTokens: string[] = []
  /** The Authorization header of every `GET /v2/markets`. */
  readonly marketRequests: string[] = []
  readonly port: number
  readonly #server: Server
  // The tests' messages are those of the base protocol.
  readonly #sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => (offered.has(BASE_SUBPROTOCOL) ? BASE_SUBPROTOCOL : ([...offered][0] ?? false)),
  })
  /** The last answer to a handshake, for clients that cannot see it and ask again without an upgrade. */
  #refusal: FakeAnswer = { status: 426 }
  readonly #options: FakeServiceOptions
  readonly #waiters = new Waiters()

  private constructor(server: Server, options: FakeServiceOptions) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
    this.#options = options
  }

  static async start(options: FakeServiceOptions = {}): Promise<FakeService> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const service = new FakeService(server, options)
    server.on('request', (request, response) => {
      service.#answer(request).then(({ status, headers, body }) => {
        response.writeHead(status, { 'content-type': 'application/json', ...headers })
        response.end(status === 304 ? undefined : JSON.stringify(body ?? {}))
      })
    })
    server.on('upgrade', (request, socket, head) => {
      const { authorization, 'sec-websocket-protocol': protocols = '' } = request.headers
      service.handshakeTokens.push(authorization ?? protocols.replace(/^.*\bbearer\./, 'Bearer '))
      const refusal = options.handshakes?.[service.handshakeTokens.length - 1]
      if (refusal !== undefined) {
        service.#refusal = refusal
        const headers = Object.entries(refusal.headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`)
        socket.end(`HTTP/1.1 ${refusal.status} Refused\r\n${headers.join('')}content-length: 0\r\n\r\n`)
        return
      }
      service.#sockets.handleUpgrade(request, socket, head, (accepted) => service.#onConnection(accepted))
    })
    return service
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  get clientId(): string {
    return CLIENT_ID
  }

  get clientSecret(): string {
    return CLIENT_SECRET
  }

  /** A credentials file's content for this service. */
  get credentialsFile(): Record<string, unknown> {
    return {
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
      scopes: ['exchange:read_aggregated_marketdata_stream'],
      base_url: this.url,
      auth_url: this.url,
      ws_url: `ws://127.0.0.1:${this.port}`,
    }
  }

  until(what: string, predicate: () => boolean, limitMilliseconds?: number): Promise<void> {
    return this.#waiters.until(what, predicate, limitMilliseconds)
  }

  /** The connection with this number, from 0, once it has sent a request. */
  async connection(index: number): Promise<FakeConnection> {
    await this.until(`connection ${index}`, () => (this.connections[index]?.requests.length ?? 0) > 0)
    return this.connections[index] as FakeConnection
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate()
    this.#server.closeAllConnections()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  #answer(request: IncomingMessage): Promise<FakeAnswer> {
    if (request.url === '/') return Promise.resolve(this.#refusal)
    const ofMarket = request.url?.split('/v2/markets/')[1]
    if (ofMarket !== undefined) {
      const tag = request.headers['if-none-match']
      return Promise.resolve(this.#options.marketData?.(ofMarket, tag) ?? { status: 404 })
    }
    if (request.url !== '/v2/markets') return this.#onTokenRequest(request)
    this.marketRequests.push(request.headers.authorization ?? '')
    this.#waiters.notify()
    return Promise.resolve(this.#options.markets?.() ?? { status: 404 })
  }

  async #onTokenRequest(request: IncomingMessage): Promise<FakeAnswer> {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const form = new URLSearchParams(body)
    this.tokenRequests.push(form)
    this.#waiters.notify()
    const prepared = this.#options.tokens?.[this.tokenRequests.length - 1]
    if (prepared !== undefined) return prepared
    const isRight =
      request.method === 'POST' &&
      request.url === '/oauth2/token' &&
      request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true &&
      form.get('grant_type') === 'client_credentials' &&
      form.get('client_id') === CLIENT_ID &&
      form.get('client_secret') === CLIENT_SECRET
    if (!isRight) return { status: 401, body: { error: 'invalid_client', error_description: 'no such client' } }
    return {
      status: 200,
      body: {
        access_token: `token-${this.tokenRequests.length}`,
        expires_in: this.#options.tokenSeconds ?? 3600,
        token_type: 'bearer',
        scope: form.get('scope'),
      },
    }
  }

  #onConnection(socket: WebSocket): void {
    const connection: FakeConnection = {
      requests: [],
      send: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
      flushed: () => new Promise((resolve) => socket.ping('', false, () => resolve())),
      received: () =>
        new Promise((resolve) => {
          socket.once('pong', () => resolve())
          socket.ping()
        }),
      close: (code, reason) => socket.close(code, reason),
      cut: () => socket.terminate(),
      closed: undefined,
    }
    this.connections.push(connection)
    socket.on('message', (data) => {
      const request = JSON.parse(data.toString()) as FakeRequest
      connection.requests.push(request)
      if (this.#options.onRequest !== undefined) this.#options.onRequest(request, connection)
      else connection.send(acknowledgement(request))
      this.#waiters.notify()
    })
    socket.on('close', (code) => {
      connection.closed = { code }
      this.#waiters.notify()
    })
    this.#waiters.notify()
  }
}

/** A reply in which every entry of a request has the same result, success by default. */
export function acknowledgement(request: FakeRequest, outcome: object = { success: true }): unknown {
  return { type: request.type, channels: request.channels?.map((entry) => ({ ...entry, ...outcome })) }
}

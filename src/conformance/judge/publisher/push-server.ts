/**
 * A stand-in for the service's ingest listener: token endpoint and WebSocket on one port, with the frames the service
 * sends. It accepts and checks every message. The scenarios decide when it stops reading, acknowledging or accepting.
 * Tokens are random and valid in this process only. No error contains one.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { PUBLISHED_ENTRIES_MAX } from '../../../contract/publication.ts'
import { PUBLISH_SUBPROTOCOL } from '../../../contract/publish-codes.ts'
import type { CheckRun } from './check-run.ts'
import { PushConnection } from './push-connection.ts'

const TOKEN_SECONDS = 3_600
const TOKENS_KEPT = 1_000
const BODY_BYTES_MAX = 65_536
const ATTEMPTS_KEPT = 1_000
const MESSAGE_BYTES_MAX = PUBLISHED_ENTRIES_MAX * 256

export const PUSH_CLIENT_ID = 'check-publisher'

export class PushServer {
  readonly clientSecret = randomBytes(24).toString('base64url')
  /** Accepted besides the token endpoint's own tokens. */
  readonly token: string
  readonly #run: CheckRun
  readonly #tokens = new Set<string>()
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #webSockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MESSAGE_BYTES_MAX,
    handleProtocols: () => PUBLISH_SUBPROTOCOL,
  })
  /** Creates the next handshake's connection, and says what it reports as accepted. */
  onAccept: ((connection: PushConnection) => void) | undefined
  /** While true, every connection is ended without an answer. */
  isUnavailable = false
  /** When the publisher attempted to connect, on the monotonic clock. */
  attempts: number[] = []
  #current: PushConnection | undefined

  constructor(run: CheckRun, token: string | undefined) {
    this.#run = run
    this.token = token ?? randomBytes(24).toString('base64url')
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error) => response.destroy(error))
    })
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    this.#server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head))
  }

  async listen(host: string, port: number): Promise<void> {
    this.#server.listen(port, host)
    await once(this.#server, 'listening')
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** The publisher's connection, if one is open. */
  get current(): PushConnection | undefined {
    return this.#current?.isOpen ? this.#current : undefined
  }

  async stop(): Promise<void> {
    this.#webSockets.close()
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#attempt()
    if (this.isUnavailable) {
      request.socket.destroy()
      return
    }
    const reply = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
      response.end(JSON.stringify(body))
    }
    if (request.method !== 'POST' || request.url !== '/oauth2/token') return reply(404, { error: 'not_found' })
    const form = new URLSearchParams(await readBody(request))
    if (!this.#isClient(request, form)) {
      this.#run.report('handshake-wrong', undefined, 'a token is requested with a wrong client_id or client_secret')
      return reply(401, { error: 'invalid_client' })
    }
    const token = randomBytes(24).toString('base64url')
    if (this.#tokens.size < TOKENS_KEPT) this.#tokens.add(token)
    return reply(200, { access_token: token, token_type: 'Bearer', expires_in: TOKEN_SECONDS })
  }

  #isClient({ headers }: IncomingMessage, form: URLSearchParams): boolean {
    const [scheme, encoded = ''] = headers.authorization?.split(' ') ?? []
    const basic = Buffer.from(encoded, 'base64').toString('utf8')
    if (scheme?.toLowerCase() === 'basic') return basic === `${PUSH_CLIENT_ID}:${this.clientSecret}`
    return form.get('client_id') === PUSH_CLIENT_ID && form.get('client_secret') === this.clientSecret
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#attempt()
    // A failed socket is closed, which ends its connection.
    socket.on('error', () => socket.destroy())
    if (this.isUnavailable) {
      socket.destroy()
      return
    }
    const refused = this.#refusal(request)
    if (refused !== undefined) {
      this.#run.report('handshake-wrong', undefined, refused.detail)
      socket.end(`HTTP/1.1 ${refused.status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
      return
    }
    this.#webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      const connection = new PushConnection(this.#run, webSocket)
      this.#current?.cut()
      this.#current = connection
      if (this.onAccept === undefined) connection.accept()
      else this.onAccept(connection)
      this.#run.notify()
    })
  }

  #refusal({ headers }: IncomingMessage): { readonly status: string; readonly detail: string } | undefined {
    const [scheme, token = ''] = headers.authorization?.split(' ') ?? []
    const isKnown = scheme?.toLowerCase() === 'bearer' && (token === this.token || this.#tokens.has(token))
    if (!isKnown) return { status: '401 Unauthorized', detail: 'Authorization has no valid bearer token' }
    const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
    if (offered.includes(PUBLISH_SUBPROTOCOL)) return undefined
    return { status: '400 Bad Request', detail: `Sec-WebSocket-Protocol does not list ${PUBLISH_SUBPROTOCOL}` }
  }

  #attempt(): void {
    this.attempts.push(this.#run.now)
    if (this.attempts.length > ATTEMPTS_KEPT) this.attempts.shift()
    this.#run.notify()
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of request) {
    // A longer body's rest is discarded: the beginning is not a valid token request.
    if (body.length < BODY_BYTES_MAX) body += String(chunk)
  }
  return body
}

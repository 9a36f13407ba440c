/**
 * The conformance server's listener on 127.0.0.1: token endpoint, `GET /v2/markets` and the stream, for one invented
 * client. Handshakes pass the product's own checks. A scenario can make the next attempts fail, revoke tokens and
 * access, or leave everything unanswered. Every attempt is recorded with its time. Secrets and tokens are random, valid
 * in this process only, and never logged.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { Directory } from '../../../access/clients/directory.ts'
import type { AccessToken, TokenVerdict } from '../../../access/clients/token-verifier.ts'
import { STREAM_SCOPE } from '../../../contract/scopes.ts'
import type { Clock } from '../../../platform/base/clock.ts'
import { millisecondText } from '../../../platform/base/clock.ts'
import { newId } from '../../../platform/base/ids.ts'
import {
  PROBLEM_MEDIA_TYPE,
  Problem,
  type ProblemCode,
  problemDocument,
  problemResponse,
} from '../../../platform/http/problem.ts'
import {
  authenticate,
  type HandshakeContext,
  refuseAdmission,
  refuseRequest,
  selectSubprotocol,
} from '../../../streaming/gateway/handshake.ts'
import { CLIENT_ID } from './client-id.ts'
import { ScriptedConnection } from './scripted-connection.ts'
import type { ScriptedMarkets } from './scripted-markets.ts'
import { ScriptedTransport } from './scripted-transport.ts'
import { answerTokenRequest, type TokenFailure } from './token-answer.ts'

const TOKEN_SECONDS = 3600
/** Attempts kept for one scenario. The first ones suffice to detect a client in a loop. */
const ATTEMPTS_KEPT = 10_000

/** One request for a token or one handshake. */
export interface Attempt {
  readonly what: 'token' | 'handshake'
  /** On the monotonic clock. */
  readonly atMilliseconds: number
  /** The response's status. 0: the socket was closed without one. */
  status: number
  /** A handshake's token. Empty for a token request. */
  readonly token: string
  /** Whether the client sent its token in a header, which browsers cannot: such a client can read a refusal. */
  readonly hasHeader: boolean
}

/** How the next handshake is refused. */
export interface HandshakeFailure {
  readonly code: ProblemCode
  readonly retryAfterSeconds?: number
}

export class TortureService {
  readonly clientSecret = randomBytes(24).toString('base64url')
  readonly markets: ScriptedMarkets
  /** The attempts since `forgetAttempts`. */
  attempts: Attempt[] = []
  /** In the order in which they were accepted. */
  readonly connections: ScriptedConnection[] = []
  /** Failures for the next handshakes and token requests, one each. */
  handshakeFailures: HandshakeFailure[] = []
  tokenFailures: TokenFailure[] = []
  /** Called with the next connection, before anything is sent on it. */
  onAccept: ((connection: ScriptedConnection) => void) | undefined
  /** While true, every connection is closed without an answer. */
  isUnavailable = false
  readonly #clock: Clock
  readonly #directory = new Directory()
  readonly #tokens = new Map<string, AccessToken>()
  readonly #server: Server
  /** Of all kinds: a refused handshake's socket stays open until the client closes it. */
  readonly #connected = new Set<Socket>()
  readonly #sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    autoPong: false,
    maxPayload: 65_536,
    handleProtocols: selectSubprotocol,
  })
  readonly #onChange: () => void

  /** `onChange` is called after every client action. */
  constructor(markets: ScriptedMarkets, clock: Clock, onChange: () => void) {
    this.markets = markets
    this.#clock = clock
    this.#onChange = onChange
    this.allow(true)
    this.#server = createServer((request, response) => {
      // An aborted request cannot be answered.
      this.#answer(request, response).catch((error) => response.destroy(error))
    })
    this.#server.on('connection', (socket) => {
      this.#connected.add(socket)
      socket.once('close', () => this.#connected.delete(socket))
    })
    this.#server.on('upgrade', (request, socket, head) => {
      this.#upgrade(request, socket, head).catch((error) => socket.destroy(error))
    })
  }

  async listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** The credentials file's content, in the format of demo-client.json. */
  get credentials(): object {
    return {
      client_id: CLIENT_ID,
      client_secret: this.clientSecret,
      scopes: [STREAM_SCOPE],
      base_url: this.url,
      auth_url: this.url,
      ws_url: this.url.replace(/^http/, 'ws'),
      markets: this.markets.definitions.map(({ symbol }) => symbol),
    }
  }

  /** The last accepted connection, if it is open. */
  get current(): ScriptedConnection | undefined {
    const last = this.connections.at(-1)
    return last?.isOpen ? last : undefined
  }

  forgetAttempts(): void {
    this.attempts = []
  }

  /** Ends a scenario's disturbances. */
  calm(): void {
    this.handshakeFailures = []
    this.tokenFailures = []
    this.onAccept = undefined
    this.isUnavailable = false
    this.allow(true)
  }

  /** Revokes all tokens: handshakes with them are answered with 401. */
  revokeTokens(): void {
    this.#tokens.clear()
  }

  /** Puts the customer on the streaming allow list, or takes it off: handshakes are then answered with 403. */
  allow(streaming: boolean): void {
    this.#directory.replace({
      customers: [{ id: CLIENT_ID, name: CLIENT_ID, enabled: true, streaming }],
      clients: [
        {
          clientId: CLIENT_ID,
          customerId: CLIENT_ID,
          name: CLIENT_ID,
          scopes: new Set([STREAM_SCOPE]),
          enabled: true,
        },
      ],
    })
  }

  async stop(): Promise<void> {
    this.markets.stop()
    this.#sockets.close()
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#connected) socket.destroy()
    await closed
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.isUnavailable) {
      this.#note('token', 0)
      request.socket.destroy()
      return
    }
    // Pages from any origin may use this server: it listens on the loopback interface, and its client is invented.
    response.setHeader('access-control-allow-origin', '*')
    response.setHeader('access-control-allow-headers', 'authorization, content-type')
    response.setHeader('access-control-expose-headers', 'retry-after')
    const path = request.url?.split('?', 1)[0]
    if (request.method === 'OPTIONS') response.writeHead(204).end()
    else if (path === '/oauth2/token') await this.#answerToken(request, response)
    else await this.#answerResource(path, request, response)
    this.#onChange()
  }

  async #answerToken(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const failure = this.tokenFailures.shift()
    const { status, headers, body } = await answerTokenRequest(request, this.clientSecret, failure, () => this.#grant())
    this.#note('token', status)
    response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers })
    response.end(JSON.stringify(body))
  }

  #grant(): object {
    const token = randomBytes(24).toString('base64url')
    const issuedAtSeconds = Math.floor(this.#clock.wallInstant().milliseconds / 1000)
    this.#tokens.set(token, {
      clientId: CLIENT_ID,
      customerId: CLIENT_ID,
      scopes: new Set([STREAM_SCOPE]),
      tokenId: newId(),
      keyId: 'torture',
      issuedAtSeconds,
      expiresAtMilliseconds: (issuedAtSeconds + TOKEN_SECONDS) * 1000,
    })
    return { access_token: token, expires_in: TOKEN_SECONDS, token_type: 'bearer', scope: STREAM_SCOPE }
  }

  /**
   * `GET /v2/markets`, and `/` for clients which repeat a refused handshake as a plain request to read the response.
   */
  async #answerResource(path: string | undefined, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const identity = await authenticate(request, this.#context)
    let problem = identity instanceof Problem ? identity : refuseAdmission(identity, this.#context)
    if (path === '/') problem ??= new Problem('upgrade_required', 'the stream is a WebSocket')
    else if (path !== '/v2/markets')
      problem = new Problem('not_found', 'this server has only the stream at / and /v2/markets')
    if (problem !== undefined) {
      response.writeHead(problem.status, { 'content-type': PROBLEM_MEDIA_TYPE, ...problem.extras.headers })
      response.end(JSON.stringify(problemDocument(problem, newId())))
      return
    }
    const since = millisecondText(this.#clock.wallInstant().milliseconds)
    const items = this.markets.definitions.map((definition) => ({
      market: definition.symbol,
      base_asset: definition.baseAsset,
      quote_asset: definition.quoteAsset,
      price_decimals: definition.priceDecimals,
      amount_decimals: definition.amountDecimals,
      depth: definition.depth,
      state: this.markets.isLive(definition.symbol) ? 'LIVE' : 'STALE',
      state_since: since,
      simulated: true,
      proof: 'NONE',
    }))
    response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify({ items }))
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy())
    const { token, hasHeader } = tokenOf(request)
    const attempt = this.#note('handshake', 0, token, hasHeader)
    if (this.isUnavailable) {
      socket.destroy()
      return
    }
    const failure = this.handshakeFailures.shift()
    const identity =
      failure === undefined
        ? (refuseRequest(request) ?? (await authenticate(request, this.#context)))
        : new Problem(failure.code, 'the scenario refuses this handshake', { headers: headersOf(failure) })
    const refusal = identity instanceof Problem ? identity : refuseAdmission(identity, this.#context)
    attempt.status = refusal?.status ?? 101
    if (refusal === undefined) this.#accept(request, socket as Socket, head, identity as AccessToken, attempt)
    else socket.end(problemResponse(refusal, newId(), socket))
    this.#onChange()
  }

  #accept(request: IncomingMessage, socket: Socket, head: Buffer, identity: AccessToken, attempt: Attempt): void {
    const connection = new ScriptedConnection(attempt.token, attempt.hasHeader)
    socket.setNoDelay(true)
    this.#sockets.handleUpgrade(request, socket, head, (webSocket) => {
      const onText = (text: string) => {
        connection.sent(text)
        this.#onChange()
      }
      const transport = new ScriptedTransport(webSocket, socket, this.#clock, '127.0.0.1', onText)
      const session = this.markets.hub.open(transport, identity)
      connection.session = session
      connection.transport = transport
      this.connections.push(connection)
      this.onAccept?.(connection)
      this.onAccept = undefined
      webSocket.on('message', (data, isBinary) => {
        connection.receive(data, isBinary, webSocket)
        this.#onChange()
      })
      webSocket.on('ping', (data) => session.receivePing(data))
      webSocket.on('pong', (data) => {
        connection.pongCount++
        session.receivePong(data)
        this.#onChange()
      })
      // ws has already closed the connection with the error's code. 'close' follows.
      webSocket.on('error', () => undefined)
      webSocket.on('close', (code) => {
        session.end()
        connection.closed = { code }
        this.#onChange()
      })
    })
  }

  get #context(): HandshakeContext {
    const verify = async (text: string): Promise<TokenVerdict> => {
      const token = this.#tokens.get(text)
      return token === undefined
        ? { ok: false, reason: 'it has been revoked, or was never issued' }
        : { ok: true, token }
    }
    return {
      directory: this.#directory,
      verifier: { verify },
      connectionsPerClientMax: () => Number.POSITIVE_INFINITY,
      connectionsMax: () => Number.POSITIVE_INFINITY,
      connections: () => this.markets.hub.sessions.size,
      connectionsOf: () => 0,
      isDirectoryStale: () => false,
      isDraining: () => false,
    }
  }

  #note(what: Attempt['what'], status: number, token = '', hasHeader = true): Attempt {
    const attempt = { what, atMilliseconds: this.#clock.monotonicMilliseconds(), status, token, hasHeader }
    if (this.attempts.length < ATTEMPTS_KEPT) this.attempts.push(attempt)
    this.#onChange()
    return attempt
  }
}

function headersOf({ retryAfterSeconds }: HandshakeFailure): Record<string, string> {
  return retryAfterSeconds === undefined ? {} : { 'Retry-After': String(retryAfterSeconds) }
}

/** A handshake's token, from the Authorization header or else from the subprotocol entry. */
function tokenOf({ headers }: IncomingMessage): { token: string; hasHeader: boolean } {
  const { authorization } = headers
  if (authorization !== undefined) return { token: authorization.replace(/^bearer\s+/i, ''), hasHeader: true }
  const token = /(?:^|[\s,])bearer\.([^\s,]+)/.exec(headers['sec-websocket-protocol'] ?? '')?.[1] ?? ''
  return { token, hasHeader: false }
}

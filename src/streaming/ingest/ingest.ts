/**
 * The ingest listener's endpoints: WebSocket connections from publishers, and `POST /publish`. It admits publishers by
 * their token, and ends connections within a second when a changed directory no longer permits them. Nothing is
 * accepted before `open`, which is called when the markets exist, and nothing after `stop`.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { type Duplex, Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type RawData, type ServerOptions, WebSocket, WebSocketServer } from 'ws'
import type { Directory } from '../../access/clients/directory.ts'
import { publishedMarkets } from '../../access/clients/publish-access.ts'
import type { AccessToken, TokenVerifier } from '../../access/clients/token-verifier.ts'
import { PUBLISH_SUBPROTOCOL } from '../../contract/publish-codes.ts'
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { LogLimit } from '../../platform/base/log-limit.ts'
import type { MetricsRegistry } from '../../platform/base/metrics.ts'
import { type PoolRefusal, SHARED_POOLS, SharedPool } from '../../platform/base/shared-pool.ts'
import { TickBudget } from '../../platform/base/tick-budget.ts'
import { Problem } from '../../platform/http/problem.ts'
import {
  answerRefusal,
  type HandshakePeer,
  handshakeUnavailable,
  PendingHandshakes,
} from '../../platform/http/websocket-handshake.ts'
import type { Source, SourceMarket } from '../sources/source.ts'
import { type AccessContext, authenticate, closeCauseOf, refuseAdmission, refuseRequest } from './access.ts'
import { IngestMarkets } from './ingest-markets.ts'
import { createIngestMetrics } from './metrics.ts'
import { type PostAnswer, PostPublisher } from './post-publisher.ts'
import { type ConnectionHost, PublisherConnection } from './publisher-connection.ts'

/** Each is a setting with the same name. Functions return the settings that a reload changes. */
export interface IngestSettings {
  readonly connectionsMax: () => number
  readonly lineWaitMilliseconds: () => number
  readonly messageBytesMax: number
  /** `stream.token_expiry` is `close` */
  readonly closesExpired: boolean
  /** Whether other processes write the markets that this one does not write now. Absent = no. */
  readonly isShared?: boolean
}

export interface IngestOptions {
  readonly directory: Directory
  readonly verifier: TokenVerifier
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly settings: IngestSettings
}

/** Largest POST /publish body. */
const PUBLISH_BODY_BYTES_MAX = 67_108_864

/** Frames in one message. Known clients send one. */
const FRAGMENTS_MAX = 64
/** Socket reads for one message: 1,024, or more for large messages with at least 64 bytes in each read. */
const READS_MAX = 1_024
const READ_BYTES_MEAN = 64
const CLOSE_MILLISECONDS = 1_000
const CHECK_MILLISECONDS = 1_000
/**
 * The publishers' share in a tick: about a hundred messages. Large ones are read in parts, but their effect, at the end,
 * is not divided.
 */
const TICK_MILLISECONDS = 4

/** A publisher's other addresses follow. */
const NONE_HERE =
  'this process writes none of the client’s markets: publish to the feed group’s other processes, or configure one with the source ingest'

/** Options missing from the type declarations. */
interface UndeclaredOptions {
  readonly closeTimeout: number
  readonly maxFragments: number
  readonly maxBufferedChunks: number
}

export class Ingest {
  readonly #options: IngestOptions
  readonly #metrics: ReturnType<typeof createIngestMetrics>
  readonly #logLimit: LogLimit
  readonly #markets: IngestMarkets
  readonly #budget: TickBudget
  readonly #server: WebSocketServer
  readonly #pending = new PendingHandshakes()
  readonly #connections = new Set<PublisherConnection>()
  /** By client id. */
  readonly #posts = new Map<string, PostPublisher>()
  readonly #access: AccessContext
  readonly #connectionHost: ConnectionHost
  /** Connected publishers by client, including POST /publish. */
  readonly #publishers: SharedPool
  readonly #bodies = new SharedPool(SHARED_POOLS.publish_bodies.size)
  #closedReason: string | undefined = 'the node is starting'
  #timer: Timer | undefined
  #onEmpty: () => void = () => undefined
  readonly #endWatch: () => void

  constructor(options: IngestOptions) {
    const { directory, verifier, clock, log, settings } = options
    this.#options = options
    this.#metrics = createIngestMetrics(options.metrics)
    this.#logLimit = new LogLimit(clock)
    const metrics = this.#metrics
    this.#markets = new IngestMarkets({ clock, log, logLimit: this.#logLimit, metrics, ...settings })
    this.#budget = new TickBudget(clock, TICK_MILLISECONDS)
    this.#server = createWebSocketServer(settings.messageBytesMax)
    this.#publishers = new SharedPool(settings.connectionsMax)
    this.#access = {
      directory,
      verifier,
      publishers: this.#publishers,
      closedReason: (token) => this.#closedReasonFor(token),
    }
    this.#connectionHost = {
      clock,
      log,
      markets: this.#markets,
      budget: this.#budget,
      closesExpired: settings.closesExpired,
      countBytes: (bytes) => metrics.bytes.inc(bytes),
      countClose: (cause) => metrics.closes.inc({ cause }),
    }
    this.#endWatch = directory.onChange(() => this.#followDirectory())
  }

  createSource(markets: readonly SourceMarket[]): Source {
    return this.#markets.createSource(markets)
  }

  /**
   * Admits publishers from now on, and closes those that have to publish to another process. Must be called again when
   * this process's markets have changed.
   */
  open(): void {
    this.#closedReason = undefined
    for (const connection of this.#connections) {
      if (this.#closedReasonFor(connection.token) !== undefined) connection.close('restarting')
    }
    for (const post of [...this.#posts.values()]) {
      const reason = this.#closedReasonFor(post.token)
      if (reason === undefined) continue
      post.end(reason)
      this.#forgetPost(post)
    }
    if (this.#timer !== undefined) return
    const check = (): void => {
      for (const connection of this.#connections) connection.checkEachSecond()
      this.#timer = this.#options.clock.schedule(CHECK_MILLISECONDS, check)
    }
    this.#timer = this.#options.clock.schedule(CHECK_MILLISECONDS, check)
  }

  /** Admits no more publishers until `open`, and closes the open connections. */
  close(reason: string): void {
    this.#closedReason = reason
    for (const post of [...this.#posts.values()]) {
      post.end(reason)
      this.#forgetPost(post)
    }
    for (const connection of this.#connections) connection.close('restarting')
  }

  #closedReasonFor(token: AccessToken): string | undefined {
    const { directory, settings } = this.#options
    if (this.#closedReason !== undefined || settings.isShared !== true) return this.#closedReason
    const symbols = publishedMarkets(directory, token)
    return symbols.size === 0 || this.#markets.hasAny(symbols) ? undefined : NONE_HERE
  }

  /** Handles an upgrade request. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, peer: HandshakePeer): void {
    const { log, clock } = this.#options
    const noteError = ({ code }: NodeJS.ErrnoException) => {
      const passed = this.#logLimit.admit('broken handshake')
      if (passed !== undefined) log.debug({ reason: code, ...passed }, 'a publisher’s handshake was aborted')
    }
    socket.on('error', noteError)
    this.#decide(request, socket as Socket, head, peer, noteError).catch((error: unknown) => {
      log.error({ err: error }, 'a publisher’s handshake failed')
      answerRefusal(socket, new Problem('internal', 'an error on our side. Quote request_id'), clock)
    })
  }

  registerRoutes(app: FastifyInstance): void {
    // The body stays a stream: the handler reads it as fast as its messages are taken.
    app.addContentTypeParser('application/x-ndjson', (_request, payload, done) => done(null, payload))
    const tokens = new WeakMap<FastifyRequest, AccessToken>()
    app.route({
      method: 'POST',
      url: '/publish',
      onRequest: async (request) => {
        const token = await this.#admitPost(request.raw)
        tokens.set(request, token)
        request.answeredClient = token.clientId
      },
      handler: (request) => this.#takeBody(tokens.get(request) as AccessToken, request.body),
    })
    app.get('/', async ({ raw }) => {
      const token = await authenticate(raw, this.#access)
      if (token instanceof Problem) throw token
      throw new Problem('upgrade_required', 'publishers open a WebSocket: this request must ask for an upgrade to it', {
        headers: { upgrade: 'websocket', connection: 'upgrade, close', 'sec-websocket-version': '13' },
      })
    })
  }

  /** Admits no more publishers and closes the open connections. Resolves when none is left. */
  async stop(): Promise<void> {
    this.#endWatch()
    this.#timer?.cancel()
    this.close('the node is shutting down')
    // Each is cut when it has not answered the close.
    if (this.#connections.size > 0) {
      await new Promise<void>((resolve) => {
        this.#onEmpty = resolve
      })
    }
    this.#server.close()
  }

  async #decide(
    request: IncomingMessage,
    socket: Socket,
    head: Buffer,
    { address: clientAddress, holder }: HandshakePeer,
    noteError: (error: Error) => void,
  ): Promise<void> {
    const { clock, log } = this.#options
    const check = () => authenticate(request, this.#access)
    const identity = refuseRequest(request) ?? (await this.#pending.hold(request, holder, check))
    if (socket.destroyed) return
    const refusal = identity instanceof Problem ? identity : refuseAdmission(identity, this.#access)
    this.#metrics.handshakes.inc({ status: String(refusal?.status ?? 101) })
    if (refusal === undefined) {
      this.#accept(request, socket, head, clientAddress, identity as AccessToken, noteError)
      return
    }
    const { status, code } = refusal
    const passed = this.#logLimit.admit(code)
    const fields = { status, code, client_address: clientAddress, ...passed }
    if (passed !== undefined) log.info(fields, 'a publisher’s handshake was refused')
    answerRefusal(socket, refusal, clock)
  }

  #accept(
    request: IncomingMessage,
    socket: Socket,
    head: Buffer,
    clientAddress: string,
    token: AccessToken,
    noteError: (error: Error) => void,
  ): void {
    const { log, directory } = this.#options
    socket.setNoDelay(true)
    socket.setKeepAlive(true)
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      socket.off('error', noteError)
      const mayPublish = publishedMarkets(directory, token)
      const peer = { webSocket, socket, clientAddress }
      const connection = new PublisherConnection(this.#connectionHost, peer, token, mayPublish)
      this.#connections.add(connection)
      this.#publishers.add(token.clientId, 1)
      this.#metrics.publishers.set(this.#connections.size)
      const fields = { connection: connection.id, client_id: token.clientId }
      webSocket.on('message', (data: RawData, isBinary: boolean) => connection.receive(data as Buffer, isBinary))
      webSocket.on('ping', (data: Buffer) => connection.receiveControl(data))
      webSocket.on('pong', () => connection.receiveControl(undefined))
      // The peer's protocol error: ws has closed with its code (1002, 1007, 1009).
      webSocket.on('error', (error: Error) => log.info({ ...fields, err: error }, 'a publisher’s connection failed'))
      webSocket.on('close', (code: number) => {
        connection.end()
        this.#connections.delete(connection)
        this.#publishers.add(token.clientId, -1)
        this.#metrics.publishers.set(this.#connections.size)
        log.info({ ...fields, code }, 'a publisher disconnected')
        if (this.#connections.size === 0) this.#onEmpty()
      })
      log.info({ ...fields, client_address: clientAddress, markets: mayPublish.size }, 'a publisher connected')
    })
  }

  async #admitPost(request: IncomingMessage): Promise<AccessToken> {
    const token = await authenticate(request, this.#access)
    if (token instanceof Problem) throw token
    // A client that has published by POST within 15 seconds is counted already.
    const refusal = refuseAdmission(token, this.#access, this.#posts.has(token.clientId))
    if (refusal !== undefined) throw refusal
    refuseBody(this.#bodies.refusal(token.clientId))
    return token
  }

  async #takeBody(token: AccessToken, body: unknown): Promise<PostAnswer> {
    // For another content type: no body, or parsed JSON.
    if (!(body instanceof Readable))
      throw new Problem('unsupported_media_type', 'Content-Type: must be application/x-ndjson')
    refuseBody(this.#bodies.take(token.clientId))
    try {
      const mayPublish = publishedMarkets(this.#options.directory, token)
      const publisher = this.#posts.get(token.clientId) ?? this.#newPost(token, mayPublish)
      publisher.renew(token, mayPublish)
      return await publisher.take(body)
    } finally {
      this.#bodies.add(token.clientId, -1)
    }
  }

  #newPost(token: AccessToken, mayPublish: ReadonlySet<string>): PostPublisher {
    const { clock, settings } = this.#options
    const host = {
      clock,
      markets: this.#markets,
      budget: this.#budget,
      lineBytesMax: settings.messageBytesMax,
      bodyBytesMax: PUBLISH_BODY_BYTES_MAX,
      countBytes: this.#connectionHost.countBytes,
    }
    const publisher = new PostPublisher(host, token, mayPublish, () => this.#forgetPost(publisher))
    this.#posts.set(token.clientId, publisher)
    this.#publishers.add(token.clientId, 1)
    return publisher
  }

  #forgetPost({ token: { clientId } }: PostPublisher): void {
    if (this.#posts.delete(clientId)) this.#publishers.add(clientId, -1)
  }

  #followDirectory(): void {
    const { directory } = this.#options
    for (const connection of this.#connections) {
      const cause = closeCauseOf(directory, connection.token)
      if (cause === undefined) connection.permit(publishedMarkets(directory, connection.token))
      else connection.close(cause)
    }
    for (const post of this.#posts.values()) {
      if (closeCauseOf(directory, post.token) === undefined) post.permit(publishedMarkets(directory, post.token))
      else {
        post.end('access revoked', new Problem('disabled', 'the client may not publish any more'))
        this.#forgetPost(post)
      }
    }
  }
}

function refuseBody(refusal: PoolRefusal | undefined): void {
  if (refusal === undefined) return
  throw handshakeUnavailable(
    `too many bodies are being read for ${refusal === 'share' ? 'this client' : 'all clients'}`,
  )
}

function createWebSocketServer(messageBytesMax: number): WebSocketServer {
  const options: ServerOptions & UndeclaredOptions = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    // A pong is written only when nothing else waits, so pings cannot pile up replies.
    autoPong: false,
    maxPayload: messageBytesMax,
    maxFragments: FRAGMENTS_MAX,
    maxBufferedChunks: Math.max(READS_MAX, Math.ceil(messageBytesMax / READ_BYTES_MEAN)),
    closeTimeout: CLOSE_MILLISECONDS,
    WebSocket,
    handleProtocols: () => PUBLISH_SUBPROTOCOL,
  }
  return new WebSocketServer(options)
}

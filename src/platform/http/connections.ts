/**
 * A listener's connections other than WebSocket streams. It limits their number and the bytes in unfinished and
 * unanswered requests, in total and for each holder, and how slowly a request may arrive. It also answers requests
 * rejected by the HTTP parser. A connection's holder is its address, and while a request is answered the client that
 * sent it.
 *
 * Guarantees:
 * - No connection is cut for a new one while its request is being answered.
 * - A socket error ends only that connection.
 * - A parser error is never sent as the answer to a valid request.
 * - A request's route answers when its body ends early.
 * - After an upgrade only the error listener remains on the socket.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock, Timer } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import { NO_HOLDER, SharedPool } from '../base/shared-pool.ts'
import { Intake, IntakeBudget } from './intake.ts'
import { Problem, problemResponse } from './problem.ts'

/** The limit for which connections were cut without an answer. */
export type CutReason = 'connections' | 'unfinished_bytes'

export interface ConnectionsOptions {
  readonly clock: Clock
  /**
   * Connections other than streams. Above it, or above one holder's quarter, the least recently used idle one is cut.
   */
  readonly connectionsMax: number
  /**
   * Bytes in unfinished and unanswered requests on all connections. Above it, or above a holder's quarter, the oldest
   * are cut.
   */
  readonly unfinishedBytesMax: number
  /** As what an address holds connections. */
  readonly holderOf: (address: string) => string
  /** Called for every answer that no route sent. */
  readonly onAnswer: (problem: Problem, requestId: string) => void
  readonly onCut: (reason: CutReason, count: number) => void
  /**
   * Takes the connection for a WebSocket handshake. Absent: handshakes are requests like any other, and routes answer.
   */
  readonly upgrade?: Upgrade
}

export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

/** A connection in the count, until it is closed or becomes a stream. */
interface Counted {
  /** A raw socket, replaced by the TLS socket over it. */
  socket: Socket
  /** The holder for its address. */
  readonly addressHolder: string
  /** Who holds it now. */
  holder: string
}

/** Pipelined requests on one connection. No known client pipelines more than one. */
const AHEAD_MAX = 100
/**
 * After the answer to a request rejected by the parser, a connection is cut when the peer is silent for this long.
 * Cutting it at once could lose the answer.
 */
const FAREWELL_SILENCE_MILLISECONDS = 2_000
/** The connection is cut after this long, whatever the peer sends or reads. */
const FAREWELL_MILLISECONDS = 5_000
/** Time between two rate checks. */
const CHECK_MILLISECONDS = 1_000

export class Connections {
  readonly #options: ConnectionsOptions
  readonly #budget: IntakeBudget
  readonly #pool: SharedPool
  /** By addresses and ports. The least recently used comes first. */
  readonly #sockets = new Map<string, Counted>()
  readonly #places = new WeakMap<Socket, string>()
  readonly #intakes = new WeakMap<Socket, Intake>()
  /** Listeners shared by all sockets. `this` is the socket. */
  readonly #onClose: (this: Socket) => void
  readonly #onData: (this: Socket, chunk: Buffer) => void
  #isOverTls = false
  /** Set while a connection has sent something. */
  #rateTimer: Timer | undefined

  constructor(options: ConnectionsOptions) {
    this.#options = options
    this.#budget = new IntakeBudget(options.unfinishedBytesMax)
    this.#pool = new SharedPool(options.connectionsMax)
    const forget = (socket: Socket) => this.#forget(socket)
    this.#onClose = function () {
      forget(this)
    }
    const received = (socket: Socket, chunk: Buffer) => this.#received(socket, chunk)
    this.#onData = function (chunk) {
      received(this, chunk)
    }
  }

  get size(): number {
    return this.#sockets.size
  }

  /** Bytes in unfinished and unanswered requests. */
  get unfinishedBytes(): number {
    return this.#budget.heldBytes
  }

  /** Must be called before the server has other listeners: requests are counted before they are handled. */
  watch(server: Server): void {
    const { upgrade } = this.#options
    this.#isOverTls = 'setSecureContext' in server
    server.on('connection', (socket: Socket) => this.#arrived(socket, !this.#isOverTls))
    server.on('secureConnection', (socket: Socket) => this.#arrived(socket, true))
    server.on('request', (request, response) => this.#asked(request, response))
    if (upgrade !== undefined) {
      server.on('upgrade', (request, socket, head) => {
        this.#release(socket as Socket)
        upgrade(request, socket, head)
      })
    }
    // Without a listener, CONNECT would reach a route, or be cut without an answer.
    server.on('connect', (_request, socket) => {
      this.#answer(socket as Socket, new Problem('invalid_request', 'CONNECT: this server is not a proxy'))
    })
  }

  /** Cuts connections with an unfinished TLS handshake: they have no request, and closing would wait for them. */
  cutHandshakes(): void {
    if (!this.#isOverTls) return
    for (const { socket } of this.#sockets.values()) if (!('encrypted' in socket)) socket.destroy()
  }

  /**
   * Until the request is answered, its connection and the connection's bytes are held by the client that sent it, or by
   * the address that a proxy has named. Throws when that holder has its quarter of the connections.
   */
  hold({ socket }: IncomingMessage, holder: string): void {
    const counted = this.#countedOf(socket)
    if (counted === undefined || counted.holder === holder) return
    if (this.#pool.refusal(holder) === 'share') {
      const detail = `${this.#pool.shareMax} requests from this client or address are being answered: wait for an answer`
      throw new Problem('too_many_connections', detail, { headers: { 'retry-after': '1' } })
    }
    this.#move(counted, holder)
  }

  /** Answers a request rejected by the parser: a head that is too large or too slow, an incomplete body, not HTTP. */
  answerFault(error: NodeJS.ErrnoException, socket: Socket): void {
    const intake = this.#intakes.get(socket)
    // Not HTTP (a failed TLS handshake), or the peer is gone.
    if (intake === undefined || error.code === 'ECONNRESET' || socket.destroyed) {
      socket.destroy()
      return
    }
    // The parser has failed on this connection and reports an error for every further byte.
    if (intake.isEnding) return
    const problem = faultProblem(error.code)
    const { latest, open } = intake
    const isInBody = latest !== undefined && !latest.request.complete
    if (!isInBody && open.size === 0) this.#answer(socket, problem)
    else if (!isInBody || open.size !== 1 || latest.response.headersSent) socket.destroy()
    else if (latest.request.listenerCount('error') === 0) this.#answer(socket, problem)
    else {
      intake.isEnding = true
      this.#cutInTheEnd(socket)
      // The route reading the body answers, and the connection ends with its answer.
      latest.response.setHeader('connection', 'close')
      latest.request.emit('error', problem)
    }
  }

  /** @param speaksHttp false for the raw socket under a TLS connection */
  #arrived(socket: Socket, speaksHttp: boolean): void {
    const { remoteAddress, remotePort, localAddress, localPort } = socket
    const place = `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
    const raw = this.#sockets.get(place)
    this.#places.set(socket, place)
    socket.on('error', endConnection)
    socket.on('close', this.#onClose)
    if (speaksHttp) {
      this.#intakes.set(socket, new Intake(socket, this.#budget, raw?.holder ?? this.#holderOf(remoteAddress)))
      // Before the parser's own listener: a chunk is counted, then parsed. With this listener Node passes every chunk
      // through JavaScript instead of parsing it natively, which costs about a microsecond per request.
      socket.prependListener('data', this.#onData)
    }
    if (raw !== undefined) raw.socket = socket
    else this.#count(place, socket)
  }

  #count(place: string, socket: Socket): void {
    const holder = this.#holderOf(socket.remoteAddress)
    const refusal = this.#pool.take(holder)
    if (refusal !== undefined) {
      this.#pool.add(holder, 1)
      this.#cutFor(socket, refusal === 'share' ? holder : undefined)
    }
    if (!socket.destroyed) this.#sockets.set(place, { socket, addressHolder: holder, holder })
    else this.#pool.add(holder, -1)
  }

  /**
   * Cuts one connection for a new one: the least recently used without a request, else one with an unfinished request,
   * else the new one.
   * @param holder whose connection is cut. Undefined: any
   */
  #cutFor(socket: Socket, holder: string | undefined): void {
    let unfinished: Socket | undefined
    let victim: Socket | undefined
    for (const counted of this.#sockets.values()) {
      if (holder !== undefined && counted.holder !== holder) continue
      const intake = this.#intakes.get(counted.socket)
      if (intake === undefined || intake.open.size === 0) {
        victim = counted.socket
        break
      }
      if (unfinished === undefined && intake.waitsForPeer) unfinished = counted.socket
    }
    const cut = victim ?? unfinished ?? socket
    // Its 'close' comes later, and one more connection may come before.
    this.#forget(cut)
    cut.destroy()
    this.#options.onCut('connections', 1)
  }

  #received(socket: Socket, chunk: Buffer): void {
    const excess = this.#intakes.get(socket)?.received(chunk, this.#now()) ?? []
    this.#rateTimer ??= this.#checkRatesLater()
    if (excess.length === 0) return
    for (const intake of excess) intake.socket.destroy()
    this.#options.onCut('unfinished_bytes', excess.length)
  }

  #asked(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    const intake = this.#intakes.get(socket)
    if (intake === undefined) return
    const exchange = intake.requested(request, response, this.#now())
    this.#touch(socket)
    response.once('close', () => {
      intake.answered(exchange)
      const counted = this.#touch(socket)
      if (counted !== undefined && intake.open.size === 0) this.#move(counted, counted.addressHolder)
    })
    if (intake.open.size > AHEAD_MAX) socket.destroy()
  }

  /** Node limits the duration for a head and for a request. A peer that sends too slowly is cut before that. */
  #checkRates(): void {
    const now = this.#now()
    const intakes = [...this.#budget.intakes]
    for (const intake of intakes) if (intake.isTooSlow(now)) this.answerFault(TOO_SLOW, intake.socket)
    this.#rateTimer = intakes.length === 0 ? undefined : this.#checkRatesLater()
  }

  #checkRatesLater(): Timer {
    return this.#options.clock.schedule(CHECK_MILLISECONDS, () => this.#checkRates())
  }

  /** Who holds the connection changes, with all its bytes. */
  #move(counted: Counted, holder: string): void {
    if (counted.holder === holder) return
    this.#pool.add(counted.holder, -1)
    this.#pool.add(holder, 1)
    counted.holder = holder
    this.#intakes.get(counted.socket)?.move(holder)
  }

  #touch(socket: Socket): Counted | undefined {
    const counted = this.#countedOf(socket)
    if (counted === undefined) return undefined
    const place = this.#places.get(socket) as string
    this.#sockets.delete(place)
    this.#sockets.set(place, counted)
    return counted
  }

  /** Undefined when the socket is no longer counted, or is a replaced raw socket. */
  #countedOf(socket: Socket): Counted | undefined {
    const counted = this.#sockets.get(this.#places.get(socket) ?? '')
    return counted?.socket === socket ? counted : undefined
  }

  #holderOf(address: string | undefined): string {
    return address === undefined ? NO_HOLDER : this.#options.holderOf(address)
  }

  #forget(socket: Socket): void {
    const counted = this.#countedOf(socket)
    if (counted !== undefined) {
      this.#sockets.delete(this.#places.get(socket) as string)
      this.#pool.add(counted.holder, -1)
    }
    this.#intakes.get(socket)?.release()
  }

  /** Releases everything held for a socket that becomes a stream: there may be very many, and they live long. */
  #release(socket: Socket): void {
    this.#forget(socket)
    this.#places.delete(socket)
    this.#intakes.delete(socket)
    socket.off('close', this.#onClose)
    socket.off('data', this.#onData)
  }

  #answer(socket: Socket, problem: Problem): void {
    const intake = this.#intakes.get(socket)
    if (intake !== undefined) intake.isEnding = true
    const requestId = newId()
    this.#options.onAnswer(problem, requestId)
    // The parser receives no more data, so no further request on this connection is handled.
    socket.removeAllListeners('data')
    socket.resume()
    socket.setTimeout(FAREWELL_SILENCE_MILLISECONDS, () => socket.destroy())
    this.#cutInTheEnd(socket)
    socket.end(problemResponse(problem, requestId, socket))
  }

  #cutInTheEnd(socket: Socket): void {
    const cut = this.#options.clock.schedule(FAREWELL_MILLISECONDS, () => socket.destroy())
    socket.once('close', () => cut.cancel())
  }

  #now(): number {
    return this.#options.clock.monotonicMilliseconds()
  }
}

const TOO_SLOW: NodeJS.ErrnoException = Object.assign(new Error('too slow'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })

/** Many connections end with a reset. 'close' follows. */
function endConnection(this: Socket): void {
  this.destroy()
}

function faultProblem(code: string | undefined): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem('headers_too_large', 'the request head is too large')
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new Problem('body_too_large', 'body: its chunk extensions are too large')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem('request_timeout', 'the request did not arrive in time')
    default:
      return new Problem('invalid_request', 'the request is not valid HTTP/1.1')
  }
}

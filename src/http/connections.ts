/**
 * The connections of a listener that are not streams (yet): how many there may be, how much of unfinished and unanswered
 * requests they may hold together, how slowly a request may arrive, and what is answered on one where the parser, not a
 * route, found the fault. It guarantees that an error of a socket ends that connection and nothing else, that a fault is
 * never answered in the place of a request that was sound, and that a body which breaks off is answered by the route it
 * was sent to. An upgraded connection is handed over; only its error listener stays.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import { Intake, IntakeBudget } from './intake.ts'
import { Problem, problemResponse } from './problem.ts'

/** Why connections were cut without an answer. */
export type CutReason = 'connections' | 'unfinished_bytes'

export interface ConnectionsOptions {
  readonly clock: Clock
  /** Connections that are not streams; above it the one that was used least recently is cut. */
  readonly connectionsMax: number
  /** Bytes of unfinished and unanswered requests that all connections hold together; above it the oldest are cut. */
  readonly unfinishedBytesMax: number
  /** Notified of every answer that no route gave. */
  readonly onAnswer: (problem: Problem, requestId: string) => void
  readonly onCut: (reason: CutReason, count: number) => void
  /** Takes the connection of a WebSocket handshake. Absent: handshakes are requests like any other, and routes answer. */
  readonly upgrade?: Upgrade
}

export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

/**
 * When one more comes, the one on which nothing was asked or answered for the longest time goes: whoever connects and
 * waits loses to whoever asks, so a crowd of silent peers keeps nobody out.
 */
export const CONNECTIONS_MAX = 8_192
/** Requests that a client may send ahead of their answers; no client that we know sends more than one. */
const AHEAD_MAX = 100
/** After an answer to a broken request: how long a peer may be silent until it is cut. Cutting at once could take the
 * answer from it. */
const FAREWELL_SILENCE_MILLISECONDS = 2_000
/** And how long it may stay at all, whatever it sends or reads. */
const FAREWELL_MILLISECONDS = 5_000
/** How often rates are looked at. */
const CHECK_MILLISECONDS = 1_000

export class Connections {
  readonly #options: ConnectionsOptions
  readonly #budget: IntakeBudget
  /** By the peer's address and port: a raw socket, and the encrypted one over it in its place. Least recent first. */
  readonly #sockets = new Map<string, Socket>()
  readonly #places = new WeakMap<Socket, string>()
  readonly #intakes = new WeakMap<Socket, Intake>()
  /** Listeners that all sockets share; they are called on the socket. */
  readonly #onClose: (this: Socket) => void
  readonly #onData: (this: Socket, chunk: Buffer) => void
  #isOverTls = false

  constructor(options: ConnectionsOptions) {
    this.#options = options
    this.#budget = new IntakeBudget(options.unfinishedBytesMax)
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

  /** Bytes of unfinished and unanswered requests. */
  get unfinishedBytes(): number {
    return this.#budget.heldBytes
  }

  /** To be called before the server has other listeners: requests are counted before they are handled. */
  watch(server: Server): void {
    const { upgrade } = this.#options
    this.#isOverTls = 'setSecureContext' in server
    server.on('connection', (socket: Socket) => this.#arrived(socket, !this.#isOverTls))
    server.on('secureConnection', (socket: Socket) => this.#arrived(socket, true))
    server.on('request', (request, response) => this.#asked(request, response))
    if (upgrade !== undefined) {
      server.on('upgrade', (request, socket, head) => {
        this.#letGo(socket as Socket)
        upgrade(request, socket, head)
      })
    }
    // Without a listener the parser would hand it over as a request, or cut it without a word.
    server.on('connect', (_request, socket) => {
      this.#answer(socket as Socket, new Problem('invalid_request', 'CONNECT: this is no proxy'))
    })
    this.#checkRates(server)
  }

  /** Cuts the connections that have not finished a TLS handshake: nothing was asked, and the server would wait for them. */
  cutHandshakes(): void {
    if (!this.#isOverTls) return
    for (const socket of this.#sockets.values()) if (!('encrypted' in socket)) socket.destroy()
  }

  /** What the parser refused: a head too large or too slow, a body that breaks off, what is not HTTP. */
  answerFault(error: NodeJS.ErrnoException, socket: Socket): void {
    const intake = this.#intakes.get(socket)
    // No HTTP was spoken (a TLS handshake that failed), or nobody is there to read.
    if (intake === undefined || error.code === 'ECONNRESET' || socket.destroyed) {
      socket.destroy()
      return
    }
    // The parser is done with this connection and reports an error for every further byte.
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
      // Whoever reads the body answers, in its own way; the connection ends with that.
      latest.response.setHeader('connection', 'close')
      latest.request.emit('error', problem)
    }
  }

  /** @param speaksHttp false for the raw socket of a TLS connection */
  #arrived(socket: Socket, speaksHttp: boolean): void {
    const { remoteAddress, remotePort, localAddress, localPort } = socket
    const place = `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
    this.#sockets.set(place, socket)
    this.#places.set(socket, place)
    socket.on('error', endConnection)
    socket.on('close', this.#onClose)
    if (speaksHttp) {
      this.#intakes.set(socket, new Intake(socket, this.#budget))
      // Before the parser's own listener: a chunk is counted, then parsed. With this listener the runtime hands every
      // chunk over instead of parsing it out of our sight; that costs about a microsecond a request.
      socket.prependListener('data', this.#onData)
    }
    if (this.#sockets.size <= this.#options.connectionsMax) return
    this.#sockets.values().next().value?.destroy()
    this.#options.onCut('connections', 1)
  }

  #received(socket: Socket, chunk: Buffer): void {
    this.#intakes.get(socket)?.received(chunk, this.#now())
    const excess = this.#budget.takeExcess()
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
      this.#touch(socket)
    })
    if (intake.open.size > AHEAD_MAX) socket.destroy()
  }

  /** The runtime limits how long a head and a request may take; a peer that sends next to nothing is cut before that. */
  #checkRates(server: Server): void {
    const { clock } = this.#options
    const check = (): void => {
      const now = this.#now()
      const slow = [...this.#budget.intakes].filter((intake) => intake.isTooSlow(now))
      for (const { socket } of slow) this.answerFault(TOO_SLOW, socket)
      timer = clock.schedule(CHECK_MILLISECONDS, check)
    }
    let timer = clock.schedule(CHECK_MILLISECONDS, check)
    server.on('close', () => timer.cancel())
  }

  #touch(socket: Socket): void {
    const place = this.#places.get(socket)
    if (place === undefined || this.#sockets.get(place) !== socket) return
    this.#sockets.delete(place)
    this.#sockets.set(place, socket)
  }

  #forget(socket: Socket): void {
    const place = this.#places.get(socket)
    if (place !== undefined && this.#sockets.get(place) === socket) this.#sockets.delete(place)
    this.#intakes.get(socket)?.release()
  }

  /** Keeps nothing of a socket that is a stream from now on: there may be very many, and they live long. */
  #letGo(socket: Socket): void {
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
    // The parser gets nothing more: a request that becomes complete after all is not handled.
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

/** A reset is how many connections end; the runtime destroys the socket by itself, and 'close' follows. */
function endConnection(this: Socket): void {
  this.destroy()
}

function faultProblem(code: string | undefined): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem('headers_too_large', 'the head of the request is too large')
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new Problem('body_too_large', 'body: its chunk extensions are too large')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem('request_timeout', 'the request did not arrive in time')
    default:
      return new Problem('invalid_request', 'this is not HTTP/1.1')
  }
}

/**
 * The connections of a listener that are not streams (yet): how many there may be, and what is answered on one where
 * the parser, not a route, found the fault. It promises that a fault is never answered in the place of a request that
 * was sound, that a body which breaks off is answered by the route it was sent to, and that memory of peers who never
 * finish a request is bounded. Upgraded connections are let go.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { newId } from '../base/ids.ts'
import { Problem, problemResponse } from './problem.ts'

/** Told of every answer that no route gave. */
export type BareAnswer = (problem: Problem, requestId: string) => void

/**
 * Each may hold one head of `headerBytesMax`. When one more comes, the one on which nothing was asked or answered for
 * the longest time goes: whoever connects and waits loses to whoever asks, so a crowd of silent peers shuts nobody out.
 */
export const CONNECTIONS_MAX = 8_192
/** Requests that a client may send ahead of their answers; no client that we know sends more than one. */
const AHEAD_MAX = 100
/** After an answer to a broken request: how long a peer may be silent until it is cut. Cutting at once could take the
 * answer from it. */
const FAREWELL_MILLISECONDS = 2_000

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

interface Connection {
  /** Requests whose answer is not complete, in the order they came. */
  readonly open: Set<Exchange>
  latest: Exchange | undefined
  /** It was told what is wrong and is only waited for. */
  ending: boolean
}

export class Connections {
  readonly #connectionsMax: number
  readonly #onAnswer: BareAnswer
  /** By the peer's address and port: a raw socket, and the encrypted one over it in its place. Least recent first. */
  readonly #sockets = new Map<string, Socket>()
  readonly #places = new WeakMap<Socket, string>()
  readonly #states = new WeakMap<Socket, Connection>()
  /** One listener for all sockets, which it is called on. */
  readonly #onClose: (this: Socket) => void
  #isOverTls = false

  constructor(connectionsMax: number, onAnswer: BareAnswer) {
    this.#connectionsMax = connectionsMax
    this.#onAnswer = onAnswer
    const forget = (socket: Socket) => this.#forget(socket)
    this.#onClose = function () {
      forget(this)
    }
  }

  get size(): number {
    return this.#sockets.size
  }

  /** To be called before the server has other listeners: requests are counted before they are handled. */
  watch(server: Server): void {
    this.#isOverTls = 'setSecureContext' in server
    server.on('connection', (socket: Socket) => this.#arrived(socket))
    server.on('secureConnection', (socket: Socket) => this.#arrived(socket))
    server.on('request', (request, response) => this.#asked({ request, response }))
    server.on('upgrade', (_request, socket) => this.#letGo(socket as Socket))
    // Without a listener the parser would hand it over as a request, or cut it without a word.
    server.on('connect', (_request, socket) => {
      this.#answer(socket as Socket, new Problem('invalid_request', 'CONNECT: this is no proxy'))
    })
  }

  /** Cuts who has not finished a TLS handshake: nothing was asked, and the server would wait for them. */
  cutHandshakes(): void {
    if (!this.#isOverTls) return
    for (const socket of this.#sockets.values()) if (!('encrypted' in socket)) socket.destroy()
  }

  /** What the parser refused: a head too large or too slow, a body that breaks off, what is not HTTP. */
  answerFault(error: NodeJS.ErrnoException, socket: Socket): void {
    const state = this.#states.get(socket)
    // No HTTP was spoken (a TLS handshake that failed), or nobody is there to read.
    if (state === undefined || error.code === 'ECONNRESET' || socket.destroyed) {
      socket.destroy()
      return
    }
    // The parser is done with this connection and complains about every further byte.
    if (state.ending) return
    const problem = faultProblem(error.code)
    const { latest } = state
    const isInBody = latest !== undefined && !latest.request.complete
    if (!isInBody && state.open.size === 0) this.#answer(socket, problem)
    else if (!isInBody || state.open.size !== 1 || latest.response.headersSent) socket.destroy()
    else if (latest.request.listenerCount('error') === 0) this.#answer(socket, problem)
    else {
      state.ending = true
      // Whoever reads the body answers, in its own way; the connection ends with that.
      latest.response.setHeader('connection', 'close')
      latest.request.emit('error', problem)
    }
  }

  #arrived(socket: Socket): void {
    const { remoteAddress, remotePort, localAddress, localPort } = socket
    const place = `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
    this.#sockets.set(place, socket)
    this.#places.set(socket, place)
    this.#states.set(socket, { open: new Set(), latest: undefined, ending: false })
    socket.on('close', this.#onClose)
    if (this.#sockets.size > this.#connectionsMax) this.#sockets.values().next().value?.destroy()
  }

  #asked(exchange: Exchange): void {
    const { socket } = exchange.request
    const state = this.#states.get(socket)
    if (state === undefined) return
    state.latest = exchange
    state.open.add(exchange)
    this.#touch(socket)
    exchange.response.once('close', () => {
      state.open.delete(exchange)
      this.#touch(socket)
    })
    if (state.open.size > AHEAD_MAX) socket.destroy()
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
  }

  /** Keeps nothing of a socket that is a stream from now on: there may be very many, and they live long. */
  #letGo(socket: Socket): void {
    this.#forget(socket)
    this.#places.delete(socket)
    this.#states.delete(socket)
    socket.off('close', this.#onClose)
  }

  #answer(socket: Socket, problem: Problem): void {
    const state = this.#states.get(socket)
    if (state !== undefined) state.ending = true
    const requestId = newId()
    this.#onAnswer(problem, requestId)
    // A detached socket has nobody who reads it to its end, nor hears that it broke; both end it.
    socket.on('error', () => socket.destroy())
    socket.resume()
    socket.setTimeout(FAREWELL_MILLISECONDS, () => socket.destroy())
    socket.end(problemResponse(problem, requestId, socket))
  }
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

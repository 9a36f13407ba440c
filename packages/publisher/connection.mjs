/**
 * One WebSocket connection at a time to the ingest listener of Tidegate, reconnected after it ends. It owns the token,
 * heartbeats, the detection of a dead server, and the bound on unsent bytes: `isFull` means that the caller has to stop
 * its input until `onDrained`. It does not know the messages, except the first one, `accepted`, which opens the
 * connection for its caller.
 */
import { WebSocket } from 'ws'
import { backoffMilliseconds, printable } from './runtime.mjs'
import { TokenSource } from './token.mjs'

/** @import { Clock, Log, Timer } from './runtime.mjs' */

const PROTOCOL = 'tidegate.publish.v1'
/** The protocol requires one every 5 seconds. */
const HEARTBEAT_MILLISECONDS = 2_000
/** Neither a message, nor an answer to a ping, nor a byte taken of those that waited: the connection is given up. */
const SILENCE_MILLISECONDS = 30_000
const HANDSHAKE_MILLISECONDS = 10_000
const CLOSE_MILLISECONDS = 2_000
/** Of one message of the server. */
const MESSAGE_BYTES_MAX = 1_048_576
/** The token was revoked, or has expired. */
const TOKEN_ENDED = 4001
/** The client may not publish any more. */
const ACCESS_REVOKED = 4003

/**
 * @typedef {object} ConnectionOptions
 * @property {string} url Of the ingest listener: ws:// or wss://. Of several processes, separated by commas: the one that leads
 *   accepts, the others answer 503, so each attempt takes the next address.
 * @property {string} authUrl Origin of the token endpoint.
 * @property {string} clientId
 * @property {string} clientSecret
 * @property {number} [bufferedBytesMax] Unsent bytes from which the connection is full. 1 MiB by default.
 * @property {number} [backoffMillisecondsMax] 30,000 by default.
 *
 * @typedef {object} ConnectionListener
 * @property {(message: Record<string, unknown>) => void} onMessage Every message of the server.
 * @property {() => void} onClosed The open connection has ended.
 * @property {() => void} onRevoked There will be no other connection: the client's access was revoked.
 * @property {() => void} onDrained The connection was full, and is not full any more.
 */

export class Connection {
  #options
  #urls
  #listener
  #clock
  #log
  #tokens
  /** @type {WebSocket | undefined} */
  #socket
  /** Whether the server has sent its first message on this connection. */
  #isAccepted = false
  #isFull = false
  /** Whether bytes waited at the last look because the server took no more. */
  #hasWaiting = false
  #isStopped = false
  #failures = 0
  #attempts = 0
  #progressMilliseconds = 0
  /** @type {Timer | undefined} */
  #timer
  /** @type {(() => void) | undefined} */
  #onStopped

  /**
   * @param {ConnectionOptions} options
   * @param {ConnectionListener} listener
   * @param {Clock} clock
   * @param {Log} log
   */
  constructor(options, listener, clock, log) {
    this.#options = options
    this.#urls = options.url.split(',').map((url) => url.trim())
    this.#listener = listener
    this.#clock = clock
    this.#log = log
    this.#tokens = new TokenSource(options, clock)
  }

  /** Whether the caller has to stop its input until `onDrained`. */
  get isFull() {
    return this.#isFull
  }

  start() {
    this.#connect().catch((error) => this.#onEnded(`no connection: ${printable(error.message)}`))
  }

  /**
   * Sends one message. Nothing is sent before the server's first message, or when there is no connection.
   * @param {string} text
   */
  send(text) {
    const socket = this.#socket
    if (socket === undefined || !this.#isAccepted || socket.readyState !== WebSocket.OPEN) return
    const max = this.#options.bufferedBytesMax ?? 1_048_576
    socket.send(text, () => {
      // Otherwise only this system has taken it, which it does for a dead server too.
      if (this.#hasWaiting) this.#onProgress()
      if (this.#isFull && socket === this.#socket && socket.bufferedAmount <= max / 2) this.#setDrained()
    })
    if (socket.bufferedAmount > max) this.#isFull = true
  }

  /** Closes the connection, after what was sent. Resolves when it is closed. */
  async stop() {
    this.#isStopped = true
    this.#timer?.cancel()
    const socket = this.#socket
    if (socket === undefined) return
    await new Promise((resolve) => {
      this.#onStopped = () => resolve(undefined)
      socket.close(1000)
      this.#timer = this.#clock.schedule(CLOSE_MILLISECONDS, () => socket.terminate())
    })
  }

  async #connect() {
    const token = await this.#tokens.get()
    if (this.#isStopped) return
    const url = /** @type {string} */ (this.#urls[this.#attempts++ % this.#urls.length])
    const socket = new WebSocket(url, PROTOCOL, {
      headers: { authorization: `Bearer ${token}` },
      handshakeTimeout: HANDSHAKE_MILLISECONDS,
      maxPayload: MESSAGE_BYTES_MAX,
      perMessageDeflate: false,
    })
    this.#socket = socket
    this.#hasWaiting = false
    this.#onProgress()
    let reason = ''
    socket.on('open', () => this.#watch(socket))
    socket.on('pong', () => this.#onProgress())
    socket.on('message', (data) => this.#onMessage(socket, String(data)))
    socket.on('unexpected-response', (request, response) => {
      reason = `the handshake was refused with status ${response.statusCode}`
      if (response.statusCode === 401) this.#tokens.discard()
      request.destroy()
      this.#onEnded(reason)
    })
    socket.on('error', (error) => {
      reason ||= printable(error.message)
    })
    socket.on('close', (code, text) => {
      if (code === TOKEN_ENDED) this.#tokens.discard()
      if (socket === this.#socket)
        this.#onEnded(reason || `closed with ${code} ${printable(text)}`, code === ACCESS_REVOKED)
    })
  }

  #onProgress() {
    this.#progressMilliseconds = this.#clock.monotonic()
  }

  /** @param {WebSocket} socket @param {string} text */
  #onMessage(socket, text) {
    this.#onProgress()
    /** @type {unknown} */
    let message
    try {
      message = JSON.parse(text)
    } catch {
      message = undefined
    }
    if (typeof message !== 'object' || message === null) {
      this.#log('error', 'the server sent a message that is no JSON object', { bytes: text.length })
      return socket.terminate()
    }
    const record = /** @type {Record<string, unknown>} */ (message)
    if (!this.#isAccepted && record.type === 'accepted') {
      this.#isAccepted = true
      this.#failures = 0
    }
    this.#listener.onMessage(record)
  }

  /** Sends heartbeats and pings, and gives the connection up when nothing moves. @param {WebSocket} socket */
  #watch(socket) {
    if (socket !== this.#socket || this.#isStopped) return
    if (this.#clock.monotonic() - this.#progressMilliseconds > SILENCE_MILLISECONDS) {
      this.#log('warn', 'the server neither answers nor reads: reconnecting')
      socket.terminate()
      return
    }
    this.#hasWaiting = socket.bufferedAmount > 0
    const timestamp = new Date(this.#clock.now()).toISOString()
    if (!this.#isFull) this.send(JSON.stringify({ channel: 'heartbeat', payload: { timestamp } }))
    if (socket.readyState === WebSocket.OPEN && socket.bufferedAmount === 0) socket.ping()
    this.#timer = this.#clock.schedule(HEARTBEAT_MILLISECONDS, () => this.#watch(socket))
  }

  #setDrained() {
    this.#isFull = false
    this.#listener.onDrained()
  }

  /** @param {string} reason */
  #onEnded(reason, isRevoked = false) {
    this.#timer?.cancel()
    const wasAccepted = this.#isAccepted
    this.#socket = undefined
    this.#isAccepted = false
    if (wasAccepted) this.#listener.onClosed()
    if (this.#isFull) this.#setDrained()
    if (this.#isStopped) return this.#onStopped?.()
    if (isRevoked) {
      this.#log('error', 'Tidegate has revoked the access of this client: not connecting again', { reason })
      return this.#listener.onRevoked()
    }
    // Waits grow once each address has failed.
    const rounds = Math.floor(this.#failures++ / this.#urls.length)
    const wait = backoffMilliseconds(rounds, this.#options.backoffMillisecondsMax ?? 30_000)
    this.#log('warn', 'not connected to Tidegate', { reason, retry_milliseconds: Math.round(wait) })
    this.#timer = this.#clock.schedule(wait, () => this.start())
  }
}

/**
 * The stream connection for `verify`: gets a token, opens the socket, sends its request and passes every message on as
 * it arrived. After a loss it reconnects as the table of close codes advises. A permanent failure ends it with one
 * sentence. It shares no code with `@tidegate/client`, so each can show the other's mistakes. No error contains a
 * secret or a token.
 */
import { WebSocket } from 'ws'
import { STREAM_SCOPE } from '../../../contract/scopes.ts'
import { CLOSE_CODES } from '../../../contract/stream-codes.ts'
import { type Jitter, jitteredBackoff } from '../../../platform/base/backoff.ts'
import type { Clock, Timer } from '../../../platform/base/clock.ts'
import { pause } from '../../../platform/base/time-limit.ts'
import { fetchToken, type TokenCredentials } from './access-token.ts'

/** With the stream's address, without a trailing slash. */
interface StreamCredentials extends TokenCredentials {
  readonly ws_url: string
}

export interface StreamConnectionOptions {
  readonly credentials: StreamCredentials
  /** Offered in the handshake. Absent: none, for the base protocol. */
  readonly subprotocol?: string
  /** Sent on every new connection. */
  readonly request: object
  readonly clock: Clock
  /** In [0, 1): spreads reconnections. */
  readonly random: () => number
  readonly onOpen: () => void
  readonly onMessage: (text: string) => void
  /** The connection was lost and will be opened again. */
  readonly onDown: (reason: string) => void
}

/** How a connection, or the attempt to open one, ended. */
interface Ending {
  readonly reason: string
  /** Another attempt would fail in the same way. */
  readonly isFinal: boolean
  /** Shortest wait before the next attempt. Default: none. */
  readonly waitMilliseconds?: number
}

/** Backoff between two attempts. */
const RETRY_MILLISECONDS = { first: 250, longest: 5_000 }
const RETRY_JITTER: Jitter = [0.5, 1.5]
/** Where the close code requires a longer pause. */
const PAUSE_MILLISECONDS = 5_000
const ANSWER_MILLISECONDS_MAX = 10_000
/** Servers send pings and heartbeats far more often. After this long without a byte the connection is dead. */
const SILENCE_MILLISECONDS_MAX = 60_000
/** Longest wait for the answer to our close frame. */
const CLOSE_MILLISECONDS_MAX = 1_000
/** A whole book with 46,000 levels is 1.9 MB. */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024
/** Protocol error, invalid text, message too large: a retry would fail in the same way. */
const CLIENT_FAULT_CODES: readonly number[] = [1002, 1007, 1009]
/** Too many connections, and not ready: both carry `Retry-After`. */
const RETRY_STATUSES: readonly number[] = [429, 500, 502, 503, 504]

export class StreamConnection {
  readonly #options: StreamConnectionOptions
  readonly #stopping = new AbortController()
  #socket: WebSocket | undefined
  #hasBeenOpen = false
  #failures = 0

  constructor(options: StreamConnectionOptions) {
    this.#options = options
  }

  /** Resolves after `stop`. Rejects on a permanent failure. */
  async run(): Promise<void> {
    const { clock, random, onDown } = this.#options
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const { reason, isFinal, waitMilliseconds = 0 } = await this.#attempt()
      if (signal.aborted) return
      if (isFinal) throw new Error(reason)
      onDown(reason)
      const backoff = jitteredBackoff(RETRY_MILLISECONDS, RETRY_JITTER, ++this.#failures, random)
      await pause(clock, Math.max(backoff, waitMilliseconds), signal)
    }
  }

  stop(): void {
    this.#stopping.abort()
    const socket = this.#socket
    if (socket === undefined) return
    if (socket.readyState === WebSocket.CONNECTING) socket.terminate()
    else socket.close(1000)
    // The peer may never answer the close frame.
    const cut = this.#options.clock.schedule(CLOSE_MILLISECONDS_MAX, () => socket.terminate())
    socket.once('close', () => cut.cancel())
  }

  /** Sends one more request on the open connection. */
  send(request: object): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(request))
  }

  async #attempt(): Promise<Ending> {
    const token = await this.#newToken()
    if (typeof token !== 'string') return token
    return this.#stopping.signal.aborted ? { reason: 'stopped', isFinal: true } : await this.#session(token)
  }

  /** A new token for each connection. */
  async #newToken(): Promise<string | Ending> {
    const { credentials, clock } = this.#options
    const token = await fetchToken({ credentials, scope: STREAM_SCOPE, clock, stop: this.#stopping.signal })
    if (typeof token === 'string') return token
    const { reason, status, retryAfter } = token
    if (status === undefined) return this.#unreachable(reason)
    return { reason, isFinal: !RETRY_STATUSES.includes(status), waitMilliseconds: waitOf(retryAfter) }
  }

  #session(token: string): Promise<Ending> {
    const { credentials, clock, subprotocol, request, onOpen, onMessage } = this.#options
    const socket = new WebSocket(`${credentials.ws_url}/`, subprotocol === undefined ? [] : [subprotocol], {
      headers: { authorization: `Bearer ${token}` },
      handshakeTimeout: ANSWER_MILLISECONDS_MAX,
      maxPayload: MESSAGE_BYTES_MAX,
      perMessageDeflate: false,
    })
    this.#socket = socket
    let silence: Timer | undefined
    const arrived = (): void => {
      silence?.cancel()
      silence = clock.schedule(SILENCE_MILLISECONDS_MAX, () => socket.terminate())
    }
    return new Promise<Ending>((resolve) => {
      let isOpen = false
      let failure = ''
      socket.on('open', () => {
        isOpen = true
        this.#hasBeenOpen = true
        arrived()
        onOpen()
        this.send(request)
      })
      socket.on('ping', arrived)
      socket.on('message', (data, isBinary) => {
        arrived()
        this.#failures = 0
        // Every API message is JSON text. A binary one is passed on as invalid JSON, so it is reported.
        if (!this.#stopping.signal.aborted) onMessage(isBinary ? '(a binary message)' : data.toString())
      })
      socket.on('unexpected-response', (_request, response) => {
        response.resume()
        resolve(this.#refused(response.statusCode ?? 0, response.headers['retry-after']))
        socket.terminate()
      })
      socket.on('error', (error: NodeJS.ErrnoException) => {
        failure = error.code ?? error.message
      })
      socket.on('close', (code, reason) => {
        silence?.cancel()
        if (isOpen) resolve(endingOf(code, reason.toString() || failure))
        else resolve(this.#unreachable(`cannot reach ${credentials.ws_url}: ${failure}`))
      })
    })
  }

  #unreachable(reason: string): Ending {
    if (this.#hasBeenOpen) return { reason, isFinal: false }
    return { reason: `${reason}. Is the service running?`, isFinal: true }
  }

  /**
   * After an open connection, a rejected new token is not final: during a signing-key rotation another node may not
   * know the new key yet. The token endpoint rejects invalid credentials.
   */
  #refused(status: number, retryAfter: string | undefined): Ending {
    const isTransient = RETRY_STATUSES.includes(status) || (status === 401 && this.#hasBeenOpen)
    return {
      reason: `${this.#options.credentials.ws_url} answered ${status}: ${REFUSALS[status] ?? 'the stream was refused'}`,
      isFinal: !isTransient,
      waitMilliseconds: waitOf(retryAfter),
    }
  }
}

/** What the answer to a handshake means. */
const REFUSALS: Readonly<Record<number, string>> = {
  401: 'the token was not accepted',
  403: 'this client may not stream: it needs the scope, and its customer a place on the streaming allow list',
  404: 'there is no stream at this address',
  429: 'this client has too many connections',
  503: 'the service takes no more connections now',
}

/** How an open connection ended. */
function endingOf(code: number, reason: string): Ending {
  const advice = Object.values(CLOSE_CODES).find((row) => row.code === code)?.reconnect
  const text = code === 1006 ? `connection lost${reason === '' ? '' : ` (${reason})`}` : `${code} ${reason}`.trimEnd()
  if (advice === 'no') return { reason: `the service closed the connection: ${text}`, isFinal: true }
  if (CLIENT_FAULT_CODES.includes(code))
    return { reason: `the service did not accept what we sent: ${text}`, isFinal: true }
  const waitMilliseconds = advice === 'after backing off' ? PAUSE_MILLISECONDS : 0
  return { reason: reason === '' ? text : reason, isFinal: false, waitMilliseconds }
}

function waitOf(retryAfter: string | null | undefined): number {
  return (Number(retryAfter ?? 0) || 0) * 1_000
}

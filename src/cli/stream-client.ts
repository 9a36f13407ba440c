/**
 * A stream connection with automatic reconnection: gets a token, opens the socket, sends its requests, passes every message
 * on in order, and reconnects with backoff and jitter as the table of close codes advises. A permanent failure ends it with
 * one sentence. It does not parse messages, and no error contains a secret or a token.
 */
import { WebSocket } from 'ws'
import { type Jitter, jitteredBackoff } from '../base/backoff.ts'
import type { Clock, Timer } from '../base/clock.ts'
import { CLOSE_CODES, type CloseCause } from '../contract/stream-codes.ts'
import type { StreamCredentials } from './stream-credentials.ts'
import { fetchToken, type HeldToken, TokenRefused, TokenUnreachable } from './stream-token.ts'

export interface StreamClientOptions {
  readonly credentials: StreamCredentials
  /** Offered in the handshake; absent: none, which is the base protocol. */
  readonly subprotocol?: string
  /** Sent in this order on every new connection. */
  readonly requests: readonly object[]
  readonly clock: Clock
  /** In [0, 1): spreads reconnections. */
  readonly random: () => number
  readonly onOpen: () => void
  readonly onMessage: (text: string) => void
  /** The connection was lost and will be opened again. */
  readonly onDown: (down: ConnectionDown) => void
}

export interface ConnectionDown {
  readonly reason: string
  /** The close code; absent when there was no connection to close. */
  readonly code?: number
  readonly retryInMilliseconds: number
}

/** How one attempt ended. */
type Outcome =
  | { readonly type: 'closed'; readonly code: number; readonly reason: string }
  | (Refusal & { readonly type: 'refused' })
  | { readonly type: 'unreachable'; readonly reason: string }

interface Refusal {
  /** Whether the token endpoint rejected the client, not the handshake. */
  readonly isOfToken: boolean
  readonly status: number
  readonly retryAfterSeconds: number
  readonly what: string
}

/** Backoff between two attempts. */
const RETRY_MILLISECONDS = { first: 250, longest: 5_000 }
/** The same where the close-code table requires a longer delay from the first attempt on. */
const RETRY_LATER_MILLISECONDS = { first: 5_000, longest: 5_000 }
const RETRY_JITTER: Jitter = [0.5, 1.5]
/** Longest wait for the answer to a handshake. */
const HANDSHAKE_MILLISECONDS_MAX = 10_000
/** Servers send pings and heartbeats far more often; after this long without a byte the connection is dead. */
const SILENCE_MILLISECONDS_MAX = 60_000
/** Longest wait for the answer to our close frame. */
const CLOSE_MILLISECONDS_MAX = 1_000
/** A whole book of 46,000 levels is 1.9 MB. */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024
/** Protocol error, invalid text, message too large: a retry would fail in the same way. */
const CLIENT_FAULT_CODES: ReadonlySet<number> = new Set([1002, 1007, 1009])
/** Too many connections, and not ready: both carry `Retry-After`. */
const RETRY_STATUSES: ReadonlySet<number> = new Set([429, 500, 502, 503, 504])

export class StreamClient {
  readonly #options: StreamClientOptions
  #socket: WebSocket | undefined
  readonly #stopping = new AbortController()
  #held: HeldToken | undefined
  #hasBeenOpen = false
  #failures = 0
  #retriesLater = false
  #waiting: { timer: Timer; done: () => void } | undefined

  constructor(options: StreamClientOptions) {
    this.#options = options
  }

  /** Resolves after `stop`; rejects on a permanent failure. */
  async run(): Promise<void> {
    while (!this.#isStopped) {
      const outcome = await this.#attempt()
      if (this.#isStopped) return
      const fatal = this.#fatalReason(outcome)
      if (fatal !== undefined) throw new Error(fatal)
      const retryInMilliseconds = this.#retryDelay(outcome)
      this.#options.onDown({ ...describe(outcome), retryInMilliseconds })
      await this.#wait(retryInMilliseconds)
    }
  }

  /** The token of the connection; undefined before the first one. */
  get accessToken(): string | undefined {
    return this.#held?.accessToken
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted
  }

  stop(): void {
    this.#stopping.abort()
    this.#waiting?.timer.cancel()
    this.#waiting?.done()
    const socket = this.#socket
    if (socket === undefined) return
    if (socket.readyState === WebSocket.CONNECTING) socket.terminate()
    else socket.close(1000)
    // The peer may never answer the close frame.
    const cut = this.#options.clock.schedule(CLOSE_MILLISECONDS_MAX, () => socket.terminate())
    socket.once('close', () => cut.cancel())
  }

  /** Sends one more request on the open connection; without one nothing happens, since `requests` follow its opening. */
  send(request: object): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(request))
  }

  /** Closes the connection and opens another one after the backoff, because the service failed internally. */
  reconnect(): void {
    this.#retriesLater = true
    this.#socket?.close(1000)
  }

  /** Stops reading the socket; data stays in the kernel's buffers. */
  pause(): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.pause()
  }

  resume(): void {
    if (this.#socket?.isPaused) this.#socket.resume()
  }

  async #attempt(): Promise<Outcome> {
    const now = this.#options.clock.monotonicMilliseconds()
    let held = this.#held
    const isFresh = held === undefined || held.expiresAtMilliseconds <= now
    try {
      if (held === undefined || isFresh) held = await fetchToken(this.#options.credentials, now, this.#stopping.signal)
    } catch (error) {
      return tokenOutcome(error)
    }
    this.#held = held
    if (this.#isStopped) return { type: 'closed', code: 1000, reason: '' }
    const outcome = await this.#session(held.accessToken)
    const isUnaccepted = outcome.type === 'refused' && outcome.status === 401
    if (isUnaccepted || adviceOf(outcome) === 'with a new token') this.#held = undefined
    // An older token may have expired, or its key may have been revoked: only the rejection of a new one is final.
    return isUnaccepted && !isFresh ? this.#attempt() : outcome
  }

  #session(accessToken: string): Promise<Outcome> {
    return new Promise((resolve) => {
      const { credentials, clock, subprotocol } = this.#options
      const socket = new WebSocket(`${credentials.wsUrl}/`, subprotocol === undefined ? [] : [subprotocol], {
        headers: { authorization: `Bearer ${accessToken}` },
        handshakeTimeout: HANDSHAKE_MILLISECONDS_MAX,
        maxPayload: MESSAGE_BYTES_MAX,
        perMessageDeflate: false,
      })
      this.#socket = socket
      let hasOpened = false
      let lastArrival = clock.monotonicMilliseconds()
      let silence: Timer | undefined
      const watchSilence = (): void => {
        const left = lastArrival + SILENCE_MILLISECONDS_MAX - clock.monotonicMilliseconds()
        if (left <= 0 && !socket.isPaused) socket.terminate()
        else silence = clock.schedule(Math.max(left, 1_000), watchSilence)
      }
      const finish = (outcome: Outcome): void => {
        silence?.cancel()
        if (this.#socket === socket) this.#socket = undefined
        resolve(outcome)
      }
      const arrived = (): void => {
        lastArrival = clock.monotonicMilliseconds()
      }
      socket.on('open', () => {
        hasOpened = true
        this.#hasBeenOpen = true
        watchSilence()
        this.#options.onOpen()
        for (const request of this.#options.requests) socket.send(JSON.stringify(request))
      })
      socket.on('ping', arrived)
      socket.on('message', (data, isBinary) => {
        arrived()
        this.#failures = 0
        // Every message of the API is JSON text; a binary one is passed on as invalid JSON, so that it is reported.
        if (!this.#isStopped) this.#options.onMessage(isBinary ? '(a binary message)' : data.toString())
      })
      socket.on('unexpected-response', (_request, response) => {
        response.resume()
        const retryAfterSeconds = Number(response.headers['retry-after'] ?? 0) || 0
        const status = response.statusCode ?? 0
        finish({
          type: 'refused',
          isOfToken: false,
          status,
          retryAfterSeconds,
          what: handshakeRefusal(status, credentials),
        })
        socket.terminate()
      })
      let failure = ''
      socket.on('error', (error: NodeJS.ErrnoException) => {
        failure = error.code ?? error.message
      })
      socket.on('close', (code, reason) => {
        if (hasOpened) finish({ type: 'closed', code, reason: reason.toString() || failure })
        else finish({ type: 'unreachable', reason: `cannot reach ${credentials.wsUrl}: ${failure}` })
      })
    })
  }

  /** The reason of a permanent failure; undefined when a retry may succeed. */
  #fatalReason(outcome: Outcome): string | undefined {
    if (outcome.type === 'unreachable') {
      return this.#hasBeenOpen ? undefined : `${outcome.reason}; is the service running?`
    }
    if (outcome.type === 'refused') return this.#isTransient(outcome) ? undefined : outcome.what
    if (adviceOf(outcome) === 'no') return `the service closed the connection: ${closeText(outcome)}`
    if (CLIENT_FAULT_CODES.has(outcome.code)) return `the service did not accept what we sent: ${closeText(outcome)}`
    return undefined
  }

  /**
   * After an open connection, the rejection of a new token is not final: while a signing key is rotated, another node may
   * not know the new key yet. Invalid credentials are rejected by the token endpoint.
   */
  #isTransient({ status, isOfToken }: Refusal): boolean {
    return RETRY_STATUSES.has(status) || (status === 401 && !isOfToken && this.#hasBeenOpen)
  }

  /** Milliseconds until the next attempt: jittered, growing while attempts fail, never before `Retry-After`. */
  #retryDelay(outcome: Outcome): number {
    const isLater = this.#retriesLater || adviceOf(outcome) === 'after backing off'
    this.#retriesLater = false
    const limits = isLater ? RETRY_LATER_MILLISECONDS : RETRY_MILLISECONDS
    this.#failures++
    const jittered = jitteredBackoff(limits, RETRY_JITTER, this.#failures, this.#options.random)
    const asked = outcome.type === 'refused' ? outcome.retryAfterSeconds * 1000 : 0
    return Math.round(Math.max(jittered, asked))
  }

  #wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.schedule(milliseconds, resolve)
      this.#waiting = { timer, done: resolve }
    })
  }
}

function tokenOutcome(error: unknown): Outcome {
  if (error instanceof TokenRefused) {
    const { status, retryAfterSeconds, message } = error
    return { type: 'refused', isOfToken: true, status, retryAfterSeconds, what: message }
  }
  if (error instanceof TokenUnreachable) return { type: 'unreachable', reason: error.message }
  throw error
}

/** The advice of the close-code table; undefined for other codes. */
function adviceOf(outcome: Outcome): (typeof CLOSE_CODES)[CloseCause]['reconnect'] | undefined {
  if (outcome.type !== 'closed') return undefined
  return Object.values(CLOSE_CODES).find((row) => row.code === outcome.code)?.reconnect
}

function describe(outcome: Outcome): { reason: string; code?: number } {
  if (outcome.type === 'closed') return { reason: outcome.reason || closeText(outcome), code: outcome.code }
  return { reason: outcome.type === 'refused' ? outcome.what : outcome.reason }
}

function closeText(outcome: { readonly code: number; readonly reason: string }): string {
  if (outcome.code === 1006) return `connection lost${outcome.reason === '' ? '' : ` (${outcome.reason})`}`
  return `${outcome.code}${outcome.reason === '' ? '' : ` ${outcome.reason}`}`
}

function handshakeRefusal(status: number, credentials: StreamCredentials): string {
  const meaning: Record<number, string> = {
    401: 'the token was not accepted',
    403: 'this client may not stream: it needs the scope, and its customer a place on the streaming allow list',
    404: 'there is no stream at this address',
    429: 'this client has too many connections',
    503: 'the service takes no more connections now',
  }
  return `${credentials.wsUrl} answered ${status}: ${meaning[status] ?? 'the stream was refused'}`
}

/**
 * One WebSocket connection to a venue, the same for all venues. It connects, reconnects with backoff and jitter, ends a
 * silent connection, and counts messages. Time in which this process did not run is not silence. Only this file in its
 * folder uses the `ws` client.
 *
 * `onMessage` is called only between an `onOpen` and its `onDown`. `onDown` is called once for each connection or
 * attempt that ended. Nothing is called after `stop`.
 *
 * Received messages are not queued. Each is processed while the socket is read, so TCP slows down a venue that sends
 * faster. An owner that needs more time for a message pauses reading (`pause`). Requests are queued in order, up to a
 * limit, while the venue's request rate is used up. Venue messages are not parsed here.
 */
import { WebSocket } from 'ws'
import { type Jitter, jitteredBackoff } from '../../../platform/base/backoff.ts'
import type { Clock, Timer } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import { RunningClock } from '../../../platform/base/running-clock.ts'
import { TokenBucket } from '../../../platform/base/token-bucket.ts'
import { type VenueMetrics, venueMetrics } from './venue-metrics.ts'

/** What a handshake needs besides the address. */
export interface Handshake {
  readonly subprotocol: string
  readonly headers: Readonly<Record<string, string>>
}

export interface VenueConnectionOptions {
  /** Feed name, as in the settings: `kraken`. The metrics' label `venue`. */
  readonly venue: string
  readonly url: string
  /** Called before each attempt, for credentials that expire. A rejection ends the attempt with its message. */
  readonly prepareHandshake?: (signal: AbortSignal) => Promise<Handshake>
  /** A connection without a message or a protocol ping for this long is closed. The first message may take longer. */
  readonly silenceMilliseconds: number
  /** Sent after this long without a message, for venues with quiet connections. */
  readonly keepAlive?: { readonly text: string; readonly milliseconds: number }
  /** Token bucket for requests: how many may be sent at once, and how many per second after that. */
  readonly requestRate?: { readonly burst: number; readonly perSecond: number }
  readonly clock: Clock
  /** A number in [0, 1) for jitter, which keeps processes from reconnecting at the same instant. */
  readonly random: () => number
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly onOpen: () => void
  readonly onMessage: (text: string) => void
  /** A connection or an attempt to connect has ended. The next attempt is already scheduled. */
  readonly onDown: (reason: string) => void
}

/** Time for the connection to open and the first message to arrive over a slow network. */
const OPENING_MILLISECONDS_MIN = 15_000
/** Interval between checks while the socket is not read. */
const PAUSED_MILLISECONDS = 500
/** Largest accepted frame. Kraken's list of all pairs, the largest in use, is under 1 MiB. */
const FRAME_BYTES_MAX = 16 * 1024 * 1024
/** Bytes waiting in the socket above which the venue counts as not reading. */
const OUTBOUND_BYTES_MAX = 1024 * 1024
/** Queued requests. The venue's rate does not allow more while an answer is expected. */
const REQUESTS_QUEUED_MAX = 10_000
/** A connection that lasted this long resets the backoff. */
const PROVEN_MILLISECONDS = 60_000
const RETRY_MILLISECONDS = { first: 500, longest: 30_000 }
const RETRY_JITTER: Jitter = [0.5, 1]

/** Whole milliseconds to wait after consecutive failures (1, 2, 3 …) on a connection or a request to a venue. */
export function retryMilliseconds(failures: number, random: () => number): number {
  return Math.round(jitteredBackoff(RETRY_MILLISECONDS, RETRY_JITTER, failures, random))
}

export class VenueConnection {
  readonly #options: VenueConnectionOptions
  /** For everything that waits for the venue, from `start` to `stop`. */
  readonly running: RunningClock
  readonly #metrics: VenueMetrics
  /** Sockets without a `close` event so far, including the current one. */
  readonly #sockets = new Set<WebSocket>()
  #socket: WebSocket | undefined
  /** Attempts to connect so far. */
  /** Aborts a handshake's preparation. */
  readonly #stopping = new AbortController()
  #timer: Timer | undefined
  readonly #rate: TokenBucket | undefined
  #queue: string[] = []
  #requestTimer: Timer | undefined
  #openedMilliseconds: number | undefined
  /** When the last message arrived, on any connection. */
  #messageMilliseconds: number
  /** When the current connection last received a message or a ping, or was started; also by `running`. */
  #receiptMilliseconds: number
  #receiptRunningMilliseconds = 0
  /** Whether anything has arrived on the current connection. */
  #hasReceived = false
  /** When the last keep-alive was sent. */
  #keepAliveMilliseconds = 0
  #isPaused = false
  #failures = 0
  #isStopped = false
  #ended: Promise<void> | undefined
  #onAllClosed: (() => void) | undefined
  readonly #ageSeconds = () => (this.#options.clock.monotonicMilliseconds() - this.#messageMilliseconds) / 1000

  constructor(options: VenueConnectionOptions) {
    this.#options = options
    this.running = new RunningClock(options.clock)
    this.#messageMilliseconds = options.clock.monotonicMilliseconds()
    this.#receiptMilliseconds = this.#messageMilliseconds
    const { requestRate: rate } = options
    this.#rate = rate === undefined ? undefined : new TokenBucket(options.clock, rate.perSecond, rate.burst)
    this.#metrics = venueMetrics(options.metrics)
    this.#metrics.messages.inc({ venue: options.venue }, 0)
    this.#metrics.reconnects.inc({ venue: options.venue }, 0)
    this.#metrics.lagSeconds.zero({ venue: options.venue })
    this.#metrics.ages.set(options.venue, this.#ageSeconds)
  }

  start(): void {
    this.running.start()
    this.#connect()
  }

  /**
   * Queues one message, sent as JSON text. Does nothing without an open connection: the owner repeats its requests in
   * `onOpen`.
   */
  send(message: object): void {
    if (this.#socket?.readyState !== WebSocket.OPEN) return
    this.#queue.push(JSON.stringify(message))
    if (this.#queue.length > REQUESTS_QUEUED_MAX) this.restart('too many requests wait for the venue’s rate limit')
    else if (this.#requestTimer === undefined) this.#sendQueue()
  }

  /**
   * Stops reading the current connection until `resume`. Messages read completely before are still passed to
   * `onMessage`.
   */
  pause(): void {
    this.#socket?.pause()
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    // Silence is measured from now on: while the socket was not read, nothing could arrive.
    this.#noteReceipt()
    this.#socket?.resume()
  }

  /** Ends the current connection because it cannot be trusted. The next attempt is scheduled as usual. */
  restart(reason: string): void {
    if (this.#socket !== undefined) this.#down(this.#socket, reason)
  }

  /** Ends the connection and all attempts. Resolves when every socket is closed. */
  stop(): Promise<void> {
    this.#isStopped = true
    this.running.stop()
    this.#stopping.abort()
    this.#timer?.cancel()
    this.#clearQueue()
    // A new source for the same feed may have registered its age already.
    const { ages } = this.#metrics
    if (ages.get(this.#options.venue) === this.#ageSeconds) ages.delete(this.#options.venue)
    for (const socket of this.#sockets) socket.terminate()
    this.#ended ??= new Promise((resolve) => {
      this.#onAllClosed = resolve
    })
    if (this.#sockets.size === 0) this.#onAllClosed?.()
    return this.#ended
  }

  #sendQueue(): void {
    const socket = this.#socket
    for (let text = this.#queue[0]; text !== undefined; text = this.#queue[0]) {
      if (socket === undefined || socket.readyState !== WebSocket.OPEN) return
      const delayMilliseconds = this.#rate?.take() ?? 0
      if (delayMilliseconds > 0) {
        this.#requestTimer = this.#options.clock.schedule(delayMilliseconds, () => {
          this.#requestTimer = undefined
          this.#sendQueue()
        })
        return
      }
      this.#queue.shift()
      socket.send(text)
      if (socket.bufferedAmount > OUTBOUND_BYTES_MAX) {
        this.restart('the venue does not read its requests')
        return
      }
    }
  }

  #clearQueue(): void {
    this.#queue = []
    this.#requestTimer?.cancel()
    this.#requestTimer = undefined
  }

  #connect(): void {
    const { prepareHandshake } = this.#options
    this.#openedMilliseconds = undefined
    if (prepareHandshake === undefined) {
      this.#open([], {})
      return
    }
    prepareHandshake(this.#stopping.signal).then(
      ({ subprotocol, headers }) => {
        if (!this.#isStopped) this.#open([subprotocol], headers)
      },
      (error: unknown) => this.#down(undefined, error instanceof Error ? error.message : String(error)),
    )
  }

  #open(subprotocols: string[], headers: Readonly<Record<string, string>>): void {
    const { venue, url, clock } = this.#options
    // Without compression, the frame limit is also the limit for its memory.
    const limits = { maxPayload: FRAME_BYTES_MAX, perMessageDeflate: false, followRedirects: false }
    const socket = new WebSocket(url, subprotocols, { ...limits, headers })
    let failure = ''
    this.#socket = socket
    this.#sockets.add(socket)
    this.#noteReceipt()
    this.#hasReceived = false
    this.#isPaused = false
    socket.on('error', (error) => {
      failure = error.message
    })
    socket.on('close', (code) => {
      this.#sockets.delete(socket)
      this.#down(socket, failure === '' ? `the connection was closed with code ${code}` : failure)
      if (this.#sockets.size === 0) this.#onAllClosed?.()
    })
    socket.on('open', () => {
      if (socket !== this.#socket || this.#isStopped) return
      this.#openedMilliseconds = clock.monotonicMilliseconds()
      this.#options.log.info({ venue }, 'venue connected')
      this.#options.onOpen()
    })
    const noteReceipt = (): void => {
      if (socket !== this.#socket) return
      this.#hasReceived = true
      this.#noteReceipt()
    }
    socket.on('ping', noteReceipt)
    socket.on('pong', noteReceipt)
    socket.on('message', (data) => {
      if (socket !== this.#socket || this.#isStopped) return
      this.#messageMilliseconds = clock.monotonicMilliseconds()
      noteReceipt()
      this.#metrics.messages.inc({ venue })
      this.#options.onMessage(String(data))
    })
    this.#watchSilence(socket)
  }

  #watchSilence(socket: WebSocket): void {
    const { clock, silenceMilliseconds, keepAlive } = this.#options
    const now = clock.monotonicMilliseconds()
    if (this.#isPaused) {
      this.#planCheck(socket, PAUSED_MILLISECONDS)
      return
    }
    const silent = this.running.monotonicMilliseconds() - this.#receiptRunningMilliseconds
    const limitMilliseconds = this.#hasReceived
      ? silenceMilliseconds
      : Math.max(silenceMilliseconds, OPENING_MILLISECONDS_MIN)
    if (silent >= limitMilliseconds) {
      this.#down(socket, `nothing arrived for ${limitMilliseconds / 1000} s`)
      return
    }
    let next = limitMilliseconds - silent
    // Before the first message the limit may be longer than afterwards: the check must come in time for the shorter one.
    if (!this.#hasReceived) next = Math.min(next, silenceMilliseconds)
    if (keepAlive !== undefined) {
      if (now - Math.max(this.#receiptMilliseconds, this.#keepAliveMilliseconds) >= keepAlive.milliseconds) {
        this.#keepAliveMilliseconds = now
        if (socket.readyState === WebSocket.OPEN) socket.send(keepAlive.text)
      }
      const since = now - Math.max(this.#receiptMilliseconds, this.#keepAliveMilliseconds)
      next = Math.min(next, keepAlive.milliseconds - since)
    }
    this.#planCheck(socket, next)
  }

  #planCheck(socket: WebSocket, delayMilliseconds: number): void {
    this.#timer = this.#options.clock.schedule(Math.max(1, delayMilliseconds), () => this.#watchSilence(socket))
  }

  #noteReceipt(): void {
    this.#receiptMilliseconds = this.#options.clock.monotonicMilliseconds()
    this.#receiptRunningMilliseconds = this.running.monotonicMilliseconds()
  }

  /** @param socket undefined for an attempt that ended before it had one */
  #down(socket: WebSocket | undefined, reason: string): void {
    if (socket !== this.#socket || this.#isStopped) return
    const { venue, clock, log, onDown } = this.#options
    const opened = this.#openedMilliseconds
    if (opened !== undefined && clock.monotonicMilliseconds() - opened >= PROVEN_MILLISECONDS) this.#failures = 0
    this.#failures += 1
    const delayMilliseconds = retryMilliseconds(this.#failures, this.#options.random)
    this.#socket = undefined
    this.#timer?.cancel()
    this.#clearQueue()
    socket?.terminate()
    const fields = { venue, reason, failures: this.#failures, retryMilliseconds: delayMilliseconds }
    // When a venue stays away, attempts 1, 2, 4, 8 … are enough.
    if (Number.isInteger(Math.log2(this.#failures))) log.warn(fields, 'venue connection down')
    else log.debug(fields, 'venue connection down')
    this.#timer = clock.schedule(delayMilliseconds, () => {
      this.#metrics.reconnects.inc({ venue })
      this.#connect()
    })
    onDown(reason)
  }
}

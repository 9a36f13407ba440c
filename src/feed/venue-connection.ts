/**
 * The life of one WebSocket connection to a venue, the same for every venue: it connects, keeps reconnecting with a
 * growing delay, takes a connection on which nothing arrives for dead, and counts what it sees. It is the one place
 * where the `ws` client is used. It promises that `onMessage` is called only between an `onOpen` and its `onDown`,
 * that every outage is told once an attempt, and that nothing is called after `stop`. It never queues a message of
 * the venue: each is handed on while the socket is read, so TCP holds back a venue that is faster than we are. Requests
 * wait, in order, while the venue takes no more. It knows no venue's messages.
 */
import { WebSocket } from 'ws'
import { type Jitter, jitteredBackoff } from '../base/backoff.ts'
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { MetricsRegistry } from '../base/metrics.ts'
import { TokenBucket } from '../base/token-bucket.ts'
import { type VenueMetrics, venueMetrics } from './venue-metrics.ts'

export interface VenueConnectionOptions {
  /** The venue's name as in the settings: `kraken`. */
  readonly venue: string
  readonly url: string
  /** After so long without a message or a protocol ping the connection is dead; the first may take longer. */
  readonly silenceMilliseconds: number
  /** Sent when nothing arrived for so long, so that a venue that only answers shows that it lives. */
  readonly keepAlive?: { readonly text: string; readonly milliseconds: number }
  /** As many requests at once, and a second from then on, as the venue takes. */
  readonly requestRate?: { readonly burst: number; readonly perSecond: number }
  readonly clock: Clock
  /** A number in [0, 1): processes that lost a venue together do not come back together. */
  readonly random: () => number
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly onOpen: () => void
  readonly onMessage: (text: string) => void
  /** A connection, or an attempt at one, has ended; the next attempt is already planned. */
  readonly onDown: (reason: string) => void
}

/** Time for the connection to open and the first message to arrive, over a slow network. */
const OPENING_MILLISECONDS_MIN = 15_000
/**
 * A check for silence that runs so late proves that this process was busy or stopped: what arrived meanwhile is not read
 * yet, so the silence is judged once it could be.
 */
const LATE_MILLISECONDS = 500
/** Largest frame that is taken; Kraken's list of all its pairs, the largest we ask for, is under 1 MiB. */
const FRAME_BYTES_MAX = 16 * 1024 * 1024
/** A venue that lets so much of what we say pile up does not read any more. */
const OUTBOUND_BYTES_MAX = 1024 * 1024
/** Requests that wait for the venue's rate; more could not be sent while anyone waits for an answer. */
const REQUESTS_WAITING_MAX = 10_000
/** A connection that stood for so long has proved itself: the next outage starts with the shortest delay again. */
const PROVEN_MILLISECONDS = 60_000
const RETRY_MILLISECONDS = { first: 500, longest: 30_000 }
const RETRY_JITTER: Jitter = [0.5, 1]

/** Whole milliseconds to wait after a number (1, 2, 3 …) of failures in a row, of a connection or a request to a venue. */
export function retryMilliseconds(failures: number, random: () => number): number {
  return Math.round(jitteredBackoff(RETRY_MILLISECONDS, RETRY_JITTER, failures, random))
}

export class VenueConnection {
  readonly #options: VenueConnectionOptions
  readonly #metrics: VenueMetrics
  /** Sockets whose end has not come yet, the current one included. */
  readonly #sockets = new Set<WebSocket>()
  #socket: WebSocket | undefined
  #timer: Timer | undefined
  readonly #rate: TokenBucket | undefined
  #waiting: string[] = []
  #requestTimer: Timer | undefined
  #openedMilliseconds: number | undefined
  /** When the last message arrived, of whichever connection. */
  #messageMilliseconds: number
  /** When the present connection last showed life: its last message or ping, or its begin. */
  #lifeMilliseconds: number
  /** Whether the present connection has shown any life. */
  #hasHeard = false
  /** When the present check for silence was due. */
  #checkDueMilliseconds = 0
  /** When the venue was last asked whether it lives. */
  #askedMilliseconds = 0
  #failures = 0
  #isStopped = false
  #ended: Promise<void> | undefined
  #onAllClosed: (() => void) | undefined
  readonly #ageSeconds = () => (this.#options.clock.monotonicMilliseconds() - this.#messageMilliseconds) / 1000

  constructor(options: VenueConnectionOptions) {
    this.#options = options
    this.#messageMilliseconds = options.clock.monotonicMilliseconds()
    this.#lifeMilliseconds = this.#messageMilliseconds
    const { requestRate: rate } = options
    this.#rate = rate === undefined ? undefined : new TokenBucket(options.clock, rate.perSecond, rate.burst)
    this.#metrics = venueMetrics(options.metrics)
    this.#metrics.messages.inc({ venue: options.venue }, 0)
    this.#metrics.reconnects.inc({ venue: options.venue }, 0)
    this.#metrics.lagSeconds.zero({ venue: options.venue })
    this.#metrics.ages.set(options.venue, this.#ageSeconds)
  }

  start(): void {
    this.#connect()
  }

  /** Sends one message as JSON text. Without an open connection it does nothing: `onOpen` says it all anew. */
  send(message: object): void {
    if (this.#socket?.readyState !== WebSocket.OPEN) return
    this.#waiting.push(JSON.stringify(message))
    if (this.#waiting.length > REQUESTS_WAITING_MAX) this.restart('more is to be asked than the venue takes')
    else if (this.#requestTimer === undefined) this.#sendWaiting()
  }

  /** Gives up the present connection because it cannot be trusted; the next one follows by itself. */
  restart(reason: string): void {
    if (this.#socket !== undefined) this.#down(this.#socket, reason)
  }

  /** Ends the connection and its attempts; resolves when no socket is left. */
  stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    this.#dropWaiting()
    // A successor of the same venue may have taken the place already.
    const { ages } = this.#metrics
    if (ages.get(this.#options.venue) === this.#ageSeconds) ages.delete(this.#options.venue)
    for (const socket of this.#sockets) socket.terminate()
    this.#ended ??= new Promise((resolve) => {
      this.#onAllClosed = resolve
    })
    if (this.#sockets.size === 0) this.#onAllClosed?.()
    return this.#ended
  }

  #sendWaiting(): void {
    const socket = this.#socket
    for (let text = this.#waiting[0]; text !== undefined; text = this.#waiting[0]) {
      if (socket === undefined || socket.readyState !== WebSocket.OPEN) return
      const delayMilliseconds = this.#rate?.take() ?? 0
      if (delayMilliseconds > 0) {
        this.#requestTimer = this.#options.clock.schedule(delayMilliseconds, () => {
          this.#requestTimer = undefined
          this.#sendWaiting()
        })
        return
      }
      this.#waiting.shift()
      socket.send(text)
      if (socket.bufferedAmount > OUTBOUND_BYTES_MAX) {
        this.restart('the venue does not read what it is sent')
        return
      }
    }
  }

  #dropWaiting(): void {
    this.#waiting = []
    this.#requestTimer?.cancel()
    this.#requestTimer = undefined
  }

  #connect(): void {
    const { venue, url, clock } = this.#options
    // Without compression the limit of a frame is also the limit of what it takes in memory.
    const socket = new WebSocket(url, { maxPayload: FRAME_BYTES_MAX, perMessageDeflate: false, followRedirects: false })
    let failure = ''
    this.#socket = socket
    this.#sockets.add(socket)
    this.#openedMilliseconds = undefined
    this.#lifeMilliseconds = clock.monotonicMilliseconds()
    this.#hasHeard = false
    this.#checkDueMilliseconds = this.#lifeMilliseconds
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
    const noteLife = (): void => {
      if (socket !== this.#socket) return
      this.#hasHeard = true
      this.#lifeMilliseconds = clock.monotonicMilliseconds()
    }
    socket.on('ping', noteLife)
    socket.on('pong', noteLife)
    socket.on('message', (data) => {
      if (socket !== this.#socket || this.#isStopped) return
      this.#messageMilliseconds = clock.monotonicMilliseconds()
      this.#lifeMilliseconds = this.#messageMilliseconds
      this.#hasHeard = true
      this.#metrics.messages.inc({ venue })
      this.#options.onMessage(String(data))
    })
    this.#watchSilence(socket)
  }

  #watchSilence(socket: WebSocket): void {
    const { clock, silenceMilliseconds, keepAlive } = this.#options
    const now = clock.monotonicMilliseconds()
    if (now - this.#checkDueMilliseconds > LATE_MILLISECONDS) {
      this.#planCheck(socket, LATE_MILLISECONDS)
      return
    }
    const silent = now - this.#lifeMilliseconds
    const limitMilliseconds = this.#hasHeard
      ? silenceMilliseconds
      : Math.max(silenceMilliseconds, OPENING_MILLISECONDS_MIN)
    if (silent >= limitMilliseconds) {
      this.#down(socket, `nothing arrived for ${limitMilliseconds / 1000} s`)
      return
    }
    let next = limitMilliseconds - silent
    // The limit shrinks with the first message.
    if (!this.#hasHeard) next = Math.min(next, silenceMilliseconds)
    if (keepAlive !== undefined) {
      if (now - Math.max(this.#lifeMilliseconds, this.#askedMilliseconds) >= keepAlive.milliseconds) {
        this.#askedMilliseconds = now
        if (socket.readyState === WebSocket.OPEN) socket.send(keepAlive.text)
      }
      const since = now - Math.max(this.#lifeMilliseconds, this.#askedMilliseconds)
      next = Math.min(next, keepAlive.milliseconds - since)
    }
    this.#planCheck(socket, next)
  }

  #planCheck(socket: WebSocket, delayMilliseconds: number): void {
    const { clock } = this.#options
    this.#checkDueMilliseconds = clock.monotonicMilliseconds() + delayMilliseconds
    this.#timer = clock.schedule(delayMilliseconds, () => this.#watchSilence(socket))
  }

  #down(socket: WebSocket, reason: string): void {
    if (socket !== this.#socket || this.#isStopped) return
    const { venue, clock, log, onDown } = this.#options
    const opened = this.#openedMilliseconds
    if (opened !== undefined && clock.monotonicMilliseconds() - opened >= PROVEN_MILLISECONDS) this.#failures = 0
    this.#failures += 1
    const delayMilliseconds = retryMilliseconds(this.#failures, this.#options.random)
    this.#socket = undefined
    this.#timer?.cancel()
    this.#dropWaiting()
    socket.terminate()
    log.warn({ venue, reason, retryMilliseconds: delayMilliseconds }, 'venue connection down')
    this.#timer = clock.schedule(delayMilliseconds, () => {
      this.#metrics.reconnects.inc({ venue })
      this.#connect()
    })
    onDown(reason)
  }
}

/**
 * One connection to the stream, opened again whenever it ends. The delay grows while attempts fail and has a random
 * part. A rejected token is replaced by a new one. There is no further attempt where the service's answer makes it
 * pointless. This file opens sockets and moves texts, and `StreamClient` interprets them.
 */
import { retryAfterSeconds, type TokenSource, TokenUnavailable } from '../credentials.ts'
import { reasonOf, TidegateError } from '../errors.ts'
import { type Platform, type Socket, sleep, withDeadline } from '../platform.ts'

export interface ConnectionLost {
  /** The close code, if there was a connection. */
  readonly code?: number
  readonly reason: string
  readonly retryInMilliseconds: number
}

export interface ConnectionOptions {
  /** The stream's address, with its path. */
  readonly url: string
  /** Absent: the handshake carries no token. */
  readonly tokens: TokenSource | undefined
  readonly platform: Platform
  readonly onOpen: () => void
  readonly onText: (text: unknown) => void
  readonly onLost: (lost: ConnectionLost) => void
  /** The connection will not be opened again. */
  readonly onFailed: (error: unknown) => void
}

/** How one attempt ended. */
interface Ending {
  readonly code?: number
  readonly reason: string
  readonly retryAfterSeconds?: number
  /** No answer arrived at all. */
  readonly isUnreachable?: boolean
}

const EXTENDED = 'tidegate.v1'
const PROTOCOLS = [EXTENDED, 'tidegate.default']
const HANDSHAKE_MILLISECONDS_MAX = 10_000
/**
 * A connection's longest permitted silence follows from its heartbeats. Before the second heartbeat it is this long.
 */
const SILENCE_MILLISECONDS_MAX = 50_000
const SILENCE_MILLISECONDS_MIN = 10_000
const SILENT_HEARTBEATS = 5
/** The longest `stream.heartbeat_seconds` is an hour. A clock that is set makes an interval look longer. */
const HEARTBEAT_SILENCE_MAX = SILENT_HEARTBEATS * 3_600_000
const WATCH_MILLISECONDS = 5_000
const BACKOFF_SECONDS_MAX = 30
/** Added after 1008: the client has sent too much. */
const FLOOD_PAUSE_SECONDS = 5
/** Codes after which the next connection would end in the same way. */
const FAULTS_OF_CLIENT = [1002, 1007, 1009]
const FLOOD = 1008
const TOKEN_ENDED = 4001
const ACCESS_REVOKED = 4003

export class Connection {
  readonly #options: ConnectionOptions
  #socket: Socket | undefined
  #running: AbortController | undefined
  /** Ends the open connection from this side. */
  #cut: ((reason: string) => void) | undefined
  #hasWorked = false
  /** Attempts since data was last received. */
  #failures = 0
  #lastArrival = 0
  #silenceMilliseconds = SILENCE_MILLISECONDS_MAX

  constructor(options: ConnectionOptions) {
    this.#options = options
  }

  /** Whether the open connection speaks `tidegate.v1`. */
  get isExtended(): boolean {
    return this.#socket?.protocol === EXTENDED
  }

  /** Opens the connection and keeps it open until `close`. */
  open(): void {
    if (this.#running !== undefined) return
    const running = new AbortController()
    this.#running = running
    this.#run(running.signal).catch((error) => {
      if (running.signal.aborted) return
      this.#running = undefined
      this.#options.onFailed(error)
    })
  }

  close(): void {
    this.#running?.abort()
    this.#running = undefined
  }

  /** Ends a faulty connection and opens another one. */
  restart(reason: string): void {
    this.#cut?.(reason)
  }

  /** Sends a request if the connection is open. */
  send(request: object): void {
    this.#socket?.send(JSON.stringify(request))
  }

  /** The connection works: the next delay is short again. */
  confirm(): void {
    this.#failures = 0
  }

  /** @param milliseconds the time between the last two heartbeats */
  noteHeartbeats(milliseconds: number): void {
    const silence = SILENT_HEARTBEATS * milliseconds
    this.#silenceMilliseconds = Math.min(HEARTBEAT_SILENCE_MAX, Math.max(SILENCE_MILLISECONDS_MIN, silence))
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { platform, onLost } = this.#options
    while (true) {
      const ending = await this.#attempt(signal)
      signal.throwIfAborted()
      // Before the first successful connection, a wrong address is more likely than an outage.
      if (ending.isUnreachable && !this.#hasWorked)
        throw new TidegateError('UNREACHABLE', `${ending.reason}. Check the address, and whether the service runs`)
      const pause = (ending.retryAfterSeconds ?? 0) + (ending.code === FLOOD ? FLOOD_PAUSE_SECONDS : 0)
      // Random, so that after the service restarts, not all clients reconnect at the same moment.
      const backoff = platform.random() * Math.min(BACKOFF_SECONDS_MAX, 2 ** this.#failures++)
      const retryInMilliseconds = Math.round((pause + backoff) * 1_000)
      const { code, reason } = ending
      onLost({ ...(code === undefined ? {} : { code }), reason, retryInMilliseconds })
      await sleep(platform, retryInMilliseconds, signal)
    }
  }

  /** One connection, from the token to the close. Throws when another attempt is pointless. */
  async #attempt(signal: AbortSignal): Promise<Ending> {
    const { url, tokens, platform } = this.#options
    let token: string | undefined
    let socket: Socket
    try {
      token = await tokens?.token(signal)
      signal.throwIfAborted()
      socket = await platform.socket(url, token === undefined ? PROTOCOLS : [...PROTOCOLS, `bearer.${token}`])
      if (signal.aborted) {
        // The connection was closed meanwhile.
        abandon(socket)
        signal.throwIfAborted()
      }
    } catch (error) {
      if (error instanceof TidegateError || signal.aborted) throw error
      if (!(error instanceof TokenUnavailable)) return { reason: reasonOf(error) }
      const { message: reason, retryAfterSeconds: seconds, isUnreachable } = error
      return { reason, retryAfterSeconds: seconds, isUnreachable }
    }
    const ending = await this.#connect(socket, signal)
    signal.throwIfAborted()
    if (ending === undefined) {
      // A new token for the next attempt, whatever the reason, because not every runtime reports it.
      if (token !== undefined) tokens?.discard(token)
      return this.#refusal(token, signal)
    }
    if (ending.code === TOKEN_ENDED && token !== undefined) tokens?.discard(token)
    if (ending.code === ACCESS_REVOKED) {
      throw new TidegateError('ACCESS_REVOKED', `${url}: ${ending.reason}. Ask the operator of the service`)
    }
    if (FAULTS_OF_CLIENT.includes(ending.code ?? 0)) {
      throw new TidegateError(
        'PROTOCOL_ERROR',
        `${url}: ${ending.reason}. Update @tidegate/client, or report this fault`,
      )
    }
    return ending
  }

  /** Resolves to the connection's end, or to undefined when it does not open. */
  #connect(socket: Socket, signal: AbortSignal): Promise<Ending | undefined> {
    return new Promise((resolve) => {
      const settle = (): void => {
        cancel()
        signal.removeEventListener('abort', giveUp)
      }
      const giveUp = (): void => {
        settle()
        abandon(socket)
        resolve(undefined)
      }
      const cancel = this.#options.platform.after(HANDSHAKE_MILLISECONDS_MAX, giveUp)
      signal.addEventListener('abort', giveUp)
      socket.onerror = giveUp
      socket.onclose = giveUp
      // In the same tick, because a close may have arrived together with the handshake.
      socket.onopen = () => {
        settle()
        resolve(this.#session(socket, signal))
      }
    })
  }

  /** Runs the open connection to its end. */
  #session(socket: Socket, signal: AbortSignal): Promise<Ending> {
    const { platform, onOpen, onText } = this.#options
    return new Promise((resolve) => {
      const end = (ending: Ending): void => {
        cancelWatch()
        signal.removeEventListener('abort', abort)
        this.#socket = undefined
        this.#cut = undefined
        abandon(socket)
        resolve(ending)
      }
      const abort = (): void => end({ reason: 'closed by the client' })
      const watch = (): void => {
        const left = this.#lastArrival + this.#silenceMilliseconds - platform.now()
        if (left > 0) cancelWatch = platform.after(Math.min(left, WATCH_MILLISECONDS), watch)
        else end({ code: 1006, reason: 'nothing was received for too long' })
      }
      let cancelWatch: () => void = () => undefined
      this.#socket = socket
      this.#cut = (reason) => end({ reason })
      this.#lastArrival = platform.now()
      this.#silenceMilliseconds = SILENCE_MILLISECONDS_MAX
      signal.addEventListener('abort', abort)
      socket.onmessage = ({ data }) => {
        this.#lastArrival = platform.now()
        onText(data)
      }
      socket.onclose = ({ code, reason }) => end({ code, reason: closeText(code, reason) })
      // Deno reports no close after an error.
      socket.onerror = () => end({ code: 1006, reason: 'the connection failed' })
      this.#hasWorked = true
      watch()
      onOpen()
    })
  }

  /**
   * Finds out why a handshake failed. Browsers' WebSockets do not report it. The same request without an upgrade does,
   * where the page may send it.
   */
  async #refusal(token: string | undefined, signal: AbortSignal): Promise<Ending> {
    const { url, platform } = this.#options
    const reason = `cannot connect to ${url}`
    try {
      const [{ status, headers }, { detail }] = await withDeadline(
        platform,
        HANDSHAKE_MILLISECONDS_MAX,
        signal,
        (both) => answerOf(platform, url.replace(/^ws/, 'http'), token, both),
      )
      const text = `${url} answered ${status}${typeof detail === 'string' ? `: ${detail}` : ''}`
      // While keys are rotated, a token that worked before may be rejected for a time. Otherwise a new token is
      // rejected again.
      const isHopeless = status === 401 && (token === undefined || (!this.#hasWorked && this.#failures > 0))
      if (status === 403 || isHopeless)
        throw new TidegateError('STREAM_REFUSED', `${text}. Ask the operator for access to the stream`)
      if (status === 404 && !this.#hasWorked)
        throw new TidegateError('STREAM_REFUSED', `${text}. Check the address of the stream`)
      const isKnown = status === 401 || status === 429 || status === 503
      return { reason: isKnown ? text : reason, retryAfterSeconds: retryAfterSeconds(headers) }
    } catch (error) {
      if (error instanceof TidegateError || signal.aborted) throw error
      return { reason: `${reason}: ${reasonOf(error)}`, isUnreachable: true }
    }
  }
}

/** The service's answer to a handshake without an upgrade. */
async function answerOf(
  platform: Platform,
  url: string,
  token: string | undefined,
  signal: AbortSignal,
): Promise<[Response, { readonly detail?: unknown }]> {
  const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` }
  const response = await platform.fetch(url, { ...(headers === undefined ? {} : { headers }), signal })
  return [response, (await response.json().catch(() => ({}))) as { detail?: unknown }]
}

/** 1006 stands for a connection that ended without a close frame. */
function closeText(code: number, reason: string): string {
  return code === 1006 ? 'the connection was lost' : `closed with ${code} ${reason}`.trimEnd()
}

/** Closes a socket and ignores its events: on a dead connection, a close may take minutes. */
function abandon(socket: Socket): void {
  socket.onopen = socket.onmessage = socket.onclose = null
  // A socket closed before it opened reports an error, which must have a listener.
  socket.onerror = () => undefined
  socket.close(1000)
}

/**
 * Limits the answers that peers have not read yet: their bytes per client and in total, and how slowly a peer may read.
 * A client over its budget is rejected before its next request costs anything, and so is an answer to a GET beyond the budget.
 * The answer to a write is never replaced, because the write has been done. Long answers are passed to the socket in
 * slices, so no event-loop tick encodes a whole page and a slow peer's progress is visible. Requests without a client
 * have no budget, only the minimum rate.
 */
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify'
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Counter, Gauge, type MetricsRegistry } from '../base/metrics.ts'
import { SHARED_POOLS, SharedPool } from '../base/shared-pool.ts'
import { Problem } from './problem.ts'
import { LongJson } from './raw-json.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The client whose budget the answer counts against, set by the guard. Empty: none. */
    answeredClient: string
  }
}

export interface UnreadLimits {
  /** Unread bytes per client, not more than a quarter of all. More is 429. A single answer may be larger. */
  readonly clientBytesMax: number
  /** Unread bytes for all clients. More is 503. */
  readonly bytesMax: number
  /** A peer that reads more slowly, measured over READ_WINDOW_MILLISECONDS, is cut. */
  readonly bytesPerSecondMin: number
}

/** Eight of the largest pages per client, 128 kbit/s. */
export const UNREAD_LIMITS: UnreadLimits = {
  clientBytesMax: 16_777_216,
  bytesMax: SHARED_POOLS.unread_answers.size,
  bytesPerSecondMin: 16_384,
}

/**
 * The window for measuring a peer's rate. The kernel accepts several hundred kilobytes at once and then shows no
 * progress for a while, so a shorter window would cut peers that read steadily.
 */
const READ_WINDOW_MILLISECONDS = 30_000
/** Characters or bytes passed to the socket at once: up to 192 KiB in UTF-8. */
const SLICE_LENGTH = 65_536
const RETRY_AFTER = { headers: { 'retry-after': '1' } }

export interface UnreadAnswersOptions {
  readonly listener: string
  readonly limits: UnreadLimits
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
}

/** A connection that has had answers. */
interface UnreadConnection {
  /** Answer bytes that the kernel has not accepted yet. */
  unread: number
  /** Bytes accepted in the current window, and bytes waiting when it began. */
  taken: number
  unreadAtStart: number
  /** Ends the current window. Absent while there is no answer. */
  window: Timer | undefined
  /** For each unread answer: ends its count. */
  readonly ends: Set<() => void>
}

export class UnreadAnswers {
  readonly #options: UnreadAnswersOptions
  readonly #pool: SharedPool
  readonly #connections = new WeakMap<Socket, UnreadConnection>()
  readonly #slow: Counter<'listener'>

  constructor(options: UnreadAnswersOptions) {
    this.#options = options
    const { listener, metrics } = options
    const { unread, slow } = metricsOf(metrics)
    this.#pool = new SharedPool(options.limits.bytesMax)
    unread.push({ listener, bytes: () => this.#pool.total })
    this.#slow = slow
    slow.inc({ listener }, 0)
  }

  /** Must be called before any other hook reads the body. */
  watch(app: FastifyInstance): void {
    app.decorateRequest('answeredClient', '')
    // The guard has set the client, and the body has not been read.
    app.addHook('preParsing', ({ answeredClient }, _reply, _payload, done) => {
      this.#refuse(answeredClient, 0)
      done()
    })
    const send: onSendHookHandler = (request, reply, payload: unknown, done) => {
      if (!(payload instanceof LongJson)) return done(null, this.#send(request, reply, payload))
      // A long text has just been read from the store: it is sent in the next tick.
      return nextTick().then(() => this.#send(request, reply, payload))
    }
    // A route's hooks run after those in the enclosing scopes, which need the whole answer. For HEAD, fastify's own
    // hook, which counts and drops the bytes, must run last.
    app.addHook('onRoute', (route) => {
      const others = [route.onSend ?? []].flat().filter((hook) => hook !== send)
      route.onSend = route.method === 'HEAD' ? [send, ...others] : [...others, send]
    })
  }

  #send(request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
    const parts = partsOf(payload)
    if (request.method === 'HEAD') return payload instanceof LongJson ? payload.parts.join('') : payload
    if (parts === undefined) return payload
    const bytes = parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0)
    const { answeredClient: client } = request
    if (request.method === 'GET' && reply.statusCode === 200) this.#refuse(client, bytes)
    const connection = this.#count(request.raw.socket, reply, client, bytes)
    if (parts.length === 1 && (parts[0] as string | Buffer).length <= SLICE_LENGTH) return parts[0]
    reply.header('content-length', bytes)
    return Readable.from(slices(parts, connection), { objectMode: false, highWaterMark: 1 })
  }

  #refuse(client: string, bytes: number): void {
    if (client === '') return
    const unread = this.#pool.held(client)
    const refusal = this.#pool.refusal(client, bytes)
    if (refusal === 'share' || (unread > 0 && unread + bytes > this.#options.limits.clientBytesMax)) {
      throw new Problem(
        'too_many_unread_answers',
        `this client has ${unread} unread answer bytes: read them, or request smaller pages`,
        RETRY_AFTER,
      )
    }
    if (refusal === 'pool') {
      throw new Problem('unavailable', 'all clients together have too many unread answer bytes', RETRY_AFTER)
    }
  }

  #count(socket: Socket, reply: FastifyReply, client: string, bytes: number): AnswerProgress {
    // The client disconnected before its answer.
    if (socket.destroyed) return { take: () => undefined }
    const connection = this.#connectionOf(socket)
    connection.unread += bytes
    if (connection.window === undefined) this.#startWindow(socket, connection)
    if (client !== '') this.#pool.add(client, bytes)
    let left = bytes
    const take = (taken: number): void => {
      left -= taken
      connection.unread -= taken
      connection.taken += taken
    }
    const end = (): void => {
      if (!connection.ends.delete(end)) return
      take(left)
      if (connection.unread === 0) endWindow(connection)
      if (client !== '') this.#pool.add(client, -bytes)
    }
    connection.ends.add(end)
    // Emitted when the kernel has accepted the whole answer.
    reply.raw.once('close', end)
    return { take }
  }

  #connectionOf(socket: Socket): UnreadConnection {
    const known = this.#connections.get(socket)
    if (known !== undefined) return known
    const ends = new Set<() => void>()
    const connection = { unread: 0, taken: 0, unreadAtStart: 0, window: undefined, ends }
    this.#connections.set(socket, connection)
    // Only the first of pipelined answers is closed with its connection.
    socket.once('close', () => {
      for (const end of ends) end()
    })
    return connection
  }

  #startWindow(socket: Socket, connection: UnreadConnection): void {
    const { clock } = this.#options
    connection.taken = 0
    connection.unreadAtStart = connection.unread
    // After a pause in this process, pending write completions are handled first.
    const check = () => clock.endOfTick(() => this.#check(socket, connection))
    connection.window = clock.schedule(READ_WINDOW_MILLISECONDS, check)
  }

  #check(socket: Socket, connection: UnreadConnection): void {
    const { limits, listener, log } = this.#options
    if (connection.window === undefined) return
    const wanted = Math.min((limits.bytesPerSecondMin * READ_WINDOW_MILLISECONDS) / 1000, connection.unreadAtStart)
    if (connection.taken >= wanted) {
      this.#startWindow(socket, connection)
      return
    }
    this.#slow.inc({ listener })
    log.info({ listener, unread_bytes: connection.unread, taken_bytes: connection.taken }, 'slow reader cut')
    socket.destroy()
  }
}

function endWindow(connection: UnreadConnection): void {
  connection.window?.cancel()
  connection.window = undefined
}

/** Receives the number of answer bytes that the connection has accepted. */
interface AnswerProgress {
  take(bytes: number): void
}

/** An answer's parts. Undefined for a stream, which is sent unchanged, and for an empty answer. */
function partsOf(payload: unknown): readonly (string | Buffer)[] | undefined {
  if (payload instanceof LongJson) return payload.parts
  return typeof payload === 'string' || Buffer.isBuffer(payload) ? [payload] : undefined
}

/**
 * Slices with about SLICE_LENGTH, one per tick. The next is encoded when the connection has accepted the previous one.
 */
async function* slices(parts: readonly (string | Buffer)[], { take }: AnswerProgress): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = []
  let bytes = 0
  for (const part of parts) {
    for (const slice of slicesOf(part)) {
      if (bytes > 0 && bytes + slice.length > SLICE_LENGTH) {
        yield Buffer.concat(waiting)
        take(bytes)
        // Otherwise a connection that accepts everything at once would have the whole answer encoded in one tick.
        await nextTick()
        waiting = []
        bytes = 0
      }
      waiting.push(slice)
      bytes += slice.length
    }
  }
  yield Buffer.concat(waiting)
}

function* slicesOf(part: string | Buffer): Generator<Buffer> {
  for (let start = 0; start < part.length; ) {
    let end = Math.min(start + SLICE_LENGTH, part.length)
    // A surrogate pair must stay in one slice: its halves cannot be encoded.
    if (typeof part === 'string' && isHighSurrogate(part.charCodeAt(end - 1))) end++
    yield typeof part === 'string' ? Buffer.from(part.slice(start, end)) : part.subarray(start, end)
    start = end
  }
}

function nextTick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

interface UnreadMetrics {
  readonly unread: { readonly listener: string; readonly bytes: () => number }[]
  readonly slow: Counter<'listener'>
}

const metricsByRegistry = new WeakMap<MetricsRegistry, UnreadMetrics>()

/** A registry's metrics, created on the first call. */
function metricsOf(registry: MetricsRegistry): UnreadMetrics {
  const known = metricsByRegistry.get(registry)
  if (known !== undefined) return known
  const unread: UnreadMetrics['unread'] = []
  const registers = [registry]
  new Gauge({
    name: 'tidegate_http_unread_bytes',
    help: 'Answer bytes not yet read by clients',
    labelNames: ['listener'],
    registers,
    collect() {
      for (const { listener, bytes } of unread) this.set({ listener }, bytes())
    },
  })
  const slow = new Counter({
    name: 'tidegate_http_slow_readers_total',
    help: 'Connections closed because the peer read its answers too slowly',
    labelNames: ['listener'],
    registers,
  })
  const made = { unread, slow }
  metricsByRegistry.set(registry, made)
  return made
}

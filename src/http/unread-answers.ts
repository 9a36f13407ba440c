/**
 * Answers that their peers have not read yet: how many bytes of them are kept for each client and in all, and how slowly
 * a peer may read. A client that uses its budget up is refused before its next request costs anything, and so is an
 * answer to a read that no longer fits; an answer to a write is never replaced, because the write has been done. What is
 * long is handed to the socket slice by slice, so that no tick of the event loop encodes a whole page, and so that the
 * progress of a slow peer can be seen. Answers of requests that belong to no client have no budget, only the rate.
 */
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Counter, Gauge, type MetricsRegistry } from '../base/metrics.ts'
import { Problem } from './problem.ts'
import { LongJson } from './raw-json.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose budget of unread answers the answer belongs to, set by the guard; empty: nobody's. */
    answeredClient: string
  }
}

export interface UnreadLimits {
  /** Bytes of answers that one client has not read: above this, 429. An answer larger than this is sent when it is alone. */
  readonly clientBytesMax: number
  /** The same of all clients together: above this, 503. */
  readonly bytesMax: number
  /** A peer that reads slower than this, over READ_WINDOW_MILLISECONDS, is cut. */
  readonly bytesPerSecondMin: number
}

/** Of the operator's listener, and the defaults of the public one: eight of the largest pages for a client, 128 kbit/s. */
export const UNREAD_LIMITS: UnreadLimits = {
  clientBytesMax: 16_777_216,
  bytesMax: 134_217_728,
  bytesPerSecondMin: 16_384,
}

/**
 * Over so long a peer's rate is measured. The operating system takes several hundred kilobytes for a peer before it
 * shows any progress, so a shorter window would cut peers that read steadily.
 */
const READ_WINDOW_MILLISECONDS = 30_000
/** Characters or bytes that are handed to the socket at once: up to 192 KiB of UTF-8. */
const SLICE_LENGTH = 65_536
const RETRY_AFTER = { headers: { 'retry-after': '1' } }

export interface UnreadAnswersOptions {
  readonly listener: string
  readonly limits: UnreadLimits
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
}

/** A connection with answers on it that its peer has not read to the end. */
interface Reader {
  /** Bytes handed out and not taken by the operating system. */
  unread: number
  /** Bytes taken in the present window, and bytes that were there to be taken when it began. */
  taken: number
  unreadAtStart: number
  /** Ends the present window; absent before the first answer and after the last. */
  window: Timer | undefined
}

export class UnreadAnswers {
  readonly #options: UnreadAnswersOptions
  readonly #byClient = new Map<string, number>()
  readonly #readers = new Map<Socket, Reader>()
  readonly #slow: Counter<'listener'>
  #bytes = 0

  constructor(options: UnreadAnswersOptions) {
    this.#options = options
    const { listener, metrics } = options
    const { unread, slow } = metricsOf(metrics)
    unread.push({ listener, bytes: () => this.#bytes })
    this.#slow = slow
    slow.inc({ listener }, 0)
  }

  /** To be called before any other hook reads the body. */
  watch(app: FastifyInstance): void {
    app.decorateRequest('answeredClient', '')
    // The guard has said whose request it is, and the body has not been read.
    app.addHook('preParsing', async ({ answeredClient }) => this.#refuse(answeredClient, 0))
    const send = async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
      // A long text has just been read: its sending is the work of a tick of its own.
      if (payload instanceof LongJson) await nextTick()
      return this.#send(request, reply, payload)
    }
    // Hooks of a route run after those of the scopes around it, which still need the answer in one piece; for HEAD the
    // framework's own, which counts the bytes and drops them, comes last.
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
    const reader = this.#count(request.raw.socket, reply, client, bytes)
    if (parts.length === 1 && (parts[0] as string | Buffer).length <= SLICE_LENGTH) return parts[0]
    reply.header('content-length', bytes)
    return Readable.from(slices(parts, reader), { objectMode: false, highWaterMark: 1 })
  }

  #refuse(client: string, bytes: number): void {
    if (client === '') return
    const { clientBytesMax, bytesMax } = this.#options.limits
    const unread = this.#byClient.get(client) ?? 0
    if (unread > 0 && unread + bytes > clientBytesMax) {
      throw new Problem(
        'too_many_unread_answers',
        `answers of ${unread} bytes to this client have not been read: read them, or ask for smaller pages`,
        RETRY_AFTER,
      )
    }
    if (this.#bytes > 0 && this.#bytes + bytes > bytesMax) {
      throw new Problem('unavailable', 'too many bytes of answers to all clients have not been read', RETRY_AFTER)
    }
  }

  #count(socket: Socket, reply: FastifyReply, client: string, bytes: number): AnswerProgress {
    const reader = this.#readers.get(socket) ?? { unread: 0, taken: 0, unreadAtStart: 0, window: undefined }
    reader.unread += bytes
    if (reader.window === undefined) this.#startWindow(socket, reader)
    if (client !== '') {
      this.#byClient.set(client, (this.#byClient.get(client) ?? 0) + bytes)
      this.#bytes += bytes
    }
    let left = bytes
    const take = (taken: number): void => {
      left -= taken
      reader.unread -= taken
      reader.taken += taken
    }
    // Emitted when the operating system has taken the answer, or its connection is lost; all of it is kept until then.
    reply.raw.once('close', () => {
      take(left)
      if (reader.unread === 0) this.#endWindow(socket, reader)
      if (client === '') return
      this.#bytes -= bytes
      const rest = (this.#byClient.get(client) as number) - bytes
      if (rest === 0) this.#byClient.delete(client)
      else this.#byClient.set(client, rest)
    })
    return { take }
  }

  #startWindow(socket: Socket, reader: Reader): void {
    const { clock } = this.#options
    this.#readers.set(socket, reader)
    reader.taken = 0
    reader.unreadAtStart = reader.unread
    // After a pause of this process, what was taken meanwhile is learnt first.
    const check = () => clock.endOfTurn(() => this.#check(socket, reader))
    reader.window = clock.schedule(READ_WINDOW_MILLISECONDS, check)
  }

  #check(socket: Socket, reader: Reader): void {
    const { limits, listener, log } = this.#options
    if (reader.window === undefined) return
    const wanted = Math.min((limits.bytesPerSecondMin * READ_WINDOW_MILLISECONDS) / 1000, reader.unreadAtStart)
    if (reader.taken >= wanted) {
      this.#startWindow(socket, reader)
      return
    }
    this.#slow.inc({ listener })
    log.info({ listener, unread_bytes: reader.unread, taken_bytes: reader.taken }, 'slow reader cut')
    socket.destroy()
  }

  #endWindow(socket: Socket, reader: Reader): void {
    reader.window?.cancel()
    reader.window = undefined
    this.#readers.delete(socket)
  }
}

/** Told of bytes of one answer that its connection has taken. */
interface AnswerProgress {
  take(bytes: number): void
}

/** The parts of an answer; undefined for a stream, which is sent as it is, and for no answer. */
function partsOf(payload: unknown): readonly (string | Buffer)[] | undefined {
  if (payload instanceof LongJson) return payload.parts
  return typeof payload === 'string' || Buffer.isBuffer(payload) ? [payload] : undefined
}

/** Slices of about SLICE_LENGTH, one a tick; the next one is made when the connection has taken the one before. */
async function* slices(parts: readonly (string | Buffer)[], { take }: AnswerProgress): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = []
  let bytes = 0
  for (const part of parts) {
    for (const slice of slicesOf(part)) {
      if (bytes > 0 && bytes + slice.length > SLICE_LENGTH) {
        yield Buffer.concat(waiting)
        take(bytes)
        // A connection that takes everything at once would have the whole answer encoded in one tick.
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
    // A surrogate pair stays in one slice: its halves have no encoding.
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

/** The listeners of a process share them: the first makes them. */
function metricsOf(registry: MetricsRegistry): UnreadMetrics {
  const known = metricsByRegistry.get(registry)
  if (known !== undefined) return known
  const unread: UnreadMetrics['unread'] = []
  const registers = [registry]
  new Gauge({
    name: 'tidegate_http_unread_bytes',
    help: 'Bytes of answers to clients that they have not read yet',
    labelNames: ['listener'],
    registers,
    collect() {
      for (const { listener, bytes } of unread) this.set({ listener }, bytes())
    },
  })
  const slow = new Counter({
    name: 'tidegate_http_slow_readers_total',
    help: 'Connections that were cut because their peer read its answers too slowly',
    labelNames: ['listener'],
    registers,
  })
  const made = { unread, slow }
  metricsByRegistry.set(registry, made)
  return made
}

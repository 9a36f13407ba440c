/**
 * A link between processes over NATS core publish and subscribe. NATS carries messages and stores none. Followers
 * notice and repair losses. It works with any server from 2.9 on, or with a cluster.
 *
 * Subjects, below the prefix `tidegate`:
 * - `market.SYMBOL`: one market's messages, per tick, from its feed
 * - `heartbeat.NODE`: the newest versions of all markets in a feed, once a second
 * - `digest.NODE`: a book's digest at a version, every ten seconds for each market in a feed
 * - `proof.NODE`: the proofs of all books in a feed, once a second
 * - `position.SYMBOL`: how far the leader has followed the engines' publications, with each commit and once a second
 * - `state.SYMBOL`: requests for a market's state. The answer goes to the request's inbox (`_INBOX.tidegate.…`), in
 *   chunks.
 * - `commit.SYMBOL`: requests for a commit
 * - `node.NODE`: a node's report about itself, once a second
 * - `question.NODE`: other nodes' questions to this one. The answer goes to the question's inbox.
 */
import { randomBytes } from 'node:crypto'
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { Counter, type MetricsRegistry } from '../../platform/base/metrics.ts'
import { Throttle } from '../../platform/base/throttle.ts'
import type { OnRequestCommit } from '../sequencing/bus.ts'
import { BusFormatError } from './bus-bytes.ts'
import type { BusExport } from './bus-export.ts'
import type { BusImport } from './bus-import.ts'
import {
  type CommitRequest,
  decodeCommitRequest,
  decodeStateRequest,
  encodeCommitRequest,
  encodeStateRequest,
  type StateRequest,
} from './bus-requests.ts'
import { type NatsAccess, NatsConnection } from './nats-connection.ts'

const PREFIX = 'tidegate'

/** The bytes of a state in one message where the server accepts as many: half of the server's default limit. */
const CHUNK_BYTES = 512 * 1_024
/** Answer identifier, chunk index, chunk count. */
const CHUNK_HEAD_BYTES = 16
const CHUNK_ID_BYTES = 8
const CHUNKS_MAX = 4_096
/** Larger states are not sent. This many bytes hold some 7 million levels. */
const STATE_BYTES_MAX = 64 * 1_048_576
/** Time between two log lines about states that are too large. */
const TOO_LARGE_LOG_MILLISECONDS = 60_000
/** The bytes of all answers being sent while they wait for the server. Followers repeat further requests. */
const ANSWERS_BYTES_MAX = 128 * 1_048_576
/** The bytes of all answers being received. A new answer displaces the oldest ones, and their followers ask again. */
const PARTIAL_BYTES_MAX = 128 * 1_048_576
/** The number of answers being received. A gateway requests the states of all its markets at once. */
const PARTIAL_ANSWERS_MAX = 10_000

interface NatsLinkOptions extends NatsAccess {
  /** Names this process to the server and in subjects. It is one subject token. */
  readonly node: string
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
  /** A number in [0, 1). */
  readonly random: () => number
}

type ImportEnd = Pick<BusImport, 'onMessages' | 'onHeartbeats' | 'onDigest' | 'onProofs' | 'onState' | 'requestAgain'>

interface PartialAnswer {
  readonly chunks: (Buffer | undefined)[]
  missing: number
  bytes: number
}

export class NatsLink {
  readonly #node: string
  readonly #log: Log
  readonly #connection: NatsConnection
  readonly #inbox: string
  readonly #partial = new Map<string, PartialAnswer>()
  #partialBytes = 0
  readonly #malformedRequests: Counter
  readonly #tooLarge: Counter<'market'>
  readonly #tooLargeLog: Throttle
  /** The inbox and market of each answer being sent. */
  readonly #answering = new Set<string>()
  #answeringBytes = 0
  #importer: ImportEnd | undefined

  /** Connects in the background. */
  constructor(options: NatsLinkOptions) {
    const { node, clock, log, metrics } = options
    this.#node = node
    this.#log = log
    this.#inbox = `_INBOX.${PREFIX}.${node}.${randomBytes(9).toString('hex')}`
    this.#connection = new NatsConnection({ ...options, name: `tidegate ${node}` })
    this.#malformedRequests = new Counter({
      name: 'tidegate_bus_malformed_requests_total',
      help: 'Unreadable requests for a market’s state or commit, such as from another release',
      registers: [metrics],
    })
    this.#tooLargeLog = new Throttle(clock, TOO_LARGE_LOG_MILLISECONDS)
    this.#tooLarge = new Counter({
      name: 'tidegate_bus_states_too_large_total',
      help: 'Requests for a market state that was too large to send',
      labelNames: ['market'],
      registers: [metrics],
    })
  }

  /** Why there is no server connection. Undefined while there is one. */
  get problem(): string | undefined {
    return this.#connection.problem
  }

  /** The transport for a `BusExport`. */
  get exportTransport() {
    return {
      sendMessages: (market: string, bytes: Buffer) => this.#connection.publish(`${PREFIX}.market.${market}`, bytes),
      sendHeartbeats: (bytes: Buffer) => this.#connection.publish(`${PREFIX}.heartbeat.${this.#node}`, bytes),
      sendDigest: (bytes: Buffer) => this.#connection.publish(`${PREFIX}.digest.${this.#node}`, bytes),
      sendProofs: (bytes: Buffer) => this.#connection.publish(`${PREFIX}.proof.${this.#node}`, bytes),
    }
  }

  /**
   * Resolves when the server has taken all published messages and all its earlier messages have arrived, or after 1 s.
   */
  flushed(): Promise<void> {
    return this.#connection.flushed()
  }

  sendPositions(market: string, bytes: Buffer): void {
    this.#connection.publish(`${PREFIX}.position.${market}`, bytes)
  }

  /** Takes the positions of all markets from now on. */
  onPositions(take: (bytes: Buffer) => void): void {
    this.#connection.subscribe(`${PREFIX}.position.*`, take)
  }

  /** The transport for a `BusImport`. */
  get importTransport() {
    return {
      requestState: (request: StateRequest) => {
        this.#connection.publish(`${PREFIX}.state.${request.market}`, encodeStateRequest(request), this.#inbox)
      },
      requestCommit: (request: CommitRequest) => {
        this.#connection.publish(`${PREFIX}.commit.${request.market}`, encodeCommitRequest(request))
      },
    }
  }

  /** Carries the messages that nodes send each other beside the markets. */
  get nodeTransport() {
    const [node, connection] = [this.#node, this.#connection]
    const inbox = `${this.#inbox}.answer`
    return {
      node,
      get payloadBytesMax() {
        return connection.payloadBytesMax
      },
      announce: (bytes: Buffer) => connection.publish(`${PREFIX}.node.${node}`, bytes),
      onAnnouncement: (take: (bytes: Buffer) => void) => void connection.subscribe(`${PREFIX}.node.*`, take),
      ask: (other: string, bytes: Buffer) => connection.publish(`${PREFIX}.question.${other}`, bytes, inbox),
      onQuestion(take: (bytes: Buffer, answer: (bytes: Buffer) => void) => void) {
        connection.subscribe(`${PREFIX}.question.${node}`, (data, reply) => {
          if (reply !== '') take(data, (bytes) => connection.publish(reply, bytes))
        })
      },
      onAnswer: (take: (bytes: Buffer) => void) => void connection.subscribe(inbox, take),
    }
  }

  /** Passes heartbeats and answers to `importer` from now on. Its markets are followed one by one. */
  startImport(importer: ImportEnd): void {
    this.#importer = importer
    this.#connection.subscribe(`${PREFIX}.heartbeat.*`, (data) => importer.onHeartbeats(data))
    this.#connection.subscribe(`${PREFIX}.digest.*`, (data) => importer.onDigest(data))
    this.#connection.subscribe(`${PREFIX}.proof.*`, (data) => importer.onProofs(data))
    this.#connection.subscribe(this.#inbox, (data) => this.#onChunk(data))
    // Requests made before there was a connection were lost.
    this.#connection.onOpened(() => importer.requestAgain())
  }

  /** Receives a market's messages until the returned function is called. */
  follow(market: string): () => void {
    return this.#connection.subscribe(`${PREFIX}.market.${market}`, (data) => this.#importer?.onMessages(data))
  }

  /** Answers requests about a market until the returned function is called. */
  serve(market: string, exporter: Pick<BusExport, 'onStateRequest'>, onCommitRequest: OnRequestCommit): () => void {
    const ends = [
      this.#connection.subscribe(`${PREFIX}.state.${market}`, (data, reply) =>
        this.#onStateRequest(data, reply, exporter),
      ),
      this.#connection.subscribe(`${PREFIX}.commit.${market}`, (data) => {
        // An empty request comes from a release that names no time.
        const laterThanMilliseconds =
          data.length === 0 ? 0 : this.#readRequest(data, decodeCommitRequest)?.laterThanMilliseconds
        if (laterThanMilliseconds !== undefined) onCommitRequest(laterThanMilliseconds)
      }),
    ]
    return () => {
      for (const end of ends) end()
    }
  }

  stop(): Promise<void> {
    return this.#connection.stop()
  }

  #onStateRequest(data: Buffer, reply: string, exporter: Pick<BusExport, 'onStateRequest'>): void {
    const request = reply === '' ? undefined : this.#readRequest(data, decodeStateRequest)
    if (request === undefined) return
    exporter.onStateRequest(request, (states) => void this.#answer(request.market, reply, states))
  }

  #readRequest<Request>(data: Buffer, decode: (bytes: Buffer) => Request): Request | undefined {
    try {
      return decode(data)
    } catch (error) {
      if (!(error instanceof BusFormatError)) throw error
      this.#malformedRequests.inc()
      this.#log.debug({ reason: error.message }, 'another process’s request cannot be read')
      return undefined
    }
  }

  async #answer(market: string, reply: string, states: readonly Buffer[]): Promise<void> {
    const bytes = states.reduce((sum, { length }) => sum + length, 0)
    if (bytes > STATE_BYTES_MAX) {
      this.#tooLarge.inc({ market })
      const fields = { market, bytes, bytes_max: STATE_BYTES_MAX }
      this.#tooLargeLog.run(() => this.#log.error(fields, 'a market’s book is too large to send to other processes'))
      return
    }
    const asked = `${reply} ${market}`
    if (this.#answering.has(asked) || this.#answeringBytes + bytes > ANSWERS_BYTES_MAX) return
    this.#answering.add(asked)
    this.#answeringBytes += bytes
    await this.#connection.publishInTurn(reply, this.#chunksOf(states))
    this.#answering.delete(asked)
    this.#answeringBytes -= bytes
  }

  *#chunksOf(states: readonly Buffer[]): Iterable<Buffer> {
    for (const state of states) yield* this.#chunksOfState(state)
  }

  *#chunksOfState(bytes: Buffer): Iterable<Buffer> {
    const id = randomBytes(CHUNK_ID_BYTES)
    const chunkBytes = Math.min(CHUNK_BYTES, this.#connection.payloadBytesMax - CHUNK_HEAD_BYTES)
    const count = Math.max(1, Math.ceil(bytes.length / chunkBytes))
    for (let place = 0; place < count; place++) {
      const head = Buffer.allocUnsafe(CHUNK_HEAD_BYTES)
      id.copy(head)
      head.writeUInt32LE(place, CHUNK_ID_BYTES)
      head.writeUInt32LE(count, CHUNK_ID_BYTES + 4)
      yield Buffer.concat([head, bytes.subarray(place * chunkBytes, (place + 1) * chunkBytes)])
    }
  }

  #onChunk(data: Buffer): void {
    if (data.length < CHUNK_HEAD_BYTES) return
    const id = data.toString('hex', 0, CHUNK_ID_BYTES)
    const place = data.readUInt32LE(CHUNK_ID_BYTES)
    const count = data.readUInt32LE(CHUNK_ID_BYTES + 4)
    if (count === 0 || count > CHUNKS_MAX || place >= count) return
    const chunk = data.subarray(CHUNK_HEAD_BYTES)
    if (count === 1) {
      this.#importer?.onState(chunk)
      return
    }
    const answer = this.#partial.get(id) ?? { chunks: new Array<Buffer | undefined>(count), missing: count, bytes: 0 }
    if (answer.chunks.length !== count || answer.chunks[place] !== undefined) return
    this.#partial.set(id, answer)
    // A copy, because the connection's buffer holds more than the chunk.
    answer.chunks[place] = Buffer.from(chunk)
    answer.missing -= 1
    answer.bytes += chunk.length
    this.#partialBytes += chunk.length
    if (answer.missing === 0) {
      this.#forget(id, answer)
      this.#importer?.onState(Buffer.concat(answer.chunks as Buffer[]))
    } else {
      this.#limitPartial()
    }
  }

  #limitPartial(): void {
    for (const [id, answer] of this.#partial) {
      if (this.#partialBytes <= PARTIAL_BYTES_MAX && this.#partial.size <= PARTIAL_ANSWERS_MAX) return
      this.#forget(id, answer)
    }
  }

  #forget(id: string, { bytes }: PartialAnswer): void {
    this.#partial.delete(id)
    this.#partialBytes -= bytes
  }
}

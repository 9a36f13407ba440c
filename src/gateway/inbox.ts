/**
 * The messages of one connection that wait to be answered. Answering is paced by a token bucket and stops while the
 * connection lags; the owner of the inbox stops reading the socket while anything waits, so it holds at most what one
 * read of the socket contained. Nothing is refused and nothing is lost. One read may contain ten thousand messages of a
 * few bytes, so of all but the first few only the bytes are kept: 0.1 MB per connection instead of 1.5 MB.
 */
import type { Clock } from '../base/clock.ts'
import { TokenBucket } from '../base/token-bucket.ts'

export interface InboundMessage {
  readonly data: Buffer
  readonly isBinary: boolean
}

/** Messages that are kept as they came; more are packed. A client that pipelines sends fewer. */
const UNPACKED_MAX = 16

export class Inbox {
  readonly #pace: TokenBucket
  #messages: InboundMessage[] = []
  /** The messages after those. */
  #packed: PackedMessages | undefined

  constructor(clock: Clock, perSecond: number, burst: number) {
    this.#pace = new TokenBucket(clock, perSecond, burst)
  }

  get isEmpty(): boolean {
    return this.#messages.length === 0 && this.#packed === undefined
  }

  put(message: InboundMessage): void {
    if (this.#packed === undefined && this.#messages.length < UNPACKED_MAX) {
      this.#messages.push(message)
    } else {
      this.#packed ??= new PackedMessages()
      this.#packed.put(message)
    }
  }

  /** The next message if the pace allows it now; else how many milliseconds it has to wait. */
  take(): InboundMessage | { readonly waitMilliseconds: number } | undefined {
    if (this.isEmpty) return undefined
    const waitMilliseconds = this.#pace.take()
    if (waitMilliseconds > 0) return { waitMilliseconds }
    const message = this.#messages.shift() ?? this.#packed?.take()
    if (this.#packed?.isEmpty) this.#packed = undefined
    // An emptied array keeps its capacity; most connections send one request.
    if (this.isEmpty) this.clear()
    return message
  }

  /** Counts what a message that was taken has cost beyond one: those after it wait for that too. */
  charge(cost: number): void {
    this.#pace.charge(cost)
  }

  clear(): void {
    this.#messages = []
    this.#packed = undefined
  }
}

const PACKED_BYTES_MIN = 4_096

/** Messages in order, their bytes one after the other. */
class PackedMessages {
  #bytes = Buffer.allocUnsafe(PACKED_BYTES_MIN)
  /** Where each message ends; its complement for a binary one. */
  readonly #ends: number[] = []
  #next = 0
  #start = 0
  #end = 0

  get isEmpty(): boolean {
    return this.#next === this.#ends.length
  }

  put({ data, isBinary }: InboundMessage): void {
    const end = this.#end + data.length
    if (end > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(end, 2 * this.#bytes.length))
      this.#bytes.copy(larger, 0, 0, this.#end)
      this.#bytes = larger
    }
    data.copy(this.#bytes, this.#end)
    this.#end = end
    this.#ends.push(isBinary ? ~end : end)
  }

  take(): InboundMessage {
    const mark = this.#ends[this.#next++] as number
    const isBinary = mark < 0
    const end = isBinary ? ~mark : mark
    const data = this.#bytes.subarray(this.#start, end)
    this.#start = end
    return { data, isBinary }
  }
}

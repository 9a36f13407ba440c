/**
 * One session's messages that wait for their replies. A token bucket limits the reply rate. The session does not read
 * its socket while a message waits, so the inbox holds at most one socket read. Nothing is rejected or lost. One read
 * may contain ten thousand messages with a few bytes each, so all but the first few are stored as bytes only: 0.1 MB
 * per session instead of 1.5 MB.
 */
import type { Clock } from '../../platform/base/clock.ts'
import { TokenBucket } from '../../platform/base/token-bucket.ts'

/**
 * This many entries in a request, or in a list in its reply, cost as much rate (`stream.inbound_per_second`) as one
 * message. An entry takes about 4 µs: a session that spends its whole rate on entries uses 1 % of a core.
 */
const ENTRIES_PER_MESSAGE = 50

export interface InboundMessage {
  readonly data: Buffer
  readonly isBinary: boolean
}

/** Messages stored as objects; later ones are packed. A client that pipelines sends fewer. */
const UNPACKED_MAX = 16

export class Inbox {
  readonly #rate: TokenBucket
  #messages: InboundMessage[] = []
  /** The messages after those. */
  #packed: PackedMessages | undefined
  /** A taken message whose answer is not ready. */
  #held: InboundMessage | undefined
  #isHolding = false

  constructor(clock: Clock, perSecond: number, burst: number) {
    this.#rate = new TokenBucket(clock, perSecond, burst)
  }

  get isEmpty(): boolean {
    return this.#messages.length === 0 && this.#packed === undefined && this.#held === undefined
  }

  /** Whether a message waits for the rate alone. */
  get canTake(): boolean {
    return !this.isEmpty && !this.#isHolding
  }

  /** Puts back a taken message, which is the next one, at no cost, after `release`. */
  hold(message: InboundMessage): void {
    this.#held = message
    this.#isHolding = true
  }

  release(): void {
    this.#isHolding = false
  }

  put(message: InboundMessage): void {
    if (this.#packed === undefined && this.#messages.length < UNPACKED_MAX) {
      this.#messages.push(message)
    } else {
      this.#packed ??= new PackedMessages()
      this.#packed.put(message)
    }
  }

  /** The next message if the rate allows it now, else how many milliseconds it has to wait. */
  take(): InboundMessage | { readonly waitMilliseconds: number } | undefined {
    if (this.isEmpty) return undefined
    if (this.#held !== undefined) {
      const held = this.#held
      this.#held = undefined
      return held
    }
    const waitMilliseconds = this.#rate.take()
    if (waitMilliseconds > 0) return { waitMilliseconds }
    const message = this.#messages.shift() ?? this.#packed?.take()
    if (this.#packed?.isEmpty) this.#packed = undefined
    // An emptied array keeps its capacity, and most connections send one request.
    if (this.isEmpty) this.clear()
    return message
  }

  /** Charges a taken message's entries. Later messages wait for them. */
  charge(entryCount: number): void {
    this.#rate.charge(entryCount / ENTRIES_PER_MESSAGE)
  }

  clear(): void {
    this.#messages = []
    this.#packed = undefined
    this.#held = undefined
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
    const coded = this.#ends[this.#next++] as number
    const isBinary = coded < 0
    const end = isBinary ? ~coded : coded
    const data = this.#bytes.subarray(this.#start, end)
    this.#start = end
    return { data, isBinary }
  }
}

/**
 * Whether a session's peer reads its data, by its pongs. Bytes accepted by the kernel prove nothing, because megabytes
 * fit into the socket buffers of a peer that has stopped. While the socket is not read because the session lags, the
 * bytes accepted by the kernel are the evidence instead. The session passes times and bytes.
 */
import { randomBytes } from 'node:crypto'

/** After this many pings without a pong, the peer does not read. One may be late. */
const MISSED_MAX = 2
/** Pings whose times are remembered: a pong after a longer time than these span is ignored. */
const PINGS_KEPT = 4
const PAYLOAD_BYTES = 4

interface Ping {
  /** Random, so that a pong is the answer to a ping. */
  readonly payload: number
  readonly sentMilliseconds: number
}

export class Pongs {
  #unanswered: Ping[] = []
  #missed = 0
  /** At the last check, while the socket is not read. */
  #acceptedBytes: number | undefined
  #lastMilliseconds: number | undefined
  #roundTripMilliseconds: number | undefined

  get isPeerReading(): boolean {
    return this.#missed < MISSED_MAX
  }

  /** When the last pong arrived, by the monotonic clock. Undefined before the first. */
  get lastMilliseconds(): number | undefined {
    return this.#lastMilliseconds
  }

  /** From the last answered ping to its pong. */
  get roundTripMilliseconds(): number | undefined {
    return this.#roundTripMilliseconds
  }

  /** Must be called once per period. Returns the payload for the ping to send. */
  ping(nowMilliseconds: number): Buffer {
    this.#acceptedBytes = undefined
    this.#missed = this.#unanswered.length
    if (this.#missed === PINGS_KEPT) this.#unanswered.shift()
    const payload = randomBytes(PAYLOAD_BYTES)
    this.#unanswered.push({ payload: payload.readUInt32BE(), sentMilliseconds: nowMilliseconds })
    return payload
  }

  /**
   * Must be called in its place while the socket is not read. `acceptedBytes`: all bytes accepted by the kernel until
   * now.
   */
  checkUnread(acceptedBytes: number): void {
    if (this.#acceptedBytes !== undefined) this.#missed = acceptedBytes > this.#acceptedBytes ? 0 : this.#missed + 1
    this.#acceptedBytes = acceptedBytes
  }

  pong(data: Buffer, nowMilliseconds: number): void {
    const payload = data.length === PAYLOAD_BYTES ? data.readUInt32BE() : undefined
    const place = this.#unanswered.findIndex((ping) => ping.payload === payload)
    const answered = this.#unanswered[place]
    // Only the most recent ping has to be answered (RFC 6455, section 5.5.3). A pong without a ping is allowed.
    if (answered === undefined) return
    this.#unanswered.splice(0, place + 1)
    this.#missed = 0
    this.#lastMilliseconds = nowMilliseconds
    this.#roundTripMilliseconds = nowMilliseconds - answered.sentMilliseconds
  }
}

/**
 * Whether the peer of a session reads what it is sent, by its pongs: bytes that the kernel has accepted say nothing, because
 * megabytes fit into the socket buffers of a peer that has stopped. While the socket is not read because the session lags,
 * the bytes that the kernel accepts say it instead. The session passes times and bytes.
 */
import { randomBytes } from 'node:crypto'

/** Of this many pings without a pong, the peer does not read. One may be late. */
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

  /** When the last pong arrived, by the monotonic clock; undefined before the first. */
  get lastMilliseconds(): number | undefined {
    return this.#lastMilliseconds
  }

  /** From the last ping that was answered to its pong. */
  get roundTripMilliseconds(): number | undefined {
    return this.#roundTripMilliseconds
  }

  /** To be called once in a period: returns the payload of the ping that is to be sent. */
  ping(nowMilliseconds: number): Buffer {
    this.#acceptedBytes = undefined
    this.#missed = this.#unanswered.length
    if (this.#missed === PINGS_KEPT) this.#unanswered.shift()
    const payload = randomBytes(PAYLOAD_BYTES)
    this.#unanswered.push({ payload: payload.readUInt32BE(), sentMilliseconds: nowMilliseconds })
    return payload
  }

  /** To be called in its place while the socket is not read; `acceptedBytes`: what the kernel has accepted until now. */
  checkUnread(acceptedBytes: number): void {
    if (this.#acceptedBytes !== undefined) this.#missed = acceptedBytes > this.#acceptedBytes ? 0 : this.#missed + 1
    this.#acceptedBytes = acceptedBytes
  }

  pong(data: Buffer, nowMilliseconds: number): void {
    const payload = data.length === PAYLOAD_BYTES ? data.readUInt32BE() : undefined
    const place = this.#unanswered.findIndex((ping) => ping.payload === payload)
    const answered = this.#unanswered[place]
    // Of earlier pings only the most recent has to be answered (RFC 6455, section 5.5.3); a pong without a ping is allowed.
    if (answered === undefined) return
    this.#unanswered.splice(0, place + 1)
    this.#missed = 0
    this.#lastMilliseconds = nowMilliseconds
    this.#roundTripMilliseconds = nowMilliseconds - answered.sentMilliseconds
  }
}

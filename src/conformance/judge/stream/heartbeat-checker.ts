/**
 * Detects late heartbeats. The interval is given, or learned from the first gaps. Until then the first heartbeat, which
 * follows the acknowledgement, can be late, and after two gaps the next one, by the longer gap. It reads no clock: the
 * caller passes times.
 */

/** Intervals after which a heartbeat is late: one may be skipped when the socket is full. */
const INTERVALS_MAX = 3
/** Gaps from which the interval is learned. */
const GAPS_TO_LEARN = 4
/** A subscription's first gap may be shorter than the interval, so one proves nothing. */
const GAPS_MIN = 2
const FIRST_MILLISECONDS_MAX = 5_000

export class HeartbeatChecker {
  #intervalMilliseconds: number | undefined
  readonly #gaps: number[] = []
  /** Time of the last heartbeat, or of the acknowledgement. Undefined = not subscribed. */
  #since: number | undefined
  #hasHeartbeat = false
  #isLate = false

  constructor(intervalMilliseconds: number | undefined) {
    this.#intervalMilliseconds = intervalMilliseconds
  }

  /** A new connection. A learned interval stays known. */
  reset(): void {
    this.#since = undefined
  }

  onSubscription(isSubscribed: boolean, nowMilliseconds: number): void {
    this.#since = isSubscribed ? nowMilliseconds : undefined
    this.#hasHeartbeat = false
    this.#isLate = false
    this.#gaps.length = 0
  }

  onBeat(nowMilliseconds: number): void {
    if (this.#hasHeartbeat && this.#since !== undefined) this.#learn(nowMilliseconds - this.#since)
    this.#since = nowMilliseconds
    this.#hasHeartbeat = true
    this.#isLate = false
  }

  /** How late the next heartbeat is. Undefined when it is not late, or was reported already. */
  check(nowMilliseconds: number): string | undefined {
    if (this.#since === undefined || this.#isLate) return undefined
    const interval = this.#intervalMilliseconds ?? this.#estimate()
    const allowed = this.#hasHeartbeat ? interval * INTERVALS_MAX : FIRST_MILLISECONDS_MAX
    const age = nowMilliseconds - this.#since
    if (age <= allowed) return undefined
    this.#isLate = true
    if (!this.#hasHeartbeat) return `none within ${FIRST_MILLISECONDS_MAX} ms after the acknowledgement`
    return `none for ${Math.round(age)} ms, the interval is ${Math.round(interval)} ms`
  }

  /** Before the interval is learned: at least as long. */
  #estimate(): number {
    return this.#gaps.length < GAPS_MIN ? Infinity : Math.max(...this.#gaps, FIRST_MILLISECONDS_MAX / INTERVALS_MAX)
  }

  #learn(gapMilliseconds: number): void {
    if (this.#intervalMilliseconds !== undefined) return
    this.#gaps.push(gapMilliseconds)
    if (this.#gaps.length < GAPS_TO_LEARN) return
    const sorted = [...this.#gaps].sort((left, right) => left - right)
    this.#intervalMilliseconds = sorted[Math.floor(sorted.length / 2)]
  }
}

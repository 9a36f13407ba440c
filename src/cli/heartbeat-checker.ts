/**
 * Says when heartbeats are late. The interval is told, or learned from the first gaps; until then only the first beat,
 * which comes right after the acknowledgement, can be late. Knows no clock: the caller says when things happened.
 */

/** How many intervals a heartbeat may be away before it is late: one may be skipped when the socket is full. */
const INTERVALS_MAX = 3
/** Gaps that are looked at before the interval counts as known. */
const GAPS_TO_LEARN = 4
const FIRST_MILLISECONDS_MAX = 5_000

export class HeartbeatChecker {
  #intervalMilliseconds: number | undefined
  readonly #gaps: number[] = []
  /** When the last beat came, or the acknowledgement; undefined = not subscribed. */
  #since: number | undefined
  #hasBeaten = false
  #isLate = false

  constructor(intervalMilliseconds: number | undefined) {
    this.#intervalMilliseconds = intervalMilliseconds
  }

  /** A new connection; a learned interval stays known. */
  reset(): void {
    this.#since = undefined
  }

  onSubscription(isSubscribed: boolean, nowMilliseconds: number): void {
    this.#since = isSubscribed ? nowMilliseconds : undefined
    this.#hasBeaten = false
    this.#isLate = false
  }

  onBeat(nowMilliseconds: number): void {
    if (this.#hasBeaten && this.#since !== undefined) this.#learn(nowMilliseconds - this.#since)
    this.#since = nowMilliseconds
    this.#hasBeaten = true
    this.#isLate = false
  }

  /** How late the next beat is; undefined when it is not, or when that was said before. */
  judge(nowMilliseconds: number): string | undefined {
    if (this.#since === undefined || this.#isLate) return undefined
    const allowed = this.#hasBeaten ? (this.#intervalMilliseconds ?? Infinity) * INTERVALS_MAX : FIRST_MILLISECONDS_MAX
    const age = nowMilliseconds - this.#since
    if (age <= allowed) return undefined
    this.#isLate = true
    if (!this.#hasBeaten) return `none within ${FIRST_MILLISECONDS_MAX} ms of the acknowledgement`
    return `none for ${Math.round(age)} ms, the interval is ${Math.round(this.#intervalMilliseconds ?? 0)} ms`
  }

  #learn(gapMilliseconds: number): void {
    if (this.#intervalMilliseconds !== undefined) return
    this.#gaps.push(gapMilliseconds)
    if (this.#gaps.length < GAPS_TO_LEARN) return
    const sorted = [...this.#gaps].sort((left, right) => left - right)
    this.#intervalMilliseconds = sorted[Math.floor(sorted.length / 2)]
  }
}

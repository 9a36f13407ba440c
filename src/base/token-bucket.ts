/**
 * A token bucket: it holds up to `burst` tokens, gets `perSecond` of them back a second, evenly, and starts full. The
 * one pace of everything that is limited by rate. It reads the clock that it is given and never sets a timer.
 */
import type { Clock } from './clock.ts'

/** Fractions of tokens are rounded; a wait for so little would be too short to be measured. */
const ROUNDING = 1e-9

export class TokenBucket {
  readonly #clock: Clock
  readonly #perSecond: number
  readonly #burst: number
  #tokens: number
  #refilledMilliseconds: number

  constructor(clock: Clock, perSecond: number, burst: number) {
    this.#clock = clock
    this.#perSecond = perSecond
    this.#burst = burst
    this.#tokens = burst
    this.#refilledMilliseconds = clock.monotonicMilliseconds()
  }

  /** Takes a token: 0 when there was one; else none is taken, and the milliseconds until there is one. */
  take(): number {
    this.#refill()
    if (this.#tokens < 1 - ROUNDING) return ((1 - this.#tokens) / this.#perSecond) * 1000
    this.#tokens -= 1
    return 0
  }

  /** Gives back a token that was taken for something that does not count. */
  giveBack(): void {
    this.#refill()
    this.#tokens = Math.min(this.#burst, this.#tokens + 1)
  }

  /**
   * Takes tokens that need not be there: `take` waits until they are back. No more than a burst is owed, so that the
   * wait is bounded by (burst + 1) / perSecond.
   */
  charge(tokens: number): void {
    this.#refill()
    this.#tokens = Math.max(-this.#burst, this.#tokens - tokens)
  }

  /** Whole tokens that were left after the last `take`: none when it took none, however long ago that was. */
  get left(): number {
    return Math.floor(this.#tokens)
  }

  /** Milliseconds until the bucket is full again; 0 when it is. */
  get fullInMilliseconds(): number {
    this.#refill()
    return ((this.#burst - this.#tokens) / this.#perSecond) * 1000
  }

  #refill(): void {
    const now = this.#clock.monotonicMilliseconds()
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#refilledMilliseconds) / 1000) * this.#perSecond)
    this.#refilledMilliseconds = now
  }
}

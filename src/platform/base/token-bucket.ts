/**
 * A token bucket: it holds up to `burst` tokens, starts full, and is refilled evenly with `perSecond` tokens per second.
 * Every rate limit uses it. It reads the clock and sets no timer.
 */
import type { Clock } from './clock.ts'

/** Tolerance for rounding errors, in tokens. */
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

  /** Takes a token and returns 0, or takes none and returns the milliseconds until there is one. */
  take(): number {
    this.#refill()
    if (this.#tokens < 1 - ROUNDING) return ((1 - this.#tokens) / this.#perSecond) * 1000
    this.#tokens -= 1
    return 0
  }

  /** Returns a token taken for something that does not count. */
  giveBack(): void {
    this.#refill()
    this.#tokens = Math.min(this.#burst, this.#tokens + 1)
  }

  /**
   * Takes tokens even when the bucket lacks them: its balance becomes negative, down to -burst, so the longest wait for
   * the next token is (burst + 1) / perSecond seconds.
   */
  charge(tokens: number): void {
    this.#refill()
    this.#tokens = Math.max(-this.#burst, this.#tokens - tokens)
  }

  /** Whole tokens left after the last call. The refill since then is not counted. */
  get left(): number {
    return Math.floor(this.#tokens)
  }

  /** Milliseconds until the bucket is full again, or 0 when it is. */
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

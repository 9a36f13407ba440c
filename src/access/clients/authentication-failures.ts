/**
 * Counts failed authentications by client and source address: from the sixth within a minute, a failure is answered
 * with a growing `Retry-After`. A correct secret is never delayed, because it is checked first. Secrets are 256 random
 * bits, so the delay does not protect them. It slows down programs with a wrong one. Unknown clients are counted like
 * known ones. The memory is bounded and contains no address and no id, only digests.
 */
import { createHash } from 'node:crypto'
import { backoff } from '../../platform/base/backoff.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { type Bucket, KeyedBuckets } from '../../platform/base/keyed-buckets.ts'

const WINDOW_MILLISECONDS = 60_000
const FAILURES_FREE = 5
const WAIT_MILLISECONDS = { first: 1_000, longest: 60_000 }
/**
 * Remembered client and address pairs, about 400 bytes each. Beyond that, the pair that failed longest ago is dropped,
 * and its next five failures are free again.
 */
const PAIRS_MAX = 20_000
/**
 * Pairs per address. The address's further clients share one entry, so invented client ids reset no count and one
 * address cannot displace other addresses' entries: it takes at least 40 addresses.
 */
const PAIRS_PER_ADDRESS_MAX = 500

export class AuthenticationFailures {
  readonly #waits: KeyedBuckets<GrowingWait>

  constructor(clock: Clock) {
    const limits = { keysMax: PAIRS_MAX, keysPerHolderMax: PAIRS_PER_ADDRESS_MAX }
    this.#waits = new KeyedBuckets(() => new GrowingWait(clock), limits)
  }

  /** The number of pairs now. */
  get size(): number {
    return this.#waits.size
  }

  /**
   * Counts a failed attempt. Returns whole seconds to wait before the next, or 0 while failures are free. An attempt
   * during a wait makes it longer, up to a minute from the failure that began it.
   */
  record(clientId: string, address: string): number {
    const holder = digest(address)
    return Math.ceil(this.#waits.use(digest(`${holder}\n${clientId}`), holder).fail() / 1_000)
  }
}

/** The failures for one pair. */
class GrowingWait implements Bucket {
  readonly #clock: Clock
  /** Times of the free failures in the last minute, in order. */
  #times: number[] = []
  /** The number of successive waits. Each is twice as long as the one before. */
  #level = 0
  /** When the failure occurred that began the current or last wait. */
  #waitFrom = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns the milliseconds to wait. */
  fail(): number {
    const now = this.#now
    if (this.#waitEnd > now) {
      this.#level++
    } else {
      if (this.#level > 0 && this.#waitEnd + WINDOW_MILLISECONDS <= now) this.#level = 0
      this.#times = this.#times.filter((time) => time + WINDOW_MILLISECONDS > now)
      if (this.#level > 0 || this.#times.length >= FAILURES_FREE) {
        this.#level++
        this.#waitFrom = now
      }
      this.#times = [...this.#times, now].slice(-FAILURES_FREE)
    }
    return this.#level === 0 ? 0 : this.#waitEnd - now
  }

  get fullInMilliseconds(): number {
    const last = Math.max(this.#times.at(-1) ?? 0, this.#waitEnd)
    return Math.max(0, last + WINDOW_MILLISECONDS - this.#now)
  }

  get #waitEnd(): number {
    return this.#level === 0 ? 0 : this.#waitFrom + backoff(WAIT_MILLISECONDS, this.#level)
  }

  /** Whole milliseconds: with fractions, a second could be rounded up to two. */
  get #now(): number {
    return Math.floor(this.#clock.monotonicMilliseconds())
  }
}

/** A digest: the text sent as client id may be a secret in the wrong place, and as long as a body, 64 KiB (0.1 ms). */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}

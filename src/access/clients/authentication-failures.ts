/**
 * Counts failed authentications by client and source address: from the sixth within a minute, a failure is answered
 * with a growing `Retry-After`. A correct secret is never delayed, because it is checked first. Secrets are 256 random
 * bits, so the delay does not protect them; it slows down programs with a wrong one. Unknown clients are counted like
 * known ones. The memory is bounded and contains no address and no id, only digests.
 */
import { createHash } from 'node:crypto'
import { backoff } from '../../platform/base/backoff.ts'
import type { Clock } from '../../platform/base/clock.ts'

const WINDOW_MILLISECONDS = 60_000
const FAILURES_FREE = 5
const WAIT_MILLISECONDS = { first: 1_000, longest: 60_000 }
/**
 * Pairs of client and address that are kept, about 400 bytes each. Beyond that, the pair that failed longest ago is
 * dropped, and its next five failures are free again.
 */
const PAIRS_MAX = 20_000
/**
 * Pairs of one address. Further clients of that address share one entry, so that invented client ids reset no count
 * and one address cannot displace the entries of others: that takes at least 40 addresses.
 */
const PAIRS_PER_ADDRESS_MAX = 500

interface Failures {
  readonly address: string
  /** Times of the free failures of the last minute, in order. */
  times: number[]
  /** The number of successive waits; each is twice as long as the one before. */
  level: number
  /** The time of the failure with which the current or last wait began. */
  waitFrom: number
}

export class AuthenticationFailures {
  readonly #clock: Clock
  /** Failures by pair; the pair that failed longest ago is first. */
  readonly #pairs = new Map<string, Failures>()
  /** The number of pairs by address. */
  readonly #addresses = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Pairs that are kept now. */
  get size(): number {
    return this.#pairs.size
  }

  /**
   * Counts a failed attempt; returns whole seconds to wait before the next, 0 while failures are free. An attempt
   * during a wait makes it longer, up to a minute from the failure that began it.
   */
  record(clientId: string, address: string): number {
    // Whole milliseconds: with fractions, a second could be rounded up to two.
    const now = Math.floor(this.#clock.monotonicMilliseconds())
    this.#forget(now)
    const [key, failures] = this.#entryOf(clientId, address)
    if (waitEnd(failures) > now) {
      failures.level++
    } else {
      if (failures.level > 0 && waitEnd(failures) + WINDOW_MILLISECONDS <= now) failures.level = 0
      failures.times = failures.times.filter((time) => time + WINDOW_MILLISECONDS > now)
      if (failures.level > 0 || failures.times.length >= FAILURES_FREE) {
        failures.level++
        failures.waitFrom = now
      }
      failures.times = [...failures.times, now].slice(-FAILURES_FREE)
    }
    this.#pairs.delete(key)
    this.#pairs.set(key, failures)
    return failures.level === 0 ? 0 : Math.ceil((waitEnd(failures) - now) / 1000)
  }

  #entryOf(clientId: string, address: string): [key: string, failures: Failures] {
    const addressKey = digest(address)
    const ownKey = digest(`${addressKey}\n${clientId}`)
    const known = this.#pairs.get(ownKey)
    if (known !== undefined) return [ownKey, known]
    const count = this.#addresses.get(addressKey) ?? 0
    // The entry that further clients share has the address as its key, and counts as one of its pairs.
    const key = count < PAIRS_PER_ADDRESS_MAX - 1 ? ownKey : addressKey
    const shared = this.#pairs.get(key)
    if (shared !== undefined) return [key, shared]
    this.#addresses.set(addressKey, count + 1)
    const failures = { address: addressKey, times: [], level: 0, waitFrom: 0 }
    this.#pairs.set(key, failures)
    return [key, failures]
  }

  /** Drops expired entries, and the oldest when the limit is reached. */
  #forget(now: number): void {
    for (const [key, failures] of this.#pairs) {
      const last = Math.max(failures.times.at(-1) ?? 0, failures.level > 0 ? waitEnd(failures) : 0)
      if (this.#pairs.size < PAIRS_MAX && last + WINDOW_MILLISECONDS > now) return
      this.#pairs.delete(key)
      const left = (this.#addresses.get(failures.address) ?? 0) - 1
      if (left > 0) this.#addresses.set(failures.address, left)
      else this.#addresses.delete(failures.address)
    }
  }
}

function waitEnd({ level, waitFrom }: Failures): number {
  if (level === 0) return 0
  return waitFrom + backoff(WAIT_MILLISECONDS, level)
}

/** A digest: the text sent as client id may be a secret in the wrong place, and as long as a body, 64 KiB (0.1 ms). */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}

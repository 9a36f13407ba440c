/**
 * Slows down who guesses: counts failed authentications by client and address, and from the sixth within a minute
 * answers none for a while that grows. Whether the client exists is not asked, so nothing can be learned from it, and a
 * right secret from another address is not affected. What it remembers is bounded and holds no address and no id.
 */
import { createHash } from 'node:crypto'
import type { Clock } from '../base/clock.ts'

const WINDOW_MILLISECONDS = 60_000
const FAILURES_FREE = 5
const WAIT_MILLISECONDS_MAX = 60_000
/**
 * Pairs of client and address that are remembered, about 300 bytes each. A flood of invented clients makes the oldest
 * forgotten; at the token endpoint's rate of one address that takes minutes, which is longer than any wait.
 */
const PAIRS_MAX = 20_000

interface Failures {
  /** Of the last minute, the oldest first; no more than the free ones. */
  times: number[]
  /** Waits in a row; each is twice the one before. */
  level: number
  /** When the failure was that the present or last wait began with. */
  waitFrom: number
}

export class AuthenticationFailures {
  readonly #clock: Clock
  /** By pair, the one that failed longest ago first. */
  readonly #pairs = new Map<string, Failures>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Pairs that are remembered now. */
  get size(): number {
    return this.#pairs.size
  }

  /**
   * Whole seconds to wait before the next attempt counts; 0: it may be judged. An attempt during a wait makes it longer,
   * but never longer than a minute from the failure that began it: who has the right secret by then gets in, even if he
   * never waited.
   */
  waitSeconds(clientId: string, address: string): number {
    const failures = this.#pairs.get(pairKey(clientId, address))
    const now = this.#clock.monotonicMilliseconds()
    if (failures === undefined || waitEnd(failures) <= now) return 0
    failures.level++
    return Math.ceil((waitEnd(failures) - now) / 1000)
  }

  /** Counts an attempt that was judged and failed; answers whole seconds to wait, 0 while failures are free. */
  record(clientId: string, address: string): number {
    const key = pairKey(clientId, address)
    const now = this.#clock.monotonicMilliseconds()
    const failures = this.#pairs.get(key) ?? { times: [], level: 0, waitFrom: 0 }
    if (failures.level > 0 && waitEnd(failures) + WINDOW_MILLISECONDS <= now) failures.level = 0
    failures.times = failures.times.filter((time) => time + WINDOW_MILLISECONDS > now)
    if (failures.level > 0 || failures.times.length >= FAILURES_FREE) {
      failures.level++
      failures.waitFrom = now
    }
    failures.times = [...failures.times, now].slice(-FAILURES_FREE)
    this.#pairs.delete(key)
    this.#pairs.set(key, failures)
    this.#forget(now)
    return failures.level === 0 ? 0 : Math.ceil((waitEnd(failures) - now) / 1000)
  }

  /** Drops what no longer matters, and the oldest when there are too many. */
  #forget(now: number): void {
    for (const [key, failures] of this.#pairs) {
      const last = Math.max(failures.times.at(-1) ?? 0, failures.level > 0 ? waitEnd(failures) : 0)
      if (this.#pairs.size <= PAIRS_MAX && last + WINDOW_MILLISECONDS > now) return
      this.#pairs.delete(key)
    }
  }
}

function waitEnd({ level, waitFrom }: Failures): number {
  if (level === 0) return 0
  return waitFrom + Math.min(1000 * 2 ** (level - 1), WAIT_MILLISECONDS_MAX)
}

/** A digest: what was sent as a client's id may be long, and may be a secret in the wrong place. */
function pairKey(clientId: string, address: string): string {
  return createHash('sha256').update(`${address}\n${clientId}`).digest('base64')
}

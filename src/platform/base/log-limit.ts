/**
 * Limits the log lines per kind, so rejected requests cannot fill the log: a token bucket for each kind. The first line
 * after a suppression carries the number of suppressed lines. Kinds are program constants, never client input, so their
 * number is bounded.
 */
import type { Clock } from './clock.ts'
import { TokenBucket } from './token-bucket.ts'

/** Enough to see which clients are rejected and why. For a flood, the count of suppressed lines suffices. */
const LINES_PER_SECOND = 10
/** Lines in a burst: one for each client in a misconfigured fleet. */
const LINES_BURST = 100

interface Kind {
  readonly bucket: TokenBucket
  suppressed: number
}

export class LogLimit {
  readonly #clock: Clock
  readonly #kinds = new Map<string | number, Kind>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Counts one line of `kind`. Undefined: it must not be written. Otherwise the fields to add to it: how many such
   * lines were suppressed since the last one, if any.
   */
  admit(kind: string | number): { readonly suppressed?: number } | undefined {
    let known = this.#kinds.get(kind)
    if (known === undefined) {
      known = { bucket: new TokenBucket(this.#clock, LINES_PER_SECOND, LINES_BURST), suppressed: 0 }
      this.#kinds.set(kind, known)
    }
    if (known.bucket.take() > 0) {
      known.suppressed++
      return undefined
    }
    const { suppressed } = known
    known.suppressed = 0
    return suppressed === 0 ? {} : { suppressed }
  }
}

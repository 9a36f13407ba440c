/**
 * Limits how many lines of one kind reach the log, so that whoever is refused cannot fill it: a token bucket per kind,
 * and the number of suppressed lines for the next one that passes. Kinds are words of the program, never of a client.
 */
import type { Clock } from './clock.ts'
import { TokenBucket } from './token-bucket.ts'

/** Enough to see who is refused and why; a flood adds nothing but its number. */
const LINES_PER_SECOND = 10
/** What may come at once: a fleet of clients that is misconfigured is seen as a whole. */
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
   * Counts one line of `kind`. Undefined: it must not be written. Otherwise fields to write with it: how many lines of
   * this kind were suppressed since the last one, where there were any.
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

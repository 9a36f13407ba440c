/**
 * The snapshot that one pair's book begins with, fetched: again a little later while what comes is too old for the
 * messages behind it or is not proved by them, and, for a book that is live and only wants a new one, for as long as the
 * venue gives none. One request is under way at most, and nothing is handed over after `cancel`. It knows no address.
 */
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Fetched } from './venue.ts'
import { retryMilliseconds } from './venue-connection.ts'

/**
 * What a book needs after a message: no snapshot; a newer one soon (`too-old`); or, in so many milliseconds, the same
 * once more to confirm it, unless the messages meanwhile do.
 */
export type SnapshotNeed = 'none' | 'too-old' | { readonly confirmMilliseconds: number }

export interface VenueSnapshotOptions<Data> {
  readonly symbol: string
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  /** Never rejects. */
  readonly fetch: (signal: AbortSignal) => Promise<Fetched<Data>>
  /** How long the connection, which usually sends the snapshot, is waited for; absent where it never does. */
  readonly waitMilliseconds: number | undefined
  /** Hands over what was fetched, and returns whether another is needed. */
  readonly take: (data: Data) => SnapshotNeed
  /** Whether the book goes on without, as long as it can. */
  readonly isLive: () => boolean
  /** The book cannot begin; the venue wants to be left alone for so long. */
  readonly fail: (reason: string, patienceMilliseconds: number) => void
}

/** How often a beginning that is too old is fetched again before a book that is not live is subscribed anew. */
const FETCHES_MAX = 5

export class VenueSnapshot<Data> {
  readonly #options: VenueSnapshotOptions<Data>
  #fetching: AbortController | undefined
  #timer: Timer | undefined

  constructor(options: VenueSnapshotOptions<Data>) {
    this.#options = options
  }

  /** Whether it is fetched only because the connection does not send it. */
  get isFallback(): boolean {
    return this.#options.waitMilliseconds !== undefined
  }

  /** Fetches, at once or after the wait; what was under way does not count any more. */
  begin(): void {
    const { waitMilliseconds } = this.#options
    this.cancel()
    if (waitMilliseconds === undefined) this.#fetch(0)
    else this.#plan(waitMilliseconds, 0)
  }

  /** Fetches, unless that is under way or planned already. */
  renew(): void {
    if (this.#fetching === undefined && this.#timer === undefined) this.#fetch(0)
  }

  cancel(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#fetching?.abort()
    this.#fetching = undefined
  }

  #fetch(attempt: number): void {
    const fetching = new AbortController()
    this.#fetching = fetching
    void this.#options.fetch(fetching.signal).then((fetched) => {
      if (this.#fetching !== fetching) return
      this.#fetching = undefined
      if ('problem' in fetched) {
        this.#miss(fetched.problem, fetched.retryAfterMilliseconds ?? 0, attempt)
        return
      }
      const need = this.#options.take(fetched.value)
      if (need === 'too-old') this.#repeat(attempt)
      else if (need !== 'none') this.#plan(need.confirmMilliseconds, 0)
    })
  }

  #miss(problem: string, patienceMilliseconds: number, attempt: number): void {
    const { symbol, random, log, isLive, fail } = this.#options
    if (!isLive()) {
      fail(`no snapshot of ${symbol}: ${problem}`, patienceMilliseconds)
      return
    }
    const delayMilliseconds = Math.max(patienceMilliseconds, retryMilliseconds(attempt + 1, random))
    log.warn({ symbol, problem, retryMilliseconds: delayMilliseconds }, 'venue snapshot not fetched')
    this.#plan(delayMilliseconds, attempt + 1)
  }

  #repeat(attempt: number): void {
    const { symbol, random, isLive, fail } = this.#options
    if (isLive() || attempt + 1 < FETCHES_MAX) this.#plan(retryMilliseconds(attempt + 1, random), attempt + 1)
    else fail(`no snapshot of ${symbol} that is new enough`, 0)
  }

  #plan(delayMilliseconds: number, attempt: number): void {
    this.#timer = this.#options.clock.schedule(delayMilliseconds, () => {
      this.#timer = undefined
      this.#fetch(attempt)
    })
  }
}

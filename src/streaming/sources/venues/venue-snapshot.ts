/**
 * Fetches the snapshot for one pair's book. It fetches again while the snapshot is older than the messages or not
 * confirmed by them. For a live book it fetches until the venue returns a new enough one. At most one request runs at a
 * time, and nothing is passed on after `cancel`. There are no addresses here.
 */
import type { Clock, Timer } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { Fetched } from './venue.ts'
import { retryMilliseconds } from './venue-connection.ts'

/**
 * The snapshot needed by a book after a message: none, a newer one soon (`too-old`), or the same one once more after a
 * delay, unless messages confirm it first.
 */
export type SnapshotNeed = 'none' | 'too-old' | { readonly confirmMilliseconds: number }

export interface VenueSnapshotOptions<Data> {
  readonly symbol: string
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  /** Never rejects. */
  readonly fetch: (signal: AbortSignal) => Promise<Fetched<Data>>
  /** How long to wait first for the snapshot on the connection; undefined where the venue never sends it there. */
  readonly waitMilliseconds: number | undefined
  /** Passes the snapshot on and returns whether another one is needed. */
  readonly take: (data: Data) => SnapshotNeed
  /** Whether the book is live: it continues without a new snapshot. */
  readonly isLive: () => boolean
  /** The book cannot start. `delayMillisecondsMin`: the shortest time until the venue accepts requests again. */
  readonly fail: (reason: string, delayMillisecondsMin: number) => void
}

/** Requests for a new enough snapshot before a book that is not live is subscribed again. */
const FETCHES_MAX = 5

export class VenueSnapshot<Data> {
  readonly #options: VenueSnapshotOptions<Data>
  #fetching: AbortController | undefined
  #timer: Timer | undefined

  constructor(options: VenueSnapshotOptions<Data>) {
    this.#options = options
  }

  /** Whether it is fetched only when the connection does not send it. */
  get isFallback(): boolean {
    return this.#options.waitMilliseconds !== undefined
  }

  /** Fetches, at once or after the wait. A running request is cancelled. */
  begin(): void {
    const { waitMilliseconds } = this.#options
    this.cancel()
    if (waitMilliseconds === undefined) this.#fetch(0)
    else this.#plan(waitMilliseconds, 0)
  }

  /** Fetches, unless a request is running or scheduled. */
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

  #miss(problem: string, delayMillisecondsMin: number, attempt: number): void {
    const { symbol, random, log, isLive, fail } = this.#options
    if (!isLive()) {
      fail(`no snapshot of ${symbol}: ${problem}`, delayMillisecondsMin)
      return
    }
    const delayMilliseconds = Math.max(delayMillisecondsMin, retryMilliseconds(attempt + 1, random))
    log.warn({ symbol, problem, retryMilliseconds: delayMilliseconds }, 'venue snapshot not fetched')
    this.#plan(delayMilliseconds, attempt + 1)
  }

  #repeat(attempt: number): void {
    const { symbol, random, isLive, fail } = this.#options
    if (isLive() || attempt + 1 < FETCHES_MAX) this.#plan(retryMilliseconds(attempt + 1, random), attempt + 1)
    else fail(`no snapshot of ${symbol} is new enough`, 0)
  }

  #plan(delayMilliseconds: number, attempt: number): void {
    this.#timer = this.#options.clock.schedule(delayMilliseconds, () => {
      this.#timer = undefined
      this.#fetch(attempt)
    })
  }
}

/**
 * A value fetched from elsewhere and kept, such as an issuer's keys. After the first fetch no caller waits for the
 * source: the kept value is returned while a newer one is fetched, also while the source fails. There is at most one
 * fetch at a time, which callers share, and a least time between two, however often callers ask.
 */
import type { Clock } from './clock.ts'

export interface RefreshedValueOptions<Value> {
  readonly clock: Clock
  /** Age from which the value is fetched again. */
  readonly freshMilliseconds: number
  /** The least time between two fetches, from start to start. */
  readonly pauseMilliseconds: number
  /** Must end by itself: the next fetch waits for it. */
  fetch(): Promise<Value>
  /**
   * Called when a fetch failed.
   * @param kept whether an earlier value stays in use
   */
  onFailure(error: unknown, kept: boolean): void
}

export class RefreshedValue<Value> {
  readonly #options: RefreshedValueOptions<Value>
  #value: Value | undefined
  #fetchedMilliseconds = 0
  #askedMilliseconds: number | undefined
  #asking: Promise<void> | undefined

  constructor(options: RefreshedValueOptions<Value>) {
    this.#options = options
  }

  /** The value. Only the first one has to be awaited. `undefined`: there is none yet. */
  async current(): Promise<Value | undefined> {
    if (this.#value === undefined) await this.#ask()
    else if (this.#now() - this.#fetchedMilliseconds >= this.#options.freshMilliseconds) void this.#ask()
    return this.#value
  }

  /**
   * The value after the source was asked again. `undefined`: there is no other one, or the source was asked just now.
   */
  async newer(): Promise<Value | undefined> {
    const before = this.#value
    await this.#ask()
    return this.#value === before ? undefined : this.#value
  }

  /** Resolves when the fetch under way, or a new one where it is time for one, has ended, well or not. */
  #ask(): Promise<void> {
    if (this.#asking !== undefined) return this.#asking
    const now = this.#now()
    const { pauseMilliseconds } = this.#options
    if (this.#askedMilliseconds !== undefined && now - this.#askedMilliseconds < pauseMilliseconds) {
      return Promise.resolve()
    }
    this.#askedMilliseconds = now
    this.#asking = this.#fetch().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #fetch(): Promise<void> {
    try {
      this.#value = await this.#options.fetch()
      this.#fetchedMilliseconds = this.#now()
    } catch (error) {
      this.#options.onFailure(error, this.#value !== undefined)
    }
  }

  #now(): number {
    return this.#options.clock.monotonicMilliseconds()
  }
}

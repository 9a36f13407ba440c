/**
 * The messages of one connection that wait to be answered. Answering is paced by a token bucket and stops while the
 * connection lags; whoever owns the inbox stops reading the socket while anything waits, so it holds at most what one
 * read of the socket contained. Nothing is refused and nothing is lost.
 */
import type { Clock } from '../base/clock.ts'

export interface InboundMessage {
  readonly data: Buffer
  readonly isBinary: boolean
}

export class Inbox {
  readonly #clock: Clock
  readonly #perSecond: number
  readonly #burst: number
  #messages: InboundMessage[] = []
  #tokens: number
  #refilledMilliseconds: number

  constructor(clock: Clock, perSecond: number, burst: number) {
    this.#clock = clock
    this.#perSecond = perSecond
    this.#burst = burst
    this.#tokens = burst
    this.#refilledMilliseconds = clock.monotonicMilliseconds()
  }

  get isEmpty(): boolean {
    return this.#messages.length === 0
  }

  put(message: InboundMessage): void {
    this.#messages.push(message)
  }

  /** The next message if the pace allows it now; else how many milliseconds it has to wait. */
  take(): InboundMessage | { readonly waitMilliseconds: number } | undefined {
    if (this.isEmpty) return undefined
    const now = this.#clock.monotonicMilliseconds()
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#refilledMilliseconds) / 1000) * this.#perSecond)
    this.#refilledMilliseconds = now
    if (this.#tokens < 1) return { waitMilliseconds: ((1 - this.#tokens) / this.#perSecond) * 1000 }
    this.#tokens -= 1
    return this.#messages.shift()
  }

  clear(): void {
    this.#messages = []
  }
}

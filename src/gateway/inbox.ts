/**
 * The messages of one connection that wait to be answered. Answering is paced by a token bucket and stops while the
 * connection lags; whoever owns the inbox stops reading the socket while anything waits, so it holds at most what one
 * read of the socket contained. Nothing is refused and nothing is lost.
 */
import type { Clock } from '../base/clock.ts'
import { TokenBucket } from '../base/token-bucket.ts'

export interface InboundMessage {
  readonly data: Buffer
  readonly isBinary: boolean
}

export class Inbox {
  readonly #pace: TokenBucket
  #messages: InboundMessage[] = []

  constructor(clock: Clock, perSecond: number, burst: number) {
    this.#pace = new TokenBucket(clock, perSecond, burst)
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
    const waitMilliseconds = this.#pace.take()
    if (waitMilliseconds > 0) return { waitMilliseconds }
    const message = this.#messages.shift()
    // An array that was emptied keeps its room; most connections ask once.
    if (this.isEmpty) this.clear()
    return message
  }

  clear(): void {
    this.#messages = []
  }
}

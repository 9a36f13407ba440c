/**
 * A publisher's messages in arrival order. A large one is read in parts, a few milliseconds in each tick. The
 * connection is not read meanwhile, so only messages received with it wait: one socket read.
 */
import type { Clock } from '../../../platform/base/clock.ts'
import { LARGE_MESSAGE_BYTES } from '../publication/large-message.ts'

/** Reads a large message in steps, and returns what is to be done with it. */
export type LargeReading = Generator<void, () => void>

export interface PublisherInboxOptions {
  readonly clock: Clock
  readonly connection: { pause(): void; resume(): void }
  readonly onMessage: (text: string) => void
  readonly readInParts: (text: string) => LargeReading
}

/** Processor time in one tick. */
const TICK_MILLISECONDS = 4

export class PublisherInbox {
  readonly #options: PublisherInboxOptions
  #reading: LargeReading | undefined
  #waiting: string[] = []

  constructor(options: PublisherInboxOptions) {
    this.#options = options
  }

  receive(text: string): void {
    if (this.#reading !== undefined) this.#waiting.push(text)
    else if (text.length <= LARGE_MESSAGE_BYTES) this.#options.onMessage(text)
    else {
      this.#options.connection.pause()
      this.#begin(text)
    }
  }

  /** Drops everything that waits, because the connection has ended. */
  clear(): void {
    this.#reading = undefined
    this.#waiting = []
  }

  #begin(text: string): void {
    const reading = this.#options.readInParts(text)
    this.#reading = reading
    this.#readLater(reading)
  }

  #readLater(reading: LargeReading): void {
    this.#options.clock.endOfTick(() => this.#read(reading))
  }

  #read(reading: LargeReading): void {
    const { clock } = this.#options
    const end = clock.monotonicMilliseconds() + TICK_MILLISECONDS
    do {
      // The connection may have ended, and another one be in use.
      if (this.#reading !== reading) return
      const { done, value: apply } = reading.next()
      if (done !== true) continue
      this.#reading = undefined
      apply()
      this.#continue()
      return
    } while (clock.monotonicMilliseconds() < end)
    this.#readLater(reading)
  }

  /**
   * Takes waiting messages, up to the next large one. Nothing waits any more when a message has ended the connection.
   */
  #continue(): void {
    for (let text = this.#waiting.shift(); text !== undefined; text = this.#waiting.shift()) {
      if (text.length > LARGE_MESSAGE_BYTES) {
        this.#begin(text)
        return
      }
      this.#options.onMessage(text)
    }
    this.#options.connection.resume()
  }
}

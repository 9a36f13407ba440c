/**
 * Events pushed to your webhook endpoint, as one loop. Each sequence is given once, however often it is pushed. The
 * service keeps the order per object, and events of different objects may overtake each other. So those that wait are
 * given in the order of their sequences, and a late one is still given.
 */
import { TidegateError } from '../errors.ts'
import { Wakeup } from '../stream/reader.ts'
import type { CustomerEvent } from './event.ts'

/** Sequences remembered to recognise repetitions. A repetition of an older one is given again. */
const REMEMBERED_MAX = 100_000

interface Waiting {
  readonly event: CustomerEvent
  readonly processed: Promise<void>
  readonly settle: (error?: unknown) => void
}

export class PushedEvents implements AsyncIterable<CustomerEvent> {
  readonly #after: number
  readonly #processed = new Set<number>()
  /** By their sequences: pushed, and not processed. */
  readonly #waiting = new Map<number, Waiting>()
  readonly #news = new Wakeup()
  #isClosed = false

  /** @param after the last sequence processed before: it and earlier ones are left out */
  constructor({ after = 0 }: { readonly after?: number } = {}) {
    this.#after = after
  }

  /**
   * Passes a verified event to the loop. Resolves when the loop has processed it: answer 200 then, so that the service
   * sends it again otherwise. Rejects when the loop has ended before.
   */
  push(event: CustomerEvent): Promise<void> {
    const { sequence } = event
    if (sequence <= this.#after || this.#processed.has(sequence)) return Promise.resolve()
    const known = this.#waiting.get(sequence)
    if (known !== undefined) return known.processed
    if (this.#isClosed) return Promise.reject(closed())
    let settle: Waiting['settle'] = () => undefined
    const processed = new Promise<void>((resolve, reject) => {
      settle = (error) => (error === undefined ? resolve() : reject(error))
    })
    this.#waiting.set(sequence, { event, processed, settle })
    this.#news.wake()
    return processed
  }

  /** Ends the loop. */
  close(): void {
    this.#isClosed = true
    for (const { settle } of this.#waiting.values()) settle(closed())
    this.#waiting.clear()
    this.#news.wake()
  }

  /** One loop: several would share the events. An event is processed when the loop asks for the next one. */
  async *[Symbol.asyncIterator](): AsyncGenerator<CustomerEvent> {
    try {
      while (!this.#isClosed) {
        if (this.#waiting.size === 0) {
          await this.#news.wait()
          continue
        }
        const sequence = Math.min(...this.#waiting.keys())
        const { event, settle } = this.#waiting.get(sequence) as Waiting
        yield event
        this.#waiting.delete(sequence)
        this.#remember(sequence)
        settle()
      }
    } finally {
      this.close()
    }
  }

  #remember(sequence: number): void {
    this.#processed.add(sequence)
    if (this.#processed.size <= REMEMBERED_MAX) return
    const [oldest] = this.#processed
    this.#processed.delete(oldest as number)
  }
}

function closed(): TidegateError {
  return new TidegateError('CLOSED', 'the loop over the events has ended')
}

/**
 * One loop over something that changes. It waits until there is something to take. Overlapping `next` calls are
 * answered in order.
 */

/** The source read by a loop. `error`: why it was given up, once the status is CLOSED. */
export interface Readable {
  readonly status: string
  readonly error: unknown
}

/** Wakes all its waiters. */
export class Wakeup {
  #promise: Promise<void> | undefined
  #resolve: () => void = () => undefined

  wait(): Promise<void> {
    this.#promise ??= new Promise((resolve) => {
      this.#resolve = resolve
    })
    return this.#promise
  }

  wake(): void {
    this.#promise = undefined
    this.#resolve()
  }
}

export abstract class Reader<Change> implements AsyncIterableIterator<Change> {
  readonly #source: Readable
  readonly #onReturn: () => void
  readonly #news = new Wakeup()
  #isDone = false

  /** `onReturn`: called when the loop has ended or was left. */
  constructor(source: Readable, onReturn: () => void) {
    this.#source = source
    this.#onReturn = onReturn
  }

  /** What the loop has not seen yet, or undefined when it has seen everything. */
  protected abstract take(): Change | undefined

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Change>> {
    while (!this.#isDone) {
      if (this.#source.status === 'CLOSED') {
        this.#leave()
        if (this.#source.error !== undefined) throw this.#source.error
        break
      }
      const change = this.take()
      if (change !== undefined) return { value: change, done: false }
      await this.#news.wait()
    }
    return { value: undefined, done: true }
  }

  /** The loop was left. */
  async return(): Promise<IteratorResult<Change>> {
    this.#leave()
    return { value: undefined, done: true }
  }

  /** There may be something to take. */
  wake(): void {
    this.#news.wake()
  }

  #leave(): void {
    this.#isDone = true
    this.#onReturn()
    this.#news.wake()
  }
}

/**
 * A market's executions, complete and in order. A GAP replaces any lost ones. They are lost when a connection ends in
 * the base protocol, when the service no longer has them, or when the reader does not keep up.
 */
import { type BookStatement, type Execution, type ExecutionMessage, Fault } from './messages.ts'
import { Wakeup } from './reader.ts'
import { closedError, type Subscription } from './subscription.ts'

/** Executions are missing here. */
export interface ExecutionGap {
  readonly type: 'GAP'
  readonly reason: string
}

export interface ExecutionOptions {
  /** Ends the subscription. */
  readonly signal?: AbortSignal
}

/** Loop over it once: several loops would share the executions. */
export interface Executions extends AsyncIterable<Execution | ExecutionGap> {
  readonly market: string
  /** Ends the subscription and its loop. */
  close(): void
}

/** Executions that wait for the reader. Beyond this many, a GAP replaces the oldest half. */
const QUEUED_MAX = 10_000

export class LiveExecutions implements Executions, Subscription {
  readonly channel = 'execution_data'
  readonly market: string
  readonly close: () => void
  readonly #queue: (Execution | ExecutionGap)[] = []
  #cursor: string | undefined
  /** Why executions may be missing at the next acknowledgement. */
  #interruption: string | undefined
  /** The service has accepted the subscription once. */
  #hasBegun = false
  #isFirst = true
  #isEnded = false
  #error: unknown
  readonly #news = new Wakeup()
  #settle: ((error?: unknown) => void) | undefined
  /** Resolves when the service has accepted the subscription. */
  readonly ready: Promise<void>

  constructor(market: string, close: () => void) {
    this.market = market
    this.close = close
    this.ready = new Promise((resolve, reject) => {
      this.#settle = (error) => (error === undefined ? resolve() : reject(error))
    })
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Execution | ExecutionGap> {
    while (true) {
      const next = this.#queue.shift()
      if (next !== undefined) yield next
      else if (this.#isEnded) break
      else await this.#news.wait()
    }
    if (this.#error !== undefined) throw this.#error
  }

  params(isExtended: boolean): object {
    return isExtended ? { market: this.market, resume: this.#cursor } : { market: this.market }
  }

  acknowledge(resumed: boolean | undefined): void {
    if (resumed !== true) {
      if (this.#interruption !== undefined) this.#push({ type: 'GAP', reason: this.#interruption })
      this.#cursor = undefined
    }
    this.#interruption = undefined
    this.#hasBegun = true
    this.#isFirst = this.#cursor === undefined
    this.#settle?.()
  }

  receive({ execution, position }: ExecutionMessage): void {
    if (!this.#isFirst && position?.prev !== this.#cursor)
      throw new Fault('a message is missing: an execution follows one that was not received')
    this.#isFirst = false
    this.#cursor = position?.cursor
    this.#push(execution)
  }

  confirm(_statement: BookStatement): void {
    // Statements are about books only.
  }

  suspend(reason: string): void {
    // Before the first acknowledgement nothing was promised.
    if (this.#hasBegun) this.#interruption ??= reason
  }

  reset(reason: string): void {
    this.suspend(reason)
    this.#cursor = undefined
  }

  end(error: unknown): void {
    this.#isEnded = true
    this.#error = error
    this.#settle?.(error ?? closedError(`the subscription of the executions of ${this.market}`))
    this.#news.wake()
  }

  #push(event: Execution | ExecutionGap): void {
    this.#queue.push(event)
    if (this.#queue.length > QUEUED_MAX) {
      this.#queue.splice(0, QUEUED_MAX / 2, { type: 'GAP', reason: 'the reader did not keep up' })
    }
    this.#news.wake()
  }
}

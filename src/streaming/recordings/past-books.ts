/**
 * Past books from a recording folder, each read in its own thread, so that the event loop is never blocked. One is read
 * at a time and a few wait. A read that takes too long is aborted.
 */
import type { Clock } from '../../platform/base/clock.ts'
import { startThread } from '../../platform/base/thread.ts'
import { withTimeLimit } from '../../platform/base/time-limit.ts'
import type { PastBookRequest } from './past-book.ts'
import type { PastBookAnswer } from './past-book-thread.ts'

/** A reading takes about a second, and several seconds on a machine whose processors are all busy. */
const READING_MILLISECONDS_MAX = 10_000
/** Reads that wait for the running one. */
const WAITING_MAX = 4
/** The thread's memory: an hour's block heads, a block, and a book. */
const THREAD_MEGABYTES_MAX = 512

/** The book was not read, because others are being read or it took too long. A later attempt may succeed. */
export class PastBooksBusy extends Error {
  override name = 'PastBooksBusy'
}

export interface PastBooksOptions {
  readonly folder: string
  readonly clock: Clock
  /** Flushes the current recording to disk. */
  readonly flush: () => Promise<void>
}

export class PastBooks {
  readonly #options: PastBooksOptions
  #waiting = 0
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: PastBooksOptions) {
    this.#options = options
  }

  /**
   * @throws {PastBooksBusy}
   * @throws {Error} when a recording cannot be read
   */
  async read(request: Omit<PastBookRequest, 'folder'>): Promise<PastBookAnswer> {
    if (this.#waiting > WAITING_MAX) throw new PastBooksBusy('several books are being read from recordings')
    this.#waiting += 1
    const reading = this.#last.then(() => this.#readNow(request))
    this.#last = reading.catch(() => undefined)
    try {
      return await reading
    } finally {
      this.#waiting -= 1
    }
  }

  async #readNow(request: Omit<PastBookRequest, 'folder'>): Promise<PastBookAnswer> {
    const { folder, clock, flush } = this.#options
    const workerData: PastBookRequest = { ...request, folder }
    const limit = <Value>(work: Promise<Value>, end: () => void): Promise<Value> =>
      withTimeLimit(clock, READING_MILLISECONDS_MAX, work, () => {
        end()
        throw new PastBooksBusy(`the recordings were not read within ${READING_MILLISECONDS_MAX / 1_000} s`)
      })
    await limit(flush(), () => undefined)
    const resourceLimits = { maxOldGenerationSizeMb: THREAD_MEGABYTES_MAX }
    const thread = startThread('./past-book-thread', import.meta.url, { workerData, resourceLimits })
    const answered = new Promise<PastBookAnswer>((resolve, reject) => {
      thread.once('message', resolve)
      thread.once('error', reject)
      thread.once('exit', (code) => reject(new Error(`the recordings’ thread ended with code ${code}`)))
    })
    try {
      return await limit(answered, () => undefined)
    } finally {
      await thread.terminate()
    }
  }
}

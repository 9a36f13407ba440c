/**
 * Carries out a table's due work, a limited number at a time. Notifications announce new work. Polling finds work due
 * again, and work whose notification was lost. Work without a recorded outcome is carried out again, with growing
 * delays.
 */
import { type BackoffLimits, type Jitter, jitteredBackoff } from '../base/backoff.ts'
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { withTimeLimit } from '../base/time-limit.ts'
import { type Db, StoreUnavailable, type Transaction } from './db.ts'
import { DueSearch } from './due-search.ts'
import { transactionWithRetries } from './retry.ts'
import type { RawBuilder } from './sql.ts'

const POLL_MILLISECONDS = 5_000
const REPEAT_JITTER: Jitter = [0.5, 1.5]
/**
 * How long a stop waits for work under way: a request to an outside service (10 s) and the record of its outcome. A mail
 * may take longer.
 */
const STOP_MILLISECONDS_MAX = 12_000

/** An item of due work, claimed with a new attempt. */
interface Due {
  /** 1 for the first attempt. */
  readonly attempt: number
  /** When it was due, by the store's clock. */
  readonly dueAt: string
}

export interface DueWorkerOptions<Item> {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  /** The store's notification channel. */
  readonly channel: string
  /** The most items at a time. */
  readonly parallelMax: number
  /** A number in [0, 1), for retry jitter. */
  readonly random: () => number
  /** Delays before the next attempt. */
  readonly repeatSeconds: BackoffLimits
  /** Log entries when due work cannot be read, and when an item's outcome cannot be recorded. */
  readonly failures: { readonly take: string; readonly carryOut: string }
  /** Called before each search. Returns whether there is anything to search for. */
  prepare?(): Promise<boolean>
  /** Claims up to `limit` due items meeting the condition, each with a new attempt. */
  take(transaction: Transaction<object>, limit: number, isRecent: RawBuilder<boolean>): Promise<readonly Item[]>
  /**
   * Carries out one item and records its outcome.
   * @param repeatSeconds the delay before the next attempt, to the millisecond
   */
  carryOut(item: Item, repeatSeconds: number): Promise<void>
}

export class DueWorker<Item extends Due> {
  readonly #options: DueWorkerOptions<Item>
  readonly #search: DueSearch
  readonly #working = new Set<Promise<void>>()
  #unlisten: (() => Promise<void>) | undefined
  #timer: Timer | undefined
  #looking: Promise<void> | undefined
  /** Work may have become due while due work was being read. */
  #isDueAgain = false
  #stopped = false

  constructor(options: DueWorkerOptions<Item>) {
    this.#options = options
    this.#search = new DueSearch(options.clock)
  }

  /** Starts listening and polling. The first search is immediate. May be repeated when the store was unavailable. */
  async start(): Promise<void> {
    const { db, channel } = this.#options
    const wake = () => this.look()
    this.#unlisten ??= await db.listen(channel, { onNotify: wake, onReconnect: wake })
    this.#poll()
  }

  /**
   * Waits for the work under way, up to STOP_MILLISECONDS_MAX. Work that takes longer is carried out again later, as after
   * a crash.
   */
  async stop(): Promise<void> {
    const { clock, log, channel } = this.#options
    this.#stopped = true
    this.#timer?.cancel()
    await this.#unlisten?.()
    await withTimeLimit(clock, STOP_MILLISECONDS_MAX, this.settled(), () =>
      log.warn(
        { channel, seconds: STOP_MILLISECONDS_MAX / 1_000 },
        'a stop did not wait longer for the work under way',
      ),
    )
  }

  /** Resolves when no work is under way. */
  async settled(): Promise<void> {
    while (this.#looking !== undefined || this.#working.size > 0) {
      await Promise.all([this.#looking, ...this.#working])
    }
  }

  #poll(): void {
    if (this.#stopped) return
    this.#timer = this.#options.clock.schedule(POLL_MILLISECONDS, () => this.#poll())
    this.look()
  }

  /** Searches for due work, now or after the present search. */
  look(): void {
    if (this.#stopped) return
    if (this.#looking !== undefined) {
      this.#isDueAgain = true
      return
    }
    this.#isDueAgain = false
    this.#looking = this.#takeAll().finally(() => {
      this.#looking = undefined
      if (this.#isDueAgain) this.look()
    })
  }

  async #takeAll(): Promise<void> {
    const { db, log, parallelMax, failures, prepare, take } = this.#options
    try {
      if (prepare !== undefined && !(await prepare())) return
      for (;;) {
        const free = parallelMax - this.#working.size
        if (free === 0 || this.#stopped || !db.available) return
        const due = await this.#search.claim((isRecent) =>
          transactionWithRetries(db, (transaction) => take(transaction, free, isRecent)),
        )
        for (const item of due) this.#begin(item)
        if (due.length < free) return
      }
    } catch (error) {
      reportFailure(log, error, failures.take)
    }
  }

  #begin(item: Item): void {
    const working = this.#carryOut(item).finally(() => {
      this.#working.delete(working)
      this.look()
    })
    this.#working.add(working)
  }

  async #carryOut(item: Item): Promise<void> {
    const { log, random, repeatSeconds, failures, carryOut } = this.#options
    const seconds = jitteredBackoff(repeatSeconds, REPEAT_JITTER, item.attempt, random)
    try {
      await carryOut(item, Math.round(seconds * 1000) / 1000)
    } catch (error) {
      reportFailure(log, error, failures.carryOut)
    }
  }
}

/** Logs a failed transaction of a worker. An unavailable store is reported elsewhere. */
export function reportFailure(log: Log, error: unknown, message: string): void {
  if (error instanceof StoreUnavailable) log.debug({ err: error }, message)
  else log.error({ err: error }, message)
}

/**
 * Carries out the due work of a table, a limited number at a time. Notifications announce new work. Polling finds work
 * that is due again, and work whose notification was lost.
 */
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { type Db, StoreUnavailable } from './db.ts'
import { DueSearch } from './due-search.ts'
import type { RawBuilder } from './sql.ts'

const POLL_MILLISECONDS = 5_000

export interface DueWorkerOptions<Item> {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  /** The store's notification channel. */
  readonly channel: string
  /** The most items at a time. */
  readonly parallelMax: number
  /** The log entry when due work cannot be read. */
  readonly failure: string
  /** Called before each search. Returns whether there is anything to search for. */
  prepare(): Promise<boolean>
  /** Claims up to `limit` due items that meet the condition. */
  take(limit: number, isRecent: RawBuilder<boolean>): Promise<readonly Item[]>
  /** Carries out one item. Never throws. */
  carryOut(item: Item): Promise<void>
}

export class DueWorker<Item extends { readonly dueAt: string }> {
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

  /** Starts listening and polling. The first search is immediate. */
  async start(): Promise<void> {
    const { db, channel } = this.#options
    const wake = () => this.#look()
    this.#unlisten = await db.listen(channel, { onNotify: wake, onReconnect: wake })
    this.#poll()
  }

  /** Waits for the work under way. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    await this.#unlisten?.()
    await this.settled()
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
    this.#look()
  }

  #look(): void {
    if (this.#stopped) return
    if (this.#looking !== undefined) {
      this.#isDueAgain = true
      return
    }
    this.#isDueAgain = false
    this.#looking = this.#takeAll().finally(() => {
      this.#looking = undefined
      if (this.#isDueAgain) this.#look()
    })
  }

  async #takeAll(): Promise<void> {
    const { db, log, parallelMax, failure, prepare, take } = this.#options
    try {
      if (!(await prepare())) return
      for (;;) {
        const free = parallelMax - this.#working.size
        if (free === 0 || this.#stopped || !db.available) return
        const due = await this.#search.claim((isRecent) => take(free, isRecent))
        for (const item of due) this.#begin(item)
        if (due.length < free) return
      }
    } catch (error) {
      reportFailure(log, error, failure)
    }
  }

  #begin(item: Item): void {
    const working = this.#options.carryOut(item).finally(() => {
      this.#working.delete(working)
      this.#look()
    })
    this.#working.add(working)
  }
}

/** Logs a failed transaction of a worker. An unavailable store is reported elsewhere. */
export function reportFailure(log: Log, error: unknown, message: string): void {
  if (error instanceof StoreUnavailable) log.debug({ err: error }, message)
  else log.error({ err: error }, message)
}

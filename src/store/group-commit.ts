/**
 * Group commit of the embedded store: one sync of the disk for several transactions. While other callers wait, a caller
 * commits without a sync, the next caller starts, and the answer waits until a flush has made the commit durable; without
 * waiting callers, a commit is synced at once. Whatever follows a commit that is not durable yet waits
 * with it: answers of readers, which may have seen it, and notifications. When the thread is lost meanwhile, all of them
 * fail: whether they are stored is not known. It holds no timer: the last of a queue flushes, so an answer waits at most
 * for the turns of COMMITS_MAX callers, or for one turn after MILLISECONDS_MAX.
 */
import { AsyncResource } from 'node:async_hooks'
import type { Clock } from '../base/clock.ts'
import { StoreUnavailable } from './db.ts'

/** Writes an empty message into the log; the last argument (PostgreSQL 17) flushes the log up to there. */
export const FLUSH_TEXT = "select pg_logical_emit_message(false, '', '', true)"

/** A flush for as many commits costs a hundredth of them; more would only make the first ones wait. */
const COMMITS_MAX = 64
/** What waiting for others may add to a commit while turns are short. */
const MILLISECONDS_MAX = 5

interface Settlement {
  readonly promise: Promise<void>
  readonly resolve: () => void
  readonly reject: (error: StoreUnavailable) => void
}

export class GroupCommit {
  readonly #clock: Clock
  /** Commits since the last flush, the time of the first, and what their callers wait for; undefined without any. */
  #open: { commits: number; readonly sinceMilliseconds: number; readonly settlement: Settlement } | undefined
  /** Whether the session that has the turn commits without a sync. */
  #isDeferring = false
  #heldNotifications: (() => void)[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether a commit waits for a flush. */
  get isOpen(): boolean {
    return this.#open !== undefined
  }

  /** A session gets the turn. */
  begin(isDeferring: boolean): void {
    this.#isDeferring = isDeferring
  }

  /**
   * The session that has the turn is at its end.
   *
   * @param hasWritten whether it may have committed something
   * @param waiting callers that wait for a turn
   * @returns whether it has to flush before it passes the turn
   */
  end(hasWritten: boolean, waiting: number): boolean {
    if (this.#isDeferring && hasWritten) {
      this.#open ??= { commits: 0, sinceMilliseconds: this.#clock.monotonicMilliseconds(), settlement: newSettlement() }
      this.#open.commits++
    }
    this.#isDeferring = false
    if (this.#open === undefined) {
      this.#releaseNotifications()
      return false
    }
    const { commits, sinceMilliseconds } = this.#open
    const openMilliseconds = this.#clock.monotonicMilliseconds() - sinceMilliseconds
    return waiting === 0 || commits >= COMMITS_MAX || openMilliseconds >= MILLISECONDS_MAX
  }

  /** Settles when everything that was committed until now is durable; rejects when that is not known. */
  async settled(): Promise<void> {
    await this.#open?.settlement.promise
  }

  /** A flush has succeeded. */
  flushed(): void {
    const open = this.#open
    this.#open = undefined
    open?.settlement.resolve()
    this.#releaseNotifications()
  }

  /** The thread is gone, with what it had not flushed. */
  lost(reason: string): void {
    const open = this.#open
    this.#open = undefined
    this.#isDeferring = false
    this.#heldNotifications = []
    open?.settlement.reject(new StoreUnavailable(`the embedded store was lost before it had synced: ${reason}`))
  }

  /** Delivers a notification when what it is about is durable. */
  notify(deliver: () => void): void {
    if (!this.#isDeferring && this.#open === undefined) deliver()
    // In the context of its arrival: it would run as a part of the transaction that releases it.
    else this.#heldNotifications.push(AsyncResource.bind(deliver))
  }

  #releaseNotifications(): void {
    const held = this.#heldNotifications
    this.#heldNotifications = []
    for (const deliver of held) deliver()
  }
}

function newSettlement(): Settlement {
  let settle: Pick<Settlement, 'resolve' | 'reject'> | undefined
  const promise = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject }
  })
  // Each caller that waits handles it; there may be none left.
  promise.catch(() => undefined)
  return { promise, ...(settle as Pick<Settlement, 'resolve' | 'reject'>) }
}

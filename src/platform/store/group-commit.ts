/**
 * Group commit in the embedded store: one disk sync for several transactions. While other callers wait, a caller
 * commits without a sync, the next caller starts, and the answer waits until a flush has made the commit durable.
 * Without waiting callers, a commit is synced at once. Everything after a commit that is not durable yet waits with it:
 * answers from read-only transactions, because they may have seen it, and notifications. When the thread is lost
 * meanwhile, they all fail: whether they are stored is not known. It has no timer: the last caller in a queue flushes,
 * so an answer waits at most for COMMITS_MAX other callers, or for one more after MILLISECONDS_MAX.
 */
import { AsyncResource } from 'node:async_hooks'
import type { Clock } from '../base/clock.ts'
import { StoreUnavailable } from './db.ts'

/** Writes an empty message into the log. The last argument (PostgreSQL 17) flushes the log up to there. */
export const FLUSH_TEXT = "select pg_logical_emit_message(false, '', '', true)"

/**
 * A flush for 64 commits takes a hundredth of their time. With a larger group the first ones would only wait longer.
 */
const COMMITS_MAX = 64
/** The longest delay a group adds to a commit. */
const MILLISECONDS_MAX = 5

interface Settlement {
  readonly promise: Promise<void>
  readonly resolve: () => void
  readonly reject: (error: StoreUnavailable) => void
}

export class GroupCommit {
  readonly #clock: Clock
  /**
   * Commits since the last flush, the time of the first, and the promise that their callers await. Undefined without
   * any.
   */
  #open: { commits: number; readonly sinceMilliseconds: number; readonly settlement: Settlement } | undefined
  /** Whether the caller with the connection commits without a sync. */
  #isDeferring = false
  #heldNotifications: (() => void)[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether a commit waits for a flush. */
  get isOpen(): boolean {
    return this.#open !== undefined
  }

  /** A caller gets the connection. */
  begin(isDeferring: boolean): void {
    this.#isDeferring = isDeferring
  }

  /**
   * The caller with the connection is done.
   * @param hasWritten whether it may have committed something
   * @param waiting callers waiting for the connection
   * @returns whether it must flush before it releases the connection
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

  /** Settles when everything committed until now is durable. Rejects when that is not known. */
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

  /** The thread has ended. Its unflushed commits may be lost. */
  lost(reason: string): void {
    const open = this.#open
    this.#open = undefined
    this.#isDeferring = false
    this.#heldNotifications = []
    open?.settlement.reject(new StoreUnavailable(`the embedded store was lost before it had synced: ${reason}`))
  }

  /** Delivers a notification when its commit is durable. */
  notify(deliver: () => void): void {
    if (!this.#isDeferring && this.#open === undefined) deliver()
    // Bound to the context of its arrival: otherwise it would run within the transaction that releases it.
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
  // Awaiting callers, if any, handle the rejection.
  promise.catch(() => undefined)
  return { promise, ...(settle as Pick<Settlement, 'resolve' | 'reject'>) }
}

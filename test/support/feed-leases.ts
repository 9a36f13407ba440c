/** Helpers for feed lease tests: events that a test can wait for, and a world of processes and a store in memory. */

import { createLog } from '../../src/platform/base/log.ts'
import {
  FeedLease,
  type FeedLeaseEvents,
  LEASE_TIMING,
  type LossReason,
} from '../../src/streaming/markets/feed-lease.ts'
import type { LeaseRecord, LeaseRecords } from '../../src/streaming/markets/feed-lease-table.ts'
import { awaited } from './awaited.ts'
import { VirtualClock } from './virtual-clock.ts'

/** One lease object's events, in order. */
export class LeaseJournal implements FeedLeaseEvents {
  readonly entries: string[] = []
  /** The epochs taken. */
  readonly epochs: number[] = []
  isLeader = false
  /** Is called with every event, after it was noted. */
  next: FeedLeaseEvents | undefined
  #waiting: { readonly entry: RegExp; readonly resolve: () => void }[] = []

  onTaken(epoch: number): void {
    if (this.isLeader) throw new Error('taken twice')
    this.isLeader = true
    this.epochs.push(epoch)
    this.#add(`taken ${epoch}`)
    this.next?.onTaken(epoch)
  }

  onDeposed(reason: LossReason): void {
    if (!this.isLeader) throw new Error('deposed without having led')
    this.isLeader = false
    this.#add(`deposed ${reason}`)
    this.next?.onDeposed(reason)
  }

  onResumed(): void {
    if (!this.isLeader) throw new Error('resumed without leading')
    this.#add('resumed')
    this.next?.onResumed()
  }

  /** Resolves when a matching entry has been written, which may have been before. */
  until(entry: RegExp): Promise<void> {
    if (this.entries.some((each) => entry.test(each))) return Promise.resolve()
    return awaited(`an entry like ${entry}`, new Promise((resolve) => this.#waiting.push({ entry, resolve })))
  }

  #add(text: string): void {
    this.entries.push(text)
    this.#waiting = this.#waiting.filter(({ entry, resolve }) => {
      if (!entry.test(text)) return true
      resolve()
      return false
    })
  }
}

interface Row {
  epoch: number
  holder: string | undefined
  expiresAt: number
}

/** One lease in memory, with a time set by the test. */
class LeaseModel {
  row: Row | undefined
  nowMilliseconds = 0
  readonly #leaseMilliseconds: number
  readonly #listeners = new Set<() => void>()

  constructor(leaseMilliseconds: number) {
    this.#leaseMilliseconds = leaseMilliseconds
  }

  /** The lease as one process reaches it. `pass` runs an operation, or fails before or after it. */
  recordsOf(
    holder: string,
    pass: <Result>(operation: () => Result) => Promise<Result>,
    isExclusive = false,
  ): LeaseRecords {
    return {
      isExclusive,
      read: () => pass(() => this.#read()),
      take: (heardEpoch) => pass(() => this.#take(holder, heardEpoch, isExclusive)),
      renew: (epoch) => pass(() => this.#renew(holder, epoch)),
      release: (epoch) => pass(() => this.#release(holder, epoch)),
      listen: (listener) =>
        pass(() => {
          this.#listeners.add(listener)
          return async () => void this.#listeners.delete(listener)
        }),
    }
  }

  #read(): LeaseRecord | undefined {
    if (this.row === undefined) return undefined
    const { epoch, holder, expiresAt } = this.row
    const leftMilliseconds = holder === undefined ? 0 : expiresAt - this.nowMilliseconds
    return { epoch, holderName: holder, leftMilliseconds }
  }

  #take(holder: string, heardEpoch: number, isExclusive: boolean): number | undefined {
    const { row } = this
    if (row?.holder !== undefined && row.expiresAt > this.nowMilliseconds && !isExclusive) return undefined
    const epoch = Math.max(row?.epoch ?? 0, heardEpoch) + 1
    this.row = { epoch, holder, expiresAt: this.nowMilliseconds + this.#leaseMilliseconds }
    return epoch
  }

  #renew(holder: string, epoch: number): boolean {
    if (this.row?.holder !== holder || this.row.epoch !== epoch) return false
    this.row.expiresAt = this.nowMilliseconds + this.#leaseMilliseconds
    return true
  }

  #release(holder: string, epoch: number): void {
    if (this.row?.holder !== holder || this.row.epoch !== epoch) return
    this.row.holder = undefined
    for (const listener of [...this.#listeners]) listener()
  }
}

/** Whether requests reach the store and answers return. With `held`, neither does until it changes. */
export type Path = 'open' | 'refused' | 'answer lost' | 'held'

/** A process in the world with its own clock, which stops while the process does not run. */
export class Candidate {
  readonly clock = new VirtualClock()
  readonly journal = new LeaseJournal()
  readonly lease: FeedLease
  path: Path = 'open'
  /** The number of the request whose answer is lost, besides those by `path`. */
  lostAnswer = 0
  /** The number of the request whose answer arrives when `open` is called. */
  heldAnswer = 0
  requests = 0
  isRunning = true
  /** How long it has not run. */
  stoodMilliseconds = 0
  readonly #held: (() => void)[] = []

  constructor(model: LeaseModel, name: string, random: () => number, isExclusive: boolean) {
    const records = model.recordsOf(name, (operation) => this.#pass(operation), isExclusive)
    const { clock, journal: events } = this
    this.lease = new FeedLease({ feedGroup: 'main', records, events, clock, log: createLog('silent'), random })
  }

  /** Lets held requests continue. */
  open(): void {
    this.path = 'open'
    for (const proceed of this.#held.splice(0)) proceed()
  }

  async #pass<Result>(operation: () => Result): Promise<Result> {
    const number = ++this.requests
    if (this.path === 'held') await new Promise<void>((resolve) => this.#held.push(resolve))
    if (this.path === 'refused') throw new Error('the store cannot be reached')
    const result = operation()
    if (number === this.heldAnswer) await new Promise<void>((resolve) => this.#held.push(resolve))
    if (this.path === 'answer lost' || number === this.lostAnswer) throw new Error('the connection was lost')
    return result
  }
}

export const STEP_MILLISECONDS = 50
export const settle = () => new Promise((resolve) => setImmediate(resolve))

/** Processes that share a store in memory, and time. */
export class LeaseWorld {
  readonly model = new LeaseModel(LEASE_TIMING.leaseMilliseconds)
  readonly candidates: Candidate[] = []
  readonly #random: () => number

  constructor(random: () => number = () => 0.5) {
    this.#random = random
  }

  add(isExclusive = false): Candidate {
    const added = new Candidate(this.model, `candidate ${this.candidates.length}`, this.#random, isExclusive)
    this.candidates.push(added)
    return added
  }

  /** Lets time pass for the store and every running process. */
  async pass(milliseconds: number): Promise<void> {
    await settle()
    for (let passed = 0; passed < milliseconds; passed += STEP_MILLISECONDS) {
      this.model.nowMilliseconds += STEP_MILLISECONDS
      for (const candidate of this.candidates) {
        if (candidate.isRunning) candidate.clock.advance(STEP_MILLISECONDS)
        else candidate.stoodMilliseconds += STEP_MILLISECONDS
      }
      await settle()
    }
  }

  /** Lets a stopped process run again. `then` is called before its timers run. */
  resume(candidate: Candidate, then: () => void = () => undefined): void {
    const { clock, stoodMilliseconds } = candidate
    candidate.isRunning = true
    candidate.stoodMilliseconds = 0
    const { monotonicMilliseconds } = clock
    clock.monotonicMilliseconds = () => monotonicMilliseconds.call(clock) + stoodMilliseconds
    then()
    clock.monotonicMilliseconds = monotonicMilliseconds
    clock.standStill(stoodMilliseconds)
  }

  /** Stops one process while time passes for the others. */
  async stand(stopped: Candidate, milliseconds: number, then?: () => void): Promise<void> {
    stopped.isRunning = false
    await this.pass(milliseconds)
    this.resume(stopped, then)
  }

  async stop(): Promise<void> {
    for (const candidate of this.candidates) {
      candidate.open()
      await candidate.lease.stop()
    }
  }
}

/**
 * One market as seen from the bus: the full book, the published view with its journal, the executions of late, and the
 * top of the book. It follows every commit in order and tells its one listener what that means for the view. It never
 * guesses: a hole in the versions is a bug of the transport and crashes.
 */
import { assert } from '../base/assert.ts'
import type { Instant } from '../base/clock.ts'
import { Book } from '../market/book.ts'
import { ASK, BID, type LevelChange, type MarketDefinition, type Side } from '../market/event.ts'
import { View } from '../market/view.ts'
import type { Bus, Commit } from './bus.ts'
import { ExecutionLog } from './execution-log.ts'
import type { TopOfBook } from './frame.ts'

/** What one commit means for those who read the view. */
export interface ViewCommit {
  /** Levels of the view that differ, bids first; empty when the view did not move. */
  readonly changes: readonly LevelChange[]
  readonly topChanged: boolean
  /** How many executions the commit added to the end of the execution log. */
  readonly executionCount: number
}

export interface ReplicaListener {
  onCommit(commit: ViewCommit): void
  /** The market went live, or lost its sources (the reason says how). */
  onStatus(live: boolean): void
}

export interface ReplicaOptions {
  readonly market: MarketDefinition
  readonly bus: Bus
  /** Executions kept for readers who fell behind. */
  readonly executionsKept: number
}

export class Replica {
  readonly market: MarketDefinition
  readonly view: View
  readonly executions: ExecutionLog
  readonly #book = new Book()
  readonly #listeners = new Set<ReplicaListener>()
  readonly #endSubscription: () => void
  #epoch = ''
  #instant: Instant = { milliseconds: 0, nanoseconds: 0 }
  #receivedMilliseconds = 0
  #top: TopOfBook = { bid: undefined, ask: undefined }
  #topNumber = 0
  #hasBook = false
  #live = false
  #reason = 'waiting for the first snapshot'

  constructor(options: ReplicaOptions) {
    this.market = options.market
    this.view = new View(this.#book, options.market.depth)
    this.executions = new ExecutionLog(options.market, options.executionsKept)
    this.#endSubscription = options.bus.subscribe(options.market.symbol, (message) => {
      if (message.type === 'commit') this.#follow(message)
      else this.#setStatus(message.live, message.reason)
    })
  }

  /** Version of the last commit; 0 before the first. */
  get version(): number {
    return this.view.version
  }

  /** Instant of the last commit. */
  get instant(): Instant {
    return this.#instant
  }

  /** When the first source message of the last commit arrived: wall clock, milliseconds with fractions. */
  get receivedMilliseconds(): number {
    return this.#receivedMilliseconds
  }

  get top(): TopOfBook {
    return this.#top
  }

  /** Counts the changes of the top of the book: equal numbers mean that it did not move in between. */
  get topNumber(): number {
    return this.#topNumber
  }

  /** True once a source has given a whole book; it stays true when the sources are lost. */
  get hasBook(): boolean {
    return this.#hasBook
  }

  /** Whether a source vouches for the book now. */
  get live(): boolean {
    return this.#live
  }

  /** Why the market is not live; empty when it is. */
  get reason(): string {
    return this.#reason
  }

  /** A book that must not be shown: crossed, or with an amount that is not above zero. */
  get isSound(): boolean {
    return !this.#book.isCrossed()
  }

  listen(listener: ReplicaListener): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  stop(): void {
    this.#endSubscription()
    this.#listeners.clear()
  }

  #follow(commit: Commit): void {
    assert(this.#epoch === '' || commit.epoch === this.#epoch, 'the writer of a market changed under its readers')
    assert(commit.version === this.version + 1, 'a commit is missing')
    this.#epoch = commit.epoch
    this.#instant = { milliseconds: commit.milliseconds, nanoseconds: commit.nanoseconds }
    this.#receivedMilliseconds = commit.receivedMilliseconds
    const changes = this.view.advance(commit.version, this.#book.apply(commit.changes))
    const topChanged = changes.length > 0 && this.#moveTop()
    this.executions.append(commit)
    const viewCommit = { changes, topChanged, executionCount: commit.executions.length }
    for (const listener of this.#listeners) listener.onCommit(viewCommit)
  }

  #moveTop(): boolean {
    const bid = this.#best(BID)
    const ask = this.#best(ASK)
    const same = sameLevel(bid, this.#top.bid) && sameLevel(ask, this.#top.ask)
    if (same) return false
    this.#top = { bid, ask }
    this.#topNumber += 1
    return true
  }

  #best(side: Side): LevelChange | undefined {
    const levels = this.#book.side(side)
    return levels.size === 0 ? undefined : { side, price: levels.priceAt(0), amount: levels.amountAt(0) }
  }

  #setStatus(live: boolean, reason: string): void {
    this.#live = live
    this.#reason = reason
    if (live) this.#hasBook = true
    for (const listener of this.#listeners) listener.onStatus(live)
  }
}

function sameLevel(left: LevelChange | undefined, right: LevelChange | undefined): boolean {
  return left?.price === right?.price && left?.amount === right?.amount
}

/**
 * One market rebuilt from the bus: the full book, the views with their journals, the recent executions, and the top of
 * the book. It applies every commit in order and reports to its listeners what changed in each view. A gap in the
 * versions, or another epoch, is a bug of the bus and crashes.
 */
import { assert } from '../base/assert.ts'
import type { Instant } from '../base/clock.ts'
import { Book } from '../market/book.ts'
import {
  type AppliedChange,
  ASK,
  BID,
  type Instrument,
  type LevelChange,
  type MarketDefinition,
  type Side,
} from '../market/event.ts'
import { View } from '../market/view.ts'
import type { Bus, Commit } from './bus.ts'
import { ExecutionLog } from './execution-log.ts'
import type { TopOfBook } from './frame.ts'
import { PublicationLog } from './publication-log.ts'

/** The changes of one commit, as subscribers receive them. */
export interface ViewCommit {
  /** Levels of the published view that differ, bids first; none when the book was replaced. */
  readonly changes: readonly LevelChange[]
  /** The same for every open view of another depth, by depth. */
  readonly changesAt: ReadonlyMap<number, readonly LevelChange[]>
  readonly topChanged: boolean
  /** How many numbers the commit added to the execution log: its executions, and a miss among them. */
  readonly executionCount: number
  /** The book was replaced: no UPDATE leads from an earlier version to this one, so all subscribers need a SNAPSHOT. */
  readonly startsOver: boolean
}

export interface ReplicaListener {
  onCommit(commit: ViewCommit): void
  /** The status of the market was published: live or stale. It may be the same as before, with another reason. */
  onStatus(live: boolean): void
}

export interface ReplicaOptions {
  readonly market: MarketDefinition
  readonly bus: Bus
  /** Executions kept for lagging subscribers. */
  readonly executionsKept: number
}

/** Changes of the top whose versions are remembered. */
const TOP_VERSIONS_KEPT = 4_096

const NO_CHANGES: ReadonlyMap<number, readonly LevelChange[]> = new Map()

export class Replica {
  readonly market: MarketDefinition
  readonly view: View
  readonly executions: ExecutionLog
  readonly publication: PublicationLog
  readonly #book = new Book()
  /** Open views of other depths than the published one. */
  readonly #openViews = new Map<number, View>()
  readonly #listeners = new Set<ReplicaListener>()
  readonly #endSubscription: () => void
  #epoch = ''
  #instant: Instant = { milliseconds: 0, nanoseconds: 0 }
  #receivedMilliseconds = 0
  #top: TopOfBook = { bid: undefined, ask: undefined }
  #topNumber = 0
  /** A ring: the version that made the top of number n is at n modulo the size. */
  readonly #topVersions = new Float64Array(TOP_VERSIONS_KEPT)
  #hasBook = false
  #live = false
  #liveVersion = 0
  #isWithdrawn = false
  #instrument: Instrument | undefined
  #reason = 'waiting for the first snapshot'

  constructor(options: ReplicaOptions) {
    this.market = options.market
    this.view = new View(this.#book, options.market.depth)
    this.executions = new ExecutionLog(options.market, options.executionsKept)
    this.publication = new PublicationLog(options.market.symbol)
    this.#endSubscription = options.bus.subscribe(options.market.symbol, (message) => {
      if (message.type === 'commit') this.#follow(message)
      else this.#setStatus(message.live, message.reason)
    })
  }

  /** Epoch of the commits; empty before the first. */
  get epoch(): string {
    return this.#epoch
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

  /** Number of changes of the top so far: equal numbers mean that it did not change in between. */
  get topNumber(): number {
    return this.#topNumber
  }

  /** Version of the last commit that changed the top; 0 before the first. */
  get topVersion(): number {
    return this.#topVersions[this.#topNumber % TOP_VERSIONS_KEPT] as number
  }

  /** How often the top changed after a version; 'too-old' when that is no longer known. */
  topChangesSince(version: number): number | 'too-old' {
    const oldest = Math.max(0, this.#topNumber - TOP_VERSIONS_KEPT + 1)
    for (let number = this.#topNumber; number >= oldest; number--) {
      if ((this.#topVersions[number % TOP_VERSIONS_KEPT] as number) <= version) return this.#topNumber - number
    }
    return 'too-old'
  }

  /** True once the market has been live. */
  get hasBook(): boolean {
    return this.#hasBook
  }

  /** Whether the market is live. A new subscriber of a stale market is sent nothing. */
  get live(): boolean {
    return this.#live
  }

  /** Version at which the market last became live: no new subscriber is sent an earlier book. */
  get liveVersion(): number {
    return this.#liveVersion
  }

  /** Whether the book was withdrawn and the market has not been live since. */
  get isWithdrawn(): boolean {
    return this.#isWithdrawn
  }

  /** State of the instrument as its sources report it; undefined while it is not known. */
  get instrument(): Instrument | undefined {
    return this.#instrument
  }

  /** Why the market is stale; empty when it is live. */
  get reason(): string {
    return this.#reason
  }

  /** Whether the best bid is not below the best ask: such a book must not be sent. */
  get isCrossed(): boolean {
    return this.#book.isCrossed()
  }

  /** Opens the view of `depth` levels per side, fewer than are published; it follows the book until `closeView`. */
  openView(depth: number): View {
    let view = this.#openViews.get(depth)
    if (view === undefined) {
      view = new View(this.#book, depth)
      view.reset(this.version)
      this.#openViews.set(depth, view)
    }
    return view
  }

  closeView(depth: number): void {
    this.#openViews.delete(depth)
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
    assert(this.#epoch === '' || commit.epoch === this.#epoch, 'the epoch of a market changed')
    assert(commit.version === this.version + 1, 'a commit is missing')
    this.#epoch = commit.epoch
    this.#instant = { milliseconds: commit.milliseconds, nanoseconds: commit.nanoseconds }
    this.#receivedMilliseconds = commit.receivedMilliseconds
    this.#isWithdrawn ||= commit.withdraws === true
    const { instrument } = commit
    if (instrument !== undefined) this.#instrument = instrument ?? undefined
    const startsOver = commit.book !== undefined
    const applied = startsOver ? undefined : this.#book.apply(commit.changes)
    if (commit.book !== undefined) this.#book.replace(commit.book)
    const changes = move(this.view, commit.version, applied)
    const changesAt = this.#moveOpenViews(commit.version, applied)
    const topChanged = (startsOver || changes.length > 0) && this.#moveTop(commit.version)
    const { lastNumber } = this.executions
    this.executions.append(commit)
    const executionCount = this.executions.lastNumber - lastNumber
    this.publication.append(commit, startsOver || changes.length + executionCount > 0 || instrument !== undefined)
    const viewCommit = { changes, changesAt, topChanged, executionCount, startsOver }
    for (const listener of this.#listeners) listener.onCommit(viewCommit)
  }

  #moveOpenViews(version: number, applied: readonly AppliedChange[] | undefined): typeof NO_CHANGES {
    if (this.#openViews.size === 0) return NO_CHANGES
    const changesAt = new Map<number, readonly LevelChange[]>()
    for (const [depth, view] of this.#openViews) changesAt.set(depth, move(view, version, applied))
    return changesAt
  }

  #moveTop(version: number): boolean {
    const bid = this.#best(BID)
    const ask = this.#best(ASK)
    const same = sameLevel(bid, this.#top.bid) && sameLevel(ask, this.#top.ask)
    if (same) return false
    this.#top = { bid, ask }
    this.#topNumber += 1
    this.#topVersions[this.#topNumber % TOP_VERSIONS_KEPT] = version
    return true
  }

  #best(side: Side): LevelChange | undefined {
    const levels = this.#book.side(side)
    return levels.size === 0 ? undefined : { side, price: levels.priceAt(0), amount: levels.amountAt(0) }
  }

  #setStatus(live: boolean, reason: string): void {
    if (live && !this.#live) this.#liveVersion = this.version
    this.#live = live
    this.#reason = reason
    if (live) {
      this.#hasBook = true
      this.#isWithdrawn = false
    }
    for (const listener of this.#listeners) listener.onStatus(live)
  }
}

/** Moves a view to a version by the changes of the book, or resets it when the book was replaced (undefined). */
function move(view: View, version: number, applied: readonly AppliedChange[] | undefined): readonly LevelChange[] {
  if (applied !== undefined) return view.advance(version, applied)
  view.reset(version)
  return []
}

function sameLevel(left: LevelChange | undefined, right: LevelChange | undefined): boolean {
  return left?.price === right?.price && left?.amount === right?.amount
}

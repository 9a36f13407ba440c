/**
 * One market rebuilt from the bus: the full book, the views with their journals, the recent executions, and the top. It
 * applies every commit in order and reports each view's changes to its listeners. A state for the repair of a gap is
 * applied as one commit: the difference between the two books. With another epoch the book starts over, as soon as the
 * epoch has one. Until then the last book stays. A gap in the versions is a bug and crashes.
 */
import { assert } from '../../platform/base/assert.ts'
import type { Instant } from '../../platform/base/clock.ts'
import { Book, levelsOf } from '../market/book.ts'
import {
  type AppliedChange,
  ASK,
  type Attribution,
  BID,
  type Instrument,
  type LevelChange,
  type MarketDefinition,
} from '../market/event.ts'
import { AttributedViews, NOT_ATTRIBUTED } from '../market/venues.ts'
import { type ChangesByDepth, OpenViews, View } from '../market/view.ts'
import type { Bus, Commit, Continuation, KeptExecution, MarketState, MarketWithdrawal } from './bus.ts'
import { type Epoch, NO_EPOCH, PreviousMessages, TopChanges } from './cursor.ts'
import { ExecutionLog } from './execution-log.ts'
import type { TopOfBook } from './frame.ts'
import { PublicationLog } from './publication-log.ts'
import { SkippedVersions } from './skipped-versions.ts'

/** One commit's changes, as subscribers receive them. */
export interface ViewCommit {
  /** Changed levels in the published view, bids first. None when the book was replaced. */
  readonly changes: readonly LevelChange[]
  /** The same for every other open view. */
  readonly changesAt: ChangesByDepth
  /** The same for every open view whose levels name their venues. */
  readonly attributedChangesAt: ChangesByDepth
  readonly topChanged: boolean
  /** How many numbers the commit added to the execution log: its executions, and a miss among them. */
  readonly executionCount: number
  /** The book was replaced: no UPDATE leads from an earlier version to this one, so all subscribers need a SNAPSHOT. */
  readonly startsOver: boolean
}

export interface ReplicaListener {
  onCommit(commit: ViewCommit): void
  /** The market's status was published: live or stale. It may be the same as before, with another reason. */
  onStatus(live: boolean): void
}

export interface ReplicaOptions {
  readonly market: MarketDefinition
  readonly bus: Bus
  /** Executions kept for lagging subscribers. */
  readonly executionsKept: number
  /** The last instant of an earlier replica, whose subscribers may subscribe again. */
  readonly lastInstant?: Instant | undefined
}

/** The bus's data for a version. */
type Followed = Instant & { readonly receivedMilliseconds?: number; readonly origin?: string | undefined }

interface Movement {
  /** How the book changed. Undefined = it was replaced. */
  readonly applied: readonly AppliedChange[] | undefined
  readonly attribution: Attribution | undefined
  /** Whether it is an epoch's first book. */
  readonly begins: boolean
  /** Numbers added to the execution log. */
  readonly executionCount: number
  /** Whether it is published even without a change to the book or the executions. */
  readonly isPublished: boolean
}

export class Replica {
  readonly market: MarketDefinition
  readonly view: View
  readonly executions: ExecutionLog
  readonly topChanges = new TopChanges()
  readonly publication: PublicationLog
  readonly previous = new PreviousMessages()
  readonly skipped = new SkippedVersions()
  readonly #book = new Book()
  /** Views with other depths than the published one. */
  readonly #views = new OpenViews(this.#book)
  readonly attributed = new AttributedViews(this.#book)
  readonly #listeners = new Set<ReplicaListener>()
  readonly #endSubscription: () => void
  /** The book's epoch. Commits from a later epoch without a book yet are followed as well. */
  #epoch = NO_EPOCH
  #followedEpoch = NO_EPOCH
  /** What the followed epoch continues. */
  #continues: Continuation | undefined
  /** The previous epoch's last version and its instant, where the followed epoch continues it. */
  #ended: (Epoch & { readonly version: number; readonly instant: Instant }) | undefined
  /** Instant of the published view's last change, and time of its UPDATE. Set by the replica only. */
  changeInstant: Instant
  /** The last version that came with its book, which stays until the next one. Set by the replica only. */
  bookVersion = 0
  /** The last version that came as a bus state: its commits are not known one by one. Set by the replica only. */
  repairedVersion = 0
  /** Version at which the market last became live: no new subscriber is sent an earlier book. Set by the replica only. */
  liveVersion = 0
  /** Its time. Set by the replica only. */
  liveMilliseconds = 0
  #instant: Instant
  #receivedMilliseconds = 0
  #hasBook = false
  #live = false
  #isWithdrawn = false
  #instrument: Instrument | undefined
  #reason = 'waiting for the first snapshot'

  constructor(options: ReplicaOptions) {
    this.market = options.market
    this.changeInstant = this.#instant = options.lastInstant ?? { milliseconds: 0, nanoseconds: 0 }
    this.view = new View(this.#book, options.market.depth)
    this.executions = new ExecutionLog(options.market, options.executionsKept)
    this.publication = new PublicationLog(options.market.symbol)
    this.#endSubscription = options.bus.subscribe(options.market.symbol, (message) => {
      if (message.type === 'commit') this.#follow(message)
      else if (message.type === 'state') this.#replace(message)
      else if (message.type === 'withdrawal') this.#withdraw(message)
      else this.#setStatus(message.live, message.reason)
    })
  }

  /** The book's epoch. Before there is a book, the first commit's epoch. */
  get epoch(): Epoch {
    return this.#epoch
  }

  /** Epoch of the last commit, and the number of its last execution. Undefined before the first commit. */
  get followed(): Continuation | undefined {
    const { id: epoch } = this.#followedEpoch
    return epoch === '' ? undefined : { epoch, executionNumber: this.executions.epochNumber }
  }

  /** Version of the last commit in this process. 0 before the first. */
  get version(): number {
    return this.view.version
  }

  /** Instant of the last commit, or an earlier replica's. */
  get instant(): Instant {
    return this.#instant
  }

  /** When the last commit's first source message arrived: wall clock, milliseconds with fractions. */
  get receivedMilliseconds(): number {
    return this.#receivedMilliseconds
  }

  /** Whether this replica had the book at a version. Otherwise a cursor of that version may name another book. */
  hadBook(version: number): boolean {
    return version <= this.bookVersion && !this.skipped.has(version)
  }

  get top(): TopOfBook {
    return this.topChanges.top
  }

  /** True once the market has been live. */
  get hasBook(): boolean {
    return this.#hasBook
  }

  /** Whether the market is live. A stale market's new subscribers are sent nothing. */
  get live(): boolean {
    return this.#live
  }

  /** Whether the book was withdrawn and the market has not been live since. */
  get isWithdrawn(): boolean {
    return this.#isWithdrawn
  }

  /** The instrument state as its sources report it. Undefined while not known. */
  get instrument(): Instrument | undefined {
    return this.#instrument
  }

  /** Why the market is stale. Empty when it is live. */
  get reason(): string {
    return this.#reason
  }

  /** The full book while the market is live, for those who compare it. */
  get liveBook(): Book | undefined {
    return this.#live && this.#epoch === this.#followedEpoch ? this.#book : undefined
  }

  /** Whether the best bid is not below the best ask: such a book must not be sent. */
  get isCrossed(): boolean {
    return this.#book.isCrossed()
  }

  /** Opens a view with `depth` levels per side, fewer than are published. It follows the book until `closeView`. */
  openView(depth: number): View {
    return this.#views.open(depth, this.version, this.bookVersion)
  }

  closeView(depth: number): void {
    this.#views.close(depth)
  }

  listen(listener: ReplicaListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  stop(): void {
    this.#endSubscription()
    this.#listeners.clear()
  }

  /**
   * The market's whole state now, for a follower with the executions up to a number in an epoch. It includes the later
   * ones, if the epoch is the present one. Undefined before the first commit.
   */
  state(epoch: string, executionNumber: number): MarketState | undefined {
    const { id, base } = this.#followedEpoch
    if (id === '') return undefined
    const hasBook = this.#epoch.id === id && this.#hasBook && this.bookVersion === this.version
    const origin = this.publication.relayedOriginAt(this.version)
    const continues = this.#continues
    const { attribution } = this.attributed
    return {
      type: 'state',
      market: this.market.symbol,
      epoch: id,
      version: this.version - base,
      ...this.#instant,
      receivedMilliseconds: this.#receivedMilliseconds,
      levels: hasBook ? levelsOf(this.#book) : [],
      ...(hasBook && attribution !== undefined ? { attribution } : {}),
      hasBook,
      isWithdrawn: hasBook && this.#isWithdrawn,
      live: this.#live,
      reason: this.#reason,
      executionNumber: this.executions.epochNumber,
      executions: this.#executionsSince(epoch, executionNumber),
      ...(continues === undefined ? {} : { continues }),
      ...(origin === undefined ? {} : { origin }),
      ...(this.#instrument === undefined ? {} : { instrument: this.#instrument }),
    }
  }

  /**
   * The previous epoch's end, without a book, for a follower with its executions only up to a number. It includes the
   * later ones. Undefined where the follower lacks none of them, and where they are not kept.
   */
  endedState(epoch: string, executionNumber: number): MarketState | undefined {
    const [ended, continues] = [this.#ended, this.#continues]
    if (ended === undefined || continues === undefined || ended.id !== epoch) return undefined
    const lacked = continues.executionNumber - executionNumber
    const executions = lacked <= 0 ? [] : this.executions.beforeEpoch(lacked)
    if (executions.length === 0) return undefined
    return {
      type: 'state',
      market: this.market.symbol,
      epoch,
      version: ended.version - ended.base,
      ...ended.instant,
      receivedMilliseconds: ended.instant.milliseconds,
      levels: [],
      hasBook: false,
      isWithdrawn: false,
      live: false,
      reason: this.#reason,
      executionNumber: continues.executionNumber,
      executions: executions.map((each) => ({ ...each, version: each.version - ended.base })),
    }
  }

  /** The followed epoch's executions after the follower's. None if the follower could not join them to its own. */
  #executionsSince(epoch: string, executionNumber: number): KeptExecution[] {
    const { id, base } = this.#followedEpoch
    if (epoch !== id && epoch !== this.#continues?.epoch) return []
    const epochNumber = epoch === id ? executionNumber : 0
    return this.executions
      .since(epochNumber)
      .map(({ execution, version, commitMilliseconds }) => ({ execution, version: version - base, commitMilliseconds }))
  }

  #follow(commit: Commit): void {
    const version = this.version + 1
    const beginsEpoch = commit.epoch !== this.#followedEpoch.id
    if (beginsEpoch) this.#beginEpoch(commit, version - 1)
    assert(commit.version === version - this.#followedEpoch.base, 'a commit is missing')
    const begins = commit.beginsBook === true && this.#epoch !== this.#followedEpoch
    if (begins) this.#beginBook(version)
    if (this.#epoch === this.#followedEpoch) this.bookVersion = version
    if (commit.withdraws) this.previous.withdraw(version)
    this.#isWithdrawn ||= commit.withdraws === true
    const { instrument } = commit
    if (instrument !== undefined) this.#instrument = instrument ?? undefined
    const book = commit.book ?? (begins ? commit.changes : undefined)
    const applied = book === undefined ? this.#book.apply(commit.changes) : this.#startOver(book)
    const isLogged = beginsEpoch || commit.executions.length > 0 || commit.missedAt !== undefined
    const executionCount = isLogged ? this.executions.append(commit, version) : 0
    const attribution = commit.withdraws
      ? NOT_ATTRIBUTED
      : (commit.attribution ?? (begins ? NOT_ATTRIBUTED : undefined))
    this.#move(commit, version, { applied, attribution, begins, executionCount, isPublished: instrument !== undefined })
  }

  #replace(state: MarketState): void {
    const before = this.version
    const isFirst = this.#followedEpoch === NO_EPOCH
    if (state.epoch !== this.#followedEpoch.id) this.#beginEpoch(state, isFirst ? 0 : before + 1 - state.version)
    const version = this.#followedEpoch.base + state.version
    assert(version > before, 'a state is not later than what was followed')
    this.skipped.add(before, version)
    this.repairedVersion = version
    this.#instrument = state.instrument
    const begins = state.hasBook && (isFirst || this.#epoch !== this.#followedEpoch)
    let applied: readonly AppliedChange[] | undefined = []
    if (begins) {
      this.#beginBook(version)
      applied = this.#startOver(state.levels)
    } else if (state.hasBook) {
      applied = this.#book.replace(state.levels)
    }
    if (state.hasBook) {
      this.bookVersion = version
      this.#hasBook = true
      if (state.isWithdrawn && !this.#isWithdrawn) this.previous.withdraw(version)
      this.#isWithdrawn = state.isWithdrawn
    }
    const executionCount = this.executions.continueFrom(state, version)
    const attribution = state.hasBook ? (state.attribution ?? NOT_ATTRIBUTED) : undefined
    this.#move(state, version, { applied, attribution, begins, executionCount, isPublished: true })
    this.#setStatus(state.live, state.reason)
  }

  /** The empty book gets its own epoch, so that no cursor leads from it to one of the sequencer's books. */
  #withdraw(withdrawal: MarketWithdrawal): void {
    const { id, base } = this.#followedEpoch
    const version = this.version + 1
    this.bookVersion = version
    this.#followedEpoch = { id, base: base + 1 }
    this.#epoch = { id: `${id} withdrawn ${withdrawal.milliseconds}`, base: version - 1 }
    this.previous.withdraw(version, this.#epoch)
    this.#isWithdrawn = true
    const applied = this.#startOver([])
    const attribution = NOT_ATTRIBUTED
    this.#move(withdrawal, version, { applied, attribution, begins: true, executionCount: 0, isPublished: true })
  }

  #beginEpoch({ epoch: id, continues }: Pick<Commit, 'epoch' | 'continues'>, base: number): void {
    const isFirst = this.#followedEpoch === NO_EPOCH
    assert(id > this.#followedEpoch.id, 'an epoch is not later than the one before')
    const isContinued = continues !== undefined && continues.epoch === this.#followedEpoch.id
    this.#ended = isContinued ? { ...this.#followedEpoch, version: this.version, instant: this.#instant } : undefined
    this.#followedEpoch = { id, base }
    this.#continues = continues
    if (isFirst) this.#beginBook(base)
  }

  #beginBook(version: number): void {
    this.#epoch = this.#followedEpoch
    this.previous.begin(this.#epoch, version)
  }

  /** Replaces the book, without a difference to the one before. */
  #startOver(levels: readonly LevelChange[]): undefined {
    this.#book.replace(levels)
    return undefined
  }

  /** Moves everything derived from the book to a version, and reports it. */
  #move(followed: Followed, version: number, movement: Movement): void {
    const { applied, attribution, begins, executionCount, isPublished } = movement
    const { milliseconds, nanoseconds, receivedMilliseconds = milliseconds } = followed
    this.#instant = { milliseconds, nanoseconds }
    this.#receivedMilliseconds = receivedMilliseconds
    const startsOver = applied === undefined
    const changes = this.view.move(version, applied)
    if (this.view.changeVersion === version) this.changeInstant = this.#instant
    const changesAt = this.#views.move(version, applied)
    const attributedChangesAt = this.attributed.move(version, applied, attribution)
    const topMoved = () =>
      this.topChanges.move({ bid: this.#book.best(BID), ask: this.#book.best(ASK) }, version, begins)
    const topChanged = (startsOver || changes.length > 0) && topMoved()
    const hasMessage = startsOver || changes.length + executionCount > 0 || isPublished
    this.publication.append(followed.origin, this.#followedEpoch, version, hasMessage)
    const viewCommit = { changes, changesAt, attributedChangesAt, topChanged, executionCount, startsOver }
    for (const listener of this.#listeners) listener.onCommit(viewCommit)
  }

  #setStatus(live: boolean, reason: string): void {
    if (live && !this.#live) [this.liveVersion, this.liveMilliseconds] = [this.version, this.#instant.milliseconds]
    this.#live = live
    this.#reason = reason
    this.#hasBook ||= live
    this.#isWithdrawn &&= !live
    for (const listener of this.#listeners) listener.onStatus(live)
  }
}

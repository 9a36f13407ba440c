/**
 * A market's only writer. It applies the events from the market's source, or from the aggregate of several, to the full
 * book and publishes commits: at most one per millisecond of the monotonic clock (`stop` does not wait for it), each
 * with the next version and a strictly later time, whatever the wall clock does. It never commits a crossed book or one
 * with a negative amount: it counts the violation, publishes the market as stale and asks the source for a fresh
 * snapshot. Executions are still published. Where the source missed executions, the commit has their place among the
 * others. A stale market's book is withdrawn after a while: one commit removes every level, and one commit restores
 * them when the market is live again. A change to the instrument state, or to the levels' venues, is its own commit if
 * there is no other.
 */
import { isDeepStrictEqual } from 'node:util'
import { assert } from '../../platform/base/assert.ts'
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Scaled } from '../../platform/base/decimal.ts'
import type { Log } from '../../platform/base/log.ts'
import { Book, levelsOf } from '../market/book.ts'
import {
  type AppliedChange,
  ASK,
  type Attribution,
  BID,
  type Execution,
  type Instrument,
  type LevelChange,
  type MarketDefinition,
  type MarketEvent,
} from '../market/event.ts'
import { MergedAttribution } from '../market/venues.ts'
import type { Bus, Continuation } from './bus.ts'
import { PHASES, type PhaseName } from './phases.ts'
import type { CommitTotals, SequencerMetrics } from './sequencer-metrics.ts'

/** Minimum time between two commits in a market. */
const COMMIT_MILLISECONDS_MIN = 1

/** Clock skew above which a warning is logged: commit times are ahead of a wall clock that was set back. */
const CLOCK_SKEW_WARNED_MILLISECONDS = 1_000

export interface SequencerOptions {
  readonly market: MarketDefinition
  /** Identifies this run of the sequencer: greater, as text, than every earlier run's in the market. */
  readonly epoch: string
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
  readonly metrics: SequencerMetrics
  /** Every commit is later than this: the time of the earlier sequencer's last commit, milliseconds since the epoch. */
  readonly floorMilliseconds: number
  /** Set where the source continues an earlier sequencer's executions, or reports missed ones. */
  readonly continues?: Continuation | undefined
  /** How long a market may be stale before its book is withdrawn. Absent = it stays. */
  readonly withdrawAfterMilliseconds?: number | undefined
  /** Whether it may commit now. `resume` is to be called when it may again. Absent = always. */
  readonly mayCommit?: (() => boolean) | undefined
  /** Asks the market's sources for fresh snapshots, because the book broke an invariant or was found to be wrong. */
  readonly onRebuildNeeded: (reason: string) => void
}

export class Sequencer {
  readonly #options: SequencerOptions
  readonly #book = new Book()
  /** The changes from the only message since the last commit. Undefined without one and after a second one. */
  #only: readonly AppliedChange[] | undefined
  /** After a second message: the published amounts for levels changed since the last commit (bids, asks). */
  readonly #published: [Map<number, Scaled>, Map<number, Scaled>] = [new Map(), new Map()]
  /** The venue reports since the last commit, and the one venue for all levels, repeated by every snapshot. */
  readonly #attribution = new MergedAttribution()
  #onlyVenue: string | undefined
  #executions: Execution[] = []
  /** Number of executions before the last miss. Undefined without a miss. */
  #missedAt: number | undefined
  #version = 0
  #executionNumber = 0
  #lastMilliseconds: number
  #lastCommitMonotonic = Number.NEGATIVE_INFINITY
  #phase: PhaseName = 'starting'
  /** Position of the last publication message in the book, and in the committed book. */
  #origin: string | undefined
  #committedOrigin: string | undefined
  #instrument: Instrument | undefined
  #committedInstrument: Instrument | undefined
  /** Requests for the next commit: `commit`, even an empty one; `instrument`; `wholeBook`, once the book is trusted. */
  readonly #requested = { commit: false, instrument: false, wholeBook: false }
  #scheduled: Timer | 'end-of-tick' | undefined
  /** The timer for a stale market's withdrawal. `due` from its end until the commit that withdraws the book. */
  #withdrawal: Timer | 'due' | undefined
  /** When the oldest uncommitted message arrived, by the wall clock. */
  #receivedMilliseconds = 0
  #isSkewed = false
  readonly #totals: CommitTotals
  readonly #endService: () => void

  constructor(options: SequencerOptions) {
    this.#options = options
    this.#lastMilliseconds = options.floorMilliseconds
    const { totals, violations, missedExecutions } = options.metrics
    // Alerts need the series to exist before the first increment.
    this.#totals = totals.get(options.market.symbol) ?? { commits: 0, clockSkewMilliseconds: 0 }
    totals.set(options.market.symbol, this.#totals)
    for (const counter of [violations, missedExecutions]) counter.inc({ market: options.market.symbol }, 0)
    this.#endService = options.bus.serve(options.market.symbol, (laterThanMilliseconds = 0) => {
      this.#lastMilliseconds = Math.max(this.#lastMilliseconds, laterThanMilliseconds)
      this.#requested.commit = true
      this.#scheduleCommit()
    })
  }

  /** Time of the last commit, in milliseconds since the epoch. 0 before the first. */
  get committedMilliseconds(): number {
    return this.#version === 0 ? 0 : this.#lastMilliseconds
  }

  /** Applies one whole source message, which the market's next commit publishes. Ignored after `stop`. */
  offer(event: MarketEvent): void {
    if (this.#phase === 'stopped') return
    if (event.type === 'lost') {
      this.#lose(event.reason)
    } else if (event.type === 'missed') {
      this.#miss(event.reason)
    } else if (event.type === 'snapshot') {
      if (this.#refuse(event.levels)) return
      this.#note(this.#book.replace(event.levels))
      this.#attribute(event.attribution)
      this.#origin = event.origin
      this.#phase = PHASES[this.#phase].onSnapshot
      this.#scheduleCommit()
    } else if (event.type === 'update') {
      for (const execution of event.executions) this.#executions.push(execution)
      // Without their book, changes are ignored. Executions do not depend on it.
      if (PHASES[this.#phase].isTrusted && !this.#refuse(event.changes)) {
        this.#note(this.#book.apply(event.changes))
        this.#attribute(event.attribution)
        this.#origin = event.origin
      }
      this.#scheduleCommit()
    }
  }

  /** Commits the instrument state, unless it returns to the committed one before. Undefined = not known. */
  setInstrument(instrument: Instrument | undefined): void {
    if (this.#phase === 'stopped' || isDeepStrictEqual(instrument, this.#instrument)) return
    this.#instrument = instrument
    this.#requested.instrument = !isDeepStrictEqual(instrument, this.#committedInstrument)
    this.#scheduleCommit()
  }

  /** A live market's full book while it equals the last commit. Undefined while changes wait for the next. */
  get settledBook(): Book | undefined {
    const isSettled = this.#only === undefined && this.#published[BID].size + this.#published[ASK].size === 0
    return this.#phase === 'live' && isSettled ? this.#book : undefined
  }

  /**
   * Publishes the whole book with a live market's next commit, because a replica or a subscriber was found to hold
   * another one. Also asks the source for a fresh snapshot, because the sequencer's own book may be wrong too.
   */
  startOver(reason: string): void {
    this.#requested.wholeBook = true
    this.#requested.commit = true
    this.#scheduleCommit()
    this.#options.onRebuildNeeded(reason)
  }

  /** Publishes, before there is a book, that this sequencer follows an earlier one for the market. */
  announce(): void {
    this.#publishStatus(false, 'the market’s feed was replaced. Its first snapshot is awaited')
  }

  /** Commits what waits because it might not be committed. */
  resume(): void {
    if (this.#phase !== 'stopped') this.#scheduleCommit()
  }

  /** Commits pending changes. Nothing is published after this. */
  stop(): void {
    if (this.#phase === 'stopped') return
    if (this.#scheduled !== undefined) this.#commit()
    this.abandon()
  }

  /** Publishes nothing further, because another process writes the market. */
  abandon(): void {
    if (this.#phase === 'stopped') return
    if (typeof this.#scheduled === 'object') this.#scheduled.cancel()
    this.#cancelWithdrawal()
    this.#phase = 'stopped'
    this.#endService()
  }

  #note(applied: readonly AppliedChange[]): void {
    if (this.#only === undefined && this.#published[BID].size + this.#published[ASK].size === 0) {
      this.#only = applied
      return
    }
    const earlier = this.#only
    this.#only = undefined
    if (earlier !== undefined) this.#rememberPublished(earlier)
    this.#rememberPublished(applied)
  }

  #attribute(attribution: Attribution | undefined): void {
    if (attribution === undefined) return
    const only = attribution.type === 'only' ? attribution.venue : undefined
    if (only !== undefined && only === this.#onlyVenue) return
    this.#onlyVenue = only
    this.#attribution.add(attribution)
  }

  #rememberPublished(applied: readonly AppliedChange[]): void {
    for (const change of applied) {
      const published = this.#published[change.side]
      if (!published.has(change.price)) published.set(change.price, change.before)
    }
  }

  #refuse(levels: readonly LevelChange[]): boolean {
    const wrong = levels.find((level) => level.amount < 0 || !Number.isSafeInteger(level.price) || level.price <= 0)
    if (wrong === undefined) return false
    this.#violated(`impossible level: price ${wrong.price}, amount ${wrong.amount}`)
    return true
  }

  #violated(reason: string): void {
    const { market, metrics, log, onRebuildNeeded } = this.#options
    metrics.violations.inc({ market: market.symbol })
    log.error({ market: market.symbol, reason }, 'market invariant violated')
    this.#lose(reason)
    onRebuildNeeded(reason)
  }

  #lose(reason: string): void {
    const before = this.#phase
    this.#phase = PHASES[before].onLost
    if (before === 'live' || before === 'replacing') this.#withdrawLater()
    this.#publishStatus(false, reason)
  }

  #publishStatus(live: boolean, reason: string): void {
    const { bus, market, epoch } = this.#options
    bus.publish({ type: 'status', market: market.symbol, epoch, version: this.#version, live, reason })
  }

  #withdrawLater(): void {
    const { clock, withdrawAfterMilliseconds } = this.#options
    if (withdrawAfterMilliseconds === undefined) return
    this.#withdrawal = clock.schedule(withdrawAfterMilliseconds, () => {
      this.#withdrawal = 'due'
      this.#scheduleCommit()
    })
  }

  #cancelWithdrawal(): void {
    if (typeof this.#withdrawal === 'object') this.#withdrawal.cancel()
    this.#withdrawal = undefined
  }

  #miss(reason: string): void {
    const { market, metrics, log } = this.#options
    metrics.missedExecutions.inc({ market: market.symbol })
    log.warn({ market: market.symbol, reason }, 'market executions missed')
    this.#missedAt = this.#executions.length
    // Not with the next execution, which may be long in coming: subscribers have to know now.
    this.#requested.commit = true
    this.#scheduleCommit()
  }

  #scheduleCommit(): void {
    if (this.#scheduled !== undefined) return
    const { clock } = this.#options
    const arrived = clock.wallInstant()
    this.#receivedMilliseconds = arrived.milliseconds + arrived.nanoseconds / 1_000_000
    this.#waitForCommit()
  }

  #waitForCommit(): void {
    const { clock } = this.#options
    const wait = this.#lastCommitMonotonic + COMMIT_MILLISECONDS_MIN - clock.monotonicMilliseconds()
    if (wait > 0) {
      this.#scheduled = clock.schedule(wait, () => this.#commitIfDue())
    } else {
      // Not now: messages read in one tick become one commit.
      this.#scheduled = 'end-of-tick'
      clock.endOfTick(() => this.#commitIfDue())
    }
  }

  #commitIfDue(): void {
    if (this.#phase === 'stopped') return
    this.#scheduled = undefined
    // A timer may fire a little early by the monotonic clock. The rest is then waited for.
    const early = this.#lastCommitMonotonic + COMMIT_MILLISECONDS_MIN > this.#options.clock.monotonicMilliseconds()
    if (early) this.#waitForCommit()
    else if (this.#options.mayCommit?.() !== false) this.#commit()
  }

  #commit(): void {
    const { bus, clock, market, continues } = this.#options
    const trusted = this.#isTrusted()
    const goesLive = trusted && PHASES[this.#phase].goesLive
    const withdraws = this.#phase === 'lost' && this.#withdrawal === 'due'
    if (withdraws) {
      this.#note(this.#book.replace([]))
      this.#attribution.take()
      this.#onlyVenue = undefined
    }
    if (withdraws || goesLive) this.#cancelWithdrawal()
    const changes = trusted || withdraws ? this.#takeChanges() : []
    const attribution = trusted ? this.#attribution.take() : undefined
    const executions = this.#executions
    const missedAt = this.#missedAt
    const { commit, instrument } = this.#requested
    const isRequired = commit || instrument || goesLive || withdraws || attribution !== undefined
    if (changes.length === 0 && executions.length === 0 && !isRequired) return
    if (trusted || withdraws) this.#committedOrigin = withdraws ? undefined : this.#origin
    this.#executions = []
    this.#missedAt = undefined
    this.#requested.commit = false
    this.#requested.instrument = false
    this.#committedInstrument = this.#instrument
    this.#lastCommitMonotonic = clock.monotonicMilliseconds()
    this.#executionNumber += executions.length + (missedAt === undefined ? 0 : 1)
    this.#version += 1
    const instant = this.#nextInstant()
    this.#totals.commits += 1
    const startsOver = (trusted || withdraws) && this.#requested.wholeBook
    if (startsOver) this.#requested.wholeBook = false
    // Until its first commit, followers keep an earlier sequencer's instrument state.
    const follows = this.#version === 1 && continues !== undefined
    const beginsBook = goesLive && this.#phase === 'opening'
    if (goesLive) this.#phase = 'live'
    if (withdraws) this.#phase = 'withdrawn'
    // Every member, even an undefined one: commits of one shape are made and read faster.
    bus.publish({
      type: 'commit',
      market: market.symbol,
      epoch: this.#options.epoch,
      version: this.#version,
      milliseconds: instant.milliseconds,
      nanoseconds: instant.nanoseconds,
      receivedMilliseconds: this.#receivedMilliseconds,
      changes,
      attribution,
      executions,
      missedAt,
      executionNumber: this.#executionNumber,
      continues: follows ? continues : undefined,
      book: startsOver ? levelsOf(this.#book) : undefined,
      beginsBook: beginsBook || undefined,
      withdraws: withdraws || undefined,
      origin: this.#committedOrigin,
      instrument: instrument || follows ? (this.#instrument ?? null) : undefined,
    })
    if (goesLive) this.#publishStatus(true, '')
  }

  /** Whether the book may be committed. A crossed one is a violation, after which the phase has changed. */
  #isTrusted(): boolean {
    if (!PHASES[this.#phase].isTrusted) return false
    if (!this.#book.isCrossed()) return true
    // A snapshot from the source in response, even at once, belongs to the next commit.
    this.#lastCommitMonotonic = this.#options.clock.monotonicMilliseconds()
    this.#violated('the book is crossed')
    return false
  }

  /** The difference between the current book and the last commit. */
  #takeChanges(): LevelChange[] {
    if (this.#only !== undefined) {
      const changes = this.#only.map(({ side, price, after }) => ({ side, price, amount: after }))
      this.#only = undefined
      return changes
    }
    const changes: LevelChange[] = []
    for (const side of [BID, ASK] as const) {
      const levels = this.#book.side(side)
      for (const [price, before] of this.#published[side]) {
        const amount = levels.amount(price)
        if (amount !== before) changes.push({ side, price, amount })
      }
      this.#published[side].clear()
    }
    return changes
  }

  #nextInstant(): { milliseconds: number; nanoseconds: number } {
    const { clock, log, market } = this.#options
    const wall = clock.wallInstant()
    const milliseconds = Math.max(wall.milliseconds, this.#lastMilliseconds + 1)
    assert(milliseconds > this.#lastMilliseconds, 'a commit time went back')
    const skew = milliseconds - wall.milliseconds
    this.#totals.clockSkewMilliseconds = skew
    const isSkewed = skew > CLOCK_SKEW_WARNED_MILLISECONDS
    if (isSkewed && !this.#isSkewed) {
      log.warn({ market: market.symbol, skew_milliseconds: skew }, 'commit times are ahead of the wall clock')
    }
    this.#isSkewed = isSkewed
    this.#lastMilliseconds = milliseconds
    return { milliseconds, nanoseconds: skew === 0 ? wall.nanoseconds : 0 }
  }
}

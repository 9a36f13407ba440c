/**
 * The one writer of a market. It applies what the market's source reports to the full book and turns what arrived
 * into commits: at most one a millisecond of the monotonic clock, each with the next version and an instant strictly
 * later than the one before, whatever the wall clock does. It never commits a book that is crossed or holds a negative
 * amount: it counts the violation, says so on the bus and asks the source for a fresh snapshot; executions go on. Where the
 * source missed executions, the commit says at which place, so that no reader takes those behind for all there were. A
 * book that no source is trusted for is withdrawn after a while: one commit removes every level, and the next trusted
 * book is one commit that leads back from there.
 */
import { assert } from '../base/assert.ts'
import type { Clock, Timer } from '../base/clock.ts'
import type { Scaled } from '../base/decimal.ts'
import type { Log } from '../base/log.ts'
import { Counter, Gauge, type MetricsRegistry } from '../base/metrics.ts'
import { Book } from '../market/book.ts'
import {
  type AppliedChange,
  ASK,
  BID,
  type Execution,
  type LevelChange,
  type MarketDefinition,
  type MarketEvent,
} from '../market/event.ts'
import { levelsBehind } from '../market/view.ts'
import type { Bus } from './bus.ts'

/** The least distance of two commits of a market. */
const COMMIT_MILLISECONDS_MIN = 1

/** A commit time further ahead of the wall clock than this is worth a warning (the wall clock was stepped back). */
const CLOCK_LEAD_WARNED_MILLISECONDS = 1_000

/** What every commit of a market counts. */
interface CommitTotals {
  commits: number
  clockLeadMilliseconds: number
}

export interface SequencerMetrics {
  /** By market; plain numbers, read when somebody asks: looking labels up at every commit took a fifth of its time. */
  readonly totals: Map<string, CommitTotals>
  readonly violations: Counter<'market'>
  readonly missedExecutions: Counter<'market'>
}

export function createSequencerMetrics(registry: MetricsRegistry): SequencerMetrics {
  const registers = [registry]
  const labelNames = ['market'] as const
  const totals = new Map<string, CommitTotals>()
  new Counter({
    name: 'tidegate_commits_total',
    help: 'Commits of a market',
    labelNames,
    registers,
    collect() {
      this.reset()
      for (const [market, { commits }] of totals) this.inc({ market }, commits)
    },
  })
  new Gauge({
    name: 'tidegate_clock_lead_milliseconds',
    help: 'How far the commit time of a market is ahead of the wall clock',
    labelNames,
    registers,
    collect() {
      this.reset()
      for (const [market, { clockLeadMilliseconds }] of totals) this.set({ market }, clockLeadMilliseconds)
    },
  })
  return {
    totals,
    violations: new Counter({
      name: 'tidegate_invariant_violations_total',
      help: 'Books that were crossed or held an impossible amount and were not published',
      labelNames,
      registers,
    }),
    missedExecutions: new Counter({
      name: 'tidegate_executions_missed_total',
      help: 'Times that a source proved that executions had taken place which could not be had any more',
      labelNames,
      registers,
    }),
  }
}

/** Takes the numbers of a market that has gone out of the metrics. */
export function forgetMarket(metrics: SequencerMetrics, market: string): void {
  metrics.totals.delete(market)
  metrics.violations.remove({ market })
  metrics.missedExecutions.remove({ market })
}

export interface SequencerOptions {
  readonly market: MarketDefinition
  /** Names this life of the writer; unique among all of the market's writers ever. */
  readonly epoch: string
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
  readonly metrics: SequencerMetrics
  /** Every commit is later than this: the time, in milliseconds since the epoch, of an earlier writer's last commit. */
  readonly floorMilliseconds: number
  /** How long no source may be trusted before the book is withdrawn; absent = it stays. */
  readonly withdrawAfterMilliseconds?: number | undefined
  /** Asks the market's source for a fresh snapshot, because the book it gave broke an invariant. */
  readonly onRebuildNeeded: (reason: string) => void
}

export class Sequencer {
  readonly #options: SequencerOptions
  readonly #book = new Book()
  /** What one message changed since the last commit: the whole answer as long as no second one came. */
  #only: readonly AppliedChange[] | undefined
  /** Once a second one came: amounts that the last commit published, of the levels touched since (bids, asks). */
  readonly #published: [Map<number, Scaled>, Map<number, Scaled>] = [new Map(), new Map()]
  #executions: Execution[] = []
  /** How many of these came before executions were missed for the last time; undefined when none were. */
  #missedAt: number | undefined
  #version = 0
  #executionNumber = 0
  #lastMilliseconds: number
  #lastCommitMonotonic = Number.NEGATIVE_INFINITY
  #commitRequested = false
  /** The next trusted commit carries the whole book. */
  #startsOver = false
  #scheduled: Timer | 'end-of-turn' | undefined
  /** `starting` until the first snapshot; `lost` while nobody vouches for the book. */
  #state: 'starting' | 'live' | 'lost' = 'starting'
  #becomesLive = false
  /** Of a lost book: the timer that withdraws it, or `due` from then until the commit that does. */
  #withdrawal: Timer | 'due' | undefined
  /** When the oldest message that waits for a commit arrived, by the wall clock. */
  #receivedMilliseconds = 0
  #aheadOfWall = false
  #stopped = false
  readonly #totals: CommitTotals
  readonly #endService: () => void

  constructor(options: SequencerOptions) {
    this.#options = options
    this.#lastMilliseconds = options.floorMilliseconds
    const { totals } = options.metrics
    // Zero is a fact too: the alarms on these need the series to be there.
    this.#totals = totals.get(options.market.symbol) ?? { commits: 0, clockLeadMilliseconds: 0 }
    totals.set(options.market.symbol, this.#totals)
    options.metrics.violations.inc({ market: options.market.symbol }, 0)
    options.metrics.missedExecutions.inc({ market: options.market.symbol }, 0)
    this.#endService = options.bus.serve(options.market.symbol, () => {
      this.#commitRequested = true
      this.#scheduleCommit()
    })
  }

  /** Time of the last commit, in milliseconds since the epoch; 0 before the first. */
  get committedMilliseconds(): number {
    return this.#version === 0 ? 0 : this.#lastMilliseconds
  }

  /** Takes one whole source message. What it says is published with the market's next commit. */
  offer(event: MarketEvent): void {
    if (this.#stopped) return
    if (event.type === 'lost') {
      this.#lose(event.reason)
    } else if (event.type === 'missed') {
      this.#miss(event.reason)
    } else if (event.type === 'snapshot') {
      if (this.#refuse(event.levels)) return
      this.#note(this.#book.replace(event.levels))
      this.#becomesLive = true
      this.#scheduleCommit()
    } else if (event.type === 'update') {
      for (const execution of event.executions) this.#executions.push(execution)
      // Between `lost` and the next snapshot no change can be trusted; executions stand for themselves.
      const trusted = this.#state === 'live' || this.#becomesLive
      if (trusted && !this.#refuse(event.changes)) this.#note(this.#book.apply(event.changes))
      this.#scheduleCommit()
    }
  }

  /** The full book while it is exactly what was last committed; undefined while changes wait or nobody vouches for it. */
  get settledBook(): Book | undefined {
    const isSettled = this.#only === undefined && this.#published[BID].size + this.#published[ASK].size === 0
    return this.#state === 'live' && !this.#becomesLive && isSettled ? this.#book : undefined
  }

  /**
   * Makes every reader begin anew from the whole book, because what one of them holds was found to be wrong; and since
   * nobody can tell what else is, asks the source for a fresh snapshot too. Happens with the next book that is vouched
   * for.
   */
  startOver(reason: string): void {
    this.#startsOver = true
    this.#commitRequested = true
    this.#scheduleCommit()
    this.#options.onRebuildNeeded(reason)
  }

  /** Ends the writer: what was not committed yet is committed now, nothing after. */
  stop(): void {
    if (this.#stopped) return
    if (this.#scheduled !== undefined) this.#commit()
    if (typeof this.#scheduled === 'object') this.#scheduled.cancel()
    this.#cancelWithdrawal()
    this.#stopped = true
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
    this.#becomesLive = false
    if (this.#state === 'live') {
      this.#state = 'lost'
      this.#withdrawLater()
    }
    this.#options.bus.publish({ type: 'status', market: this.#options.market.symbol, live: false, reason })
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
    // At once, and not with the next execution: readers are to know of it while it is news.
    this.#commitRequested = true
    this.#scheduleCommit()
  }

  #scheduleCommit(): void {
    if (this.#scheduled !== undefined) return
    const { clock } = this.#options
    const arrived = clock.wallInstant()
    this.#receivedMilliseconds = arrived.milliseconds + arrived.nanoseconds / 1_000_000
    const wait = this.#lastCommitMonotonic + COMMIT_MILLISECONDS_MIN - clock.monotonicMilliseconds()
    if (wait > 0) {
      this.#scheduled = clock.schedule(wait, () => this.#commitIfDue())
    } else {
      // The end of the turn, not now: a burst that is read in one turn becomes one commit.
      this.#scheduled = 'end-of-turn'
      clock.endOfTurn(() => this.#commitIfDue())
    }
  }

  #commitIfDue(): void {
    if (this.#stopped) return
    this.#scheduled = undefined
    // A timer may fire a little early by the monotonic clock; then the rest is waited for.
    const early = this.#lastCommitMonotonic + COMMIT_MILLISECONDS_MIN > this.#options.clock.monotonicMilliseconds()
    if (early) this.#scheduleCommit()
    else this.#commit()
  }

  #commit(): void {
    const { bus, clock, market } = this.#options
    const trusted = this.#isTrusted()
    const becomesLive = trusted && this.#becomesLive
    // A source that answered a violation at once has given the next book already: the commit of that one decides.
    const withdraws = !trusted && !this.#becomesLive && this.#withdrawal === 'due'
    if (withdraws) this.#note(this.#book.replace([]))
    if (withdraws || becomesLive) this.#cancelWithdrawal()
    const changes = trusted || withdraws ? this.#takeChanges() : []
    const executions = this.#executions
    const missedAt = this.#missedAt
    const isWanted = this.#commitRequested || becomesLive || withdraws
    if (changes.length === 0 && executions.length === 0 && !isWanted) return
    this.#executions = []
    this.#missedAt = undefined
    this.#commitRequested = false
    this.#lastCommitMonotonic = clock.monotonicMilliseconds()
    this.#executionNumber += executions.length + (missedAt === undefined ? 0 : 1)
    this.#version += 1
    const instant = this.#nextInstant()
    this.#totals.commits += 1
    const startsOver = (trusted || withdraws) && this.#startsOver
    if (startsOver) this.#startsOver = false
    bus.publish({
      type: 'commit',
      market: market.symbol,
      epoch: this.#options.epoch,
      version: this.#version,
      ...instant,
      receivedMilliseconds: this.#receivedMilliseconds,
      changes,
      executions,
      ...(missedAt === undefined ? {} : { missedAt }),
      executionNumber: this.#executionNumber,
      ...(startsOver ? { book: wholeBook(this.#book) } : {}),
      ...(withdraws ? { withdraws } : {}),
    })
    if (becomesLive) {
      this.#becomesLive = false
      this.#state = 'live'
      bus.publish({ type: 'status', market: market.symbol, live: true, reason: '' })
    }
  }

  /** Whether the book may be published as it is; a crossed one is a violation. */
  #isTrusted(): boolean {
    if (this.#state !== 'live' && !this.#becomesLive) return false
    if (!this.#book.isCrossed()) return true
    // What the source answers to this, at once or later, is judged by the next commit.
    this.#lastCommitMonotonic = this.#options.clock.monotonicMilliseconds()
    this.#violated('the book is crossed')
    return false
  }

  /** What differs between the book now and the book as last published. */
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
    const lead = milliseconds - wall.milliseconds
    this.#totals.clockLeadMilliseconds = lead
    const ahead = lead > CLOCK_LEAD_WARNED_MILLISECONDS
    if (ahead && !this.#aheadOfWall) {
      log.warn({ market: market.symbol, lead_milliseconds: lead }, 'commit times are ahead of the wall clock')
    }
    this.#aheadOfWall = ahead
    this.#lastMilliseconds = milliseconds
    return { milliseconds, nanoseconds: lead === 0 ? wall.nanoseconds : 0 }
  }
}

function wholeBook(book: Book): LevelChange[] {
  return ([BID, ASK] as const).flatMap((side) => levelsBehind(book, 0, side, undefined, Number.POSITIVE_INFINITY))
}

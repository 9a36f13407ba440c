/**
 * One book from several sources in a market. Amounts at equal prices are added. A source whose book is not trusted is
 * left out with all its levels until its next snapshot. Where sources cross, one takes precedence: a level is shown
 * only if it crosses no shown level from a source with higher precedence. Precedence is by recency (the source whose
 * best price moved or which traded last comes first) or fixed (the configuration's order). A source older than its
 * maximum age while others change is excluded until its next book message, or until no other source is left.
 *
 * The published book is never crossed, and updates contain exactly the differences. It reads no clock: each message is
 * passed with its time. Sources that moved in the same millisecond rank in configuration order, so precedence does not
 * depend on their messages' arrival order.
 *
 * Two limits define a source's shown levels: its bids must be below the best shown ask, and its asks above the best
 * shown bid, among all sources with higher precedence. So an update costs its own levels and the levels between old and
 * new limits, not depth times sources.
 *
 * Each event also reports venue shares: for the changed levels, and for levels with an unchanged amount whose division
 * between venues changed. Pure.
 */
import { addScaled, type Scaled } from '../../platform/base/decimal.ts'
import { Book } from './book.ts'
import {
  ASK,
  type Attribution,
  BID,
  type Execution,
  type LevelChange,
  type MarketEvent,
  type Side,
  type VenueShare,
} from './event.ts'
import { LevelShares } from './venues.ts'
import { levelsAfter } from './view.ts'

export interface AggregateStep {
  /** The events to offer to the market's sequencer, in order. */
  readonly events: readonly MarketEvent[]
  /**
   * Why the source was removed from the book. Its messages led to a crossed or invalid book, so it needs a new
   * snapshot.
   */
  readonly violation?: string
}

/**
 * Which crossing source takes precedence: the one that moved its best price or traded last, or the first configured
 * one.
 */
export type AggregationPolicy = 'recency' | 'priority'

/** One configured source in the market. */
export interface AggregateInput {
  /** The source's name in reasons. */
  readonly name: string
  /** The venue its levels are attributed to. Several sources may share one. */
  readonly venue: string
  /**
   * A source is excluded when its last book message is older than this while other sources change. Absent = never.
   * `usual` = 15 s, or three times the source's usual gap between book messages if that is longer.
   */
  readonly maxAgeMilliseconds?: number | 'usual'
}

export interface SourcePresence {
  /** The source's shown levels. Several sources' levels at one price are one level in the book. */
  readonly levels: number
  /** When its last book message was passed to `offer`. 0 before the first. */
  readonly heardMilliseconds: number
}

/** For `usual`: the smallest maximum age, and the number of usual gaps that are no fault. */
const USUAL_AGE_MILLISECONDS_MIN = 15_000
const USUAL_GAPS = 3
/** The usual gap is a running average: each gap moves it by the difference divided by this number. */
const AVERAGED_GAPS = 8

interface AggregatedSource {
  readonly name: string
  readonly venue: string
  readonly maxAgeMilliseconds: number | 'usual'
  /** The average gap between its book messages, in whole milliseconds. 0 before the second message. */
  usualGapMilliseconds: number
  /** Its index in the configuration. */
  readonly place: number
  /** Empty while the source is not live. */
  readonly book: Book
  isLive: boolean
  /** Live, but too old to be shown. */
  isExcluded: boolean
  /** When its last book message arrived. */
  heardMilliseconds: number
  /** When a best price in its book last moved, or the source last traded. */
  movedMilliseconds: number
  /**
   * The best shown ask and bid among all sources with higher precedence. Only bids below `askLimit` and asks above
   * `bidLimit` are shown.
   */
  askLimit: number
  bidLimit: number
}

type LevelKey = Pick<LevelChange, 'side' | 'price'>

export class Aggregate {
  readonly #sources: readonly AggregatedSource[]
  readonly #policy: AggregationPolicy
  /** The shown sources (live and not excluded), highest precedence first. */
  #ranked: readonly AggregatedSource[] = []
  /** The shown book. Empty while no source is live. */
  readonly #shown = new Book()
  /** Each venue's share in each shown level. */
  readonly #shares = new LevelShares()
  /** Whether the sequencer needs the whole book before it can apply differences. */
  #owesSnapshot = true

  /** @param inputs in configuration order. Their indexes identify them in `offer`. */
  constructor(inputs: readonly AggregateInput[], policy: AggregationPolicy) {
    this.#policy = policy
    this.#sources = inputs.map(({ name, venue, maxAgeMilliseconds = Number.POSITIVE_INFINITY }, place) => ({
      name,
      venue,
      maxAgeMilliseconds,
      usualGapMilliseconds: 0,
      place,
      book: new Book(),
      isLive: false,
      isExcluded: false,
      heardMilliseconds: 0,
      movedMilliseconds: 0,
      ...UNLIMITED,
    }))
  }

  /** Whether a live source is excluded because it is older than its maximum age. */
  isExcluded(sourceNumber: number): boolean {
    return this.#sources[sourceNumber]!.isExcluded
  }

  /** The current maximum age of a source. */
  maxAgeOf(sourceNumber: number): number {
    return maxAgeOf(this.#sources[sourceNumber]!)
  }

  /** A source's contribution to the shown book. Zero levels while it is excluded or not live. */
  presenceOf(sourceNumber: number): SourcePresence {
    const source = this.#sources[sourceNumber]!
    const { book, askLimit, bidLimit, heardMilliseconds } = source
    if (!this.#ranked.includes(source)) return { levels: 0, heardMilliseconds }
    const hidden = hiddenCount(book, BID, askLimit) + hiddenCount(book, ASK, bidLimit)
    return { levels: book.bids.size + book.asks.size - hidden, heardMilliseconds }
  }

  /**
   * Takes one message from a source.
   * @param milliseconds the message's monotonic arrival time. Its whole milliseconds determine the precedence.
   */
  offer(sourceNumber: number, event: MarketEvent, milliseconds: number): AggregateStep {
    const source = this.#sources[sourceNumber]!
    switch (event.type) {
      case 'missed':
        return { events: [{ type: 'missed', reason: `${source.name}: ${event.reason}` }] }
      case 'lost':
        return { events: this.#lose(source, event.reason, [], []) }
      case 'snapshot':
        return this.#follow(source, event.levels, 'replace', [], Math.floor(milliseconds))
      case 'update':
        // Between `lost` and the next snapshot, changes are not trusted. Executions do not depend on the book.
        if (!source.isLive) return { events: this.#eventsOf([], event.executions) }
        return this.#follow(source, event.changes, 'apply', event.executions, Math.floor(milliseconds))
    }
  }

  /** Publishes the whole book with the next message of any source, because the sequencer does not trust its own. */
  startOver(): void {
    this.#owesSnapshot = true
  }

  #follow(
    source: AggregatedSource,
    levels: readonly LevelChange[],
    action: 'apply' | 'replace',
    executions: readonly Execution[],
    milliseconds: number,
  ): AggregateStep {
    const { bids, asks } = source.book
    const bestBid = bids.size === 0 ? undefined : bids.priceAt(0)
    const bestAsk = asks.size === 0 ? undefined : asks.priceAt(0)
    const impossible = levels.find(isImpossible)
    if (impossible !== undefined) {
      const violation = `impossible level: price ${impossible.price}, amount ${impossible.amount}`
      return { events: this.#lose(source, violation, [], executions), violation }
    }
    const touched: LevelKey[] = source.book[action](levels)
    if (source.book.isCrossed()) {
      const violation = 'the book is crossed'
      return { events: this.#lose(source, violation, touched, executions), violation }
    }
    const isBookMessage = action === 'replace' || levels.length > 0
    const hasMoved =
      executions.length > 0 ||
      bestBid !== (bids.size === 0 ? undefined : bids.priceAt(0)) ||
      bestAsk !== (asks.size === 0 ? undefined : asks.priceAt(0))
    const { isLive: wasLive, isExcluded: wasExcluded } = source
    // A message without changes, as from a venue that repeats itself, makes no other source old.
    const isNews = !wasLive || touched.length > 0
    if (!wasLive || hasMoved) source.movedMilliseconds = milliseconds
    if (isBookMessage) {
      // A gap without a connection says nothing about the venue's usual gap.
      if (wasLive) noteGap(source, milliseconds - source.heardMilliseconds)
      source.heardMilliseconds = milliseconds
      if (wasExcluded) for (const level of levelsOf(source.book)) touched.push(level)
      source.isLive = true
      source.isExcluded = false
    }
    const excludesAny = isNews && this.#excludeOld(milliseconds, touched)
    if (!wasLive || hasMoved || excludesAny || wasExcluded !== source.isExcluded) this.#rank()
    return { events: this.#eventsOf(touched, executions) }
  }

  #lose(
    source: AggregatedSource,
    reason: string,
    alreadyTouched: readonly LevelKey[],
    executions: readonly Execution[],
  ): MarketEvent[] {
    const touched = [...alreadyTouched, ...levelsOf(source.book)]
    source.isLive = false
    source.isExcluded = false
    source.book.bids.clear()
    source.book.asks.clear()
    this.#rank()
    // An old book is better than none: excluded sources are shown again when no other is left.
    if (this.#ranked.length === 0) this.#readmit(touched)
    const events = this.#eventsOf(touched, executions)
    if (this.#ranked.length > 0) return events
    this.#owesSnapshot = true
    return [...events, { type: 'lost', reason: `${source.name}: ${reason}` }]
  }

  /**
   * Excludes shown sources whose last book message is older than their maximum age. Returns whether it excluded any.
   */
  #excludeOld(milliseconds: number, touched: LevelKey[]): boolean {
    let excludesAny = false
    for (const source of this.#ranked) {
      if (milliseconds - source.heardMilliseconds <= maxAgeOf(source)) continue
      source.isExcluded = true
      excludesAny = true
      for (const level of levelsOf(source.book)) touched.push(level)
    }
    return excludesAny
  }

  /** Shows the excluded sources again. */
  #readmit(touched: LevelKey[]): void {
    for (const source of this.#sources) {
      if (!source.isExcluded) continue
      source.isExcluded = false
      for (const level of levelsOf(source.book)) touched.push(level)
    }
    this.#rank()
  }

  #rank(): void {
    const isRecency = this.#policy === 'recency'
    this.#ranked = this.#sources
      .filter(({ isLive, isExcluded }) => isLive && !isExcluded)
      .sort((left, right) =>
        isRecency && left.movedMilliseconds !== right.movedMilliseconds
          ? right.movedMilliseconds - left.movedMilliseconds
          : left.place - right.place,
      )
  }

  /** The events to publish after the books changed at `touched`, or the precedence changed. */
  #eventsOf(touched: LevelKey[], executions: readonly Execution[]): MarketEvent[] {
    this.#moveLimits(touched)
    const levels = touched.map(({ side, price }) => ({ side, price, venues: this.#sharesOf(side, price) }))
    const applied = this.#shown.apply(
      levels.map(({ side, price, venues }) => ({ side, price, amount: totalOf(venues) })),
    )
    const attributed = this.#shares.set(levels)
    const isLive = this.#ranked.length > 0
    if (isLive && this.#owesSnapshot) {
      this.#owesSnapshot = false
      const attribution: Attribution = this.#shares.whole() ?? { type: 'all', levels: [] }
      const snapshot: MarketEvent = { type: 'snapshot', levels: levelsOf(this.#shown), attribution }
      return executions.length === 0 ? [snapshot] : [snapshot, { type: 'update', changes: [], executions }]
    }
    // Without a live source, nothing is removed from the published book: the sequencer keeps it, and withdraws it
    // later.
    const changes = isLive ? applied.map(({ side, price, after }) => ({ side, price, amount: after })) : []
    const isAttributed = isLive && attributed.length > 0
    if (!isAttributed) return executions.length === 0 ? [] : [{ type: 'update', changes, executions }]
    return [{ type: 'update', changes, executions, attribution: { type: 'some', levels: attributed } }]
  }

  /** Computes the limits for every shown source, and adds the levels they show or hide to `touched`. */
  #moveLimits(touched: LevelKey[]): void {
    let askLimit: number = UNLIMITED.askLimit
    let bidLimit: number = UNLIMITED.bidLimit
    for (const source of this.#ranked) {
      const { bids, asks } = source.book
      const hiddenBids = hiddenCount(source.book, BID, askLimit)
      const hiddenAsks = hiddenCount(source.book, ASK, bidLimit)
      if (source.askLimit !== askLimit) {
        addRanks(source.book, BID, hiddenCount(source.book, BID, source.askLimit), hiddenBids, touched)
        source.askLimit = askLimit
      }
      if (source.bidLimit !== bidLimit) {
        addRanks(source.book, ASK, hiddenCount(source.book, ASK, source.bidLimit), hiddenAsks, touched)
        source.bidLimit = bidLimit
      }
      if (hiddenBids < bids.size) bidLimit = Math.max(bidLimit, bids.priceAt(hiddenBids))
      if (hiddenAsks < asks.size) askLimit = Math.min(askLimit, asks.priceAt(hiddenAsks))
    }
  }

  /** Each venue's share in a shown level, in configuration order. */
  #sharesOf(side: Side, price: number): VenueShare[] {
    const shares: VenueShare[] = []
    for (const { book, venue, isLive, isExcluded, askLimit, bidLimit } of this.#sources) {
      const isShown = isLive && !isExcluded && (side === BID ? price < askLimit : price > bidLimit)
      const amount = isShown ? book.side(side).amount(price) : 0
      if (amount === 0) continue
      const known = shares.findIndex(([name]) => name === venue)
      if (known === -1) shares.push([venue, amount])
      else shares[known] = [venue, addScaled(shares[known]![1], amount)]
    }
    return shares
  }
}

const UNLIMITED = { askLimit: Number.POSITIVE_INFINITY, bidLimit: Number.NEGATIVE_INFINITY } as const

function maxAgeOf({ maxAgeMilliseconds, usualGapMilliseconds }: AggregatedSource): number {
  if (maxAgeMilliseconds !== 'usual') return maxAgeMilliseconds
  return Math.max(USUAL_AGE_MILLISECONDS_MIN, USUAL_GAPS * usualGapMilliseconds)
}

function noteGap(source: AggregatedSource, milliseconds: number): void {
  const difference = milliseconds - source.usualGapMilliseconds
  source.usualGapMilliseconds += Math.trunc(difference / AVERAGED_GAPS)
}

function totalOf(shares: readonly VenueShare[]): Scaled {
  return shares.reduce<Scaled>((total, [, amount]) => addScaled(total, amount), 0)
}

function isImpossible({ price, amount }: LevelChange): boolean {
  return amount < 0 || !Number.isSafeInteger(price) || price <= 0
}

/** How many of a side's best levels the side's limit hides. */
function hiddenCount(book: Book, side: Side, limit: number): number {
  return side === BID ? book.bids.rankOf(limit - 1) : book.asks.rankOf(limit + 1)
}

/** Adds the levels between two ranks, given in either order. */
function addRanks(book: Book, side: Side, from: number, to: number, touched: LevelKey[]): void {
  const levels = book.side(side)
  for (let rank = Math.min(from, to); rank < Math.max(from, to); rank++) {
    touched.push({ side, price: levels.priceAt(rank) })
  }
}

function levelsOf(book: Book): LevelChange[] {
  return ([BID, ASK] as const).flatMap((side) => levelsAfter(book, 0, side, undefined, Number.POSITIVE_INFINITY))
}

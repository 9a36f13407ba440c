/**
 * One Bitstamp book: a fetched snapshot, then later messages from `diff_order_book_PAIR`
 * (docs/decisions/0027-what-proves-bitstamp.md). Both have a time in microseconds and no number, so nothing proves the
 * sequence complete. The book guarantees what is possible. Messages are applied in time order. A crossed book is wrong.
 * A snapshot begins or replaces the book only where its time lies within the received messages, so book and snapshot
 * are compared at the same time. Pure.
 *
 * States:
 * - waiting: messages are kept. A snapshot is used once kept messages bracket it: one at its time or earlier, one at
 *   its time or later. On a pair without messages, a second, equal snapshot replaces this proof.
 * - live: messages are applied, and the latest ones are kept for the next snapshot, which is fetched at intervals. The
 *   differences are reported.
 *
 * A book never begins before the time reached by the pair's earlier books: published data would go back in time.
 */
import { ASK, BID, type LevelChange } from '../../../market/event.ts'
import type { BestPrices, BookStep, UnfitLevel, VenueBook, VenueBookOptions, VenueLevel } from '../venue.ts'
import { VenueLevels } from '../venue-levels.ts'
import type { BitstampBookData } from './message.ts'

/** Limit for levels in kept messages: the oldest messages are dropped first. */
const KEPT_LEVELS_MAX = 50_000
/** Delay before an unbracketed snapshot is fetched again. Public reports mention ten-second caches. */
const CONFIRM_MILLISECONDS = 10_000
/** After this many consecutive snapshots from before the reached time, the venue's clock was set back. */
const REGRESSIONS_MAX = 10

type Changes = readonly LevelChange[]

/** The time reached by a pair's books; kept across books and connections. */
export interface BitstampPosition {
  microseconds: number
  /** Consecutive snapshots that ended before it. */
  regressions: number
}

export class BitstampBook implements VenueBook<BitstampBookData> {
  readonly #options: VenueBookOptions
  readonly #position: BitstampPosition
  readonly #levels: VenueLevels
  #isLive = false
  /** Time reached by the book, or by the last message before it began. */
  #microseconds = Number.NEGATIVE_INFINITY
  /** A snapshot not bracketed yet. */
  #candidate: BitstampBookData | undefined
  /** Whether a second snapshot was equal to the candidate. */
  #isConfirmed = false
  #kept: BitstampBookData[] = []
  #keptLevels = 0

  /** @param position shared by the pair's books; updated by the book */
  constructor(options: VenueBookOptions, position: BitstampPosition) {
    this.#options = options
    this.#position = position
    this.#levels = new VenueLevels(options)
  }

  get best(): BestPrices {
    return this.#levels.best
  }

  get unfit(): readonly UnfitLevel[] {
    return this.#levels.unfit
  }

  apply(data: BitstampBookData): BookStep {
    return data.isSnapshot ? this.#take(data) : this.#follow(data)
  }

  #follow(message: BitstampBookData): BookStep {
    const { microseconds, bids, asks } = message
    if (microseconds < this.#microseconds) {
      return this.#wrong(`a message of ${microseconds} follows one of ${this.#microseconds}`)
    }
    this.#microseconds = microseconds
    this.#keep(message)
    if (!this.#isLive) return this.#settle([])
    const changes = this.#levels.apply(bids, asks)
    if (typeof changes === 'string') return this.#wrong(changes)
    const step = this.#settle(changes)
    // A snapshot bracketed by this message repairs a crossed book.
    return step.kind === 'snapshot' ? step : (this.#crossed() ?? step)
  }

  #take(snapshot: BitstampBookData): BookStep {
    const known = this.#candidate
    if (known !== undefined && snapshot.microseconds < known.microseconds) return this.#settle([])
    // While messages arrive, one will bracket the snapshot.
    this.#isConfirmed =
      known !== undefined && areEqual(known.bids, snapshot.bids) && areEqual(known.asks, snapshot.asks)
    this.#candidate = snapshot
    return this.#settle([])
  }

  /** Uses the candidate if possible. `changes`: the current book's unreported changes. */
  #settle(changes: Changes): BookStep {
    const candidate = this.#candidate
    if (candidate === undefined) return this.#isLive ? { kind: 'update', changes } : { kind: 'waiting' }
    const [oldest] = this.#kept
    const isTooOld = oldest !== undefined && oldest.microseconds > candidate.microseconds
    if (isTooOld || this.#isBehind(candidate)) {
      this.#candidate = undefined
      return this.#isLive ? { kind: 'update', changes, wantsSnapshot: true } : { kind: 'waiting' }
    }
    const isBracketed = oldest !== undefined && this.#microseconds >= candidate.microseconds
    if (isBracketed || this.#isConfirmed) return this.#use(candidate, changes)
    const confirmation = { confirmMilliseconds: CONFIRM_MILLISECONDS }
    return this.#isLive ? { kind: 'update', changes, ...confirmation } : { kind: 'waiting', ...confirmation }
  }

  /**
   * Replaces the book with the snapshot and the later kept messages. `reported`: the last message's changes, which do
   * not count as differences.
   */
  #use({ microseconds, bids, asks }: BitstampBookData, reported: Changes): BookStep {
    const fresh = new VenueLevels(this.#options)
    const replaced = fresh.replace(bids, asks)
    if (typeof replaced === 'string') return this.#wrong(replaced)
    for (const message of this.#kept) {
      if (message.microseconds <= microseconds) continue
      const problem = fresh.apply(message.bids, message.asks)
      if (typeof problem === 'string') return this.#wrong(problem)
    }
    const whole = this.#levels.replace([...fresh.side(BID).sent], [...fresh.side(ASK).sent])
    if (typeof whole === 'string') return this.#wrong(whole)
    const isFirst = !this.#isLive
    this.#candidate = undefined
    this.#isConfirmed = false
    this.#isLive = true
    this.#microseconds = Math.max(this.#microseconds, microseconds)
    this.#position.microseconds = this.#microseconds
    this.#position.regressions = 0
    const { levels, changes } = whole
    const compared = isFirst ? {} : { changes: [...reported, ...changes], differences: changes.length }
    return this.#crossed() ?? { kind: 'snapshot', levels, ...compared }
  }

  /** Whether a first snapshot's book would end before the time already reached. */
  #isBehind({ microseconds }: BitstampBookData): boolean {
    const position = this.#position
    if (this.#isLive || Math.max(microseconds, this.#microseconds) >= position.microseconds) return false
    position.regressions += 1
    return position.regressions <= REGRESSIONS_MAX
  }

  /** A level that should have been removed shows once the price has moved past it. */
  #crossed(): BookStep | undefined {
    const { bid, ask } = this.#levels.best
    this.#position.microseconds = Math.max(this.#position.microseconds, this.#microseconds)
    if (bid === undefined || ask === undefined || bid < ask) return undefined
    return this.#wrong('its best bid is not below its best ask, so a message is missing')
  }

  #keep(message: BitstampBookData): void {
    this.#kept.push(message)
    this.#keptLevels += levelCount(message)
    while (this.#keptLevels > KEPT_LEVELS_MAX) this.#keptLevels -= levelCount(this.#kept.shift())
  }

  #wrong(problem: string): BookStep {
    return { kind: 'wrong', reason: `${this.#options.listing.symbol}: ${problem}` }
  }
}

/** Counts an empty message as one level, because it takes memory too. */
function levelCount(message: BitstampBookData | undefined): number {
  return message === undefined ? 0 : 1 + message.bids.length + message.asks.length
}

function areEqual(left: readonly VenueLevel[], right: readonly VenueLevel[]): boolean {
  return (
    left.length === right.length &&
    left.every(({ price, amount }, index) => price === right[index]?.price && amount === right[index]?.amount)
  )
}

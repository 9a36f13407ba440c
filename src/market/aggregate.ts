/**
 * One book of several sources of a market. Equal prices add up; a source whose book is not trusted drops out with all
 * its levels until its next snapshot. Where sources cross, one of them takes precedence: a level is shown only where it
 * crosses no level shown of a source before it. Precedence is by recency (the source whose best price moved, or which
 * traded, last) or fixed (the order of the configuration). A source that is older than its maximum age while others
 * change is excluded until its next book message.
 *
 * What it publishes is never crossed, and is exactly what differs. It reads no clock: each message comes with its time.
 * Messages of the same millisecond rank by the order of the configuration, so precedence does not depend on which of
 * them arrived first.
 *
 * What a source shows is given by two limits, the best shown bid and ask of all sources before it: its bids below the
 * one, its asks above the other. So a message costs the levels it names and those between old and new limits, not depth
 * times sources.
 */
import { addScaled, type Scaled } from '../base/decimal.ts'
import { Book } from './book.ts'
import { ASK, BID, type Execution, type LevelChange, type MarketEvent, type Side } from './event.ts'
import { levelsBehind } from './view.ts'

export interface AggregateStep {
  /** What the writer of the market is to be offered, in this order. */
  readonly events: readonly MarketEvent[]
  /** Why the source was thrown out: what it said left its book crossed or impossible, and it has to begin anew. */
  readonly violation?: string
}

/** Which of crossing sources is shown: the one whose best price moved or which traded last, or the one named first. */
export type AggregationPolicy = 'recency' | 'priority'

/** One source of the market, as the configuration has it. */
export interface AggregateInput {
  /** As reasons name it. */
  readonly name: string
  /** Without a book message for longer than that while other sources change, it is excluded; absent = never. */
  readonly maxAgeMilliseconds?: number
}

interface AggregatedSource {
  readonly name: string
  readonly maxAgeMilliseconds: number
  /** Its place in the configuration. */
  readonly place: number
  /** Empty while the source is not live. */
  readonly book: Book
  isLive: boolean
  /** Live, but too old to be shown. */
  isExcluded: boolean
  /** When its last book message came. */
  heardMilliseconds: number
  /** When a best price of its book moved or it traded, last. */
  movedMilliseconds: number
  /** Best shown ask and bid of all sources before it: only bids below `askLimit` and asks above `bidLimit` are shown. */
  askLimit: number
  bidLimit: number
}

type LevelKey = Pick<LevelChange, 'side' | 'price'>

export class Aggregate {
  readonly #sources: readonly AggregatedSource[]
  readonly #policy: AggregationPolicy
  /** The sources that are shown, in order of precedence: live and not excluded. */
  #ranked: readonly AggregatedSource[] = []
  /** What is shown; empty while no source is live. */
  readonly #shown = new Book()
  /** Whether the writer has to be told the whole book before differences mean anything to it. */
  #owesSnapshot = true

  /** @param inputs in the order of the configuration; their places are their numbers in `offer` */
  constructor(inputs: readonly AggregateInput[], policy: AggregationPolicy) {
    this.#policy = policy
    this.#sources = inputs.map(({ name, maxAgeMilliseconds = Number.POSITIVE_INFINITY }, place) => ({
      name,
      maxAgeMilliseconds,
      place,
      book: new Book(),
      isLive: false,
      isExcluded: false,
      heardMilliseconds: 0,
      movedMilliseconds: 0,
      ...UNLIMITED,
    }))
  }

  /** Whether a live source is left out because it is older than its maximum age. */
  isExcluded(sourceNumber: number): boolean {
    return this.#sources[sourceNumber]!.isExcluded
  }

  /**
   * Takes one whole message of a source.
   * @param milliseconds when it came, by a clock that never goes back; the whole part ranks
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
        // Between `lost` and the next snapshot no change can be trusted; executions stand for themselves.
        if (!source.isLive) return { events: this.#eventsOf([], event.executions) }
        return this.#follow(source, event.changes, 'apply', event.executions, Math.floor(milliseconds))
    }
  }

  /** Publishes the whole book with the next message of any source, because the writer does not trust what it has. */
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
    if (!wasLive || hasMoved) source.movedMilliseconds = milliseconds
    if (isBookMessage) {
      source.heardMilliseconds = milliseconds
      if (wasExcluded) for (const level of levelsOf(source.book)) touched.push(level)
      source.isLive = true
      source.isExcluded = false
    }
    // A message that changes nothing, as at a venue that repeats itself, makes no other source old.
    const isNews = !wasLive || touched.length > 0
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
    // An old book is better than none: what was excluded is shown again when nothing else is left.
    if (this.#ranked.length === 0) this.#readmit(touched)
    const events = this.#eventsOf(touched, executions)
    if (this.#ranked.length > 0) return events
    this.#owesSnapshot = true
    return [...events, { type: 'lost', reason: `${source.name}: ${reason}` }]
  }

  /** Leaves out the sources from which no book message came for longer than their maximum age; whether there are any. */
  #excludeOld(milliseconds: number, touched: LevelKey[]): boolean {
    let excludesAny = false
    for (const source of this.#ranked) {
      if (milliseconds - source.heardMilliseconds <= source.maxAgeMilliseconds) continue
      source.isExcluded = true
      excludesAny = true
      for (const level of levelsOf(source.book)) touched.push(level)
    }
    return excludesAny
  }

  /** Shows the sources again that were excluded. */
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

  /** What to publish after the books differ at `touched` or rank in a new order. */
  #eventsOf(touched: LevelKey[], executions: readonly Execution[]): MarketEvent[] {
    this.#moveLimits(touched)
    const applied = this.#shown.apply(
      touched.map(({ side, price }) => ({ side, price, amount: this.#amount(side, price) })),
    )
    const isLive = this.#ranked.length > 0
    if (isLive && this.#owesSnapshot) {
      this.#owesSnapshot = false
      const snapshot: MarketEvent = { type: 'snapshot', levels: levelsOf(this.#shown) }
      return executions.length === 0 ? [snapshot] : [snapshot, { type: 'update', changes: [], executions }]
    }
    // The last book of a market without a live source stays here: whether it is withdrawn is decided elsewhere.
    const changes = isLive ? applied.map(({ side, price, after }) => ({ side, price, amount: after })) : []
    return changes.length + executions.length === 0 ? [] : [{ type: 'update', changes, executions }]
  }

  /** Finds the limits of every shown source, and adds the levels that come or go by that to `touched`. */
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

  #amount(side: Side, price: number): Scaled {
    let total: Scaled = 0
    for (const { book, askLimit, bidLimit } of this.#ranked) {
      const isShown = side === BID ? price < askLimit : price > bidLimit
      if (isShown) total = addScaled(total, book.side(side).amount(price))
    }
    return total
  }
}

const UNLIMITED = { askLimit: Number.POSITIVE_INFINITY, bidLimit: Number.NEGATIVE_INFINITY } as const

function isImpossible({ price, amount }: LevelChange): boolean {
  return amount < 0 || !Number.isSafeInteger(price) || price <= 0
}

/** How many of the best levels of a side are not shown because of the limit of that side. */
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
  return ([BID, ASK] as const).flatMap((side) => levelsBehind(book, 0, side, undefined, Number.POSITIVE_INFINITY))
}

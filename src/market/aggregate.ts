/**
 * One book of several sources of a market. Equal prices add up; a source that cannot vouch for its book drops out with
 * all its levels until its next snapshot. Where sources cross, the newer book is believed: sources are ordered by when
 * their book last changed, newest first, and a level is shown only where it crosses no level shown of a newer source.
 * It promises that what it says is never crossed, and is exactly what differs; it knows no time, and asks nobody for
 * anything.
 *
 * What a source shows is given by two limits, the best shown bid and ask of all newer sources: its bids below the one,
 * its asks above the other. So a message costs the levels it names and those between old and new limits, not depth
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

interface AggregatedSource {
  readonly name: string
  /** Empty while the source is not live. */
  readonly book: Book
  isLive: boolean
  /** Best shown ask and bid of all newer sources: only bids below `askLimit` and asks above `bidLimit` are shown. */
  askLimit: number
  bidLimit: number
}

type LevelKey = Pick<LevelChange, 'side' | 'price'>

export class Aggregate {
  readonly #sources: readonly AggregatedSource[]
  /** The live sources, the one whose book changed last first. */
  #newestFirst: AggregatedSource[] = []
  /** What is shown; empty while no source is live. */
  readonly #shown = new Book()
  /** Whether the writer has to be told the whole book before differences mean anything to it. */
  #owesSnapshot = true

  /** @param names what the sources are called in reasons; their places are their numbers in `offer` */
  constructor(names: readonly string[]) {
    this.#sources = names.map((name) => ({ name, book: new Book(), isLive: false, ...UNLIMITED }))
  }

  /** Takes one whole message of a source. */
  offer(sourceNumber: number, event: MarketEvent): AggregateStep {
    const source = this.#sources[sourceNumber]!
    switch (event.type) {
      case 'missed':
        return { events: [{ type: 'missed', reason: `${source.name}: ${event.reason}` }] }
      case 'lost':
        return { events: this.#lose(source, event.reason, [], []) }
      case 'snapshot':
        return this.#follow(source, event.levels, 'replace', [])
      case 'update':
        // Between `lost` and the next snapshot no change can be trusted; executions stand for themselves.
        if (!source.isLive) return { events: this.#eventsOf([], event.executions) }
        return this.#follow(source, event.changes, 'apply', event.executions)
    }
  }

  /** Says the whole book with the next message of any source, because the writer does not trust what it has. */
  startOver(): void {
    this.#owesSnapshot = true
  }

  #follow(
    source: AggregatedSource,
    levels: readonly LevelChange[],
    action: 'apply' | 'replace',
    executions: readonly Execution[],
  ): AggregateStep {
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
    const wasLive = source.isLive
    source.isLive = true
    // A message that changes nothing says nothing new: it does not make a book more to be believed than another.
    if (!wasLive || touched.length > 0) this.#makeNewest(source)
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
    source.book.bids.clear()
    source.book.asks.clear()
    this.#newestFirst = this.#newestFirst.filter((other) => other !== source)
    const events = this.#eventsOf(touched, executions)
    if (this.#newestFirst.length > 0) return events
    this.#owesSnapshot = true
    return [...events, { type: 'lost', reason: `${source.name}: ${reason}` }]
  }

  #makeNewest(source: AggregatedSource): void {
    if (this.#newestFirst[0] === source) return
    this.#newestFirst = [source, ...this.#newestFirst.filter((other) => other !== source)]
  }

  /** What to say after the books differ at `touched` or stand in a new order. */
  #eventsOf(touched: LevelKey[], executions: readonly Execution[]): MarketEvent[] {
    if (touched.length > 0) this.#moveLimits(touched)
    const applied = this.#shown.apply(
      touched.map(({ side, price }) => ({ side, price, amount: this.#amount(side, price) })),
    )
    const isLive = this.#newestFirst.length > 0
    if (isLive && this.#owesSnapshot) {
      this.#owesSnapshot = false
      const snapshot: MarketEvent = { type: 'snapshot', levels: levelsOf(this.#shown) }
      return executions.length === 0 ? [snapshot] : [snapshot, { type: 'update', changes: [], executions }]
    }
    // The last book of a market without a live source stays: nobody says that it has gone.
    const changes = isLive ? applied.map(({ side, price, after }) => ({ side, price, amount: after })) : []
    return changes.length + executions.length === 0 ? [] : [{ type: 'update', changes, executions }]
  }

  /** Finds the limits of every live source anew, and adds the levels that come or go by it to `touched`. */
  #moveLimits(touched: LevelKey[]): void {
    let askLimit: number = UNLIMITED.askLimit
    let bidLimit: number = UNLIMITED.bidLimit
    for (const source of this.#newestFirst) {
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
    for (const { book, askLimit, bidLimit } of this.#newestFirst) {
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

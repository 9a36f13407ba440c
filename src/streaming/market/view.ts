/**
 * The best N levels per side of a book (N = all is a view too), updated version by version, and the exact difference
 * between any earlier version and the current one. The changes lead from one view to the other, including levels that
 * enter or leave at the edge. Each price occurs once, and unchanged levels do not occur. A view stores no levels, only
 * the worst price inside on each side: the book and its changes determine which levels entered or left. Its cost grows
 * with the changed levels, not with the depth. Pure.
 */
import { assert } from '../../platform/base/assert.ts'
import type { Scaled } from '../../platform/base/decimal.ts'
import { type Book, compareLevels, isInBookOrder, type Levels } from './book.ts'
import { type AppliedChange, ASK, BID, type LevelChange, type Side } from './event.ts'
import { Journal } from './journal.ts'

/** A journal's smallest capacity, in entries. It grows to twice the view's levels when that is more. */
const JOURNAL_ENTRIES_MINIMUM = 4096

/** Reading one journal entry costs as much as examining this many levels in a history. */
const HISTORY_LEVELS_AN_ENTRY = 16

export class View {
  /** Levels per side; 0 = all. */
  readonly depth: number
  readonly #book: Book
  readonly #journal: Journal
  readonly #edges: [bid: number, ask: number] = [0, 0]
  #changeVersion = 0
  /** Whether a difference to the current version was requested. From the second request on, the history answers. */
  #isAsked = false
  #history: History | undefined

  /**
   * Starts at version 0 with the current book.
   * @param journalEntriesMinimum for tests that need a short journal
   */
  constructor(book: Book, depth: number, journalEntriesMinimum = JOURNAL_ENTRIES_MINIMUM) {
    this.depth = depth
    this.#book = book
    this.#journal = new Journal(journalEntriesMinimum)
    this.reset(0)
  }

  get version(): number {
    return this.#journal.version
  }

  /** The last version that changed the view. Before the first change, the last `reset`'s version. */
  get changeVersion(): number {
    return this.#changeVersion
  }

  /** Moves to a version by the book's changes, or starts over when the book was replaced (undefined). */
  move(version: number, applied: readonly AppliedChange[] | undefined): readonly LevelChange[] {
    if (applied !== undefined) return this.advance(version, applied)
    this.reset(version)
    return []
  }

  /** Drops the journal (new epoch, or a rebuild) and continues at `version` with the current book. */
  reset(version: number): void {
    this.#journal.reset(version)
    this.#forgetHistory()
    this.#changeVersion = version
    this.#edges[BID] = this.#edgeNow(BID)
    this.#edges[ASK] = this.#edgeNow(ASK)
  }

  /**
   * Updates the view to `version`, which must be later, after `applied`: the result of `Book.apply`, with no change
   * since. Returns the view's changes, in book order. A level that leaves has amount 0.
   */
  advance(version: number, applied: readonly AppliedChange[]): LevelChange[] {
    assert(isInBookOrder(applied), 'a version’s changes come in book order, each price once')
    this.#journal.advance(version, 2 * (this.levelCount(BID) + this.levelCount(ASK)))
    this.#forgetHistory()
    const changes: LevelChange[] = []
    const firstAsk = this.#advanceSide(BID, applied, 0, changes)
    this.#advanceSide(ASK, applied, firstAsk, changes)
    if (changes.length > 0) this.#changeVersion = version
    return changes
  }

  /**
   * The exact difference between the view at an earlier `version` and the current one, in book order. Empty when they
   * are equal, `too-old` when the journal does not reach back that far.
   */
  changesSince(version: number): LevelChange[] | 'too-old' {
    if (this.#isAsked) this.#history ??= new History(this.#journal, (side, price) => this.amount(side, price))
    this.#isAsked = true
    const history = this.#history
    if (history === undefined) return this.#changesAlone(version)
    // A subscriber that missed few changes does not pay for a history built for a far older version.
    const isNear = this.#journal.entriesSince(version) * HISTORY_LEVELS_AN_ENTRY < history.levelCount
    return isNear ? this.#changesAlone(version) : history.changesSince(version)
  }

  /** `changesSince` for a single request, from the journal. */
  #changesAlone(version: number): LevelChange[] | 'too-old' {
    const amounts = this.#journal.amountsAt(version)
    if (amounts === 'too-old') return 'too-old'
    const changes: LevelChange[] = []
    for (const side of [BID, ASK] as const) {
      // Plain numbers sort natively: sorting levels with a comparison function took half as long again in total.
      const prices = Float64Array.from(amounts[side].keys()).sort()
      if (side === BID) prices.reverse()
      for (const price of prices) {
        const amount = this.amount(side, price)
        if (amount !== amounts[side].get(price)) changes.push({ side, price, amount })
      }
    }
    return changes
  }

  /**
   * The result of `changesSince` in any order, each level also with its earlier amount: for sums that are updated in
   * both directions.
   */
  differencesSince(version: number): AppliedChange[] | 'too-old' {
    const amounts = this.#journal.amountsAt(version)
    if (amounts === 'too-old') return 'too-old'
    const differences: AppliedChange[] = []
    for (const side of [BID, ASK] as const) {
      for (const [price, before] of amounts[side]) {
        const after = this.amount(side, price)
        if (before !== after) differences.push({ side, price, before, after })
      }
    }
    return differences
  }

  /**
   * The exact difference between another view of the same book at an earlier `version` and this view now, as
   * `changesSince`. `too-old` also when the other view no longer follows the book.
   */
  changesFrom(other: View, version: number): LevelChange[] | 'too-old' {
    const befores = other.version === this.version ? other.#journal.amountsAt(version) : 'too-old'
    if (befores === 'too-old') return 'too-old'
    const changes: LevelChange[] = []
    for (const side of [BID, ASK] as const) {
      const levels = this.#book.side(side)
      const prices = new Set(befores[side].keys())
      // Levels that are inside both views differ only where the journal has them.
      const [own, others] = [this.levelCount(side), other.levelCount(side)]
      for (let rank = Math.min(own, others); rank < Math.max(own, others); rank++) prices.add(levels.priceAt(rank))
      const sorted = Float64Array.from(prices).sort()
      if (side === BID) sorted.reverse()
      for (const price of sorted) {
        const before = befores[side].get(price) ?? other.amount(side, price)
        const amount = this.amount(side, price)
        if (amount !== before) changes.push({ side, price, amount })
      }
    }
    return changes
  }

  /** How many versions after `version` changed the view; `too-old` when the journal does not reach back that far. */
  commitsSince(version: number): number | 'too-old' {
    return this.#journal.commitsSince(version)
  }

  /** The number of levels on a side in the current view. */
  levelCount(side: Side): number {
    const size = this.#book.side(side).size
    return this.depth === 0 ? size : Math.min(this.depth, size)
  }

  /** The current levels in book order, at most the best `countMax` per side. */
  levels(countMax = Number.POSITIVE_INFINITY): LevelChange[] {
    const all: LevelChange[] = []
    for (const side of [BID, ASK] as const) {
      const levels = this.#book.side(side)
      const count = Math.min(this.levelCount(side), countMax)
      for (let rank = 0; rank < count; rank++) {
        all.push({ side, price: levels.priceAt(rank), amount: levels.amountAt(rank) })
      }
    }
    return all
  }

  /**
   * Up to `countMax` current levels on one side, starting at the first one worse than `price` (undefined: at the best).
   */
  levelsAfter(side: Side, price: number | undefined, countMax: number): LevelChange[] {
    return levelsAfter(this.#book, this.depth, side, price, countMax)
  }

  /** The amount at a price; 0 when there is no level or it is outside the depth. */
  amount(side: Side, price: number): Scaled {
    return isWithin(side, price, this.#edges[side]) ? this.#book.side(side).amount(price) : 0
  }

  #forgetHistory(): void {
    this.#isAsked = false
    this.#history = undefined
  }

  /** The worst price inside the view, or infinity while the side is not cut. */
  #edgeNow(side: Side): number {
    const levels = this.#book.side(side)
    if (this.depth > 0 && levels.size > this.depth) return levels.priceAt(this.depth - 1)
    return side === BID ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  }

  /** Applies the changes on one side from index `start`. Returns the index after them. */
  #advanceSide(side: Side, applied: readonly AppliedChange[], start: number, changes: LevelChange[]): number {
    const levels = this.#book.side(side)
    const edgeBefore = this.#edges[side]
    const edge = this.#edgeNow(side)
    this.#edges[side] = edge
    // Besides changed levels, only levels that crossed the edge lie between the old edge and the new one. They entered
    // when the edge moved outward, otherwise they left. There are never more than the changes that caused it.
    const entering = isWithin(side, edgeBefore, edge)
    let rank = edge === edgeBefore ? 0 : rankAfter(levels, entering ? edgeBefore : edge)
    const rankEnd = edge === edgeBefore ? 0 : rankAfter(levels, entering ? edge : edgeBefore)
    let index = start
    for (; index < applied.length && applied[index]!.side === side; index++) {
      const { price, before, after } = applied[index]!
      for (; rank < rankEnd && isWithin(side, levels.priceAt(rank), price); rank++) {
        if (levels.priceAt(rank) !== price) this.#cross(changes, side, rank, entering)
      }
      const had = isWithin(side, price, edgeBefore) ? before : 0
      const has = isWithin(side, price, edge) ? after : 0
      this.#change(changes, side, price, had, has)
    }
    for (; rank < rankEnd; rank++) this.#cross(changes, side, rank, entering)
    return index
  }

  /** Records an unchanged level that entered or left. */
  #cross(changes: LevelChange[], side: Side, rank: number, entering: boolean): void {
    const levels = this.#book.side(side)
    const amount = levels.amountAt(rank)
    this.#change(changes, side, levels.priceAt(rank), entering ? 0 : amount, entering ? amount : 0)
  }

  #change(changes: LevelChange[], side: Side, price: number, before: Scaled, amount: Scaled): void {
    if (before === amount) return
    this.#journal.record(side, price, before)
    changes.push({ side, price, amount })
  }
}

/** The result of `View.levelsAfter` for a view of `depth` (0 = all) levels in that book, without creating one. */
export function levelsAfter(
  book: Book,
  depth: number,
  side: Side,
  price: number | undefined,
  countMax: number,
): LevelChange[] {
  const levels = book.side(side)
  const first = price === undefined ? 0 : rankAfter(levels, price)
  const size = depth === 0 ? levels.size : Math.min(depth, levels.size)
  const found: LevelChange[] = []
  for (let rank = first; rank < Math.min(size, first + countMax); rank++) {
    found.push({ side, price: levels.priceAt(rank), amount: levels.amountAt(rank) })
  }
  return found
}

/** Whether a price is at least as good as another one on its side. */
function isWithin(side: Side, price: number, edge: number): boolean {
  return side === BID ? price >= edge : price <= edge
}

/** The rank of the first level that is strictly worse than `edge`. */
function rankAfter(levels: Levels, edge: number): number {
  return levels.rankOf(edge) + (levels.amount(edge) === 0 ? 0 : 1)
}

interface TouchedLevel {
  /** The current level. It is the same object in every answer. */
  readonly now: LevelChange
  /** The versions that changed it, latest first, and its amount before each. */
  readonly versions: number[]
  readonly befores: Scaled[]
}

/** Each view's changes, by depth. */
export type ChangesByDepth = ReadonlyMap<number, readonly LevelChange[]>

const NO_CHANGES: ChangesByDepth = new Map()

/** One book's views with subscribers, by depth. Each follows the book from its opening to its closing. */
export class OpenViews {
  readonly #book: Book
  readonly #views = new Map<number, View>()

  constructor(book: Book) {
    this.#book = book
  }

  get size(): number {
    return this.#views.size
  }

  /**
   * Opens the view of `depth` levels per side (0 = all) at a version, unless it is open.
   * @param bookVersion the version that the book is from
   */
  open(depth: number, version: number, bookVersion = version): View {
    let view = this.#views.get(depth)
    if (view === undefined) {
      view = new View(this.#book, depth)
      view.reset(bookVersion)
      if (version > bookVersion) view.advance(version, [])
      this.#views.set(depth, view)
    }
    return view
  }

  close(depth: number): void {
    this.#views.delete(depth)
  }

  /** Moves the views to a version by the book's changes (undefined when it was replaced). */
  move(version: number, applied: readonly AppliedChange[] | undefined): ChangesByDepth {
    if (this.#views.size === 0) return NO_CHANGES
    const changesByDepth = new Map<number, readonly LevelChange[]>()
    for (const [depth, view] of this.#views) changesByDepth.set(depth, view.move(version, applied))
    return changesByDepth
  }
}

/**
 * Earlier versions of a view, level by level. It is built from the journal when several differences to the same current
 * version are requested. So the reads, the sorting and the current amounts are computed once for all of them. It is
 * valid for the view's current version and discarded with the next one. It holds only the journal entries needed so
 * far, and reads on for an older version.
 */
class History {
  readonly #journal: Journal
  readonly #amountNow: (side: Side, price: number) => Scaled
  /** In book order. */
  readonly #levels: TouchedLevel[] = []
  readonly #byPrice = [new Map<number, TouchedLevel>(), new Map<number, TouchedLevel>()] as const
  #entriesRead = 0

  /** @param amountNow the current amount at a price; 0 when there is no level */
  constructor(journal: Journal, amountNow: (side: Side, price: number) => Scaled) {
    this.#journal = journal
    this.#amountNow = amountNow
  }

  /** How many levels every answer examines. */
  get levelCount(): number {
    return this.#levels.length
  }

  /** The result of `View.changesSince`. A level is the same object in every answer. */
  changesSince(version: number): LevelChange[] | 'too-old' {
    if (!this.#readBackTo(version)) return 'too-old'
    const changes: LevelChange[] = []
    for (const { now, versions, befores } of this.#levels) {
      const later = countLater(versions, version)
      if (later > 0 && befores[later - 1] !== now.amount) changes.push(now)
    }
    return changes
  }

  #readBackTo(version: number): boolean {
    const levels = this.#levels
    const { length } = levels
    const entries = this.#journal.readBack(version, this.#entriesRead, (side, price, before, entryVersion) => {
      let level = this.#byPrice[side].get(price)
      if (level === undefined) {
        level = { now: { side, price, amount: this.#amountNow(side, price) }, versions: [], befores: [] }
        this.#byPrice[side].set(price, level)
        levels.push(level)
      }
      level.versions.push(entryVersion)
      level.befores.push(before)
    })
    if (entries === 'too-old') return false
    this.#entriesRead = Math.max(this.#entriesRead, entries)
    if (levels.length > length) levels.sort((left, right) => compareLevels(left.now, right.now))
    return true
  }
}

/** How many of these versions, latest first, are later than `version`. */
function countLater(versions: readonly number[], version: number): number {
  let low = 0
  let high = versions.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (versions[middle]! > version) low = middle + 1
    else high = middle
  }
  return low
}

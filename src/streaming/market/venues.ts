/**
 * Which venue has how much of each level of a book: what a book is followed with where its levels are attributed. It keeps
 * no level of a market with one venue. `MergedAttribution` joins what several messages report before one commit. Pure.
 */
import type { Scaled } from '../../platform/base/decimal.ts'
import { Book, levelsOf } from './book.ts'
import {
  type AppliedChange,
  ASK,
  type Attribution,
  BID,
  type LevelChange,
  type LevelVenues,
  type Side,
  type VenueShare,
} from './event.ts'
import { type ChangesByDepth, OpenViews, type View } from './view.ts'

type LevelKey = Pick<LevelVenues, 'side' | 'price'>

type SharesBySide = readonly [Map<number, readonly VenueShare[]>, Map<number, readonly VenueShare[]>]

const NO_SHARES: readonly VenueShare[] = []

export class LevelShares {
  readonly #sides: SharesBySide = [new Map(), new Map()]
  /** The one venue of every level. */
  #only: string | undefined

  /** The shares of a level with this amount; none while they are not known. */
  of(side: Side, price: number, amount: Scaled): readonly VenueShare[] {
    if (this.#only !== undefined) return [[this.#only, amount]]
    return this.#sides[side].get(price) ?? NO_SHARES
  }

  /** Follows a report. Returns the levels whose shares it changed; `every` when the market has one venue now, or had one. */
  follow(attribution: Attribution): readonly LevelKey[] | 'every' {
    const onlyBefore = this.#only
    if (attribution.type === 'only') {
      this.#only = attribution.venue
      for (const side of this.#sides) side.clear()
      return onlyBefore === this.#only ? [] : 'every'
    }
    this.#only = undefined
    const removed = attribution.type === 'all' ? this.#removeOthers(attribution.levels) : []
    const changed = this.set(attribution.levels)
    return onlyBefore === undefined ? [...removed, ...changed] : 'every'
  }

  /** Sets the shares of some levels; returns those that differ from before, each once. */
  set(levels: readonly LevelVenues[]): LevelVenues[] {
    return levels.filter(({ side, price, venues }) => {
      const shares = this.#sides[side]
      if (isSame(shares.get(price) ?? NO_SHARES, venues)) return false
      if (venues.length === 0) shares.delete(price)
      else shares.set(price, venues)
      return true
    })
  }

  /** Everything that is known, for a follower that knows nothing; undefined when nothing is. */
  whole(): Attribution | undefined {
    if (this.#only !== undefined) return { type: 'only', venue: this.#only }
    const levels = listOf(this.#sides)
    return levels.length === 0 ? undefined : { type: 'all', levels }
  }

  /** Removes the levels that are not among these, and returns them. */
  #removeOthers(levels: readonly LevelVenues[]): LevelKey[] {
    const kept: readonly [Set<number>, Set<number>] = [new Set(), new Set()]
    for (const { side, price } of levels) kept[side].add(price)
    const removed: LevelKey[] = []
    for (const side of [BID, ASK] as const) {
      for (const price of this.#sides[side].keys()) {
        if (kept[side].has(price)) continue
        this.#sides[side].delete(price)
        removed.push({ side, price })
      }
    }
    return removed
  }
}

/** One report that says what several said one after the other. */
export class MergedAttribution {
  /** The report, until there is a second one. */
  #single: Attribution | undefined
  /** Of several: that of the first, and the last shares of each level. */
  #type: 'all' | 'some' | undefined
  readonly #sides: SharesBySide = [new Map(), new Map()]

  add(attribution: Attribution): void {
    const first = this.#single
    if (attribution.type !== 'some' || (first === undefined && this.#type === undefined)) {
      this.#clear()
      this.#single = attribution
      return
    }
    // A market with one venue reports no levels until a snapshot of several venues.
    if (first?.type === 'only') return
    this.#single = undefined
    if (first !== undefined) {
      this.#type = first.type
      this.#note(first.levels)
    }
    this.#note(attribution.levels)
  }

  /** The report, which is then empty; undefined when there was none. */
  take(): Attribution | undefined {
    const type = this.#type
    const merged = type === undefined ? this.#single : { type, levels: listOf(this.#sides) }
    this.#clear()
    return merged
  }

  #note(levels: readonly LevelVenues[]): void {
    for (const { side, price, venues } of levels) this.#sides[side].set(price, venues)
  }

  #clear(): void {
    this.#single = undefined
    this.#type = undefined
    for (const side of this.#sides) side.clear()
  }
}

/** A level with what each venue has of it; a removed one has none. */
export interface AttributedLevel extends LevelChange {
  readonly venues?: readonly VenueShare[]
}

/** Of a book whose venues are not known, or that has no levels. */
export const NOT_ATTRIBUTED: Attribution = { type: 'all', levels: [] }

/**
 * The views of a market whose levels name their venues. A level changes there when its amount changes or the division of
 * its amount between venues, so they are views of a book of their own: in place of its amount each level has the version
 * that last changed either. A difference between two versions may therefore contain a level that changed and changed back.
 * While no such view is open, only the shares are kept.
 */
export class AttributedViews {
  /** The full book of the market. */
  readonly #book: Book
  readonly #shares = new LevelShares()
  /** Empty while no view is open. */
  readonly #versions = new Book()
  readonly #views = new OpenViews(this.#versions)

  constructor(book: Book) {
    this.#book = book
  }

  /** What is known of the shares; undefined when nothing is. */
  get attribution(): Attribution | undefined {
    return this.#shares.whole()
  }

  /** Opens the view of `depth` levels per side (0 = all) at the current version, unless it is open. */
  open(depth: number, version: number): View {
    if (this.#views.size === 0) this.#versions.replace(this.#allAt(version))
    return this.#views.open(depth, version)
  }

  close(depth: number): void {
    this.#views.close(depth)
    if (this.#views.size === 0) this.#versions.replace([])
  }

  /** The current level that a view names; a removed one, with amount 0, stays as it is. */
  levelOf(level: LevelChange): AttributedLevel {
    if (level.amount === 0) return level
    const { side, price } = level
    const amount = this.#book.side(side).amount(price)
    return { side, price, amount, venues: this.#shares.of(side, price, amount) }
  }

  /**
   * Moves the views to a version.
   * @param applied how the book of the market changed; undefined when it was replaced
   */
  move(
    version: number,
    applied: readonly AppliedChange[] | undefined,
    attribution: Attribution | undefined,
  ): ChangesByDepth {
    const changed = attribution === undefined ? [] : this.#shares.follow(attribution)
    if (this.#views.size === 0) return this.#views.move(version, undefined)
    if (applied === undefined) {
      this.#versions.replace(this.#allAt(version))
      return this.#views.move(version, undefined)
    }
    const levels = changed === 'every' ? [...applied, ...levelsOf(this.#book)] : [...applied, ...changed]
    return this.#views.move(version, this.#versions.apply(levels.map((level) => this.#at(level, version))))
  }

  #allAt(version: number): LevelChange[] {
    return levelsOf(this.#book).map((level) => this.#at(level, version))
  }

  #at({ side, price }: LevelKey, version: number): LevelChange {
    return { side, price, amount: this.#book.side(side).amount(price) === 0 ? 0 : version }
  }
}

/** Whether two lists of shares are equal; the venues of a market have one order. */
function isSame(left: readonly VenueShare[], right: readonly VenueShare[]): boolean {
  return (
    left.length === right.length &&
    left.every(([venue, amount], index) => venue === right[index]![0] && amount === right[index]![1])
  )
}

function listOf(sides: SharesBySide): LevelVenues[] {
  return ([BID, ASK] as const).flatMap((side) =>
    Array.from(sides[side], ([price, venues]): LevelVenues => ({ side, price, venues })),
  )
}

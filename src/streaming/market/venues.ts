/**
 * Each venue's share in each level of a book. A book whose levels are attributed follows these reports. For a market
 * with one venue no levels are stored. `MergedAttribution` joins several reports before one commit. Pure.
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
  /** The one venue that has every level. */
  #only: string | undefined

  /** The shares in a level with this amount. None while they are not known. */
  of(side: Side, price: number, amount: Scaled): readonly VenueShare[] {
    if (this.#only !== undefined) return [[this.#only, amount]]
    return this.#sides[side].get(price) ?? NO_SHARES
  }

  /**
   * Follows a report. Returns the levels whose shares it changed; `every` when the market has one venue now, or had
   * one.
   */
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

  /** Sets some levels' shares. Returns the levels whose shares differ from before, each once. */
  set(levels: readonly LevelVenues[]): LevelVenues[] {
    return levels.filter(({ side, price, venues }) => {
      const shares = this.#sides[side]
      if (isSame(shares.get(price) ?? NO_SHARES, venues)) return false
      if (venues.length === 0) shares.delete(price)
      else shares.set(price, venues)
      return true
    })
  }

  /** Everything known, for a follower that knows nothing. Undefined when nothing is known. */
  whole(): Attribution | undefined {
    if (this.#only !== undefined) return { type: 'only', venue: this.#only }
    const levels = listOf(this.#sides)
    return levels.length === 0 ? undefined : { type: 'all', levels }
  }

  /** Removes all other levels, and returns them. */
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

/** Merges successive reports into one. */
export class MergedAttribution {
  /** The report, until there is a second one. */
  #single: Attribution | undefined
  /** For several reports: the first one's type, and each level's last shares. */
  #type: 'all' | 'some' | undefined
  readonly #sides: SharesBySide = [new Map(), new Map()]

  add(attribution: Attribution): void {
    const first = this.#single
    if (attribution.type !== 'some' || (first === undefined && this.#type === undefined)) {
      this.#clear()
      this.#single = attribution
      return
    }
    // A market with one venue reports no levels until a snapshot from several venues.
    if (first?.type === 'only') return
    this.#single = undefined
    if (first !== undefined) {
      this.#type = first.type
      this.#note(first.levels)
    }
    this.#note(attribution.levels)
  }

  /** The report. Undefined when there is none. Afterwards this object is empty. */
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
    if (this.#type === undefined) return
    this.#type = undefined
    for (const side of this.#sides) side.clear()
  }
}

/** A level with each venue's share. A removed level has none. */
export interface AttributedLevel extends LevelChange {
  readonly venues?: readonly VenueShare[]
}

/** For a book with unknown venues, or without levels. */
export const NOT_ATTRIBUTED: Attribution = { type: 'all', levels: [] }

/**
 * A market's views whose levels name their venues. Such a level changes with its amount, and with the amount's division
 * between venues. So these views belong to a separate book, in which each level has the version that last changed
 * either in place of its amount. A difference between two versions may therefore contain a level that changed and
 * changed back. While no such view is open, only the shares are kept.
 */
export class AttributedViews {
  /** The market's full book. */
  readonly #book: Book
  /** Created with the first commit. */
  #created: { readonly shares: LevelShares; readonly versions: Book; readonly views: OpenViews } | undefined

  constructor(book: Book) {
    this.#book = book
  }

  /** `versions` is empty while no view is open. */
  get #parts() {
    if (this.#created === undefined) {
      const versions = new Book()
      this.#created = { shares: new LevelShares(), versions, views: new OpenViews(versions) }
    }
    return this.#created
  }

  /** The known shares. Undefined when none are known. */
  get attribution(): Attribution | undefined {
    return this.#parts.shares.whole()
  }

  /** Opens a view at the current version, as `OpenViews.open` does. */
  open(depth: number, version: number, bookVersion = version): View {
    if (this.#parts.views.size === 0) this.#parts.versions.replace(this.#allAt(bookVersion))
    return this.#parts.views.open(depth, version, bookVersion)
  }

  close(depth: number): void {
    this.#parts.views.close(depth)
    if (this.#parts.views.size === 0) this.#parts.versions.replace([])
  }

  /** The current level for a view's entry. A removed one, with amount 0, is returned unchanged. */
  levelOf(level: LevelChange): AttributedLevel {
    if (level.amount === 0) return level
    const { side, price } = level
    const amount = this.#book.side(side).amount(price)
    return { side, price, amount, venues: this.#parts.shares.of(side, price, amount) }
  }

  /**
   * Moves the views to a version.
   * @param applied the changes to the market's book. Undefined when it was replaced
   */
  move(
    version: number,
    applied: readonly AppliedChange[] | undefined,
    attribution: Attribution | undefined,
  ): ChangesByDepth {
    const changed = attribution === undefined ? [] : this.#parts.shares.follow(attribution)
    if (this.#parts.views.size === 0) return this.#parts.views.move(version, undefined)
    if (applied === undefined) {
      this.#parts.versions.replace(this.#allAt(version))
      return this.#parts.views.move(version, undefined)
    }
    const levels = changed === 'every' ? [...applied, ...levelsOf(this.#book)] : [...applied, ...changed]
    return this.#parts.views.move(version, this.#parts.versions.apply(levels.map((level) => this.#at(level, version))))
  }

  #allAt(version: number): LevelChange[] {
    return levelsOf(this.#book).map((level) => this.#at(level, version))
  }

  #at({ side, price }: LevelKey, version: number): LevelChange {
    return { side, price, amount: this.#book.side(side).amount(price) === 0 ? 0 : version }
  }
}

/** Whether two lists of shares are equal. A market's venues always have the same order. */
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

/**
 * The views of a market whose levels name their venues. A level changes there when its amount changes or the division of
 * its amount between venues, so they are views of a book of their own: in place of its amount each level has the version
 * that last changed either. A difference between two versions may therefore contain a level that changed and changed back.
 * While no such view is open, only the shares are kept.
 */
import { Book, levelsOf } from '../market/book.ts'
import type { AppliedChange, Attribution, LevelChange, LevelVenues, VenueShare } from '../market/event.ts'
import { LevelShares } from '../market/venues.ts'
import type { View } from '../market/view.ts'
import { type ChangesByDepth, OpenViews } from './open-views.ts'

/** A level with what each venue has of it; a removed one has none. */
export interface AttributedLevel extends LevelChange {
  readonly venues?: readonly VenueShare[]
}

type LevelKey = Pick<LevelVenues, 'side' | 'price'>

/** Of a book whose venues are not known, or that has no levels. */
export const NOT_ATTRIBUTED: Attribution = { type: 'all', levels: [] }

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

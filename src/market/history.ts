/**
 * Earlier versions of a view, level by level. It is built from the journal when several subscribers need differences
 * between the same two commits, so that reading the journal, sorting and the current amounts are computed once for all
 * of them. It is valid for the current version of the view and discarded with the next one. It holds as much of the
 * journal as was needed so far, and reads on for an older version.
 */
import type { Scaled } from '../base/decimal.ts'
import { compareLevels } from './book.ts'
import type { LevelChange, Side } from './event.ts'
import type { Journal } from './journal.ts'

interface TouchedLevel {
  /** The current level; the same object in every answer. */
  readonly now: LevelChange
  /** The versions that changed it, latest first, and its amount before each. */
  readonly versions: number[]
  readonly befores: Scaled[]
}

export class History {
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

  /** Number of levels that every answer examines. */
  get levelCount(): number {
    return this.#levels.length
  }

  /** The result of `View.changesSince`. The same level is the same object in every answer. */
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

/** Number of these versions, latest first, that are later than `version`. */
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

/**
 * What a replica remembers of its market's versions: those that it was never at, and those at which the top of the book
 * changed.
 */
import { isSameTop, type TopOfBook } from './frame.ts'

/** Ranges kept. Each is a repair; with one a minute, those of the last hour are kept. */
const RANGES_KEPT = 64

interface Range {
  /** The versions between these two, without them. */
  readonly after: number
  readonly before: number
}

/**
 * The versions that a state of the bus skipped: no cursor of them can be resumed. It keeps the newest ranges. Every version up
 * to the last range that it dropped counts as skipped.
 */
export class SkippedVersions {
  readonly #ranges: Range[] = []
  /** Every version below it counts as skipped. */
  #oldest = 0

  /** Notes that the replica went from one version to another, later ranges after earlier ones. */
  add(after: number, before: number): void {
    if (before <= after + 1) return
    this.#ranges.push({ after, before })
    if (this.#ranges.length > RANGES_KEPT) this.#oldest = (this.#ranges.shift() as Range).before
  }

  has(version: number): boolean {
    return version < this.#oldest || this.#ranges.some(({ after, before }) => version > after && version < before)
  }
}

/** Changes of the top whose versions are remembered. */
const TOPS_KEPT = 4_096

/** The top of the book, and at which versions it last changed. */
export class TopChanges {
  #top: TopOfBook = { bid: undefined, ask: undefined }
  #number = 0
  /** A ring: the version that made the top of number n is at n modulo the size. */
  readonly #versions = new Float64Array(TOPS_KEPT)

  get top(): TopOfBook {
    return this.#top
  }

  /** Number of changes so far: equal numbers mean that the top did not change in between. */
  get number(): number {
    return this.#number
  }

  /** Version of the last commit that changed the top; 0 before the first. */
  get version(): number {
    return this.#versions[this.#number % TOPS_KEPT] as number
  }

  /** How often the top changed after a version; 'too-old' when that is no longer known. */
  since(version: number): number | 'too-old' {
    const oldest = Math.max(0, this.#number - TOPS_KEPT + 1)
    for (let number = this.#number; number >= oldest; number--) {
      if ((this.#versions[number % TOPS_KEPT] as number) <= version) return this.#number - number
    }
    return 'too-old'
  }

  /**
   * Returns whether it changed.
   * @param isNew the top counts as changed, because its cursor has to be of the new epoch
   */
  move(top: TopOfBook, version: number, isNew: boolean): boolean {
    if (isSameTop(top, this.#top) && !isNew) return false
    this.#top = top
    this.#number += 1
    this.#versions[this.#number % TOPS_KEPT] = version
    return true
  }
}

/**
 * A market's versions that a replica never had, because a bus state skipped them: their cursors cannot be resumed. It
 * keeps the newest ranges. Every version up to the last dropped range counts as skipped.
 */

/** Ranges kept. Each is a repair: with one a minute, the last hour's ranges are kept. */
const RANGES_KEPT = 64

interface Range {
  /** The versions between these two, without them. */
  readonly after: number
  readonly before: number
}

export class SkippedVersions {
  readonly #ranges: Range[] = []
  /** Every version below it counts as skipped. */
  #oldest = 0

  /** Notes that the replica went from one version to another. Later ranges follow earlier ones. */
  add(after: number, before: number): void {
    if (before <= after + 1) return
    this.#ranges.push({ after, before })
    if (this.#ranges.length > RANGES_KEPT) this.#oldest = (this.#ranges.shift() as Range).before
  }

  has(version: number): boolean {
    return version < this.#oldest || this.#ranges.some(({ after, before }) => version > after && version < before)
  }
}

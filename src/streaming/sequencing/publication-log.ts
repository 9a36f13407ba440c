/**
 * A market's numbers as a publication (docs/how-to/feeding-your-own-book.md): which `publication` message corresponds
 * to a book version, and the book's origin. A market fed by a publication passes on its source's position, so that all
 * nodes in a chain of relays name the same origin for the same book.
 *
 * Message numbers follow from versions, counted within the epoch: the message for the complete book at version v has the
 * number 4v, and a message with executions only, up to version v, has the number 4v - 3. A version without anything to
 * publish has no message. Its book and executions are those of the last version with one, and have its numbers.
 */
import { Cursors, type Epoch, NO_EPOCH } from './cursor.ts'

/** Versions whose messages are remembered: a lagging or throttled session names an older one rarely. */
const VERSIONS_KEPT = 1_024

const NUMBERS_PER_VERSION = 4
/** Below every base: one is negative where an epoch was followed late. */
const NOT_KNOWN = Number.NEGATIVE_INFINITY

/** The ring before its first entry. */
const NONE = new Float64Array()

/** A position from which a relay resumes. */
export interface PublicationPosition {
  readonly seq: number
  /** Version of the last commit whose executions the relay has. */
  readonly version: number
  /** Whether the relay also has that version's book. */
  readonly hasBook: boolean
}

export class PublicationLog {
  readonly #cursors: Cursors
  #epoch = NO_EPOCH
  #version = 0
  #publishedVersion = 0
  /** The first version followed in the epoch, or after the last withdrawal not kept. Earlier ones are not known. */
  #firstVersion = 0
  /** Versions at which this process withdrew the book without its sequencer. They are not counted in the epoch. */
  #withdrawals: number[] = []
  /**
   * Rings: at a version modulo the size, the last version up to it with a message (NOT_KNOWN for a skipped version),
   * and its book's origin.
   */
  #publishedVersions = NONE
  readonly #origins: (string | undefined)[] = []

  constructor(market: string) {
    this.#cursors = new Cursors(market, 'publication', 0)
  }

  /**
   * `version` is the version of `epoch` in this process. `isPublished`: whether the commit or the state has a message.
   */
  append(origin: string | undefined, epoch: Epoch, version: number, isPublished: boolean): void {
    if (this.#publishedVersions === NONE) this.#publishedVersions = new Float64Array(VERSIONS_KEPT)
    if (epoch.id !== this.#epoch.id) {
      this.#publishedVersion = epoch.base
      this.#firstVersion = version
      this.#withdrawals = []
    } else if (epoch.base !== this.#epoch.base) {
      this.#withdrawals.push(version)
      if (this.#withdrawals.length > VERSIONS_KEPT) this.#firstVersion = (this.#withdrawals.shift() as number) + 1
    }
    this.#epoch = epoch
    const skipped = Math.max(this.#version + 1, version - VERSIONS_KEPT)
    for (let between = skipped; between < version; between++) {
      this.#publishedVersions[between % VERSIONS_KEPT] = NOT_KNOWN
      this.#origins[between % VERSIONS_KEPT] = undefined
    }
    this.#version = version
    if (isPublished) this.#publishedVersion = version
    this.#publishedVersions[version % VERSIONS_KEPT] = this.#publishedVersion
    this.#origins[version % VERSIONS_KEPT] = origin
  }

  /**
   * Number of the message with a version's complete book. For a forgotten version, the number that its own message has
   * or would have.
   */
  seqAt(version: number): number {
    return NUMBERS_PER_VERSION * this.#placeOf(this.#publishedAt(version) ?? version)
  }

  /** Number of a message with executions only, up to a version: before that of the version's complete book. */
  executionSeq(version: number): number {
    const place = Math.max(this.#placeOf(this.#publishedAt(version) ?? version), 1)
    return NUMBERS_PER_VERSION * (place - 1) + 1
  }

  /** The origin of a version's book, `EPOCH.SEQ`. Undefined when no longer known. */
  originAt(version: number): string | undefined {
    const published = this.#publishedAt(version)
    if (published === undefined) return undefined
    return this.relayedOriginAt(version) ?? `${this.epochText}.${this.seqAt(published)}`
  }

  /** The origin of a version's book where another publication feeds the market. Undefined where none does. */
  relayedOriginAt(version: number): string | undefined {
    return this.#publishedAt(version) === undefined ? undefined : this.#origins[version % VERSIONS_KEPT]
  }

  /** The epoch's text in messages. */
  get epochText(): string {
    return this.#cursors.binding(this.#epoch)
  }

  /**
   * The position named by `EPOCH.SEQ`. Undefined for another epoch, a number without a message, or one before this
   * process followed the epoch: its version is also one of the epoch before.
   */
  resumable(text: string): PublicationPosition | undefined {
    const { id, base } = this.#epoch
    const seq = this.#cursors.position({ id, base: 0 }, text)
    if (seq === undefined || seq === 0) return undefined
    let version = base - this.#withdrawals.length + Math.ceil(seq / NUMBERS_PER_VERSION)
    for (const withdrawn of this.#withdrawals) if (version >= withdrawn) version += 1
    const kind = seq % NUMBERS_PER_VERSION
    if (version > this.#version || version < this.#firstVersion || kind > 1) return undefined
    return { seq, version, hasBook: kind === 0 }
  }

  /** A version as counted within the epoch, the same in every process. */
  #placeOf(version: number): number {
    let later = 0
    while ((this.#withdrawals.at(-1 - later) ?? Number.NEGATIVE_INFINITY) > version) later += 1
    return version - this.#epoch.base + later
  }

  #publishedAt(version: number): number | undefined {
    const oldest = Math.max(this.#firstVersion, this.#version - VERSIONS_KEPT + 1)
    if (version > this.#version || version < oldest) return undefined
    const published = this.#publishedVersions[version % VERSIONS_KEPT] ?? 0
    return published >= this.#epoch.base ? published : undefined
  }
}

/**
 * The numbers of a market as a publication (docs/feeding-your-own-book.md): which message of the channel `publication` a
 * version of the book corresponds to, and the origin of that book. A market that is itself fed by a publication passes on
 * the position of its source, so that all nodes of a chain of relays name the same origin for the same book.
 *
 * Message numbers follow from versions: the message that completes the book of version v has the number 4v, and a
 * message with executions only, up to those of version v, has the number 4v - 3. A version without anything to publish
 * has no message; its book is that of the last version that has one.
 */
import type { Commit } from './bus.ts'
import { Cursors } from './cursor.ts'

/** Versions whose messages are remembered: a lagging or throttled session names an older one rarely. */
const VERSIONS_KEPT = 1_024

const NUMBERS_PER_VERSION = 4

/** A position that a relay resumes from. */
export interface PublicationPosition {
  readonly seq: number
  /** Version of the last commit whose executions the relay has. */
  readonly version: number
  /** Whether the relay also has the book of that version. */
  readonly hasBook: boolean
}

export class PublicationLog {
  readonly #cursors: Cursors
  #epoch = ''
  #version = 0
  #publishedVersion = 0
  /** Rings: at a version modulo the size, the last version up to it with a message, and the origin of its book. */
  readonly #publishedVersions = new Float64Array(VERSIONS_KEPT)
  readonly #origins: (string | undefined)[] = []

  constructor(market: string) {
    this.#cursors = new Cursors(market, 'publication', 0)
  }

  /** `isPublished`: whether the commit has a message. */
  append({ epoch, version, origin }: Commit, isPublished: boolean): void {
    this.#epoch = epoch
    this.#version = version
    if (isPublished) this.#publishedVersion = version
    this.#publishedVersions[version % VERSIONS_KEPT] = this.#publishedVersion
    this.#origins[version % VERSIONS_KEPT] = origin
  }

  /**
   * Number of the message that completes the book of a version. Of a version that is not remembered, the number that its
   * own message has or would have.
   */
  seqAt(version: number): number {
    return NUMBERS_PER_VERSION * (this.#publishedAt(version) ?? version)
  }

  /** Number of a message with executions only, up to those of a version. */
  executionSeq(version: number): number {
    return NUMBERS_PER_VERSION * (version - 1) + 1
  }

  /** The origin of the book of a version, `EPOCH.SEQ`; undefined when it is no longer known. */
  originAt(version: number): string | undefined {
    const published = this.#publishedAt(version)
    if (published === undefined) return undefined
    return this.relayedOriginAt(version) ?? this.#cursors.token(this.#epoch, NUMBERS_PER_VERSION * published)
  }

  /** The origin of the book of a version where another publication feeds the market; undefined where none does. */
  relayedOriginAt(version: number): string | undefined {
    return this.#publishedAt(version) === undefined ? undefined : this.#origins[version % VERSIONS_KEPT]
  }

  /** The text that stands for the epoch in messages. */
  get epochText(): string {
    return this.#cursors.binding(this.#epoch)
  }

  /** The position that `EPOCH.SEQ` names; undefined for another epoch, or a number that no message has. */
  resumable(text: string): PublicationPosition | undefined {
    const seq = this.#cursors.position(this.#epoch, text)
    if (seq === undefined || seq === 0) return undefined
    const version = Math.ceil(seq / NUMBERS_PER_VERSION)
    const kind = seq % NUMBERS_PER_VERSION
    if (version > this.#version || kind > 1) return undefined
    return { seq, version, hasBook: kind === 0 }
  }

  #publishedAt(version: number): number | undefined {
    if (version > this.#version || version <= this.#version - VERSIONS_KEPT) return undefined
    return this.#publishedVersions[version % VERSIONS_KEPT]
  }
}

/**
 * One view's UPDATEs that conflate several commits, or lead from another view to this one. Each is encoded once for all
 * subscribers that hold the same book, until the next version.
 */
import type { Instant } from '../../platform/base/clock.ts'
import { ASK, BID, type LevelChange } from '../market/event.ts'
import type { View } from '../market/view.ts'
import { BASE, type Encoding, extendedText, type Message, type StreamMember, textMessage, updateText } from './frame.ts'
import type { Replica } from './replica.ts'

/** Enough for a thousand subscribers whose sockets drain at once. */
const UPDATES_KEPT = 2_048

/** The largest difference in levels per side for which no SNAPSHOT is sent. */
const DEPTH_DIFFERENCE_MAX = 2_048

/** The difference to a version: none, one UPDATE, or the journal no longer reaches back far enough. */
export type Conflated = 'nothing' | 'too-old' | { readonly message: Message; readonly levelCount: number }

/** What a subscriber was sent last. */
export interface Earlier {
  readonly version: number
  /** The change version in its previous message: `version`, or an earlier one with the same levels. */
  readonly cursor: number
  /** Whether the view's last change is not late enough: the UPDATE then has the current time. */
  readonly isLate?: boolean
}

export interface ConflatedUpdatesOptions {
  readonly replica: Replica
  readonly view: View
  /** A changed level's text, as it is now. */
  readonly levelTextOf: (change: LevelChange) => string
  /** Commit time of the view's last change. */
  readonly changeInstant: () => Instant
  readonly streamOf: (changeVersion: number, prevCursor: number, covers: number) => StreamMember
}

export class ConflatedUpdates {
  readonly #options: ConflatedUpdatesOptions
  readonly #updates = new Map<number | string, Conflated>()
  /** Level texts in these updates, by the view's object, which all of them share. */
  readonly #levelTexts = new Map<LevelChange, string>()
  #version = 0

  constructor(options: ConflatedUpdatesOptions) {
    this.#options = options
  }

  /** The one UPDATE from an earlier version to the current one. One for one commit has this commit's time. */
  since(encoding: Encoding, earlier: Earlier): Conflated {
    const { version, cursor, isLate } = earlier
    const key = encoding === BASE ? version : `${version} ${cursor} ${isLate}`
    return this.#kept(key, () => {
      const changes = this.#options.view.changesSince(version)
      return changes === 'too-old' ? changes : { changes, encode: () => this.#update(encoding, changes, earlier) }
    })
  }

  /**
   * The one UPDATE from another view at an earlier version to this one now. `too-old` also where a SNAPSHOT is shorter.
   * @param prev the token in the subscriber's previous message
   */
  from(held: View, encoding: Encoding, { version, cursor }: Earlier, prev: string | undefined): Conflated {
    const { view, replica, streamOf } = this.#options
    return this.#kept(`${held.depth} ${encoding} ${version} ${cursor}`, () => {
      const differences = ([BID, ASK] as const).map((side) => view.levelCount(side) - held.levelCount(side))
      if (differences.some((levels) => Math.abs(levels) > DEPTH_DIFFERENCE_MAX)) return 'too-old'
      const changes = view.changesFrom(held, version)
      if (changes === 'too-old') return changes
      // It is no commit's message, so it covers none.
      const stream = { ...streamOf(view.changeVersion, cursor, 0), prev }
      return { changes, encode: () => this.#encoded(encoding, changes, replica.instant, stream) }
    })
  }

  /** The kept UPDATE for this key, or else the one made now. */
  #kept(
    key: number | string,
    make: () => 'too-old' | { readonly changes: readonly LevelChange[]; readonly encode: () => Message },
  ): Conflated {
    const { version } = this.#options.view
    if (this.#version !== version || this.#updates.size >= UPDATES_KEPT) {
      this.#updates.clear()
      this.#levelTexts.clear()
      this.#version = version
    }
    const known = this.#updates.get(key)
    if (known !== undefined) return known
    const made = make()
    let conflated: Conflated
    if (made === 'too-old') conflated = 'too-old'
    else if (made.changes.length === 0) conflated = 'nothing'
    else conflated = { message: made.encode(), levelCount: made.changes.length }
    this.#updates.set(key, conflated)
    return conflated
  }

  #update(encoding: Encoding, changes: readonly LevelChange[], { version, cursor, isLate }: Earlier): Message {
    const { view, replica, changeInstant, streamOf } = this.#options
    const { instant } = replica
    if (encoding === BASE) return this.#encoded(encoding, changes, instant, undefined)
    const counted = view.commitsSince(cursor)
    // The journal may no longer reach the cursor when nothing differed since: then only the commits after `version` count.
    const covers = counted === 'too-old' ? (view.commitsSince(version) as number) : counted
    const stream = streamOf(view.changeVersion, cursor, covers)
    return this.#encoded(encoding, changes, covers === 1 && isLate !== true ? changeInstant() : instant, stream)
  }

  #encoded(
    encoding: Encoding,
    changes: readonly LevelChange[],
    { milliseconds }: Instant,
    stream: StreamMember | undefined,
  ): Message {
    const { market } = this.#options.replica
    const text = updateText(market, milliseconds, changes, (change) => this.#levelText(change))
    return textMessage(encoding === BASE || stream === undefined ? text : extendedText(text, stream))
  }

  #levelText(change: LevelChange): string {
    let text = this.#levelTexts.get(change)
    if (text === undefined) {
      text = this.#options.levelTextOf(change)
      this.#levelTexts.set(change, text)
    }
    return text
  }
}

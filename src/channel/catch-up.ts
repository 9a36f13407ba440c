/**
 * What a reader of a market needs who is not current: a SNAPSHOT, or the one UPDATE that leads from the version it
 * holds to the version now. Both are encoded once and shared by all who need the same. A large snapshot is encoded in
 * slices, so that nobody else waits for it, and stays useful for later joiners as long as the UPDATE that completes it
 * is small. A book that is not sound is never encoded.
 */
import type { Clock } from '../base/clock.ts'
import { BID, type LevelChange } from '../market/event.ts'
import type { View } from '../market/view.ts'
import type { Cursors } from './cursor.ts'
import {
  bookText,
  completeMessage,
  extendedText,
  levelText,
  type Message,
  type MessageHead,
  messageHead,
  type StreamMember,
  streamTail,
  textMessage,
  topOfBookText,
  updateText,
} from './frame.ts'
import type { Replica } from './replica.ts'

/** Levels encoded in one go: about 3 ms, under the 5 ms that one piece of work may take from a turn. */
const SLICE_LEVELS = 4_096

/** Views up to this many levels are encoded anew for every version: that costs about a millisecond at most. */
const SMALL_VIEW_LEVELS = 2_048

/** A cached snapshot is given out while the UPDATE that completes it has at most this part of its levels. */
const COMPLETION_PART_MAX = 1 / 4

/** Merged updates kept for one version: enough for a thousand readers that wake up at once. */
const MERGED_UPDATES_KEPT = 2_048

/** Whole snapshots kept for one version that differ in the cursor of the message before. */
const SNAPSHOT_MESSAGES_KEPT = 16

export interface Snapshot {
  readonly version: number
  /** The last version that had changed the view by then: what the cursor of the message names. */
  readonly changeVersion: number
  /** The message for who has been sent none before. */
  readonly message: Message
}

/** A view on the extended wire, whose messages carry a `stream` member. */
export interface ExtendedTarget {
  readonly view: View
  readonly cursors: Cursors
}

interface ExtendedSnapshot extends Snapshot {
  readonly head: MessageHead
  readonly messages: Map<number, Message>
}

/** The difference to a version: nothing differs, one UPDATE, or the journal no longer reaches back so far. */
export type Merged = 'nothing' | 'too-old' | { readonly message: Message; readonly levelCount: number }

interface SnapshotJob {
  readonly version: number
  readonly changeVersion: number
  readonly milliseconds: number
  readonly levels: readonly LevelChange[]
  position: number
  bids: string[]
  asks: string[]
}

export class CatchUp {
  readonly #replica: Replica
  readonly #clock: Clock
  readonly #view: View
  readonly #extended: ExtendedTarget | undefined
  readonly #merged = new Map<number | string, Merged>()
  /** Entries of these updates: the view tells all who are behind of the same level by the same object. */
  readonly #levelTexts = new Map<LevelChange, string>()
  #mergedVersion = 0
  #snapshot: Snapshot | ExtendedSnapshot | undefined
  /** Version at which the cached snapshot was first asked for; 0 = not yet. */
  #firstAskedVersion = 0
  #job: SnapshotJob | undefined
  #top: { readonly topNumber: number; readonly version: number; readonly message: Message } | undefined

  /** Messages of the plain wire about the published view, or of the extended wire about any view of the replica. */
  constructor(replica: Replica, clock: Clock, extended?: ExtendedTarget) {
    this.#replica = replica
    this.#clock = clock
    this.#view = extended?.view ?? replica.view
    this.#extended = extended
  }

  /** True while a large snapshot is being encoded: `encode` wants to be called, once a turn. */
  get encoding(): boolean {
    return this.#job !== undefined
  }

  /** The current top of the book, stamped with the last commit. */
  top(): Message {
    const { market, top, topNumber, version, instant } = this.#replica
    if (this.#top?.topNumber !== topNumber || this.#top.version !== version) {
      this.#top = { topNumber, version, message: textMessage(topOfBookText(market, instant, top)) }
    }
    return this.#top.message
  }

  /**
   * The one UPDATE from `version` to now. On the extended wire `prevVersion` is the change version that the cursor of
   * the message before names: `version` itself, or an earlier one that nothing differs from.
   */
  merged(version: number, prevVersion = version): Merged {
    const view = this.#view
    if (this.#mergedVersion !== view.version || this.#merged.size >= MERGED_UPDATES_KEPT) {
      this.#merged.clear()
      this.#levelTexts.clear()
      this.#mergedVersion = view.version
    }
    const key = this.#extended === undefined || prevVersion === version ? version : `${version} ${prevVersion}`
    const known = this.#merged.get(key)
    if (known !== undefined) return known
    const changes = view.changesSince(version)
    let merged: Merged
    if (changes === 'too-old') merged = 'too-old'
    else if (changes.length === 0) merged = 'nothing'
    else merged = { message: this.#update(changes, version, prevVersion), levelCount: changes.length }
    this.#merged.set(key, merged)
    return merged
  }

  /**
   * A snapshot of a version later than `laterThan` that `merged` can complete; undefined while it is being encoded. It
   * is never one from before the market was last lost. The replica's version must be later than `laterThan`.
   */
  snapshot(laterThan: number): Snapshot | undefined {
    const { version, instant, liveVersion } = this.#replica
    const cached = this.#snapshot
    const isRecent = cached !== undefined && cached.version > laterThan && cached.version >= liveVersion
    if (isRecent && this.#isUseful(cached)) return cached
    if (this.#job !== undefined && this.#job.version >= liveVersion) return undefined
    const { changeVersion } = this.#view
    const levels = this.#view.levels()
    const { milliseconds } = instant
    this.#job = { version, changeVersion, milliseconds, levels, position: 0, bids: [], asks: [] }
    if (levels.length <= SLICE_LEVELS) this.encode(Number.POSITIVE_INFINITY)
    return this.#job === undefined ? this.#snapshot : undefined
  }

  /** Goes on encoding until the job is done or the monotonic clock passes `untilMilliseconds`. */
  encode(untilMilliseconds: number): void {
    const job = this.#job
    if (job === undefined) return
    do {
      const end = Math.min(job.position + SLICE_LEVELS, job.levels.length)
      for (; job.position < end; job.position++) {
        const level = job.levels[job.position] as LevelChange
        ;(level.side === BID ? job.bids : job.asks).push(levelText(this.#replica.market, level))
      }
    } while (job.position < job.levels.length && this.#clock.monotonicMilliseconds() < untilMilliseconds)
    if (job.position < job.levels.length) return
    const text = bookText(this.#replica.market, 'snapshot', job.milliseconds, job.bids.join(), job.asks.join())
    this.#snapshot = this.#finished(job, text)
    this.#firstAskedVersion = 0
    this.#job = undefined
  }

  /** On the extended wire: the snapshot for who was last sent a message that names `prevVersion` (0 = none). */
  snapshotAfter(snapshot: Snapshot, prevVersion: number): Message {
    if (prevVersion === 0 || !('head' in snapshot)) return snapshot.message
    const { head, messages, changeVersion } = snapshot as ExtendedSnapshot
    const known = messages.get(prevVersion)
    if (known !== undefined) return known
    if (messages.size >= SNAPSHOT_MESSAGES_KEPT) messages.clear()
    const message = completeMessage(head, this.#tail(changeVersion, prevVersion, 0))
    messages.set(prevVersion, message)
    return message
  }

  #finished({ version, changeVersion }: SnapshotJob, text: string): Snapshot | ExtendedSnapshot {
    if (this.#extended === undefined) return { version, changeVersion, message: textMessage(text) }
    const head = messageHead(text)
    const message = completeMessage(head, this.#tail(changeVersion, 0, 0))
    return { version, changeVersion, message, head, messages: new Map() }
  }

  #update(changes: readonly LevelChange[], version: number, prevVersion: number): Message {
    const { market, instant } = this.#replica
    const text = updateText(market, instant.milliseconds, changes, (change) => this.#levelText(change))
    if (this.#extended === undefined) return textMessage(text)
    const covers = this.#view.commitsSince(prevVersion)
    const stream = this.#stream(
      this.#view.changeVersion,
      prevVersion,
      // What the cursor before names may be forgotten when nothing differed since: then only what is known counts.
      covers === 'too-old' ? (this.#view.commitsSince(version) as number) : covers,
    )
    return textMessage(extendedText(text, stream))
  }

  #levelText(change: LevelChange): string {
    let text = this.#levelTexts.get(change)
    if (text === undefined) {
      text = levelText(this.#replica.market, change)
      this.#levelTexts.set(change, text)
    }
    return text
  }

  #tail(changeVersion: number, prevVersion: number, covers: number): string {
    return streamTail(this.#stream(changeVersion, prevVersion, covers))
  }

  #stream(changeVersion: number, prevVersion: number, covers: number): StreamMember {
    const { cursors } = this.#extended as ExtendedTarget
    const { epoch } = this.#replica
    const prev = prevVersion === 0 ? undefined : cursors.token(epoch, prevVersion)
    return { cursor: cursors.token(epoch, changeVersion), prev, covers }
  }

  #isUseful(snapshot: Snapshot): boolean {
    const view = this.#view
    const { version } = this.#replica
    if (this.#firstAskedVersion === 0) this.#firstAskedVersion = version
    if (snapshot.version === version) return true
    const levelCount = view.levelCount(0) + view.levelCount(1)
    if (levelCount <= SMALL_VIEW_LEVELS) return false
    const completion = this.merged(snapshot.version, snapshot.changeVersion)
    if (completion === 'too-old') return false
    if (completion === 'nothing' || completion.levelCount <= levelCount * COMPLETION_PART_MAX) return true
    // Those who waited for it get it all the same: a book that moves fast would else never be fresh enough.
    return this.#firstAskedVersion === version
  }
}

/**
 * One market view (a number of levels per side) as market_data messages in both encodings: each commit's UPDATE, the
 * conflated UPDATE from an earlier version to the current one, and SNAPSHOTs. Each is encoded once for all subscribers.
 * A large SNAPSHOT is encoded in slices, so that it delays no other work, and is reused for later subscribers as long
 * as the completing UPDATE is small. It never decides which session gets which message.
 */
import type { Clock, Instant } from '../../platform/base/clock.ts'
import { ViewDigest } from '../market/digest.ts'
import { ASK, BID, type LevelChange } from '../market/event.ts'
import type { AttributedLevel } from '../market/venues.ts'
import type { View } from '../market/view.ts'
import { type Conflated, ConflatedUpdates } from './conflated-updates.ts'
import { Cursors } from './cursor.ts'
import {
  attributedLevelText,
  BASE,
  bookStatusText,
  bookText,
  type EncodedFrame,
  type Encoding,
  EXTENDED,
  extendedMessage,
  extendedText,
  FRAGMENT_BYTES_MAX,
  levelText,
  type Message,
  type MessageHead,
  messageHead,
  newFrameCounts,
  type StreamMember,
  textFrame,
  textMessage,
  updateText,
} from './frame.ts'
import type { ReceiptSigner } from './receipt-signer.ts'
import type { Replica } from './replica.ts'
import { ViewReceipts } from './view-receipts.ts'

/** Levels encoded before the clock is read again: 4 ms before the code is compiled, 0.5 ms afterwards. */
const SLICE_LEVELS = 4_096

/** SNAPSHOTs with up to this many levels are re-encoded for every version: this takes well under a millisecond. */
const SMALL_VIEW_LEVELS = 2_048

/** An UPDATE with more levels never fits into one frame: the shortest entry has 26 characters. */
const FRAME_LEVELS_MAX = Math.floor(FRAGMENT_BYTES_MAX / 26)

/** A cached SNAPSHOT is used while the completing UPDATE has at most this share of its levels. */
const COMPLETION_PART_MAX = 1 / 4

/** Extended SNAPSHOTs cached per version, which differ in the previous message's cursor. */
const EXTENDED_SNAPSHOTS_KEPT = 16

/** Position or cursor of a subscription without any message yet. */
export const NONE = -1

export interface Snapshot {
  readonly version: number
  /** The last version by then with a change to the view, named by the message's cursor. */
  readonly changeVersion: number
  /** In the base encoding. */
  readonly message: Message
  /** In the extended encoding, by the previous message's cursor. Made from `head`. */
  readonly extended: Map<number, Message>
  head: MessageHead | undefined
}

/** A book's entry in a heartbeat. */
interface SentStatus {
  readonly text: string
  readonly cursor: string
  /** Undefined while the market is stale. */
  readonly digest: string | undefined
}

interface SnapshotJob {
  readonly version: number
  readonly changeVersion: number
  readonly milliseconds: number
  readonly levels: readonly AttributedLevel[]
  next: number
  bids: string[]
  asks: string[]
}

export interface ViewFeedOptions {
  readonly replica: Replica
  readonly view: View
  readonly clock: Clock
  /** Undefined: there are no receipts. */
  readonly signer?: ReceiptSigner | undefined
  /**
   * Present for a view whose levels name their venues: the view with the same depth without them. It has the same
   * digests, and has to follow the market as long as this one.
   */
  readonly plain?: ViewFeed | undefined
}

export class ViewFeed {
  readonly view: View
  /** All its UPDATEs that were fanned out. */
  readonly fannedOut = newFrameCounts()
  readonly #plain: ViewFeed | undefined
  readonly #replica: Replica
  readonly #clock: Clock
  readonly #cursors: Cursors
  /** Number of subscriptions per encoding. Without any, the encoding is skipped. */
  readonly #subscribers: [base: number, extended: number] = [0, 0]
  /** Extended subscriptions to this view, and to the one with its digests. */
  #digestUsers = 0
  /** Only while there are such subscriptions. */
  #digest: ViewDigest | undefined
  /** Only where receipts are signed. */
  readonly receipts: ViewReceipts | undefined
  /** Commit time of the view's last change. */
  #changeInstant: Instant
  /** The view's change version after the last commit, and after the last fanned-out one. */
  #cursor: number
  #fannedOutCursor: number
  /**
   * Whether one of this tick's UPDATEs is too long for one frame, or the book was replaced: catch-up serves the
   * subscribers.
   */
  #isOversized: [base: boolean, extended: boolean] = [false, false]
  readonly #updates: ConflatedUpdates
  #snapshot: Snapshot | undefined
  /** Version at which the cached SNAPSHOT was first requested. 0 = not yet. */
  #firstRequestVersion = 0
  #job: SnapshotJob | undefined

  constructor({ replica, view, clock, signer, plain }: ViewFeedOptions) {
    this.view = view
    this.#plain = plain
    this.#replica = replica
    this.#clock = clock
    this.#cursors = new Cursors(replica.market.symbol, 'market_data', view.depth, plain !== undefined)
    this.#cursor = view.changeVersion
    this.#fannedOutCursor = view.changeVersion
    const levels = () => this.#currentLevels()
    const levelOf = (level: LevelChange) => (plain === undefined ? level : replica.attributed.levelOf(level))
    this.receipts = signer && new ViewReceipts({ signer, replica, view, cursors: this.#cursors, levels, levelOf })
    this.#changeInstant = view === replica.view ? replica.changeInstant : replica.instant
    this.#updates = new ConflatedUpdates({
      replica,
      view,
      levelTextOf: (change) => (plain === undefined ? levelText(replica.market, change) : this.#attributedText(change)),
      changeInstant: () => this.#changeInstant,
      streamOf: (...position) => this.#stream(...position),
    })
  }

  get subscriberCount(): number {
    return this.#subscribers[BASE] + this.#subscribers[EXTENDED]
  }

  join(encoding: Encoding): void {
    this.#subscribers[encoding] += 1
    if (encoding === BASE) return
    ;(this.#plain ?? this).#useDigest(1)
    this.receipts?.begin()
  }

  leave(encoding: Encoding): void {
    this.#subscribers[encoding] -= 1
    if (encoding === EXTENDED) (this.#plain ?? this).#useDigest(-1)
  }

  /** The UPDATE for a commit with these changes to the view. Undefined when there is none. */
  encodeCommit(changes: readonly LevelChange[], startsOver: boolean): EncodedFrame | undefined {
    const prev = this.#cursor
    this.#cursor = this.view.changeVersion
    if (this.#cursor !== prev) this.#changeInstant = this.#replica.instant
    this.receipts?.note(changes, startsOver)
    if (startsOver) this.#isOversized = [true, true]
    const [baseCount, extendedCount] = this.#subscribers
    if (changes.length === 0 || baseCount + extendedCount === 0) return undefined
    if (changes.length > FRAME_LEVELS_MAX) {
      this.#isOversized = [true, true]
      return undefined
    }
    const { market, instant } = this.#replica
    const textOf = this.#plain && ((change: LevelChange) => this.#attributedText(change))
    const text = updateText(market, instant.milliseconds, changes, textOf)
    const base = baseCount === 0 ? undefined : this.#commitFrame(BASE, text)
    if (extendedCount === 0) return [base, undefined]
    return [base, this.#commitFrame(EXTENDED, extendedText(text, this.#stream(this.#cursor, prev, 1)))]
  }

  /** Whether the current tick changed the view. */
  get hasMoved(): boolean {
    return this.#cursor !== this.#fannedOutCursor
  }

  /** Commit time of the view's last change, or of its opening. */
  get changeInstant(): Instant {
    return this.#changeInstant
  }

  /** Change version at the last fan-out. */
  get fannedOutCursor(): number {
    return this.#fannedOutCursor
  }

  /**
   * Whether catch-up has to serve the subscribers: one of this tick's UPDATEs is too long for one frame, or the book
   * was replaced.
   */
  isOversized(encoding: Encoding): boolean {
    return this.#isOversized[encoding]
  }

  endTick(): void {
    this.#fannedOutCursor = this.#cursor
    this.#isOversized = [false, false]
  }

  /**
   * The one UPDATE from `version` to the current version. `cursor` is the change version in the subscriber's previous
   * message: `version`, or an earlier one with the same levels. An extended UPDATE for one commit has this commit's time,
   * unless it has to be later than the version `laterThan`.
   */
  conflated(encoding: Encoding, version: number, cursor: number, laterThan = NONE): Conflated {
    return this.#updates.since(encoding, { version, cursor, isLate: this.view.changeVersion <= laterThan })
  }

  /**
   * The one UPDATE from another view at `version` to this one now, for a subscriber whose depth changed. `cursor` names
   * its previous message, in the other view.
   */
  conflatedFrom(held: ViewFeed, encoding: Encoding, version: number, cursor: number): Conflated {
    return this.#updates.from(held.view, encoding, { version, cursor }, held.#previousToken(cursor))
  }

  /**
   * A SNAPSHOT later than `laterThan` that `conflated` can complete. Undefined while it is being encoded. It is never
   * from before the market last became live. The replica's version must be later than `laterThan`.
   */
  snapshot(encoding: Encoding, laterThan: number): Snapshot | undefined {
    const { version, instant, liveVersion } = this.#replica
    const cached = this.#snapshot
    const isRecent = cached !== undefined && cached.version > laterThan && cached.version >= liveVersion
    if (isRecent && this.#isUseful(encoding, cached)) return cached
    if (this.#job !== undefined && this.#job.version >= liveVersion) return undefined
    const { changeVersion } = this.view
    const levels = this.#currentLevels()
    const { milliseconds } = instant
    this.#job = { version, changeVersion, milliseconds, levels, next: 0, bids: [], asks: [] }
    if (levels.length <= SLICE_LEVELS) this.#encodeSnapshot(this.#job, Number.POSITIVE_INFINITY)
    return this.#job === undefined ? this.#snapshot : undefined
  }

  /** A snapshot's message for a subscriber whose previous message named `cursor`. */
  snapshotMessage(encoding: Encoding, snapshot: Snapshot, cursor: number): Message {
    const { extended, changeVersion } = snapshot
    if (encoding === BASE) return snapshot.message
    const known = extended.get(cursor)
    if (known !== undefined) return known
    if (extended.size >= EXTENDED_SNAPSHOTS_KEPT) extended.clear()
    snapshot.head ??= messageHead(snapshot.message)
    const message = extendedMessage(snapshot.head, this.#stream(changeVersion, cursor, 0))
    extended.set(cursor, message)
    return message
  }

  /** True while a SNAPSHOT, a digest or a receipt is unfinished: `work` is then to be called once per tick. */
  get isWorking(): boolean {
    return this.#job !== undefined || this.#digest?.seeding === true || this.receipts?.isWorking === true
  }

  /** Makes at least one SNAPSHOT slice, and more until `untilMilliseconds` of the monotonic clock. */
  work(untilMilliseconds: number): void {
    if (this.#job !== undefined) this.#encodeSnapshot(this.#job, untilMilliseconds)
    else if (this.#digest?.seeding === true) this.#digest.seed()
    else this.receipts?.work()
  }

  /** Begins the receipt for a full second. */
  endSecond(second: number): void {
    this.receipts?.endSecond(second, this.#changeInstant, this.#subscribers[EXTENDED] > 0)
  }

  /** The version named by a cursor, if the journal reaches back to it. */
  resumable(cursor: string): number | undefined {
    const version = this.#cursors.position(this.#replica.epoch, cursor)
    if (version === undefined || version === 0 || !this.#replica.hadBook(version)) return undefined
    return this.view.commitsSince(version) === 'too-old' ? undefined : version
  }

  /**
   * The heartbeat's entry for a subscription whose last message had the book at `version` and the change version
   * `cursor`. Undefined while the digest is not known. A stale book has no digest. `sinceMilliseconds`: when the market
   * last became live or stale. A book from before the market became live, such as a withdrawn one, is confirmed by no
   * source: it has no entry while a later one waits to be sent. A book from before its restart has no entry either,
   * because its cursors are no longer made: a throttled subscription has it until its interval ends.
   */
  status(
    version: number,
    cursor: number,
    sinceMilliseconds: number,
    receipts: readonly string[],
  ): SentStatus | undefined {
    const { market, epoch, live, liveVersion, instrument, publication, previous } = this.#replica
    if (live && version < liveVersion && cursor !== this.view.changeVersion) return undefined
    if (!previous.isOfBook(cursor)) return undefined
    const digest = live ? (this.#plain ?? this).#digest?.at(version) : undefined
    if (live && digest === undefined) return undefined
    const origin = live ? publication.originAt(version) : undefined
    const token = this.#cursors.token(epoch, cursor)
    const status = { cursor: token, digest, sinceMilliseconds, origin, instrument, receipts }
    return { text: bookStatusText(market, status), cursor: token, digest }
  }

  #useDigest(users: 1 | -1): void {
    this.#digestUsers += users
    if (this.#digestUsers === 0) this.#digest = undefined
    else this.#digest ??= new ViewDigest(this.view, this.#replica.market)
  }

  /** A changed level's text, as it is now. */
  #attributedText(change: LevelChange): string {
    const { market, attributed } = this.#replica
    return attributedLevelText(market, attributed.levelOf(change))
  }

  /** The view's levels, which do not change when the market does. */
  #currentLevels(): readonly AttributedLevel[] {
    const levels = this.view.levels()
    return this.#plain === undefined ? levels : levels.map((level) => this.#replica.attributed.levelOf(level))
  }

  #commitFrame(encoding: Encoding, text: string): Buffer | undefined {
    if (text.length <= FRAGMENT_BYTES_MAX) return textFrame(text)
    this.#isOversized[encoding] = true
    return undefined
  }

  #encodeSnapshot(job: SnapshotJob, untilMilliseconds: number): void {
    const { market } = this.#replica
    const { levels, bids, asks, version, changeVersion } = job
    do {
      const end = Math.min(job.next + SLICE_LEVELS, levels.length)
      for (; job.next < end; job.next++) {
        const level = levels[job.next] as AttributedLevel
        ;(level.side === BID ? bids : asks).push(attributedLevelText(market, level))
      }
    } while (job.next < levels.length && this.#clock.monotonicMilliseconds() < untilMilliseconds)
    if (job.next < levels.length) return
    const message = textMessage(bookText(market, 'snapshot', job.milliseconds, bids.join(), asks.join()))
    this.#snapshot = { version, changeVersion, message, extended: new Map(), head: undefined }
    this.#firstRequestVersion = 0
    this.#job = undefined
  }

  #previousToken(cursor: number): string | undefined {
    const epoch = cursor === NONE ? undefined : this.#replica.previous.epochOf(cursor)
    return epoch && this.#cursors.token(epoch, cursor)
  }

  #stream(changeVersion: number, prevCursor: number, covers: number): StreamMember {
    const { epoch, repairedVersion } = this.#replica
    const prev = this.#previousToken(prevCursor)
    // How many commits a bus state has brought is not known.
    const isKnown = prev !== undefined && prevCursor >= repairedVersion
    return { cursor: this.#cursors.token(epoch, changeVersion), prev, covers: isKnown ? covers : 0 }
  }

  #isUseful(encoding: Encoding, snapshot: Snapshot): boolean {
    const { version } = this.#replica
    if (this.#firstRequestVersion === 0) this.#firstRequestVersion = version
    if (snapshot.version === version) return true
    const levelCount = this.view.levelCount(BID) + this.view.levelCount(ASK)
    if (levelCount <= SMALL_VIEW_LEVELS) return false
    const completion = this.conflated(encoding, snapshot.version, snapshot.changeVersion)
    if (completion === 'too-old') return false
    if (completion === 'nothing' || completion.levelCount <= levelCount * COMPLETION_PART_MAX) return true
    // Subscribers that waited for it get it all the same: in a fast book no SNAPSHOT would ever be recent enough.
    return this.#firstRequestVersion === version
  }
}

/**
 * One depth of one market on the extended wire, shared by everyone who reads it whatever their interval: the view, its
 * catch-up, its digest, and how far its messages of the present turn lead. It never decides who gets what.
 */
import type { Clock } from '../base/clock.ts'
import { CatchUp } from '../channel/catch-up.ts'
import { Cursors } from '../channel/cursor.ts'
import { bookStatusText, extendedText, FRAGMENT_BYTES_MAX, textFrame, updateText } from '../channel/frame.ts'
import type { Replica } from '../channel/replica.ts'
import { ViewDigest } from '../market/digest.ts'
import type { LevelChange } from '../market/event.ts'
import type { View } from '../market/view.ts'

export class ExtendedView {
  readonly view: View
  readonly catchUp: CatchUp
  /** Subscriptions to it. */
  readers = 0
  readonly #replica: Replica
  readonly #cursors: Cursors
  readonly #digest: ViewDigest
  /** Change version of the last commit that was followed, and of the last one before the present turn. */
  #cursor: number
  #turnStartCursor: number
  #oversized = false

  constructor(replica: Replica, view: View, clock: Clock) {
    this.view = view
    this.#replica = replica
    this.#cursors = new Cursors(replica.market.symbol, 'market_data', view.depth)
    this.catchUp = new CatchUp(replica, clock, { view, cursors: this.#cursors })
    this.#digest = new ViewDigest(view, replica.market)
    this.#cursor = view.changeVersion
    this.#turnStartCursor = view.changeVersion
  }

  /** True while something large is being made in slices: `work` wants to be called, once a turn. */
  get working(): boolean {
    return this.catchUp.encoding || this.#digest.seeding
  }

  work(untilMilliseconds: number): void {
    if (this.catchUp.encoding) this.catchUp.encode(untilMilliseconds)
    else this.#digest.seed()
  }

  /** Whether anything changed in the present turn. */
  get hasMoved(): boolean {
    return this.#cursor !== this.#turnStartCursor
  }

  /** Whether the frames of the turn lead on who was last sent a message that names `cursor`. */
  leadsOn(cursor: number): boolean {
    return !this.#oversized && cursor === this.#turnStartCursor
  }

  /** The frame of a commit that changed the view so; undefined when there is none to be fanned out. */
  follow(changes: readonly LevelChange[], startsOver: boolean): Buffer | undefined {
    const prevVersion = this.#cursor
    this.#cursor = this.view.changeVersion
    if (startsOver) this.#oversized = true
    if (changes.length === 0 || this.readers === 0) return undefined
    const { market, instant, epoch } = this.#replica
    const cursor = this.#cursors.token(epoch, this.#cursor)
    const stream = { cursor, prev: this.#cursors.token(epoch, prevVersion), covers: 1 }
    const text = extendedText(updateText(market, instant.milliseconds, changes), stream)
    if (text.length <= FRAGMENT_BYTES_MAX) return textFrame(text)
    this.#oversized = true
    return undefined
  }

  endTurn(): void {
    this.#turnStartCursor = this.#cursor
    this.#oversized = false
  }

  /** The version that a cursor names, when the journal leads on from there; undefined when it does not. */
  resumable(cursor: string): number | undefined {
    const version = this.#cursors.position(this.#replica.epoch, cursor)
    if (version === undefined || version === 0 || version > this.view.version) return undefined
    return this.view.commitsSince(version) === 'too-old' ? undefined : version
  }

  /**
   * What a heartbeat reports of the book of `version`, last named by `cursor`; undefined when its digest is not known.
   * A book without a trusted source has none: nothing confirms it. `sinceMilliseconds`: since when that has been so.
   */
  statusText(version: number, cursor: number, sinceMilliseconds: number): string | undefined {
    const { market, epoch, live } = this.#replica
    const digest = live ? this.#digest.at(version) : undefined
    if (live && digest === undefined) return undefined
    return bookStatusText(market, { cursor: this.#cursors.token(epoch, cursor), digest, sinceMilliseconds })
  }
}

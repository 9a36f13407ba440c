/**
 * One recorded market's state at a position in the recording: its book, whether the book was live, and the last
 * published values. It is built from the entries up to there, and returned as events that lead to the same state. Pure.
 */
import { Book } from '../market/book.ts'
import { ASK, BID, type Instrument, type LevelChange, type MarketEvent } from '../market/event.ts'
import type { EntryFacts, RecordedCommit, RecordedEntry } from './recording.ts'

/** A whole book, or an entry's events. */
export type KeyframeContent = Book | readonly MarketEvent[]

export class RecordedState {
  readonly #book = new Book()
  #hasBook = false
  /** Why the book is not live. Undefined while it is. */
  #reason: string | undefined
  #lostSinceMilliseconds: number | undefined
  #commit: RecordedCommit | undefined
  #isWithdrawn = false
  #origin: string | undefined
  #instrument: Instrument | undefined

  constructor(reason: string, sinceMilliseconds?: number) {
    this.#reason = reason
    this.#lostSinceMilliseconds = sinceMilliseconds
  }

  get isLive(): boolean {
    return this.#reason === undefined
  }

  /** Why the book is not live. Undefined while it is. */
  get reason(): string | undefined {
    return this.#reason
  }

  /** When the book was lost, milliseconds since the epoch. Undefined while it is live, and where it is not known. */
  get lostSinceMilliseconds(): number | undefined {
    return this.#reason === undefined ? undefined : this.#lostSinceMilliseconds
  }

  /** The last commit. Undefined before the first, and in recordings by earlier versions. */
  get commit(): RecordedCommit | undefined {
    return this.#commit
  }

  /** The last commit's position in the publication. Undefined where no publication feeds it. */
  get origin(): string | undefined {
    return this.#origin
  }

  /** Instrument state. Undefined while it is not known, and in recordings by earlier versions. */
  get instrument(): Instrument | undefined {
    return this.#instrument
  }

  /** Whether the book was withdrawn and the market has not been live since. */
  get isWithdrawn(): boolean {
    return this.#isWithdrawn
  }

  /** Applies an entry as subscribers saw it: other than with `play`, a withdrawal removes the book. */
  follow(entry: RecordedEntry): void {
    const { atMilliseconds, withdrawn, lostSinceMilliseconds } = entry
    const wasLive = this.isLive
    this.play(entry)
    if (wasLive && !this.isLive) this.#lostSinceMilliseconds = atMilliseconds
    if (lostSinceMilliseconds !== undefined) this.#lostSinceMilliseconds = lostSinceMilliseconds
    if (this.isLive) this.#isWithdrawn = false
    else if (withdrawn === true) this.withdraw()
  }

  /** Applies an entry as a replay publishes it: a withdrawn book stays. */
  play({ events, commit, origin, instrument }: RecordedEntry): void {
    this.apply(events)
    if (commit !== undefined) {
      this.#commit = commit
      this.#origin = origin
    }
    if (instrument !== undefined) this.#instrument = instrument ?? undefined
  }

  apply(events: readonly MarketEvent[]): void {
    for (const event of events) {
      if (event.type === 'lost') {
        this.#reason = event.reason
      } else if (event.type === 'snapshot') {
        this.#book.replace(event.levels)
        this.#hasBook = true
        this.#reason = undefined
      } else if (event.type === 'update' && this.isLive) {
        this.#book.apply(event.changes)
      }
    }
  }

  /** Removes a lost market's last book, which is no longer published. */
  withdraw(): void {
    this.#book.replace([])
    this.#hasBook = false
    this.#isWithdrawn = true
  }

  /** The last book, even when it was lost since, unless it was withdrawn. Empty before the first. */
  levels(): LevelChange[] {
    const levels: LevelChange[] = []
    for (const side of [BID, ASK] as const) {
      const present = this.#book.side(side)
      for (let rank = 0; rank < present.size; rank++) {
        levels.push({ side, price: present.priceAt(rank), amount: present.amountAt(rank) })
      }
    }
    return levels
  }

  /**
   * The events that lead to this state from any other, without executions, grouped by tick. A book lost in the tick in
   * which it arrived would never be published.
   */
  eventsByTick(): MarketEvent[][] {
    const ticks: MarketEvent[][] = []
    const origin = this.#origin === undefined ? {} : { origin: this.#origin }
    if (this.#hasBook) ticks.push([{ type: 'snapshot', levels: this.levels(), ...origin }])
    if (this.#reason !== undefined) ticks.push([{ type: 'lost', reason: this.#reason }])
    return ticks
  }

  /**
   * The state as keyframe entries, from which `follow` restores all of it. The book is shared, not copied: the state
   * must not change until it is written.
   */
  keyframe(): (EntryFacts & { readonly content: KeyframeContent })[] {
    const since = this.lostSinceMilliseconds
    const contents: KeyframeContent[] = this.#hasBook ? [this.#book] : []
    if (this.#reason !== undefined) contents.push([{ type: 'lost', reason: this.#reason }])
    return contents.map((content) => ({
      content,
      ...(this.#commit === undefined ? {} : { commit: this.#commit }),
      ...(this.#isWithdrawn ? { withdrawn: true as const } : {}),
      ...(this.#origin === undefined ? {} : { origin: this.#origin }),
      ...(this.#instrument === undefined ? {} : { instrument: this.#instrument }),
      ...(since === undefined || content instanceof Book ? {} : { lostSinceMilliseconds: since }),
    }))
  }
}

/**
 * Rows for four tables from recorded entries: book changes, trades, instrument states, and losses, in publication
 * order. A snapshot stands where the rows before it do not lead to the book: at the beginning, after a gap, and after a
 * loss. Prices and amounts stay integers at the market's scale. It reads nothing itself.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Scaled } from '../../platform/base/decimal.ts'
import {
  BID,
  type Instrument,
  type LevelChange,
  type MarketDefinition,
  type MarketEvent,
  type Side,
} from '../market/event.ts'
import { RecordedState } from './recorded-state.ts'
import type { RecordedEntry } from './recording.ts'

/** Times are microseconds since the epoch. */
export interface BookRow {
  readonly table: 'book'
  readonly timestamp: number
  readonly isSnapshot: boolean
  readonly side: Side
  readonly price: number
  /** 0 = the level was removed. */
  readonly amount: Scaled
}

export interface TradeRow {
  readonly table: 'trades'
  /** The venue's trade time, or the commit time where the venue gave none. */
  readonly timestamp: number
  /** The commit time. */
  readonly localTimestamp: number
  readonly id: string
  readonly side: 'buy' | 'sell' | 'unknown'
  readonly price: number
  readonly amount: Scaled
  /** Empty where the recording has none. */
  readonly venue: string
}

/** The instrument state from `timestamp` on. */
export interface InstrumentRow {
  readonly table: 'instrument'
  readonly timestamp: number
  /** Undefined: it is not known any longer. */
  readonly instrument: Instrument | undefined
}

/**
 * - `lost`, `live`: the market's book was lost, and live again.
 * - `withdrawn`: its levels were removed.
 * - `missed_trades`: trades before the next one are missing.
 * - `not_recorded`: nothing is known from `timestamp` to `until`.
 */
export type LossKind = 'lost' | 'live' | 'withdrawn' | 'missed_trades' | 'not_recorded'

export interface LossRow {
  readonly table: 'losses'
  readonly timestamp: number
  readonly until?: number
  readonly kind: LossKind
  readonly reason: string
}

export type ExportRow = BookRow | TradeRow | InstrumentRow | LossRow

const MICROSECONDS = 1_000

/** Turns one market's entries into rows. */
export class MarketRows {
  readonly definition: MarketDefinition
  readonly #emit: (row: ExportRow) => void
  #state = new RecordedState('')
  /** Whether the state matches the last entry: not before the first keyframe or snapshot, and not after a gap. */
  #isCurrent = false
  /** Whether the rows before lead to the state's book. */
  #isKnown = false
  /** Whether the next entry emits the instrument state, although it does not change it. */
  #repeatsInstrument = false
  /** The last keyframe's time. */
  #keyframeMilliseconds = 0

  constructor(definition: MarketDefinition, emit: (row: ExportRow) => void) {
    this.definition = definition
    this.#emit = emit
  }

  /** Applies an entry before the exported time. */
  skip(entry: RecordedEntry, isState: boolean): void {
    if (isState) this.#restart(entry)
    this.#state.follow(entry)
    this.#isCurrent ||= isState || entry.events.some(({ type }) => type === 'snapshot')
  }

  /** Emits the book as a snapshot, where it is known: a new file's rows, or the first rows, begin at this time. */
  begin(microseconds: number): void {
    if (!this.#isCurrent) return
    this.#isKnown = true
    this.#snapshot(microseconds, this.#state.levels())
    if (this.#state.instrument !== undefined) this.#instrument(microseconds)
  }

  /** Makes the next entry emit the market state, although the rows before lead to it, because it begins a file. */
  renew(): void {
    this.#isKnown = false
    this.#repeatsInstrument = true
  }

  /** A keyframe's entries. Where the state is unchanged, they cause no rows. */
  keyframe(entries: readonly RecordedEntry[]): void {
    const [first] = entries
    if (first === undefined) return
    const before = this.#state
    const known = this.#isKnown ? before.levels() : undefined
    this.#restart(first)
    for (const entry of entries) this.#state.follow(entry)
    this.#isCurrent = true
    const levels = this.#state.levels()
    if (known === undefined || !isSameBook(known, levels)) this.#snapshot(timeOf(first), levels)
    this.#isKnown = true
    const { instrument } = this.#state
    const isRepeated = known === undefined && instrument !== undefined
    if (isRepeated || !isDeepStrictEqual(before.instrument, instrument)) this.#instrument(timeOf(first))
    this.#repeatsInstrument = false
    this.#noteStatus(before, timeOf(first))
  }

  entry(entry: RecordedEntry): void {
    const { events, withdrawn } = entry
    const microseconds = timeOf(entry)
    const { isLive, reason } = this.#state
    const removed = withdrawn === true ? this.#state.levels() : []
    for (const event of events) this.#event(event, microseconds)
    this.#state.follow(entry)
    for (const { side, price } of removed) this.#change(microseconds, { side, price, amount: 0 })
    if (withdrawn === true) this.#loss(microseconds, 'withdrawn', this.#state.reason ?? '')
    const isRepeated = this.#repeatsInstrument && this.#state.instrument !== undefined
    if (isRepeated || entry.instrument !== undefined) this.#instrument(microseconds)
    this.#repeatsInstrument = false
    this.#noteStatus({ isLive, reason }, microseconds)
  }

  /** Nothing is known between these times (milliseconds). */
  gap(fromMilliseconds: number, toMilliseconds: number, reason: string): void {
    this.#isCurrent = false
    this.#isKnown = false
    const until = toMilliseconds * MICROSECONDS
    this.#emit({ table: 'losses', timestamp: fromMilliseconds * MICROSECONDS, until, kind: 'not_recorded', reason })
  }

  #event(event: MarketEvent, microseconds: number): void {
    if (event.type === 'missed') this.#loss(microseconds, 'missed_trades', event.reason)
    if (event.type === 'snapshot') {
      this.#isCurrent = true
      this.#isKnown = true
      this.#snapshot(microseconds, event.levels)
    }
    if (event.type !== 'update') return
    for (const change of event.changes) this.#change(microseconds, change)
    for (const { price, amount, id = '', side = 'unknown', venue = '', executedAtMilliseconds } of event.executions) {
      const timestamp = executedAtMilliseconds === undefined ? microseconds : executedAtMilliseconds * MICROSECONDS
      this.#emit({ table: 'trades', timestamp, localTimestamp: microseconds, id, side, price, amount, venue })
    }
  }

  #noteStatus(before: Pick<RecordedState, 'isLive' | 'reason'>, microseconds: number): void {
    const { isLive, reason = '' } = this.#state
    if (!before.isLive && isLive) this.#loss(microseconds, 'live', '')
    if (!isLive && (before.isLive || before.reason !== reason)) this.#loss(microseconds, 'lost', reason)
  }

  /** Forgets the state, unless the entry continues the last applied keyframe. */
  #restart({ atMilliseconds, events }: RecordedEntry): void {
    const continues = atMilliseconds === this.#keyframeMilliseconds && events[0]?.type === 'lost'
    this.#keyframeMilliseconds = atMilliseconds
    if (!continues) this.#state = new RecordedState('')
  }

  #instrument(timestamp: number): void {
    this.#emit({ table: 'instrument', timestamp, instrument: this.#state.instrument })
  }

  #loss(timestamp: number, kind: LossKind, reason: string): void {
    this.#emit({ table: 'losses', timestamp, kind, reason })
  }

  #change(timestamp: number, { side, price, amount }: LevelChange): void {
    this.#emit({ table: 'book', timestamp, isSnapshot: false, side, price, amount })
  }

  #snapshot(timestamp: number, levels: readonly LevelChange[]): void {
    for (const { side, price, amount } of levels) {
      this.#emit({ table: 'book', timestamp, isSnapshot: true, side, price, amount })
    }
  }
}

/** An entry's time: its commit time where it has one. */
export function timeOf({ commit, atMilliseconds }: RecordedEntry): number {
  if (commit === undefined) return atMilliseconds * MICROSECONDS
  return commit.milliseconds * MICROSECONDS + Math.floor(commit.nanoseconds / MICROSECONDS)
}

/** Both in book order. */
function isSameBook(left: readonly LevelChange[], right: readonly LevelChange[]): boolean {
  return (
    left.length === right.length &&
    left.every(({ side, price, amount }, index) => {
      const other = right[index]
      return other?.side === side && other.price === price && other.amount === amount
    })
  )
}

/** `bid` or `ask`. */
export function sideText(side: Side): string {
  return side === BID ? 'bid' : 'ask'
}

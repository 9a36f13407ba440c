/**
 * A block's entries as text, one JSON line each: `[market, milliseconds after the block's first entry, event …]`.
 * People and any program can read a decompressed recording. Prices and amounts are integers at the market's scale.
 * Values beyond the safe integers are text. Every value is checked when it is read.
 *
 * Later additions to the first version (commits, withdrawals; execution ids, sides and venues) are further members in
 * the events. Earlier readers ignore these, so they read new files too. Pure.
 */
import type { Scaled } from '../../platform/base/decimal.ts'
import { membersOf } from '../../platform/base/json-value.ts'
import type { Book } from '../market/book.ts'
import {
  ASK,
  BID,
  type Execution,
  INSTRUMENT_STATES,
  type Instrument,
  type LevelChange,
  type MarketEvent,
} from '../market/event.ts'
import { type EntryFacts, type RecordedCommit, type RecordedEntry, RecordingError } from './recording.ts'

/** Prices and amounts, alternating. */
type FlatLevels = (number | string)[]

type EventText =
  | { readonly snapshot: readonly [bids: FlatLevels, asks: FlatLevels] }
  | { readonly update: readonly [bids: FlatLevels, asks: FlatLevels, executions?: unknown[][]]; trades?: unknown[][] }
  | { readonly lost: string }
  | { readonly missed: string }

type Members = Readonly<Record<string, unknown>>

/** Most digits in an amount. */
const DIGITS_MAX = 60
const NANOSECONDS_MAX = 999_999

/** Book levels encoded at once, in about a millisecond. */
const LEVELS_PER_SLICE = 10_000

/** How many levels may be encoded before the next interruption. */
export class Slice {
  levelsLeft = LEVELS_PER_SLICE
}

/**
 * A book's levels as text, in parts, which saves one copy of a large text. Yields whenever the slice is used up, and
 * continues with a full one.
 */
export function* encodeBook(book: Book, slice: Slice): Generator<void, readonly string[]> {
  const parts: string[] = []
  for (const side of [BID, ASK] as const) {
    const levels = book.side(side)
    parts.push(side === BID ? '[[' : '],[')
    for (let rank = 0; rank < levels.size; ) {
      if (slice.levelsLeft === 0) {
        yield
        slice.levelsLeft = LEVELS_PER_SLICE
      }
      const end = Math.min(levels.size, rank + slice.levelsLeft)
      slice.levelsLeft -= end - rank
      const flat: FlatLevels = []
      if (rank > 0) parts.push(',')
      for (; rank < end; rank++) flat.push(levels.priceAt(rank), encodeScaled(levels.amountAt(rank)))
      parts.push(JSON.stringify(flat).slice(1, -1))
    }
  }
  parts.push(']]')
  return parts
}

/** The state that a block's lines refer to. A block can be read without earlier ones. */
export class BlockText {
  readonly #firstMilliseconds: number
  /** By market: the epoch in its last line with one. */
  readonly #epochs = new Map<number, string>()

  constructor(firstMilliseconds: number) {
    this.#firstMilliseconds = firstMilliseconds
  }

  encode({ market, atMilliseconds, events, ...facts }: RecordedEntry): string {
    const texts: object[] = events.map(encodeEvent)
    if (texts[0] !== undefined) Object.assign(texts[0], this.#encodeFacts(market, facts))
    return `${JSON.stringify([market, atMilliseconds - this.#firstMilliseconds, ...texts])}\n`
  }

  /** The same text as from `encode` for one snapshot, in parts, with the levels from `encodeBook`. */
  encodeSnapshot(market: number, atMilliseconds: number, levels: readonly string[], facts: EntryFacts): string[] {
    const members = JSON.stringify(this.#encodeFacts(market, facts)).slice(1, -1)
    const begin = `[${market},${atMilliseconds - this.#firstMilliseconds},{"snapshot":`
    return [begin, ...levels, `${members === '' ? '' : `,${members}`}}]\n`]
  }

  /** Undefined when the line cannot be read. */
  decode(line: string, marketCount: number): RecordedEntry | undefined {
    const value = parse(line)
    if (!Array.isArray(value)) return undefined
    const [market, offset, ...texts] = value as unknown[]
    if (!isCount(market) || market >= marketCount || !isCount(offset)) return undefined
    const events: MarketEvent[] = []
    for (const text of texts) {
      const event = decodeEvent(text)
      if (event === undefined) return undefined
      events.push(event)
    }
    const facts = this.#decodeFacts(market, (texts[0] ?? {}) as Members)
    return facts && { market, atMilliseconds: this.#firstMilliseconds + offset, events, ...facts }
  }

  #encodeFacts(market: number, facts: EntryFacts): object {
    const { commit, withdrawn, origin, instrument, lostSinceMilliseconds: since } = facts
    return {
      ...(commit === undefined ? {} : { commit: this.#encodeCommit(market, commit) }),
      ...(withdrawn === undefined ? {} : { withdrawn }),
      ...(origin === undefined ? {} : { origin }),
      ...(instrument === undefined ? {} : { instrument }),
      ...(since === undefined ? {} : { since }),
    }
  }

  /** The time is relative, like the entry's time. It may be earlier than the block. */
  #encodeCommit(market: number, { epoch, version, milliseconds, nanoseconds }: RecordedCommit): unknown[] {
    const text: unknown[] = [version, milliseconds - this.#firstMilliseconds, nanoseconds]
    if (this.#epochs.get(market) !== epoch) text.push(epoch)
    this.#epochs.set(market, epoch)
    return text
  }

  #decodeFacts(
    market: number,
    { commit: text, withdrawn, origin, instrument, since }: Members,
  ): EntryFacts | undefined {
    const commit = text === undefined ? undefined : this.#decodeCommit(market, text)
    if (text !== undefined && commit === undefined) return undefined
    if (withdrawn !== undefined && withdrawn !== true) return undefined
    if (since !== undefined && !isCount(since)) return undefined
    if (origin !== undefined && typeof origin !== 'string') return undefined
    if (instrument !== undefined && instrument !== null && !isInstrument(instrument)) return undefined
    return {
      ...(commit === undefined ? {} : { commit }),
      ...(withdrawn === undefined ? {} : { withdrawn }),
      ...(origin === undefined ? {} : { origin }),
      ...(instrument === undefined ? {} : { instrument }),
      ...(since === undefined ? {} : { lostSinceMilliseconds: since }),
    }
  }

  #decodeCommit(market: number, text: unknown): RecordedCommit | undefined {
    if (!Array.isArray(text)) return undefined
    const [version, offset, nanoseconds, epoch = this.#epochs.get(market)] = text as unknown[]
    if (!isCount(version) || !Number.isSafeInteger(offset) || !isCount(nanoseconds)) return undefined
    const milliseconds = this.#firstMilliseconds + (offset as number)
    if (typeof epoch !== 'string' || nanoseconds > NANOSECONDS_MAX || !isCount(milliseconds)) return undefined
    this.#epochs.set(market, epoch)
    return { epoch, version, milliseconds, nanoseconds }
  }
}

/** @throws {RecordingError} which names the line */
export function decodeEntries(text: string, firstMilliseconds: number, marketCount: number): RecordedEntry[] {
  const lines = text.split('\n')
  if (lines.pop() !== '') throw new RecordingError('the last entry has no end')
  const block = new BlockText(firstMilliseconds)
  return lines.map((line, index) => {
    const entry = block.decode(line, marketCount)
    if (entry === undefined) throw new RecordingError(`entry ${index} cannot be read: ${line.slice(0, 100)}`)
    return entry
  })
}

function encodeEvent(event: MarketEvent): EventText {
  if (event.type === 'lost') return { lost: event.reason }
  if (event.type === 'missed') return { missed: event.reason }
  if (event.type === 'snapshot') return { snapshot: encodeLevels(event.levels) }
  const levels = encodeLevels(event.changes)
  const { executions } = event
  if (executions.length === 0) return { update: levels }
  const update: [FlatLevels, FlatLevels, unknown[][]] = [...levels, executions.map(encodeExecution)]
  if (executions.every(isAnonymous)) return { update }
  return { update, trades: executions.map(encodeTrade) }
}

function isAnonymous({ id, side, venue }: Execution): boolean {
  return id === undefined && side === undefined && venue === undefined
}

function encodeTrade({ id, side, venue }: Execution): unknown[] {
  const trade = [id ?? null, side ?? null]
  return venue === undefined ? trade : [...trade, venue]
}

function encodeLevels(levels: readonly LevelChange[]): [bids: FlatLevels, asks: FlatLevels] {
  const bids: FlatLevels = []
  const asks: FlatLevels = []
  for (const { side, price, amount } of levels) (side === BID ? bids : asks).push(price, encodeScaled(amount))
  return [bids, asks]
}

function encodeExecution({ price, amount, executedAtMilliseconds }: Execution): unknown[] {
  const execution = [price, encodeScaled(amount)]
  if (executedAtMilliseconds !== undefined) execution.push(executedAtMilliseconds)
  return execution
}

function encodeScaled(value: Scaled): number | string {
  return typeof value === 'number' ? value : String(value)
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function decodeEvent(text: unknown): MarketEvent | undefined {
  if (typeof text !== 'object' || text === null) return undefined
  const { lost, missed, snapshot, update, trades } = text as Members
  if (typeof lost === 'string') return { type: 'lost', reason: lost }
  if (typeof missed === 'string') return { type: 'missed', reason: missed }
  const levels = decodeSides(snapshot ?? update)
  if (levels === undefined) return undefined
  if (snapshot !== undefined) return { type: 'snapshot', levels }
  const executions = decodeExecutions((update as unknown[])[2] ?? [], trades)
  return executions === undefined ? undefined : { type: 'update', changes: levels, executions }
}

function decodeSides(sides: unknown): LevelChange[] | undefined {
  if (!Array.isArray(sides) || sides.length < 2) return undefined
  const levels: LevelChange[] = []
  for (const side of [0, 1] as const) {
    const flat: unknown = sides[side]
    if (!Array.isArray(flat) || flat.length % 2 !== 0) return undefined
    for (let index = 0; index < flat.length; index += 2) {
      const price: unknown = flat[index]
      const amount = decodeScaled(flat[index + 1])
      if (!isCount(price) || amount === undefined) return undefined
      levels.push({ side, price, amount })
    }
  }
  return levels
}

/**
 * @param trades `[id, side, venue]` for each execution, null where there is none; undefined where no execution has any
 */
function decodeExecutions(texts: unknown, trades: unknown): Execution[] | undefined {
  if (!Array.isArray(texts)) return undefined
  if (trades !== undefined && (!Array.isArray(trades) || trades.length !== texts.length)) return undefined
  const executions: Execution[] = []
  for (const [index, text] of (texts as unknown[]).entries()) {
    const traded = trades === undefined ? {} : decodeTrade((trades as unknown[])[index])
    if (!Array.isArray(text) || traded === undefined) return undefined
    const [price, amountText, executedAtMilliseconds] = text as unknown[]
    const amount = decodeScaled(amountText)
    if (!isCount(price) || amount === undefined) return undefined
    if (executedAtMilliseconds === undefined) executions.push({ price, amount, ...traded })
    else if (isCount(executedAtMilliseconds)) executions.push({ price, amount, executedAtMilliseconds, ...traded })
    else return undefined
  }
  return executions
}

function decodeTrade(text: unknown): Pick<Execution, 'id' | 'side' | 'venue'> | undefined {
  if (!Array.isArray(text)) return undefined
  const [id, side, venue = null] = text as unknown[]
  if (!isTextOrNull(id) || !isTextOrNull(venue) || (side !== null && side !== 'buy' && side !== 'sell'))
    return undefined
  return {
    ...(id === null ? {} : { id }),
    ...(side === null ? {} : { side }),
    ...(venue === null ? {} : { venue }),
  }
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string'
}

/** Text is accepted only beyond the safe integers, so that equal values have one form. */
function decodeScaled(value: unknown): Scaled | undefined {
  if (isCount(value)) return value
  if (typeof value !== 'string' || value.length > DIGITS_MAX || !/^[1-9][0-9]*$/.test(value)) return undefined
  const amount = BigInt(value)
  return amount > Number.MAX_SAFE_INTEGER ? amount : undefined
}

function isInstrument(value: unknown): value is Instrument {
  const { state, reason, simulated } = membersOf(value)
  const isKnown = INSTRUMENT_STATES.some((known) => known === state)
  return isKnown && typeof reason === 'string' && (simulated === undefined || simulated === true)
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

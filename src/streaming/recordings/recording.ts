/**
 * A recording's content: the configured markets, and entries in commit order. It can be played to a market with more
 * decimals than the recording; nothing is rounded. A format (`format-1`) defines the bytes. Every format ever written
 * stays readable. Pure.
 */
import { rescale } from '../../platform/base/decimal.ts'
import type { Instrument, MarketDefinition, MarketEvent } from '../market/event.ts'

export interface RecordedMarket {
  /** The definition at recording time. Replaying with the same definition gives the same commits. */
  readonly definition: MarketDefinition
  /** Its sources, as in the configuration: `kraken:BTC/USD`. */
  readonly sources: readonly string[]
}

export interface RecordingHeader {
  /** Name and version of the program that wrote the file. */
  readonly writtenBy: string
  /** Wall clock when the recording started, milliseconds since the epoch. */
  readonly startedAtMilliseconds: number
  readonly markets: readonly RecordedMarket[]
  /** The time before this file in which a running recorder could not write. Absent where there was none. */
  readonly gap?: RecordingGap
}

/** Nothing was recorded between these times (milliseconds since the epoch), although the markets were published. */
export interface RecordingGap {
  readonly fromMilliseconds: number
  readonly toMilliseconds: number
  readonly reason: string
}

/** A commit as it was published. */
export interface RecordedCommit {
  readonly epoch: string
  readonly version: number
  /** Commit time: milliseconds since the epoch, and the nanoseconds (0..999999) inside the millisecond. */
  readonly milliseconds: number
  readonly nanoseconds: number
}

/**
 * One commit in one market, as the events from which a sequencer makes the same commit when they are offered within one
 * tick; or one loss, which causes no commit. In a keyframe: a market's state at this position, which changes nothing
 * for a player that has read everything before it.
 */
export interface RecordedEntry {
  /** The market's index in the header. */
  readonly market: number
  /** Milliseconds since the epoch; never decreases within a file, even when the wall clock does. */
  readonly atMilliseconds: number
  readonly events: readonly MarketEvent[]
  /** The commit; in a keyframe, the market's last one. Absent for a loss, and in files by earlier versions. */
  readonly commit?: RecordedCommit
  /** The commit withdrew the book. In a keyframe: the market has not been live since its book was withdrawn. */
  readonly withdrawn?: true
  /** The book's position in the publication after the commit, `EPOCH.SEQ`. Absent where no publication feeds it. */
  readonly origin?: string
  /** The instrument state where the commit changed it, null = no longer known; in a keyframe, the last one. */
  readonly instrument?: Instrument | null
  /** Since when the market is not live; only in its keyframe. */
  readonly lostSinceMilliseconds?: number
}

/** The parts of an entry needed for an exact answer about the past, but not for a replay. */
export type EntryFacts = Pick<RecordedEntry, 'commit' | 'withdrawn' | 'origin' | 'instrument' | 'lostSinceMilliseconds'>

/**
 * - `entries`: commits and losses.
 * - `keyframe`: begins the state of every market at this position.
 * - `keyframe-rest`: continues the state from the block before.
 */
export type BlockKind = 'entries' | 'keyframe' | 'keyframe-rest'

export interface BlockHead {
  readonly kind: BlockKind
  /** 0, 1, 2 … within the file, so that a missing block is detected. */
  readonly number: number
  readonly firstMilliseconds: number
  readonly lastMilliseconds: number
  readonly entryCount: number
  /** The compressed body's length and CRC-32. */
  readonly bodyBytes: number
  readonly bodyChecksum: number
}

/** A damaged or unreadable recording. The message is for people. */
export class RecordingError extends Error {
  override name = 'RecordingError'
}

/** A file that ends within its header, or is empty: a power loss can leave one. It contains nothing. */
export class UnwrittenRecording extends RecordingError {
  override name = 'UnwrittenRecording'
}

/** The reader for one format version. */
export interface RecordingFormat {
  /**
   * Parses the header.
   * @throws {RecordingError}
   */
  decodeHeader(text: string): RecordingHeader
  readonly blockHeadBytes: number
  /** The bytes at the start of every block, to find the next one after damage. */
  readonly blockMark: Buffer
  /** A block's head. Undefined when the bytes are not one. */
  decodeBlockHead(bytes: Buffer): BlockHead | undefined
  /**
   * A decompressed body's entries.
   * @throws {RecordingError}
   */
  decodeEntries(body: Buffer, head: BlockHead, marketCount: number): RecordedEntry[]
}

/** A recording's first line names its format: `tidegate recording 1`. The header's length and checksum follow. */
const SIGNATURE = /^tidegate recording ([1-9][0-9]{0,5})\n$/

/** The text that begins every recording, with the version. */
export function signatureLine(version: number): string {
  return `tidegate recording ${version}\n`
}

/** Longest signature line. */
export const SIGNATURE_BYTES_MAX = signatureLine(999_999).length

/** The format version in a file's first bytes. Undefined when the file is not a recording. */
export function readSignature(bytes: Buffer): { readonly version: number; readonly bytes: number } | undefined {
  const end = bytes.indexOf(0x0a)
  const line = bytes.toString('latin1', 0, end + 1)
  const version = SIGNATURE.exec(line)?.[1]
  return version === undefined ? undefined : { version: Number(version), bytes: line.length }
}

type Precision = Pick<MarketDefinition, 'priceDecimals' | 'amountDecimals'>

/** The index of the recorded market that can feed a market, or why there is none. */
export function recordedIndex(
  path: string,
  recorded: readonly RecordedMarket[],
  { symbol, priceDecimals, amountDecimals }: MarketDefinition,
): number | string {
  const index = recorded.findIndex(({ definition }) => definition.symbol === symbol)
  const found = recorded[index]?.definition
  if (found === undefined) {
    const symbols = recorded.map(({ definition }) => definition.symbol).join(', ')
    return `the recording ${path} has no market ${symbol}, only ${symbols}`
  }
  const misfit = `the recording ${path} does not fit ${symbol}: it has`
  if (found.priceDecimals > priceDecimals) {
    return `${misfit} prices with ${found.priceDecimals} decimals, and the market has ${priceDecimals}`
  }
  if (found.amountDecimals > amountDecimals) {
    return `${misfit} amounts with ${found.amountDecimals} decimals, and the market has ${amountDecimals}`
  }
  return index
}

/**
 * The rescaled event. Undefined when a price would exceed the safe integers. The decimals must have been checked with
 * `recordedIndex`.
 */
export function rescaledEvent(event: MarketEvent, recorded: Precision, market: Precision): MarketEvent | undefined {
  const isSame = recorded.priceDecimals === market.priceDecimals && recorded.amountDecimals === market.amountDecimals
  if (isSame || event.type === 'lost' || event.type === 'missed') return event
  let fits = true
  const rescaled = <Priced extends { readonly price: number; readonly amount: bigint | number }>(priced: Priced) => {
    const price = rescale(priced.price, recorded.priceDecimals, market.priceDecimals)
    fits &&= typeof price === 'number'
    return {
      ...priced,
      price: typeof price === 'number' ? price : 0,
      amount: rescale(priced.amount, recorded.amountDecimals, market.amountDecimals),
    }
  }
  const result: MarketEvent =
    event.type === 'snapshot'
      ? { ...event, levels: event.levels.map(rescaled) }
      : { ...event, changes: event.changes.map(rescaled), executions: event.executions.map(rescaled) }
  return fits ? result : undefined
}

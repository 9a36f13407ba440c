/**
 * What a recording is, in words of the product: markets as they were configured, and entries in the order of their
 * commits. How that becomes bytes is the business of a format (`format-1`); every format that was ever written stays
 * readable.
 */
import type { MarketDefinition, MarketEvent } from '../../market/event.ts'

export interface RecordedMarket {
  /** As it was configured: replaying under the same definition gives the same commits. */
  readonly definition: MarketDefinition
  /** Where its events came from, as the configuration names it: `kraken:BTC/USD`. */
  readonly sources: readonly string[]
}

export interface RecordingHeader {
  /** The program that wrote the file, with its version. */
  readonly writtenBy: string
  /** Wall clock at the start of the recording, milliseconds since the epoch. */
  readonly startedAtMilliseconds: number
  readonly markets: readonly RecordedMarket[]
}

/**
 * One commit of one market, as the events that make a sequencer commit the same when they are offered within one turn;
 * or one loss, which makes no commit. In a keyframe: the state of a market at that place, which changes nothing for who
 * has followed the recording up to there.
 */
export interface RecordedEntry {
  /** Index of the market in the header. */
  readonly market: number
  /** Milliseconds since the epoch; never goes back within a file, whatever the wall clock did. */
  readonly atMilliseconds: number
  readonly events: readonly MarketEvent[]
}

/**
 * - `entries`: what happened.
 * - `keyframe`: the state of every market at this place begins here.
 * - `keyframe-rest`: more of the state that the block before began.
 */
export type BlockKind = 'entries' | 'keyframe' | 'keyframe-rest'

export interface BlockHead {
  readonly kind: BlockKind
  /** 0, 1, 2 … within the file: a block that is not there shows. */
  readonly number: number
  readonly firstMilliseconds: number
  readonly lastMilliseconds: number
  readonly entryCount: number
  /** Length of the compressed body, and its CRC-32. */
  readonly bodyBytes: number
  readonly bodyChecksum: number
}

/** What is wrong with the bytes of a recording, in words for people. */
export class RecordingError extends Error {
  override name = 'RecordingError'
}

/** How one version of the format is read. */
export interface RecordingFormat {
  /** Reads what `headerBytes` announced. Throws a `RecordingError`. */
  decodeHeader(text: string): RecordingHeader
  readonly blockHeadBytes: number
  /** The bytes that every block begins with, for finding the next one behind damage. */
  readonly blockMark: Buffer
  /** A block's head, or nothing when these bytes are none. */
  decodeBlockHead(bytes: Buffer): BlockHead | undefined
  /** The entries of a decompressed body. Throws a `RecordingError`. */
  decodeEntries(body: Buffer, head: BlockHead, marketCount: number): RecordedEntry[]
}

/** The first line of every recording names its format: `tidegate recording 1`, then the header's length and checksum. */
const SIGNATURE = /^tidegate recording ([1-9][0-9]{0,5})\n$/

/** A text that no other kind of file begins with, followed by the version. */
export function signatureLine(version: number): string {
  return `tidegate recording ${version}\n`
}

/** Longest signature line. */
export const SIGNATURE_BYTES_MAX = signatureLine(999_999).length

/** The format version that a file's first bytes name; nothing when it is no recording. */
export function readSignature(bytes: Buffer): { readonly version: number; readonly bytes: number } | undefined {
  const end = bytes.indexOf(0x0a)
  const line = bytes.toString('latin1', 0, end + 1)
  const version = SIGNATURE.exec(line)?.[1]
  return version === undefined ? undefined : { version: Number(version), bytes: line.length }
}

/**
 * The stream's messages as finished WebSocket frames, in both encodings: the base protocol (`tidegate.default`) and the
 * extended protocol (`tidegate.v1`), which adds a `stream` member to every data message. Member order follows the
 * public documentation. Numbers have exactly the market's decimals, except the amount `0` for a removed level. Server
 * frames are unmasked (RFC 6455 section 5). A book message longer than `FRAGMENT_BYTES_MAX` becomes several frames, so
 * that it can be written in parts.
 */
import { PAYLOAD_TYPES } from '../../contract/channels.ts'
import { type Instant, millisecondText, nanosecondText } from '../../platform/base/clock.ts'
import { formatDecimal } from '../../platform/base/decimal.ts'
import { BID, type Execution, type Instrument, type LevelChange, type MarketDefinition } from '../market/event.ts'
import type { AttributedLevel } from '../market/venues.ts'

/** Longest payload of one book-message frame. Longer messages are fragmented (RFC 6455 section 5.4). */
export const FRAGMENT_BYTES_MAX = 65_536

/** The frames for one message: one frame, unless the message is longer than a fragment may be. Shared, immutable. */
export type Message = readonly Buffer[]

/** The encodings of a message. Each indexes pairs like `EncodedFrame`. */
export const BASE = 0
export const EXTENDED = 1
export type Encoding = typeof BASE | typeof EXTENDED

/** A message as one frame per encoding. Undefined where it was not encoded. */
export type EncodedFrame = readonly [base: Buffer | undefined, extended: Buffer | undefined]

/** Messages with their frames' bytes. */
export interface FrameCount {
  messages: number
  bytes: number
}

/** A count per encoding. */
export type FrameCounts = readonly [base: FrameCount, extended: FrameCount]

export function newFrameCounts(): FrameCounts {
  return [
    { messages: 0, bytes: 0 },
    { messages: 0, bytes: 0 },
  ]
}

const FIN = 0x80
const OPCODE_CONTINUATION = 0x0
const OPCODE_TEXT = 0x1

/** The start of a book message. */
const BOOK_PREFIX = '{"channel":"market_data","payload":{'

/** The best level on each side. Absent when the side is empty. */
export interface TopOfBook {
  readonly bid: LevelChange | undefined
  readonly ask: LevelChange | undefined
}

export function isSameTop(left: TopOfBook, right: TopOfBook): boolean {
  return isSameLevel(left.bid, right.bid) && isSameLevel(left.ask, right.ask)
}

function isSameLevel(left: LevelChange | undefined, right: LevelChange | undefined): boolean {
  return left?.price === right?.price && left?.amount === right?.amount
}

/** A text message as one finished frame, whatever its length. */
export function textFrame(text: string): Buffer {
  const length = Buffer.byteLength(text)
  const header = headerLength(length)
  const frame = Buffer.allocUnsafe(header + length)
  writeHeader(frame, FIN | OPCODE_TEXT, length)
  frame.write(text, header)
  return frame
}

/** The extended protocol's `stream` member, documented in docs/reference/extended-stream.md. */
export interface StreamMember {
  readonly cursor: string
  /** Cursor of the subscription's previous message. Undefined in the first. */
  readonly prev: string | undefined
  /** Number of contained commits with a change to the channel. 0 in a message that replaces everything. */
  readonly covers: number
}

/** A data message's extended text. */
export function extendedText(base: string, stream: StreamMember): string {
  return base.slice(0, -1) + streamTail(stream)
}

/** A long message's extended form. All messages made from one head share the frames for its levels. */
export function extendedMessage(head: MessageHead, stream: StreamMember): Message {
  const tail = streamTail(stream)
  if (head.frames.length === 0) return textMessage(head.text + tail)
  return [...head.frames, frameOf(FIN | OPCODE_CONTINUATION, Buffer.from(tail))]
}

/** A data message without its last byte, the closing brace. */
export interface MessageHead {
  /** A short message's text. Empty for a long one. */
  readonly text: string
  /** A long message's frames. Empty for a short one. */
  readonly frames: Message
}

export function messageHead(base: Message): MessageHead {
  const last = base.at(-1) as Buffer
  const rest = last.subarray(headerLengthOf(last), -1)
  if (base.length === 1) return { text: rest.toString('latin1'), frames: [] }
  const frames = base.slice(0, -1)
  if (rest.length > 0) frames.push(frameOf(OPCODE_CONTINUATION, rest))
  return { text: '', frames }
}

/**
 * A book message with another start and end, sharing the frames for its levels. `prefix` replaces the text up to the
 * payload's members, `tail` the closing brace.
 */
export function reframed(head: MessageHead, prefix: string, tail: string): Message {
  const [first, ...others] = head.frames
  if (first === undefined) return textMessage(prefix + head.text.slice(BOOK_PREFIX.length) + tail)
  const rest = first.subarray(headerLengthOf(first) + BOOK_PREFIX.length)
  const beginning = frameOf(OPCODE_TEXT, Buffer.concat([Buffer.from(prefix), rest]))
  return [beginning, ...others, frameOf(FIN | OPCODE_CONTINUATION, Buffer.from(tail))]
}

/** The replacement for the base text's closing brace. */
function streamTail({ cursor, prev, covers }: StreamMember): string {
  const before = prev === undefined ? '' : `"prev":"${prev}",`
  return `,"stream":{"cursor":"${cursor}",${before}"covers":${covers}}}`
}

/** A text message as frames with at most `FRAGMENT_BYTES_MAX` payload bytes. */
export function textMessage(text: string): Message {
  if (text.length <= FRAGMENT_BYTES_MAX) return [textFrame(text)]
  return fragments(Buffer.from(text))
}

function fragments(payload: Buffer): Buffer[] {
  const frames: Buffer[] = []
  for (let start = 0; start < payload.length; start += FRAGMENT_BYTES_MAX) {
    const part = payload.subarray(start, start + FRAGMENT_BYTES_MAX)
    const isLast = start + part.length === payload.length
    frames.push(frameOf((isLast ? FIN : 0) | (start === 0 ? OPCODE_TEXT : OPCODE_CONTINUATION), part))
  }
  return frames
}

function frameOf(firstByte: number, payload: Buffer): Buffer {
  const header = headerLength(payload.length)
  const frame = Buffer.allocUnsafe(header + payload.length)
  writeHeader(frame, firstByte, payload.length)
  payload.copy(frame, header)
  return frame
}

/** Header bytes of a finished frame. */
function headerLengthOf(frame: Buffer): number {
  const length = frame[1] as number
  if (length < 126) return 2
  return length === 126 ? 4 : 10
}

function headerLength(payloadLength: number): number {
  if (payloadLength < 126) return 2
  return payloadLength < 65_536 ? 4 : 10
}

function writeHeader(frame: Buffer, firstByte: number, payloadLength: number): void {
  frame[0] = firstByte
  if (payloadLength < 126) {
    frame[1] = payloadLength
  } else if (payloadLength < 65_536) {
    frame[1] = 126
    frame.writeUInt16BE(payloadLength, 2)
  } else {
    frame[1] = 127
    frame.writeUInt32BE(0, 2)
    frame.writeUInt32BE(payloadLength, 6)
  }
}

/** One `{price, amount}` entry. A removed level has exactly the amount `0`. */
export function levelText(market: MarketDefinition, level: LevelChange): string {
  const amount = level.amount === 0 ? '0' : formatDecimal(level.amount, market.amountDecimals)
  return `{"price":"${formatDecimal(level.price, market.priceDecimals)}","amount":"${amount}"}`
}

/** An entry with the member `venues`, unless the level is removed. */
export function attributedLevelText(market: MarketDefinition, level: AttributedLevel): string {
  const text = levelText(market, level)
  if (level.venues === undefined) return text
  const shares = level.venues.map(([name, amount]) => [name, formatDecimal(amount, market.amountDecimals)])
  return `${text.slice(0, -1)},"venues":${JSON.stringify(shares)}}`
}

/** A market_data message around its comma-joined entry texts. */
export function bookText(
  market: MarketDefinition,
  type: 'snapshot' | 'update',
  milliseconds: number,
  bids: string,
  asks: string,
): string {
  return `${BOOK_PREFIX}"market":"${market.symbol}","type":"${PAYLOAD_TYPES[type]}","time":"${millisecondText(milliseconds)}","bids":[${bids}],"asks":[${asks}]}}`
}

/** An UPDATE with these levels, bids first (in the view's order). `textOf` returns one entry's text. */
export function updateText(
  market: MarketDefinition,
  milliseconds: number,
  changes: readonly LevelChange[],
  textOf: (change: LevelChange) => string = (change) => levelText(market, change),
): string {
  let bids = ''
  let asks = ''
  for (const change of changes) {
    if (change.side === BID) bids += (bids === '' ? '' : ',') + textOf(change)
    else asks += (asks === '' ? '' : ',') + textOf(change)
  }
  return bookText(market, 'update', milliseconds, bids, asks)
}

export function topOfBookText(market: MarketDefinition, instant: Instant, top: TopOfBook): string {
  const timestamp = nanosecondText(instant.milliseconds, instant.nanoseconds)
  const bids = top.bid === undefined ? '' : levelText(market, top.bid)
  const asks = top.ask === undefined ? '' : levelText(market, top.ask)
  return `{"channel":"market_data.top_of_book","payload":{"market":"${market.symbol}","type":"${PAYLOAD_TYPES.topOfBook}","timestamp":"${timestamp}","bids":[${bids}],"asks":[${asks}]}}`
}

export function executionText(market: MarketDefinition, execution: Execution, commitMilliseconds: number): string {
  const members = executionMembers(market, execution, commitMilliseconds)
  return `{"channel":"execution_data","payload":{"market":"${market.symbol}",${members}}}`
}

/** The extended protocol's execution, which adds its identifier, its venue, and the taker's side where known. */
export function extendedExecutionText(
  market: MarketDefinition,
  execution: IdentifiedExecution,
  commitMilliseconds: number,
): string {
  const members = identifiedMembers(market, execution, commitMilliseconds)
  return `{"channel":"execution_data","payload":{"market":"${market.symbol}",${members}}}`
}

/** An execution outside the stream, with the cursor of its message there. */
export function tradeText(
  market: MarketDefinition,
  execution: Execution,
  commitMilliseconds: number,
  cursor: string,
): string {
  const identified = { ...execution, id: execution.id ?? cursor }
  return `{"cursor":"${cursor}",${identifiedMembers(market, identified, commitMilliseconds)}}`
}

/** An execution whose identifier is the source's, or ours where the source has none. */
export type IdentifiedExecution = Execution & { readonly id: string }

/** An identified execution's members. */
export function identifiedMembers(
  market: MarketDefinition,
  execution: IdentifiedExecution,
  commitMilliseconds: number,
): string {
  const { id, side, venue } = execution
  const sideMember = side === undefined ? '' : `,"side":"${side}"`
  const venueMember = venue === undefined ? '' : `,"venue":${JSON.stringify(venue)}`
  return `${executionMembers(market, execution, commitMilliseconds)},"id":${JSON.stringify(id)}${sideMember}${venueMember}`
}

function executionMembers(market: MarketDefinition, execution: Execution, commitMilliseconds: number): string {
  const price = formatDecimal(execution.price, market.priceDecimals)
  const amount = formatDecimal(execution.amount, market.amountDecimals)
  const executedAt = millisecondText(execution.executedAtMilliseconds ?? commitMilliseconds)
  return `"price":"${price}","amount":"${amount}","executed_at":"${executedAt}"`
}

export function heartbeatText(instant: Instant): string {
  return `{"channel":"heartbeat","payload":{"timestamp":"${nanosecondText(instant.milliseconds, instant.nanoseconds)}"}}`
}

/** The extended protocol's heartbeat. `books` are results from `bookStatusText`. */
export function extendedHeartbeatText(instant: Instant, books: readonly string[]): string {
  const timestamp = nanosecondText(instant.milliseconds, instant.nanoseconds)
  return `{"channel":"heartbeat","payload":{"timestamp":"${timestamp}","books":[${books.join()}]}}`
}

/** One subscribed book's status in a heartbeat. */
export interface BookStatus {
  /** Cursor of the subscription's last message. */
  readonly cursor: string
  /** The book's digest after that message. Undefined while the market is stale. */
  readonly digest: string | undefined
  /** When the market last became live or stale: wall clock, milliseconds. */
  readonly sinceMilliseconds: number
  /** The book's position in the first publication of the chain. Undefined when no longer known. */
  readonly origin: string | undefined
  readonly instrument: Instrument | undefined
  /** Signed statements which the subscription has not been sent. */
  readonly receipts: readonly string[]
}

export function bookStatusText(market: MarketDefinition, status: BookStatus): string {
  const { cursor, digest, sinceMilliseconds, origin, instrument, receipts } = status
  const digestMember = digest === undefined ? '' : `"digest":"${digest}",`
  const since = millisecondText(sinceMilliseconds)
  const originMember = origin === undefined ? '' : `,"origin":"${origin}"`
  const instrumentMember = instrument === undefined ? '' : `,"instrument_state":"${instrument.state}"`
  const receiptsMember = receipts.length === 0 ? '' : `,"receipts":["${receipts.join('","')}"]`
  return `{"market":"${market.symbol}","cursor":"${cursor}",${digestMember}"live":${digest !== undefined},"since":"${since}"${originMember}${instrumentMember}${receiptsMember}}`
}

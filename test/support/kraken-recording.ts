/**
 * Recorded Kraken books as messages with level changes, read separately and not through the connector: numbers by the
 * instrument's precision, the book cut to the subscribed depth, the CRC32 as in the exchange's documentation.
 * https://docs.kraken.com/api/docs/guides/spot-ws-book-v2
 */
import { crc32 } from 'node:zlib'
import { parseDecimal } from '../../src/platform/base/decimal.ts'
import { ASK, BID, type LevelChange, type Side } from '../../src/streaming/market/event.ts'
import type { ScriptMessage } from './market-script.ts'
import type { NaiveBook } from './naive-book.ts'
import type { KrakenRecording } from './recordings.ts'

const CHECKSUM_LEVELS = 10

interface KrakenLevel {
  readonly price: number
  readonly qty: number
}

interface KrakenFrame {
  readonly channel?: string
  readonly type?: string
  readonly method?: string
  readonly result?: { readonly depth?: number }
  readonly data?: readonly [
    { readonly bids: readonly KrakenLevel[]; readonly asks: readonly KrakenLevel[]; readonly checksum: number },
  ]
}

export interface KrakenMessage {
  readonly type: 'snapshot' | 'update'
  readonly levels: readonly LevelChange[]
  /** Levels per side that the exchange keeps up to date. No message removes the levels that leave this depth. */
  readonly depth: number
  /** CRC32 over the best ten levels per side after this message. */
  readonly checksum: number
}

export function krakenMessages(recording: KrakenRecording): KrakenMessage[] {
  const { pricePrecision, quantityPrecision } = recording
  const messages: KrakenMessage[] = []
  let depth = 0
  for (const { text } of recording.frames) {
    const frame = JSON.parse(text) as KrakenFrame
    if (frame.method === 'subscribe' && frame.result?.depth !== undefined) depth = frame.result.depth
    if (frame.channel !== 'book' || frame.data === undefined) continue
    const { bids, asks, checksum } = frame.data[0]
    const scaled = (side: Side) => (level: KrakenLevel) => ({
      side,
      price: Number(parseDecimal(level.price.toFixed(pricePrecision), pricePrecision)),
      amount: parseDecimal(level.qty.toFixed(quantityPrecision), quantityPrecision) as number,
    })
    messages.push({
      type: frame.type === 'snapshot' ? 'snapshot' : 'update',
      levels: [...bids.map(scaled(BID)), ...asks.map(scaled(ASK))],
      depth,
      checksum,
    })
  }
  return messages
}

/** The message as a source emits it: it also removes the levels that leave the depth. */
export function cutToDepth(message: KrakenMessage, bookBefore: NaiveBook): ScriptMessage {
  if (message.type === 'snapshot') return { type: 'snapshot', levels: message.levels }
  const after = bookBefore.copy()
  after.apply(message.levels)
  const kept = after.copy()
  kept.replace(after.levels(message.depth))
  const fallen = after.levels(0).filter(({ side, price }) => kept.amount(side, price) === 0)
  return { type: 'update', changes: [...message.levels, ...fallen.map((level) => ({ ...level, amount: 0 }))] }
}

/** The exchange's checksum for a book at the instrument's precision: asks, then bids, best first, digits only. */
export function krakenChecksum(book: NaiveBook): number {
  const levels = book.levels(CHECKSUM_LEVELS)
  const digits = (side: Side) =>
    levels.filter((level) => level.side === side).map((level) => `${level.price}${level.amount}`)
  return crc32([...digits(ASK), ...digits(BID)].join(''))
}

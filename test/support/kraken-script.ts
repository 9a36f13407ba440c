/** Hand-written recordings: book messages as short lists, with times and correct checksums added. */
import { type KrakenBookShape, RecordedKrakenBook } from './recorded-kraken-book.ts'
import type { KrakenRecording } from './recordings.ts'

/** A book message. Levels are [price, quantity]. */
export interface ScriptMessage {
  readonly type: 'snapshot' | 'update'
  readonly bids?: readonly (readonly [number, number])[]
  readonly asks?: readonly (readonly [number, number])[]
}

/** A message, or another frame's text. */
export type ScriptFrame = ScriptMessage | string

/** A recording with these frames, `spacingMilliseconds` apart. */
export function scriptKraken(
  shape: KrakenBookShape,
  script: readonly ScriptFrame[],
  spacingMilliseconds = 10,
): KrakenRecording {
  const book = new RecordedKrakenBook(shape)
  const frames = script.map((frame, index) => ({
    milliseconds: index * spacingMilliseconds,
    text: typeof frame === 'string' ? frame : messageText(shape.symbol, book, frame),
  }))
  return { ...shape, frames }
}

/** A subscription's acknowledgement in Kraken's format. */
export function acknowledgementText(method: 'subscribe' | 'unsubscribe', symbol: string, depth: number): string {
  return JSON.stringify({ method, result: { channel: 'book', depth, symbol }, success: true })
}

function messageText(symbol: string, book: RecordedKrakenBook, { type, bids, asks }: ScriptMessage): string {
  const side = (levels: ScriptMessage['bids'] = []) => levels.map(([price, qty]) => ({ price, qty }))
  const data = { symbol, bids: side(bids), asks: side(asks) }
  book.apply({ channel: 'book', type, data: [data] })
  return JSON.stringify({ channel: 'book', type, data: [{ ...data, checksum: book.checksum() }] })
}

/** Reads Kraken recordings: the real ones if available, else synthetic ones in the same format. */
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { isReal, recordedFile } from './recorded-files.ts'

/** One frame as sent by the venue, with its time in milliseconds after its recording's first frame. */
export interface RecordedFrame {
  readonly milliseconds: number
  readonly text: string
}

export interface KrakenRecording {
  readonly symbol: string
  /** The recorded subscription's levels per side. */
  readonly depth: number
  /** Fraction digits in the recording's prices and quantities. */
  readonly pricePrecision: number
  readonly quantityPrecision: number
  readonly frames: readonly RecordedFrame[]
}

const BTC_USD = 'kraken-v2/kraken_btcusd_l2.cbcap.gz'
const ETH_USD = 'kraken-v2/kraken_ethusd_sample.cbcap.gz'
const FLOATS = 'kraken-v2-floats/orderbook-v2.json.gz'

/**
 * For `describe.skipIf`, where synthetic recordings are not sufficient: true when a real Kraken recording is missing.
 */
export const krakenRecordingsMissing = [BTC_USD, ETH_USD, FLOATS].some((file) => !isReal(file))

/** BTC/USD, depth 10, one minute. Contains acknowledgements whose requests are not part of the recording. */
export function krakenBtcUsd(): KrakenRecording {
  return describeRecording(readCbcap(BTC_USD))
}

/** ETH/USD, depth 25, 39 s. */
export function krakenEthUsd(): KrakenRecording {
  return describeRecording(readCbcap(ETH_USD))
}

/** BTC/USD, depth 10, 51 s, with numbers without their trailing zeros. */
export function krakenFloats(): KrakenRecording {
  const { init, updates } = JSON.parse(readZipped(FLOATS).toString()) as { init: unknown; updates: unknown[] }
  const frames = [init, ...updates].map((message) => {
    const timestamp = (message as { data: { timestamp?: string }[] }).data[0]?.timestamp
    return { milliseconds: timestamp === undefined ? Number.NaN : Date.parse(timestamp), text: JSON.stringify(message) }
  })
  // The snapshot has no timestamp: it was received right before the first update.
  const begin = frames[1]?.milliseconds ?? 0
  return describeRecording(
    frames.map(({ milliseconds, text }) => ({ milliseconds: (milliseconds || begin) - begin, text })),
  )
}

/** `CBCAP1 <venue> <symbol> <unix_nanos>`, then repeatedly `<ts_ns> <bytes>\n<that many bytes>\n`. */
function readCbcap(file: string): RecordedFrame[] {
  const bytes = readZipped(file)
  const frames: RecordedFrame[] = []
  let begin: bigint | undefined
  let position = bytes.indexOf('\n') + 1
  while (position < bytes.length) {
    const lineEnd = bytes.indexOf('\n', position)
    const [nanoseconds, length] = bytes.toString('latin1', position, lineEnd).split(' ')
    const instant = BigInt(nanoseconds as string)
    begin ??= instant
    const end = lineEnd + 1 + Number(length)
    frames.push({ milliseconds: Number(instant - begin) / 1e6, text: bytes.toString('utf8', lineEnd + 1, end) })
    position = end + 1
  }
  return frames
}

function describeRecording(frames: readonly RecordedFrame[]): KrakenRecording {
  let symbol = ''
  let depth = 10
  for (const { text } of frames) {
    const message = JSON.parse(text) as { result?: { depth?: number }; data?: { symbol?: string }[] }
    symbol ||= message.data?.[0]?.symbol ?? ''
    depth = message.result?.depth ?? depth
  }
  const all = frames.map(({ text }) => text).join('\n')
  return {
    symbol,
    depth,
    pricePrecision: fractionDigits(all, /"price":[0-9]+\.?([0-9]*)/g),
    quantityPrecision: fractionDigits(all, /"qty":[0-9]+\.?([0-9]*)/g),
    frames,
  }
}

function fractionDigits(text: string, pattern: RegExp): number {
  let digits = 0
  for (const match of text.matchAll(pattern)) digits = Math.max(digits, (match[1] as string).length)
  return digits
}

function readZipped(file: string): Buffer {
  return gunzipSync(readFileSync(recordedFile(file)))
}

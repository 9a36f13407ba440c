/**
 * Version 1 of the recording format, byte by byte: the signature line, the header (length, CRC-32, JSON), then blocks.
 * A block has a fixed-length head with its own checksum, and a deflated body (`entry-text`). The head is enough to skip
 * the body. Integers are big-endian.
 */
import { crc32 } from 'node:zlib'
import type { MarketDefinition } from '../market/event.ts'
import { decodeEntries } from './entry-text.ts'
import {
  type BlockHead,
  type BlockKind,
  type RecordedMarket,
  RecordingError,
  type RecordingFormat,
  type RecordingGap,
  type RecordingHeader,
  signatureLine,
} from './recording.ts'

const VERSION = 1
const BLOCK_MARK = Buffer.from('\u0000TGB', 'latin1')
const BLOCK_HEAD_BYTES = 44
const KINDS: readonly BlockKind[] = ['entries', 'keyframe', 'keyframe-rest']

/** Largest accepted compressed body. */
const BODY_BYTES_MAX = 256 * 1024 * 1024
const MARKETS_MAX = 100_000
const DECIMALS_MAX = 18

export const FORMAT_1: RecordingFormat = {
  decodeHeader,
  blockHeadBytes: BLOCK_HEAD_BYTES,
  blockMark: BLOCK_MARK,
  decodeBlockHead,
  decodeEntries: (body, head, marketCount) => decodeEntries(body.toString('utf8'), head.firstMilliseconds, marketCount),
}

/** A file's bytes before its first block. */
export function encodeHeader(header: RecordingHeader): Buffer {
  const document = {
    written_by: header.writtenBy,
    started_at: new Date(header.startedAtMilliseconds).toISOString(),
    markets: header.markets.map(({ definition, sources }) => ({
      symbol: definition.symbol,
      base_asset: definition.baseAsset,
      quote_asset: definition.quoteAsset,
      price_decimals: definition.priceDecimals,
      amount_decimals: definition.amountDecimals,
      depth: definition.depth,
      sources,
    })),
    ...(header.gap === undefined ? {} : { gap: gapDocument(header.gap) }),
  }
  const text = Buffer.from(JSON.stringify(document))
  const lengths = Buffer.alloc(8)
  lengths.writeUInt32BE(text.length, 0)
  lengths.writeUInt32BE(crc32(text), 4)
  return Buffer.concat([Buffer.from(signatureLine(VERSION)), lengths, text])
}

export function encodeBlockHead(head: BlockHead): Buffer {
  const bytes = Buffer.alloc(BLOCK_HEAD_BYTES)
  BLOCK_MARK.copy(bytes, 0)
  bytes.writeUInt32BE(KINDS.indexOf(head.kind), 4)
  bytes.writeUInt32BE(head.number, 8)
  bytes.writeBigUInt64BE(BigInt(head.firstMilliseconds), 12)
  bytes.writeBigUInt64BE(BigInt(head.lastMilliseconds), 20)
  bytes.writeUInt32BE(head.entryCount, 28)
  bytes.writeUInt32BE(head.bodyBytes, 32)
  bytes.writeUInt32BE(head.bodyChecksum, 36)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, BLOCK_HEAD_BYTES - 4)), BLOCK_HEAD_BYTES - 4)
  return bytes
}

function decodeBlockHead(bytes: Buffer): BlockHead | undefined {
  if (bytes.length < BLOCK_HEAD_BYTES || !bytes.subarray(0, BLOCK_MARK.length).equals(BLOCK_MARK)) return undefined
  if (crc32(bytes.subarray(0, BLOCK_HEAD_BYTES - 4)) !== bytes.readUInt32BE(BLOCK_HEAD_BYTES - 4)) return undefined
  const kind = KINDS[bytes.readUInt32BE(4)]
  const head = {
    number: bytes.readUInt32BE(8),
    firstMilliseconds: Number(bytes.readBigUInt64BE(12)),
    lastMilliseconds: Number(bytes.readBigUInt64BE(20)),
    entryCount: bytes.readUInt32BE(28),
    bodyBytes: bytes.readUInt32BE(32),
    bodyChecksum: bytes.readUInt32BE(36),
  }
  if (kind === undefined || head.bodyBytes > BODY_BYTES_MAX) return undefined
  return { kind, ...head }
}

function decodeHeader(text: string): RecordingHeader {
  const document = JSON.parse(text) as Readonly<Record<string, unknown>>
  const { written_by: writtenBy, started_at: startedAt, markets } = document
  const startedAtMilliseconds = Date.parse(String(startedAt))
  if (typeof writtenBy !== 'string' || Number.isNaN(startedAtMilliseconds))
    throw new RecordingError('the header has no start time')
  if (!Array.isArray(markets) || markets.length > MARKETS_MAX) throw new RecordingError('the header has no market list')
  const gap = decodeGap(document.gap)
  return {
    writtenBy,
    startedAtMilliseconds,
    markets: markets.map(decodeMarket),
    ...(gap === undefined ? {} : { gap }),
  }
}

function gapDocument({ fromMilliseconds, toMilliseconds, reason }: RecordingGap): object {
  return { from: new Date(fromMilliseconds).toISOString(), to: new Date(toMilliseconds).toISOString(), reason }
}

function decodeGap(value: unknown): RecordingGap | undefined {
  if (value === undefined) return undefined
  const { from, to, reason } = (value ?? {}) as Readonly<Record<string, unknown>>
  const [fromMilliseconds, toMilliseconds] = [Date.parse(String(from)), Date.parse(String(to))]
  if (Number.isNaN(fromMilliseconds + toMilliseconds) || typeof reason !== 'string') {
    throw new RecordingError('the gap in the header cannot be read')
  }
  return { fromMilliseconds, toMilliseconds, reason }
}

function decodeMarket(value: unknown): RecordedMarket {
  const market = (value ?? {}) as Readonly<Record<string, unknown>>
  const { symbol, base_asset: baseAsset, quote_asset: quoteAsset, sources } = market
  const { price_decimals: priceDecimals, amount_decimals: amountDecimals, depth } = market
  const definition = { symbol, baseAsset, quoteAsset, priceDecimals, amountDecimals, depth }
  const areNames = [symbol, baseAsset, quoteAsset].every((name) => typeof name === 'string' && /^[A-Z0-9]+$/.test(name))
  const areDecimals = [priceDecimals, amountDecimals].every((count) => isCount(count) && count <= DECIMALS_MAX)
  const areSources = Array.isArray(sources) && sources.every((source) => typeof source === 'string')
  if (!areNames || !areDecimals || !isCount(depth) || !areSources) {
    throw new RecordingError(`a market cannot be read: ${JSON.stringify(value)?.slice(0, 200)}`)
  }
  return { definition: definition as MarketDefinition, sources }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

/**
 * Reads the book at a cursor from a service's recording (docs/how-to/recordings.md, format 1). It inflates only the
 * blocks from the last keyframe before the evidence's time: a minute of market data, however long the file is. Damaged
 * bytes are never read: they would look like a wrong price.
 */
import { TidegateError } from '../errors.ts'
import type { HeldBook } from './verify.ts'

const MAGIC = 'tidegate recording 1\n'
const HEAD_BYTES = 44
const KEYFRAME = 1
/** A commit's entries may be this much earlier or later than its time, when a clock was set. */
const CLOCK_MILLISECONDS_MAX = 5_000

interface Market {
  readonly symbol: string
  readonly depth: number
  readonly price_decimals: number
  readonly amount_decimals: number
}

interface Block {
  /** Of its head, in the file. */
  readonly offset: number
  readonly kind: number
  /** The time of its first entry, in milliseconds. */
  readonly first: number
  readonly checksum: number
  readonly body: Uint8Array<ArrayBuffer>
}

type SideLevels = readonly (number | string)[]

interface RecordedEvent {
  readonly snapshot?: readonly [SideLevels, SideLevels]
  readonly update?: readonly [SideLevels, SideLevels, ...unknown[]]
  readonly commit?: readonly [version: number, milliseconds: number, nanoseconds: number, epoch?: string]
}

/**
 * The market's book at a cursor, or undefined when the recording does not have it. Throws `INVALID_ARGUMENT` when the
 * recording is damaged where the book is looked for.
 * @param recording the bytes of a recording
 * @param book `cursor` and `time` from the price's evidence
 */
export async function recordedBook(
  recording: Uint8Array<ArrayBuffer>,
  symbol: string,
  { cursor, time }: { readonly cursor?: string; readonly time?: string },
): Promise<HeldBook | undefined> {
  const milliseconds = Date.parse(time ?? '')
  if (cursor === undefined || Number.isNaN(milliseconds)) return undefined
  const { markets, blocks, damagedAt } = readBlocks(recording)
  const index = markets.findIndex((market) => market.symbol === symbol)
  const market = markets[index]
  if (market === undefined) return undefined
  const sides = [new Map<bigint, bigint>(), new Map<bigint, bigint>()] as const
  let epoch = ''
  const begin = blocks.findLastIndex(
    ({ kind, first }) => kind === KEYFRAME && first < milliseconds - CLOCK_MILLISECONDS_MAX,
  )
  for (const { offset, first, checksum, body } of blocks.slice(Math.max(0, begin))) {
    if (first > milliseconds + CLOCK_MILLISECONDS_MAX) return undefined
    if (crc32(body) !== checksum) throw unreadable(`it is damaged at byte ${offset}`)
    for (const line of (await inflated(body)).split('\n')) {
      if (line === '') continue
      const [place, , ...events] = JSON.parse(line) as [number, number, ...RecordedEvent[]]
      if (place !== index) continue
      for (const { snapshot, update } of events) {
        if (snapshot !== undefined) for (const side of sides) side.clear()
        const [bids = [], asks = []] = snapshot ?? update ?? []
        apply(sides[0], bids)
        apply(sides[1], asks)
      }
      const [version, , , named = epoch] = events[0]?.commit ?? []
      epoch = named
      if (version !== undefined && (await cursorOf(market, epoch, version)) === cursor)
        return heldBook(market, cursor, sides)
    }
  }
  if (damagedAt !== undefined) throw unreadable(`it is damaged at byte ${damagedAt}`)
  return undefined
}

function apply(side: Map<bigint, bigint>, levels: SideLevels): void {
  for (let at = 0; at + 1 < levels.length; at += 2) {
    const [price, amount] = [BigInt(levels[at] as number), BigInt(levels[at + 1] as number)]
    if (amount === 0n) side.delete(price)
    else side.set(price, amount)
  }
}

/** The `tidegate.v1` cursor for a version at the published depth. */
async function cursorOf({ symbol, depth }: Market, epoch: string, version: number): Promise<string> {
  const text = new TextEncoder().encode(JSON.stringify([symbol, 'market_data', depth, epoch]))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', text)).subarray(0, 6)
  const base64 = btoa(String.fromCharCode(...digest))
  return `${base64.replaceAll('+', '-').replaceAll('/', '_')}.${version}`
}

function heldBook(
  { depth, price_decimals, amount_decimals }: Market,
  cursor: string,
  [bids, asks]: readonly [ReadonlyMap<bigint, bigint>, ReadonlyMap<bigint, bigint>],
): HeldBook {
  const most = depth === 0 ? Number.POSITIVE_INFINITY : depth
  const top = (side: ReadonlyMap<bigint, bigint>, isFirst: (left: bigint, right: bigint) => boolean, count = most) =>
    [...side]
      .sort(([left], [right]) => (isFirst(left, right) ? -1 : 1))
      .slice(0, Math.min(count, most))
      .map(([price, amount]) => ({ price: text(price, price_decimals), amount: text(amount, amount_decimals) }))
  return {
    cursor,
    bids: (count) => top(bids, (left, right) => left > right, count),
    asks: (count) => top(asks, (left, right) => left < right, count),
  }
}

function text(units: bigint, decimals: number): string {
  const digits = String(units).padStart(decimals + 1, '0')
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

/** The markets, the blocks up to the first damaged head, and where that is. A missing block counts as damage too. */
function readBlocks(recording: Uint8Array<ArrayBuffer>) {
  const view = new DataView(recording.buffer, recording.byteOffset, recording.byteLength)
  const headerAt = MAGIC.length + 8
  const isRecording = new TextDecoder().decode(recording.subarray(0, MAGIC.length)) === MAGIC
  if (!isRecording || recording.length < headerAt) throw unreadable('it does not begin as one')
  let position = headerAt + view.getUint32(MAGIC.length)
  const header = recording.subarray(headerAt, position)
  if (header.length === 0 || crc32(header) !== view.getUint32(MAGIC.length + 4))
    throw unreadable('its header is damaged')
  const { markets } = JSON.parse(new TextDecoder().decode(header)) as { markets: readonly Market[] }
  const blocks: Block[] = []
  // An incomplete block at the end is ignored: the service was still writing it.
  while (position + HEAD_BYTES <= recording.length) {
    const offset = position
    const isWhole = crc32(recording.subarray(offset, offset + 40)) === view.getUint32(offset + 40)
    if (view.getUint32(offset) !== 0x00544742 || !isWhole || view.getUint32(offset + 8) !== blocks.length)
      return { markets, blocks, damagedAt: offset }
    const bodyAt = offset + HEAD_BYTES
    const kind = view.getUint32(offset + 4)
    const first = Number(view.getBigUint64(offset + 12))
    const checksum = view.getUint32(offset + 36)
    position = bodyAt + view.getUint32(offset + 32)
    if (position <= recording.length)
      blocks.push({ offset, kind, first, checksum, body: recording.subarray(bodyAt, position) })
  }
  return { markets, blocks, damagedAt: undefined }
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte
  for (let bit = 0; bit < 8; bit++) remainder = (remainder >>> 1) ^ (remainder & 1 ? 0xedb88320 : 0)
  return remainder
})

function crc32(bytes: Uint8Array): number {
  let remainder = 0xffffffff
  for (const byte of bytes) remainder = (remainder >>> 8) ^ (CRC_TABLE[(remainder ^ byte) & 0xff] as number)
  return (remainder ^ 0xffffffff) >>> 0
}

async function inflated(body: Uint8Array<ArrayBuffer>): Promise<string> {
  const stream = new Blob([body]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
  return await new Response(stream).text()
}

function unreadable(reason: string): TidegateError {
  return new TidegateError('INVALID_ARGUMENT', `the recording cannot be read: ${reason}`)
}

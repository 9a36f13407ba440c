/** The book of a recording: found by its cursor, and never read from damaged bytes. */
import { createHash } from 'node:crypto'
import { crc32, deflateRawSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { recordedBook } from '../../packages/client/src/index.ts'
import { encodeBlockHead, encodeHeader } from '../../src/streaming/recordings/format-1.ts'
import type { BlockKind } from '../../src/streaming/recordings/recording.ts'

const START = Date.parse('2026-11-23T14:00:00.000Z')
const DEPTH = 10
const DEFINITION = {
  symbol: 'BTCUSD',
  baseAsset: 'BTC',
  quoteAsset: 'USD',
  priceDecimals: 2,
  amountDecimals: 4,
  depth: DEPTH,
}

function block(number: number, kind: BlockKind, second: number, entry: unknown[]): Buffer {
  // Not compressed, so that a test can change a digit.
  const body = deflateRawSync(`${JSON.stringify(entry)}\n`, { level: 0 })
  const milliseconds = START + second * 1_000
  const head = encodeBlockHead({
    kind,
    number,
    firstMilliseconds: milliseconds,
    lastMilliseconds: milliseconds,
    entryCount: 1,
    bodyBytes: body.length,
    bodyChecksum: crc32(body),
  })
  return Buffer.concat([head, body])
}

const HEADER = encodeHeader({
  writtenBy: 'a test',
  startedAtMilliseconds: START,
  markets: [{ definition: DEFINITION, sources: [] }],
})
const KEYFRAME = block(0, 'keyframe', 0, [
  0,
  0,
  {
    snapshot: [
      [10_000, 15_000],
      [10_001, 20_000],
    ],
    commit: [7, 0, 0, 'e'],
  },
])
const ENTRY = block(1, 'entries', 30, [0, 0, { update: [[9_999, 70_000], []], commit: [8, 0, 0, 'e'] }])
const LATER = block(2, 'entries', 60, [0, 0, { update: [[9_998, 10_000], []], commit: [9, 0, 0, 'e'] }])

/** The bids after the version that was committed at this second. */
async function bidsAt(parts: readonly Buffer[], version: number, second: number) {
  const bound = createHash('sha256')
    .update(JSON.stringify(['BTCUSD', 'market_data', DEPTH, 'e']))
    .digest()
  const cursor = `${bound.subarray(0, 6).toString('base64url')}.${version}`
  const time = new Date(START + second * 1_000).toISOString()
  const book = await recordedBook(new Uint8Array(Buffer.concat(parts)), 'BTCUSD', { cursor, time })
  return book?.bids().map(({ price, amount }) => `${price} ${amount}`)
}

/** The same bytes with one text of the same length in place of another. */
function changed(bytes: Buffer, from: string, to: string): Buffer {
  expect(bytes.includes(from)).toBe(true)
  return Buffer.from(bytes.toString('latin1').replace(from, to), 'latin1')
}

describe('the book of a recording', () => {
  it('the book of a recording is the one after the commit with the cursor', async () => {
    const all = [HEADER, KEYFRAME, ENTRY, LATER]
    expect(await bidsAt(all, 7, 0)).toEqual(['100.00 1.5000'])
    expect(await bidsAt(all, 8, 30)).toEqual(['100.00 1.5000', '99.99 7.0000'])
    expect(await bidsAt(all, 10, 60)).toBeUndefined()
  })

  it.each([
    ['an amount', [HEADER, KEYFRAME, changed(ENTRY, '70000', '60000'), LATER]],
    ['the head of a block', [HEADER, KEYFRAME, changed(ENTRY, 'TGB', 'TGC'), LATER]],
    ['the missing block before it', [HEADER, KEYFRAME, LATER]],
    ['the header', [changed(HEADER, '"depth":10', '"depth":11'), KEYFRAME, ENTRY, LATER]],
  ])('the book of a recording is not read where %s is damaged', async (_what, parts) => {
    await expect(bidsAt(parts, 9, 60)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('damaged'),
    })
  })

  it('the book of a recording can be read before a damage, and before an incomplete end', async () => {
    expect(await bidsAt([HEADER, KEYFRAME, changed(ENTRY, 'TGB', 'TGC')], 7, 0)).toEqual(['100.00 1.5000'])
    expect(await bidsAt([HEADER, KEYFRAME, ENTRY.subarray(0, -1)], 7, 0)).toEqual(['100.00 1.5000'])
    expect(await bidsAt([HEADER, KEYFRAME, ENTRY.subarray(0, -1)], 8, 30)).toBeUndefined()
  })
})

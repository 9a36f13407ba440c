import { describe, expect, test } from 'vitest'
import { BID } from '../../../src/streaming/market/event.ts'
import {
  FRAGMENT_BYTES_MAX,
  type Message,
  textFrame,
  textMessage,
  updateText,
} from '../../../src/streaming/sequencing/frame.ts'
import { testMarket } from '../../support/stream-simulation.ts'

/** The length of a header as RFC 6455 section 5.2 has it, and what it says. */
function read(frame: Buffer): { first: number; header: Buffer; payload: Buffer } {
  const length = frame.readUInt8(1)
  const headerLength = length < 126 ? 2 : length === 126 ? 4 : 10
  return {
    first: frame.readUInt8(0),
    header: frame.subarray(0, headerLength),
    payload: frame.subarray(headerLength),
  }
}

describe('the header of a frame', () => {
  test.each([
    [0, [0x81, 0]],
    [1, [0x81, 1]],
    [125, [0x81, 125]],
    [126, [0x81, 126, 0x00, 0x7e]],
    [127, [0x81, 126, 0x00, 0x7f]],
    [65_535, [0x81, 126, 0xff, 0xff]],
    [65_536, [0x81, 127, 0, 0, 0, 0, 0x00, 0x01, 0x00, 0x00]],
    [70_000, [0x81, 127, 0, 0, 0, 0, 0x00, 0x01, 0x11, 0x70]],
  ])('a frame header of %i bytes is right', (length, header) => {
    const frame = textFrame('x'.repeat(length))
    expect([...frame.subarray(0, header.length)]).toEqual(header)
    expect(frame.length).toBe(header.length + length)
    expect(frame.subarray(header.length).every((byte) => byte === 0x78)).toBe(true)
  })

  test('a frame header counts bytes, not characters', () => {
    const text = '€'.repeat(42)
    const { header, payload } = read(textFrame(text))
    expect([...header]).toEqual([0x81, 126, 0, 126])
    expect(payload.toString('utf8')).toBe(text)
  })
})

describe('a message', () => {
  const opcodes = (message: Message) => message.map((frame) => read(frame).first)
  const text = (message: Message) => Buffer.concat(message.map((frame) => read(frame).payload)).toString('utf8')

  test.each([
    [FRAGMENT_BYTES_MAX, [0x81]],
    [FRAGMENT_BYTES_MAX + 1, [0x01, 0x80]],
    [2 * FRAGMENT_BYTES_MAX, [0x01, 0x80]],
    [2 * FRAGMENT_BYTES_MAX + 1, [0x01, 0x00, 0x80]],
    [3 * FRAGMENT_BYTES_MAX + 5, [0x01, 0x00, 0x00, 0x80]],
  ])('a message of %i bytes is framed', (length, expected) => {
    const sent = Array.from({ length }, (_, index) => String(index % 10)).join('')
    const message = textMessage(sent)
    expect(opcodes(message)).toEqual(expected)
    expect(text(message)).toBe(sent)
    for (const frame of message) expect(read(frame).payload.length).toBeLessThanOrEqual(FRAGMENT_BYTES_MAX)
  })
})

test('numbers in frames have exactly the decimals of the market, and removed levels exactly 0', () => {
  const market = { ...testMarket('AAAUSD', 0), priceDecimals: 0, amountDecimals: 8 }
  const levels = [
    { side: BID, price: 12_345, amount: 1 },
    { side: BID, price: 7, amount: 2n ** 63n },
    { side: BID, price: 6, amount: 100_000_000 },
    { side: BID, price: 5, amount: 0 },
  ] as const
  expect(JSON.parse(updateText(market, 0, levels)).payload.bids).toEqual([
    { price: '12345', amount: '0.00000001' },
    { price: '7', amount: '92233720368.54775808' },
    { price: '6', amount: '1.00000000' },
    { price: '5', amount: '0' },
  ])
})

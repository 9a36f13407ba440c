import { describe, expect, it } from 'vitest'
import { ASK, BID } from '../../../../../src/streaming/market/event.ts'
import { OkxBook } from '../../../../../src/streaming/sources/venues/okx/book.ts'
import type { OkxBookData } from '../../../../../src/streaming/sources/venues/okx/message.ts'
import type { BookStep } from '../../../../../src/streaming/sources/venues/venue.ts'

const options = {
  listing: { symbol: 'BTC-USDT', priceDecimals: 1, amountDecimals: 8, status: 'live', state: 'open' },
  depth: 400,
  priceMaximum: Number.MAX_SAFE_INTEGER,
} as const

type Pair = readonly [price: string, amount: string]
type Proof = Pick<OkxBookData, 'checksum' | 'sequence'>

function data(isSnapshot: boolean, bids: readonly Pair[], asks: readonly Pair[], proof: Proof): OkxBookData {
  const side = (pairs: readonly Pair[]) => pairs.map(([price, amount]) => ({ price, amount }))
  return { isSnapshot, bids: side(bids), asks: side(asks), ...proof }
}

const chained = (previous: number, id: number): Proof => ({ sequence: { previous, id } })
const snapshot = (id: number) => data(true, [['10', '1']], [['11', '2']], chained(-1, id))
const update = (previous: number, id: number) => data(false, [['10', String(id)]], [], chained(previous, id))

function kinds(messages: readonly OkxBookData[]): string[] {
  const book = new OkxBook(options)
  return messages.map((message) => book.apply(message).kind)
}

describe('the chain of sequence ids', () => {
  it("OKX's sequence ids chain as in the documentation's example: no change, then numbers that restart", () => {
    const unchanged = data(false, [], [], chained(15, 15))
    expect(kinds([snapshot(10), update(10, 15), unchanged, update(15, 3), update(3, 5)])).toEqual([
      'snapshot',
      'update',
      'update',
      'update',
      'update',
    ])
  })

  it.each([
    ['a message that is missing', [snapshot(10), update(15, 16)]],
    ['a message that comes twice', [snapshot(10), update(10, 15), update(10, 15)]],
    ['messages in the wrong order', [snapshot(10), update(11, 12)]],
    ['one that is missing after the ids restarted', [snapshot(10), update(10, 3), update(10, 15)]],
    ['ids that begin in the middle', [data(true, [], [], { checksum: 0 }), update(10, 15)]],
  ])("OKX's chain of sequence ids is broken by %s", (_name, messages) => {
    expect(kinds(messages).at(-1)).toBe('wrong')
  })

  it("OKX's broken chain of sequence ids names the numbers", () => {
    const book = new OkxBook(options)
    book.apply(snapshot(10))
    expect(book.apply(update(15, 16))).toEqual({
      kind: 'wrong',
      reason: 'BTC-USDT: message 16 follows 15, the last one was 10',
    })
  })

  it("OKX's chain of sequence ids begins with a snapshot, and starts over with each later one", () => {
    expect(kinds([update(5, 6), snapshot(10), update(10, 15), snapshot(30), update(30, 31), update(15, 16)])).toEqual([
      'waiting',
      'snapshot',
      'update',
      'snapshot',
      'update',
      'wrong',
    ])
  })
})

describe('the levels', () => {
  it('an OKX snapshot has all levels, whatever the book was before, and an update the differences', () => {
    const book = new OkxBook(options)
    book.apply(data(true, [['10', '1'], ['9', '1']], [], chained(-1, 1))) // biome-ignore format: one message
    expect(book.apply(snapshot(10))).toEqual({
      kind: 'snapshot',
      levels: [
        { side: BID, price: 100, amount: 100_000_000 },
        { side: ASK, price: 110, amount: 200_000_000 },
      ],
      changes: [
        { side: ASK, price: 110, amount: 200_000_000 },
        { side: BID, price: 90, amount: 0 },
      ],
    })
    expect(
      book.apply(
        data(
          false,
          [['10', '1']],
          [
            ['11', '0'],
            ['12', '0'],
          ],
          chained(10, 11),
        ),
      ),
    ).toEqual({
      // biome-ignore format: one message
      kind: 'update',
      changes: [{ side: ASK, price: 110, amount: 0 }],
    })
  })

  it('an OKX message with impossible levels makes the book wrong', () => {
    const book = new OkxBook(options)
    book.apply(snapshot(10))
    expect(book.apply(data(false, [['10.05', '1']], [], chained(10, 11)))).toEqual({
      kind: 'wrong',
      reason: 'BTC-USDT: cannot take price 10.05',
    })
  })

  it('the levels of an OKX book are cut to 400 per side', () => {
    const book = new OkxBook(options)
    const bids = Array.from({ length: 400 }, (_, index): Pair => [String(1000 - index), '1'])
    book.apply(data(true, bids, [], chained(-1, 1)))
    expect(book.apply(data(false, [['1001', '1']], [], chained(1, 2)))).toEqual({
      kind: 'update',
      changes: [
        { side: BID, price: 10_010, amount: 100_000_000 },
        { side: BID, price: 6010, amount: 0 },
      ],
    })
  })
})

describe('the checksum', () => {
  const bids: readonly Pair[] = [['3366.1', '7'], ['3366', '6']] // biome-ignore format: one side
  const asks: readonly Pair[] = [['3366.8', '9'], ['3368', '8'], ['3372', '8']] // biome-ignore format: one side

  it('the OKX checksum is over bid and ask in turn, and over the rest of the longer side', () => {
    const checksum = crc32('3366.1:7:3366.8:9:3366:6:3368:8:3372:8')
    const book = new OkxBook(options)
    expect(book.apply(data(true, bids, asks, { checksum })).kind).toBe('snapshot')
  })

  it('the OKX checksum is over the text as it was sent, and over 25 levels per side', () => {
    const side = (prices: number, step: number) =>
      Array.from({ length: 30 }, (_, index): Pair => [(prices + step * index).toFixed(1), '1.50'])
    const text = Array.from({ length: 25 }, (_, index) => `${100 - index}.0:1.50:${101 + index}.0:1.50`).join(':')
    const message = data(true, side(100, -1), side(101, 1), { checksum: crc32(text) })
    expect(new OkxBook(options).apply(message).kind).toBe('snapshot')
  })

  it('an OKX checksum that differs is reported as a mismatch, with and without a chain', () => {
    const mismatch: BookStep = {
      kind: 'wrong',
      reason: 'the checksum of BTC-USDT does not match',
      isChecksumMismatch: true,
    }
    expect(new OkxBook(options).apply(data(true, bids, asks, { checksum: 1 }))).toEqual(mismatch)
    const book = new OkxBook(options)
    book.apply(snapshot(10))
    expect(book.apply({ ...update(10, 11), checksum: 1 })).toEqual(mismatch)
  })

  it('the OKX checksum proves a message where there is no chain', () => {
    const book = new OkxBook(options)
    book.apply(data(true, bids, asks, { checksum: crc32('3366.1:7:3366.8:9:3366:6:3368:8:3372:8') }))
    const checksum = crc32('3366.1:7:3366.8:9:3366:6:3368:8')
    expect(book.apply(data(false, [], [['3372', '0']], { checksum })).kind).toBe('update')
  })
})

/** Signed, bit by bit. */
function crc32(text: string): number {
  let crc = -1
  for (const byte of Buffer.from(text)) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xed_b8_83_20 : 0)
  }
  return ~crc
}

describe('a book that was fetched', () => {
  const fetched = (id: number): OkxBookData => {
    return {
      ...data(
        true,
        [
          ['10', '1'],
          ['9', '5'],
        ],
        [
          ['11', '2'],
          ['12', '3'],
        ],
        chained(-1, id),
      ),
      isFetched: true,
    }
  }
  const waiting = {
    kind: 'waiting',
    confirmMilliseconds: 2_000,
    reason:
      'okx sent no snapshot of BTC-USDT, and the fetched one shares no sequence number with its messages: ' +
      'waiting for either',
  }

  it('a book that was fetched is the beginning, with the messages behind its number, and is followed then', () => {
    const book = new OkxBook(options)
    expect(book.apply(update(5, 10))).toEqual({ kind: 'waiting' })
    expect(book.apply(data(false, [['10', '0']], [['11', '7']], chained(10, 20)))).toEqual({ kind: 'waiting' })
    expect(book.apply(fetched(10))).toEqual({
      kind: 'snapshot',
      levels: [
        { side: BID, price: 90, amount: 500_000_000 },
        { side: ASK, price: 110, amount: 700_000_000 },
        { side: ASK, price: 120, amount: 300_000_000 },
      ],
    })
    expect(book.apply(update(20, 30)).kind).toBe('update')
    expect(book.apply(update(20, 30)).kind).toBe('wrong')
  })

  it('a book that was fetched waits for a message that names its number, and is fetched again meanwhile', () => {
    const book = new OkxBook(options)
    expect(book.apply(fetched(10))).toEqual(waiting)
    expect(book.apply(update(9, 12))).toEqual({ kind: 'waiting' })
    expect(book.apply(fetched(11))).toEqual(waiting)
    expect(book.apply(fetched(12))).toMatchObject({ kind: 'snapshot' })
  })

  it('a book that was fetched is not needed once the channel has begun', () => {
    const book = new OkxBook(options)
    book.apply(fetched(10))
    expect(book.apply(snapshot(20)).kind).toBe('snapshot')
    expect(book.apply(fetched(20))).toEqual({ kind: 'update', changes: [] })
    expect(book.apply(update(20, 30)).kind).toBe('update')
  })

  it('a fetched book that cannot be held is wrong', () => {
    const book = new OkxBook(options)
    book.apply(update(5, 10))
    expect(book.apply({ ...fetched(10), bids: [{ price: 'x', amount: '1' }] }).kind).toBe('wrong')
  })
})

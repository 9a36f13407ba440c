import { describe, expect, it } from 'vitest'
import type { LevelChange } from '../../../../../src/streaming/market/event.ts'
import { ASK, BID } from '../../../../../src/streaming/market/event.ts'
import { BitstampBook, type BitstampPosition } from '../../../../../src/streaming/sources/venues/bitstamp/book.ts'
import type { BitstampBookData } from '../../../../../src/streaming/sources/venues/bitstamp/message.ts'
import type { BookStep } from '../../../../../src/streaming/sources/venues/venue.ts'
import { Random } from '../../../../support/random.ts'
import { PlainBook } from '../../../../support/venues/plain-book.ts'

const side = (texts: string) =>
  texts
    .split(' ')
    .filter(Boolean)
    .map((text) => ({ price: text.split(':')[0] as string, amount: text.split(':')[1] as string }))
const snapshot = (microseconds: number, bids = '10:1 9:2', asks = '11:3'): BitstampBookData => {
  return { isSnapshot: true, microseconds, bids: side(bids), asks: side(asks) }
}
const diff = (microseconds: number, bids = '', asks = ''): BitstampBookData => {
  return { isSnapshot: false, microseconds, bids: side(bids), asks: side(asks) }
}

function create(position: BitstampPosition = { microseconds: 0, regressions: 0 }): BitstampBook {
  const listing = { symbol: 'btcusd', priceDecimals: 0, amountDecimals: 0, status: 'Enabled', state: 'open' } as const
  return new BitstampBook({ listing, depth: Infinity, priceMaximum: Number.MAX_SAFE_INTEGER }, position)
}

/** A live book at time 100. */
function live(position?: BitstampPosition): BitstampBook {
  const book = create(position)
  book.apply(diff(90))
  book.apply(snapshot(100))
  expect(book.apply(diff(101, '', '12:1')).kind).toBe('snapshot')
  return book
}

describe('a book of Bitstamp', () => {
  it('a Bitstamp book begins with a snapshot that messages bracket, and the messages after it', () => {
    const book = create()
    expect(book.apply(diff(90, '10:7'))).toEqual({ kind: 'waiting' })
    expect(book.apply(snapshot(100))).toEqual({ kind: 'waiting', confirmMilliseconds: 10_000 })
    expect(book.apply(diff(101, '9:0', '12:4'))).toEqual({
      kind: 'snapshot',
      levels: [
        { side: BID, price: 10, amount: 1 },
        { side: ASK, price: 11, amount: 3 },
        { side: ASK, price: 12, amount: 4 },
      ],
    })
    expect(book.apply(diff(102, '10:0'))).toEqual({ kind: 'update', changes: [{ side: BID, price: 10, amount: 0 }] })
  })

  it('a Bitstamp book begins at once where the messages have reached the snapshot, and applies none that it contains', () => {
    const book = create()
    book.apply(diff(90, '9:9'))
    book.apply(diff(100, '8:8'))
    expect(book.apply(snapshot(100))).toMatchObject({
      kind: 'snapshot',
      levels: [{ price: 10 }, { price: 9, amount: 2 }, { price: 11 }],
    })
  })

  it('a Bitstamp book does not begin with a snapshot from before the first message', () => {
    const book = create()
    book.apply(diff(90))
    expect(book.apply(snapshot(89))).toEqual({ kind: 'waiting' })
    expect(book.apply(diff(91))).toEqual({ kind: 'waiting' })
    expect(book.apply(snapshot(91))).toMatchObject({ kind: 'snapshot' })
  })

  it('a Bitstamp book does not begin with a snapshot that the first message after it does not bracket', () => {
    const book = create()
    expect(book.apply(snapshot(80))).toMatchObject({ kind: 'waiting', confirmMilliseconds: 10_000 })
    expect(book.apply(diff(90))).toEqual({ kind: 'waiting' })
  })

  it('a Bitstamp book begins without messages when a second snapshot is equal to the first, and not when it differs', () => {
    const book = create()
    book.apply(snapshot(80))
    expect(book.apply(snapshot(85, '10:1'))).toMatchObject({ kind: 'waiting' })
    expect(book.apply(snapshot(86, '10:1'))).toMatchObject({ kind: 'snapshot', levels: [{ price: 10 }, { price: 11 }] })
  })

  it('a Bitstamp book does not begin before the time that an earlier book reached, unless the venue insists', () => {
    const position = { microseconds: 0, regressions: 0 }
    live(position)
    expect(position.microseconds).toBe(101)
    const book = create(position)
    book.apply(diff(50))
    for (let count = 0; count < 10; count++) {
      book.apply(diff(60 + count))
      expect(book.apply(snapshot(60 + count))).toEqual({ kind: 'waiting' })
    }
    book.apply(diff(80))
    expect(book.apply(snapshot(80))).toMatchObject({ kind: 'snapshot' })
  })

  it('a Bitstamp book is wrong when a message is earlier than the one before, and takes one of the same time', () => {
    const book = live()
    expect(book.apply(diff(101, '10:5'))).toMatchObject({ changes: [{ amount: 5 }] })
    expect(book.apply(diff(100))).toEqual({ kind: 'wrong', reason: 'btcusd: a message of 100 follows one of 101' })
  })

  it('a Bitstamp book takes a message that comes twice once', () => {
    const book = live()
    book.apply(diff(102, '10:5'))
    expect(book.apply(diff(102, '10:5'))).toEqual({ kind: 'update', changes: [] })
  })

  it('a Bitstamp book is wrong when it is crossed', () => {
    expect(live().apply(diff(102, '11:5'))).toMatchObject({
      kind: 'wrong',
      reason: expect.stringContaining('best bid'),
    })
    const book = create()
    book.apply(diff(90))
    book.apply(diff(100))
    expect(book.apply(snapshot(100, '11:1', '11:1'))).toMatchObject({ kind: 'wrong' })
  })

  it.each([
    ['a price below zero', diff(102, '-1:1')],
    ['an amount that is no number', diff(102, '9:x')],
  ])('a Bitstamp book is wrong with %s', (_what, message) => {
    expect(live().apply(message)).toMatchObject({ kind: 'wrong', reason: expect.stringContaining('cannot take') })
  })

  describe('that is live, with a further snapshot', () => {
    it('a live book of Bitstamp reports no difference to a further snapshot where both are equal at its time', () => {
      const book = live()
      book.apply(diff(105, '10:4'))
      book.apply(diff(110, '10:5'))
      expect(book.apply(snapshot(105, '10:4 9:2', '11:3 12:1'))).toMatchObject({ kind: 'snapshot', changes: [] })
      expect(book.best).toEqual({ bid: 10, ask: 11 })
    })

    it('a live book of Bitstamp waits until the messages have reached a further snapshot', () => {
      const book = live()
      expect(book.apply(snapshot(110, '10:4 9:2', '11:3 12:1'))).toEqual({
        kind: 'update',
        changes: [],
        confirmMilliseconds: 10_000,
      })
      expect(book.apply(diff(109, '10:4'))).toMatchObject({ kind: 'update', changes: [{ amount: 4 }] })
      expect(book.apply(diff(110, '', '13:1'))).toMatchObject({
        kind: 'snapshot',
        changes: [
          { price: 13, amount: 1 },
          { price: 13, amount: 0 },
        ],
        differences: 1,
      })
      book.apply(snapshot(120, '10:4 9:2', '11:3 12:1'))
      expect(book.apply(diff(121, '9:5'))).toMatchObject({ changes: [{ price: 9, amount: 5 }], differences: 0 })
    })

    it('a live book of Bitstamp is repaired by a further snapshot where a lost message has crossed it', () => {
      const book = live()
      book.apply(snapshot(110, '11:7', '12:1'))
      expect(book.apply(diff(111, '11:8'))).toMatchObject({ kind: 'snapshot', differences: 3 })
      expect(book.best).toEqual({ bid: 11, ask: 12 })
    })

    it('a live book of Bitstamp reports the changes of a lost message from a further snapshot', () => {
      const book = live()
      book.apply(diff(110, '', '13:1'))
      expect(book.apply(snapshot(109, '10:1 9:2 8:6', '11:3'))).toMatchObject({
        kind: 'snapshot',
        changes: [
          { side: BID, price: 8, amount: 6 },
          { side: ASK, price: 12, amount: 0 },
        ],
      })
    })

    it('a live book of Bitstamp asks for another snapshot where one is older than the kept messages', () => {
      const book = live()
      expect(book.apply(snapshot(80))).toEqual({ kind: 'update', changes: [], wantsSnapshot: true })
    })
  })

  it('a Bitstamp book keeps a bounded number of levels while it waits', () => {
    const book = create()
    for (let index = 0; index < 60_000; index++) book.apply(diff(index))
    expect(book.apply(snapshot(5_000))).toEqual({ kind: 'waiting' })
    expect(book.apply(snapshot(30_000))).toMatchObject({ kind: 'snapshot' })
  })

  it.each([1, 2, 3])(
    'a Bitstamp book is the book of the venue after each snapshot, whatever was lost (seed %i)',
    (seed) => {
      const random = new Random(seed)
      const book = create()
      const venue = new PlainBook()
      const own = new Map<string, string>()
      const take = (changes: readonly LevelChange[]) => {
        for (const { side: which, price, amount } of changes) {
          if (amount === 0) own.delete(`${which} ${price}`)
          else own.set(`${which} ${price}`, String(amount))
        }
      }
      let compared = 0
      let lostAt = 0
      let fetchedAt = 0
      for (let time = 1; time < 2_000; time++) {
        const which = random.chance(0.5) ? 'bids' : 'asks'
        const price = which === 'bids' ? 100 - random.integer(20) : 101 + random.integer(20)
        const amount = random.chance(0.4) ? 0 : 1 + random.integer(9)
        const levels = { bids: [], asks: [], [which]: [[String(price), String(amount)]] } as const
        venue.apply(levels)
        const lost = random.chance(0.05)
        const fetch = random.chance(0.05)
        const { bids: venueBids, asks: venueAsks } = venue.levels()
        const texts = (list: typeof venueBids) => list.map((level) => level.join(':')).join(' ')
        const fetched = snapshot(time, texts(venueBids), texts(venueAsks))
        // The snapshot arrives before the message of its time, or after it.
        const isEarly = random.chance(0.5)
        const message = diff(
          time,
          which === 'bids' ? `${price}:${amount}` : '',
          which === 'asks' ? `${price}:${amount}` : '',
        )
        if (lost) lostAt = time
        if (fetch) fetchedAt = time
        const steps: BookStep[] = []
        if (fetch && isEarly) steps.push(book.apply(fetched))
        if (!lost) steps.push(book.apply(message))
        if (fetch && !isEarly) steps.push(book.apply(fetched))
        for (const step of steps) {
          if (step.kind === 'update') take(step.changes)
          if (step.kind !== 'snapshot') continue
          take(step.changes ?? step.levels)
          // Between the snapshot and the message that brackets it, a message may be lost too.
          if (lostAt > fetchedAt) continue
          const expected = [venue.levels().bids, venue.levels().asks].flatMap((list, index) =>
            list.map(([at, size]) => [`${index} ${at}`, size] as const),
          )
          expect(own, `seed ${seed}, time ${time}`).toEqual(new Map(expected))
          compared++
        }
      }
      expect(compared).toBeGreaterThan(50)
    },
  )
})

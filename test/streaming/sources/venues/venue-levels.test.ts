import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatDecimal } from '../../../../src/platform/base/decimal.ts'
import { ASK, BID, type LevelChange, type Side } from '../../../../src/streaming/market/event.ts'
import type { VenueLevel } from '../../../../src/streaming/sources/venues/venue.ts'
import { VenueLevels } from '../../../../src/streaming/sources/venues/venue-levels.ts'
import { propertySettings } from '../../../support/property.ts'

const DEPTH = 3
const options = {
  listing: { symbol: 'A-B', priceDecimals: 1, amountDecimals: 2, status: 'live', state: 'open' },
  depth: DEPTH,
  priceMaximum: 1000,
} as const

type Pair = readonly [price: string, amount: string]

const sent = (pairs: readonly Pair[]): VenueLevel[] => pairs.map(([price, amount]) => ({ price, amount }))

function levelsOf(bids: readonly Pair[], asks: readonly Pair[]): VenueLevels {
  const levels = new VenueLevels(options)
  expect(levels.apply(sent(bids), sent(asks))).toBeInstanceOf(Array)
  return levels
}

describe('what differs after a message', () => {
  it('a level change has the last of several entries of a price, and is empty when the level had that amount', () => {
    const levels = new VenueLevels(options)
    const once = levels.apply([], sent([['5', '1'], ['5.0', '2'], ['5', '3.5']])) // biome-ignore format: one message
    expect(once).toEqual([{ side: ASK, price: 50, amount: 350 }])
    expect(levels.apply([], sent([['5', '0'], ['5', '3.50']]))).toEqual([]) // biome-ignore format: one message
    expect(levels.side(ASK).sent).toEqual([{ price: '5', amount: '3.50' }])
  })

  it('a level change is empty for the delete of an absent level', () => {
    expect(levelsOf([['5', '1']], []).apply(sent([['4', '0']]), sent([['5', '0']]))).toEqual([])
  })

  it('a level change names levels that fall out of the depth, not those restored within the message', () => {
    const levels = levelsOf([['5', '1'], ['4', '1'], ['3', '1']], []) // biome-ignore format: one message
    expect(levels.apply(sent([['6', '1']]), [])).toEqual([
      { side: BID, price: 60, amount: 100 },
      { side: BID, price: 30, amount: 0 },
    ])
    expect(levels.apply(sent([['7', '1'], ['7', '0']]), [])).toEqual([]) // biome-ignore format: one message
  })

  it('a level change is the whole book after it was cleared', () => {
    const levels = levelsOf([['5', '1']], [['6', '1']])
    levels.clear()
    expect(levels.side(BID).sent).toEqual([])
    expect(levels.apply(sent([['5', '1']]), [])).toEqual([{ side: BID, price: 50, amount: 100 }])
  })
})

describe('what cannot be taken', () => {
  it.each([
    ['a price of zero', '0', '1', 'cannot take price 0'],
    ['a negative price', '-1', '1', 'cannot take price -1'],
    ['a price that is finer than the listing', '5.01', '1', 'cannot take price 5.01'],
    ['a best price beyond what readers hold', '100.1', '1', 'cannot take the best price 100.1'],
    ['a best price beyond the safe integers', '9'.repeat(20), '1', `cannot take the best price ${'9'.repeat(20)}`],
    ['a price that is no number', '', '1', 'cannot take price '],
    ['a negative amount', '5', '-1', 'cannot take amount -1'],
    ['an amount that is finer than the listing', '5', '1.001', 'cannot take amount 1.001'],
    ['an amount that is no number', '5', 'NaN', 'cannot take amount NaN'],
  ])('a level is refused for %s', (_name, price, amount, problem) => {
    expect(new VenueLevels(options).apply(sent([[price, amount]]), [])).toBe(problem)
    expect(new VenueLevels(options).apply([], sent([[price, amount]]))).toBe(problem)
  })

  it('a level is not refused for an amount that is merely large', () => {
    expect(new VenueLevels(options).apply(sent([['5', '90071992547409930']]), [])).toEqual([
      { side: BID, price: 50, amount: 9007199254740993000n },
    ])
  })
})

describe('an ask that readers cannot hold', () => {
  const FAR: Pair = ['99999997', '1']

  it('an ask that readers cannot hold ends the known book, counts towards the depth, and is gone like any other', () => {
    const levels = levelsOf([], [['5', '1'], ['6', '1'], FAR]) // biome-ignore format: one message
    expect(levels.unfit).toEqual([{ side: ASK, price: '99999997', amount: '1' }])
    expect(levels.side(ASK).sent).toHaveLength(3)
    expect(levels.apply([], sent([['7', '2']]))).toEqual([{ side: ASK, price: 70, amount: 200 }])
    expect(levels.unfit).toEqual([])
    expect(levels.apply([], sent([['7', '0'], ['99999998', '3']]))).toEqual([{ side: ASK, price: 70, amount: 0 }]) // biome-ignore format: one message
    expect(levels.apply([], sent([['99999998', '0'], ['8', '1']]))).toEqual([{ side: ASK, price: 80, amount: 100 }]) // biome-ignore format: one message
  })

  it('an ask that readers cannot hold may be beyond the safe integers: its text stays, and its price is exact', () => {
    const [first, second] = ['90071992547409931.1', '90071992547409931.2']
    const levels = levelsOf([], [['5', '1'], [second, '2'], [first, '1']]) // biome-ignore format: one message
    expect(levels.side(ASK).sent.map(({ price }) => price)).toEqual(['5', first, second])
    expect(levels.apply([], sent([[first, '0']]))).toEqual([])
    expect(levels.unfit).toEqual([{ side: ASK, price: second, amount: '2' }])
  })
})

describe('random messages', () => {
  const entry = fc.tuple(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 0, max: 2 }))
  const side = fc.array(entry, { maxLength: 6 })
  const text = (entries: readonly (readonly [number, number])[]) =>
    entries.map(([price, amount]) => ({ price: formatDecimal(price, 1), amount: formatDecimal(amount, 2) }))

  it('random messages leave the same book and changes as a book that sorts and cuts completely every time', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(side, side), { maxLength: 20 }), (messages) => {
        const levels = new VenueLevels(options)
        const naive = [new Map<number, number>(), new Map<number, number>()]
        const published = [new Map<number, number>(), new Map<number, number>()]
        for (const [bids, asks] of messages) {
          const changes = levels.apply(text(bids), text(asks)) as LevelChange[]
          for (const [which, entries] of [bids, asks].entries()) applyNaively(naive, which as Side, entries)
          expect(new Set(changes.map((change) => `${change.side} ${change.price}`)).size).toBe(changes.length)
          for (const change of changes) {
            const book = published[change.side] as Map<number, number>
            expect(book.get(change.price) ?? 0).not.toBe(change.amount)
            if (change.amount === 0) book.delete(change.price)
            else book.set(change.price, Number(change.amount))
          }
          expect(published).toEqual(naive)
          for (const which of [BID, ASK] as const) {
            const best = [...(naive[which] as Map<number, number>)].sort(([a], [b]) => (which === BID ? b - a : a - b))
            expect(levels.side(which).sent).toEqual(text(best))
          }
        }
      }),
      propertySettings(300),
    )
  })
})

function applyNaively(books: Map<number, number>[], side: Side, entries: readonly (readonly [number, number])[]): void {
  const book = books[side] as Map<number, number>
  for (const [price, amount] of entries) {
    if (amount === 0) book.delete(price)
    else book.set(price, amount)
  }
  const best = [...book].sort(([a], [b]) => (side === BID ? b - a : a - b)).slice(0, DEPTH)
  books[side] = new Map(best)
}

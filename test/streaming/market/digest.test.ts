import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Book } from '../../../src/streaming/market/book.ts'
import { ViewDigest } from '../../../src/streaming/market/digest.ts'
import { ASK, BID, type LevelChange } from '../../../src/streaming/market/event.ts'
import { View } from '../../../src/streaming/market/view.ts'
import { digestOf, levelHash } from '../../support/extended-verifier.ts'
import { applyMessage, scriptArbitrary } from '../../support/market-script.ts'
import { NaiveBook } from '../../support/naive-book.ts'
import { propertySettings } from '../../support/property.ts'
import { testMarket } from '../../support/stream-simulation.ts'

const bid = (price: number, amount: number | bigint): LevelChange => ({ side: BID, price, amount })
const ask = (price: number, amount: number | bigint): LevelChange => ({ side: ASK, price, amount })

function viewOf(levels: readonly LevelChange[], depth = 0) {
  const book = new Book()
  book.apply(levels)
  const view = new View(book, depth)
  view.reset(1)
  return { book, view, digest: new ViewDigest(view, testMarket('AAAUSD', depth)) }
}

/** The digest of levels, made from their texts with 64-bit numbers, as the documentation tells. */
function expected(levels: readonly LevelChange[]): string {
  const text = (value: number | bigint, decimals: number) => {
    const digits = String(value).padStart(decimals + 1, '0')
    return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
  }
  const side = (wanted: number) =>
    new Map(levels.filter((level) => level.side === wanted).map((l) => [text(l.price, 2), text(l.amount, 4)]))
  return digestOf({ bids: side(BID), asks: side(ASK) })
}

describe('the digest of a view', () => {
  test("a view's digest has the published vectors", () => {
    expect(levelHash('bid|61234.50|0.12340000').toString(16)).toBe('6a38008e41993c7a')
    expect(viewOf([]).digest.at(1)).toBe('0000000000000000')
    expect(viewOf([bid(10_000, 15_000)]).digest.at(1)).toBe('720a0d8edf5f56db')
    expect(viewOf([bid(10_000, 15_000), ask(10_001, 123_456_789_012)]).digest.at(1)).toBe('7a6182355f8de12d')
  })

  test("a view's digest is that of the levels of every version, for any reader at any time, as far as the journal reaches", () => {
    fc.assert(
      fc.property(scriptArbitrary(40), fc.constantFrom(1, 3, 0), fc.nat(4), (script, depth, stride) => {
        const book = new Book()
        const naive = new NaiveBook()
        const view = new View(book, depth)
        const digest = new ViewDigest(view, testMarket('AAAUSD', depth))
        const digests = [expected([])]
        for (const message of script) {
          view.advance(digests.length, applyMessage(message, book, naive))
          digests.push(expected(naive.levels(depth)))
          if (digests.length % (stride + 1) !== 0) continue
          for (const [version, text] of digests.entries()) expect(digest.at(version)).toBe(text)
        }
      }),
      propertySettings(60),
    )
  })

  test("a large view's digest is computed in slices, and right although the book moved meanwhile", () => {
    const many = Array.from({ length: 10_000 }, (_, index) => bid(100_000 - index, 1 + index))
    const { book, view, digest } = viewOf(many)
    expect(digest.at(1)).toBeUndefined()
    expect(digest.seeding).toBe(true)
    view.advance(2, book.apply([bid(100_000, 7), bid(90_001, 0)]))
    for (let slice = 0; slice < 2; slice++) digest.seed()
    expect(digest.at(2)).toBeUndefined()
    digest.seed()
    expect(digest.seeding).toBe(false)
    expect(digest.at(2)).toBe(expected(view.levels()))
    expect(digest.at(1)).toBe(expected(many))
  })

  test("a view's digest is computed again when the journal no longer reaches back, and unknown for versions it has dropped", () => {
    const { book, view, digest } = viewOf([bid(100, 1)])
    const before = digest.at(1)
    book.replace([bid(100, 2), bid(99, 1)])
    view.reset(2)
    expect(digest.at(1)).toBeUndefined()
    expect(digest.at(2)).toBe(expected([bid(100, 2), bid(99, 1)]))
    expect(digest.at(2)).not.toBe(before)
  })

  test("a view's digest tells apart books in which the last digits of two amounts have traded places", () => {
    const digests = new Set<string | undefined>()
    for (let first = 0; first < 10; first++) {
      for (let second = 0; second < 10; second++) {
        digests.add(viewOf([bid(100, 10 + first), bid(99, 10 + second)]).digest.at(1))
      }
    }
    expect(digests.size).toBe(100)
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Book } from '../../../src/streaming/market/book.ts'
import { ASK, BID, type LevelChange } from '../../../src/streaming/market/event.ts'
import { View } from '../../../src/streaming/market/view.ts'
import { expectEqual } from '../../support/expect-equal.ts'
import { cutToDepth, krakenChecksum, krakenMessages } from '../../support/kraken-recording.ts'
import { applyMessage, type ScriptMessage, scriptArbitrary } from '../../support/market-script.ts'
import { NaiveBook, naiveDifference } from '../../support/naive-book.ts'
import { propertySettings } from '../../support/property.ts'
import { krakenBtcUsd, krakenEthUsd } from '../../support/recordings.ts'

const DEPTHS = [1, 5, 0]
const isLong = process.env.TIDEGATE_LONG === '1'

const bid = (price: number, amount: number | bigint): LevelChange => ({ side: BID, price, amount })
const ask = (price: number, amount: number | bigint): LevelChange => ({ side: ASK, price, amount })

/** A view that is compared with the naive view of every version it has passed. */
class WatchedView {
  readonly view: View
  readonly #naive: NaiveBook
  /** The naive view at every version, and how many levels changed in it. */
  readonly #history: { levels: LevelChange[]; changeCount: number }[]

  constructor(book: Book, naive: NaiveBook, depth: number, journalEntriesMinimum?: number) {
    this.view = new View(book, depth, journalEntriesMinimum)
    this.#naive = naive
    this.#history = [{ levels: naive.levels(depth), changeCount: 0 }]
  }

  advance(applied: ReturnType<Book['apply']>): void {
    const version = this.#history.length
    const changes = this.view.advance(version, applied)
    const before = this.#history[version - 1]!.levels
    const levels = this.#naive.levels(this.view.depth)
    this.#history.push({ levels, changeCount: changes.length })
    expectEqual(changes, naiveDifference(before, levels))
    expectEqual(this.view.version, version)
    expectEqual(this.view.levels(), levels)
    for (const side of [BID, ASK] as const) {
      expectEqual(this.view.levelCount(side), levels.filter((level) => level.side === side).length)
    }
    const inView = new NaiveBook(levels)
    for (const { side, price } of this.#naive.levels(0)) {
      expectEqual(this.view.amount(side, price), inView.amount(side, price))
    }
  }

  /** From every version to now: exactly the difference, or too old and then only when more changed than is kept. */
  checkAllPairs(keptMinimum: number): void {
    const now = this.#history.at(-1)!.levels
    let changesLater = 0
    for (let version = this.#history.length - 1; version >= 0; version--) {
      const changes = this.view.changesSince(version)
      const { levels, changeCount } = this.#history[version]!
      if (changes === 'too-old') {
        expect(changesLater).toBeGreaterThan(keptMinimum)
      } else {
        expectEqual(changes, naiveDifference(levels, now))
        const client = new NaiveBook(levels)
        client.apply(changes)
        expectEqual(client.levels(0), now)
      }
      changesLater += changeCount
    }
  }

  /** From one version, another distance back each time, to now: who asks first is answered on another way than the rest. */
  checkOnePair(): void {
    const latest = this.#history.length - 1
    const version = Math.max(0, latest - 1 - ((latest * 3) % 7))
    const changes = this.view.changesSince(version)
    if (changes === 'too-old') return
    expectEqual(changes, naiveDifference(this.#history[version]!.levels, this.#history[latest]!.levels))
  }
}

function follow(script: readonly ScriptMessage[], depths: readonly number[], journalEntriesMinimum?: number): void {
  const book = new Book()
  const naive = new NaiveBook()
  const views = depths.map((depth) => new WatchedView(book, naive, depth, journalEntriesMinimum))
  const askedOnce = depths.map((depth) => new WatchedView(book, naive, depth, journalEntriesMinimum))
  for (const message of script) {
    const applied = applyMessage(message, book, naive)
    for (const view of views) {
      view.advance(applied)
      view.checkAllPairs(journalEntriesMinimum ?? Number.POSITIVE_INFINITY)
    }
    for (const view of askedOnce) {
      view.advance(applied)
      view.checkOnePair()
    }
  }
}

describe('a view', () => {
  test('a view reports exactly what differs, from every version to every later one, at depths 1, 5 and all', () => {
    fc.assert(
      fc.property(scriptArbitrary(25), (script) => follow(script, DEPTHS)),
      propertySettings(20),
    )
  })

  test('a view with a short memory reports the same, or that a version is too old', () => {
    fc.assert(
      fc.property(scriptArbitrary(25), fc.constantFrom(1, 4, 8), (script, entries) => follow(script, DEPTHS, entries)),
      propertySettings(20),
    )
  })

  test('a view reports the same to a reader that lags little when others have missed much', () => {
    const book = new Book()
    const view = new View(book, 0)
    const start = Array.from({ length: 100 }, (_, index) => ask(100 + index, 1))
    view.advance(1, book.replace(start))
    const history = [[], view.levels()]
    for (let version = 2; version <= 300; version++) {
      const changes = [ask(100 + ((version * 7) % 100), version % 3), bid(50 + (version % 30), version % 4)]
      view.advance(version, book.apply(changes))
      history.push(view.levels())
      // The first to ask gets an answer of its own; the second makes what all later ones share, unless that is dearer.
      for (const missed of [5, 100, version - 1, 1, 40, version, 150, 60, 20]) {
        const from = Math.max(0, version - missed)
        expectEqual(view.changesSince(from), naiveDifference(history[from] as LevelChange[], view.levels()))
      }
    }
  })

  test('a view is too old exactly when more levels changed than its journal holds', () => {
    const book = new Book()
    const view = new View(book, 1, 8)
    for (let version = 1; version <= 20; version++) view.advance(version, book.apply([bid(100, version)]))
    expect(view.changesSince(12)).toEqual([bid(100, 20)])
    expect(view.changesSince(11)).toBe('too-old')
  })

  test('a view keeps twice its levels when that is more than the minimum', () => {
    const book = new Book()
    const view = new View(book, 0, 4)
    const levels = Array.from({ length: 50 }, (_, index) => ask(100 + index, 1))
    view.advance(1, book.replace(levels))
    for (let version = 2; version <= 101; version++) view.advance(version, book.apply([ask(100, version)]))
    expect(view.changesSince(1)).toEqual([ask(100, 101)])
  })

  test('a view cannot look back over one change that is larger than its journal', () => {
    const book = new Book()
    const view = new View(book, 0, 4)
    view.advance(1, book.apply([bid(1, 1), bid(2, 1), bid(3, 1)]))
    view.advance(2, book.apply([bid(1, 2), bid(2, 2), bid(3, 2)]))
    for (let price = 1; price <= 6; price++) view.advance(2 + price, book.apply([ask(10 + price, 1)]))
    view.advance(9, book.replace([]))
    expect(view.changesSince(8)).toHaveLength(9)
    expect(view.changesSince(0)).toEqual([])
    const narrow = new View(book, 0, 1)
    narrow.advance(1, book.apply([]))
    book.apply([bid(1, 1), bid(2, 1), bid(3, 1)])
    narrow.reset(1)
    narrow.advance(2, book.replace([]))
    expect(narrow.changesSince(1)).toBe('too-old')
    expect(narrow.changesSince(2)).toEqual([])
  })

  test('a view reports nothing about a level that went from A to B to A, but moves on', () => {
    const book = new Book()
    const view = new View(book, 5)
    view.advance(1, book.apply([bid(100, 7)]))
    expect(view.advance(2, book.apply([bid(100, 8)]))).toEqual([bid(100, 8)])
    expect(view.advance(3, book.apply([bid(100, 7)]))).toEqual([bid(100, 7)])
    expect(view.changesSince(1)).toEqual([])
    expect(view.changesSince(2)).toEqual([bid(100, 7)])
    expect(view.advance(4, book.apply([bid(100, 7)]))).toEqual([])
    expect(view.version).toBe(4)
  })

  test('a view sees a level leave at the edge and come back with another amount', () => {
    const book = new Book()
    const view = new View(book, 2)
    view.advance(1, book.apply([ask(101, 1), ask(102, 2)]))
    expect(view.advance(2, book.apply([ask(100, 5)]))).toEqual([ask(100, 5), ask(102, 0)])
    expect(view.advance(3, book.apply([ask(102, 3)]))).toEqual([])
    expect(view.changesSince(1)).toEqual([ask(100, 5), ask(102, 0)])
    expect(view.advance(4, book.apply([ask(100, 0)]))).toEqual([ask(100, 0), ask(102, 3)])
    expect(view.changesSince(1)).toEqual([ask(102, 3)])
    expect(view.changesSince(2)).toEqual([ask(100, 0), ask(102, 3)])
  })

  test('a view follows a move after which bids stand where asks stood', () => {
    const book = new Book()
    const view = new View(book, 1)
    view.advance(1, book.apply([bid(99, 1), bid(100, 1), ask(101, 1), ask(102, 1)]))
    const changes = view.advance(2, book.apply([ask(101, 0), ask(102, 0), ask(103, 1), bid(101, 1), bid(102, 1)]))
    expect(changes).toEqual([bid(102, 1), bid(100, 0), ask(101, 0), ask(103, 1)])
    expect(view.changesSince(1)).toEqual(changes)
  })

  test('a view of an empty book is empty, and so is one of a book that empties', () => {
    const book = new Book()
    const view = new View(book, 5)
    expect(view.levels()).toEqual([])
    expect(view.changesSince(0)).toEqual([])
    expect(view.advance(1, book.replace([]))).toEqual([])
    view.advance(2, book.apply([bid(1, 1), ask(2, 2)]))
    expect(view.advance(3, book.replace([]))).toEqual([bid(1, 0), ask(2, 0)])
    expect(view.changesSince(1)).toEqual([])
    expect(view.changesSince(2)).toEqual([bid(1, 0), ask(2, 0)])
  })

  test('a view restarts at a reset, with the current book', () => {
    const book = new Book()
    const view = new View(book, 1)
    view.advance(1, book.apply([bid(100, 1)]))
    book.apply([bid(101, 2), ask(103, 4), ask(102, 3)])
    view.reset(7)
    expect(view.levels()).toEqual([bid(101, 2), ask(102, 3)])
    expect(view.changesSince(7)).toEqual([])
    expect(view.changesSince(1)).toBe('too-old')
    const changes = view.advance(8, book.apply([bid(101, 0), ask(102, 5)]))
    expect(changes).toEqual([bid(101, 0), bid(100, 1), ask(102, 5)])
    expect(view.changesSince(7)).toEqual(changes)
  })

  test('a view crashes when it is asked for a version to come or passed changes out of order', () => {
    const book = new Book()
    const view = new View(book, 1)
    expect(() => view.changesSince(1)).toThrow('a version later than the current one')
    const applied = book.apply([bid(100, 1), ask(101, 1)])
    expect(() => view.advance(1, applied.toReversed())).toThrow('book order')
    expect(() => view.advance(0, applied)).toThrow('only moves to a later version')
  })
})

describe('a view of recorded Kraken books', () => {
  test.each([
    { symbol: 'BTC/USD', read: krakenBtcUsd, checksums: 301 },
    { symbol: 'ETH/USD', read: krakenEthUsd, checksums: isLong ? 1129 : 400 },
  ])(
    'a view of a recorded Kraken book of $symbol holds every checksum of the exchange, and every step and pair is exact',
    (recording) => {
      const book = new Book()
      const naive = new NaiveBook()
      const views = DEPTHS.map((depth) => new WatchedView(book, naive, depth))
      let checksums = 0
      for (const message of krakenMessages(recording.read())) {
        if (checksums === recording.checksums) break
        const applied = applyMessage(cutToDepth(message, naive), book, naive)
        for (const view of views) view.advance(applied)
        expect(krakenChecksum(new NaiveBook(views[2]!.view.levels()))).toBe(message.checksum)
        checksums++
        if (checksums % 200 === 0) for (const view of views) view.checkAllPairs(Number.POSITIVE_INFINITY)
      }
      for (const view of views) view.checkAllPairs(Number.POSITIVE_INFINITY)
      expect(checksums).toBe(recording.checksums)
    },
  )
})

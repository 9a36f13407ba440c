import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Aggregate } from '../../src/market/aggregate.ts'
import { Book } from '../../src/market/book.ts'
import { ASK, BID, type Execution, type LevelChange, type MarketEvent } from '../../src/market/event.ts'
import { aggregateScript } from '../support/aggregate-script.ts'
import { isCrossed, NaiveAggregate } from '../support/naive-aggregate.ts'
import { NaiveBook, naiveDifference } from '../support/naive-book.ts'
import { propertySettings } from '../support/property.ts'

const bid = (price: number, amount: number | bigint): LevelChange => ({ side: BID, price, amount })
const ask = (price: number, amount: number | bigint): LevelChange => ({ side: ASK, price, amount })
const snapshot = (...levels: LevelChange[]): MarketEvent => ({ type: 'snapshot', levels })
const update = (...changes: LevelChange[]): MarketEvent => ({ type: 'update', changes, executions: [] })
const traded = (...executions: Execution[]): MarketEvent => ({ type: 'update', changes: [], executions })
const lost = (reason: string): MarketEvent => ({ type: 'lost', reason })

/** Follows what an aggregate says, as a writer does, and holds it to its form: every difference real and said once. */
class Witness {
  readonly book = new NaiveBook()
  isLive = false

  take(events: readonly MarketEvent[]): void {
    for (const event of events) {
      if (event.type === 'lost') this.isLive = false
      if (event.type === 'snapshot') {
        this.book.replace(event.levels)
        expect(event.levels).toEqual(this.book.levels(0))
        this.isLive = true
      }
      if (event.type !== 'update') continue
      expect(event.changes.length + event.executions.length).toBeGreaterThan(0)
      if (event.changes.length > 0) expect(this.isLive).toBe(true)
      const before = this.book.levels(0)
      this.book.apply(event.changes)
      expect(event.changes).toEqual(naiveDifference(before, this.book.levels(0)))
    }
  }
}

function namesOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `venue${index}`)
}

describe('an aggregate', () => {
  test('equals the rule written down naively after every message, and says exactly what differs', () => {
    let crossings = 0
    const property = fc.property(aggregateScript(80), ({ sourceCount, offers }) => {
      const aggregate = new Aggregate(namesOf(sourceCount))
      const naive = new NaiveAggregate(sourceCount)
      const witness = new Witness()
      for (const { source, event } of offers) {
        const wasLive = naive.liveCount > 0
        const { events, violation } = aggregate.offer(source, event)
        const due = naive.offer(source, event)
        witness.take(events)
        expect(violation !== undefined).toBe(due.violates)
        expect(events.flatMap((said) => (said.type === 'update' ? said.executions : []))).toEqual(due.executions)
        expect(events.some(({ type }) => type === 'missed')).toBe(due.missed)
        expect(witness.isLive).toBe(naive.liveCount > 0)
        expect(events.some(({ type }) => type === 'snapshot')).toBe(!wasLive && witness.isLive)
        if (!witness.isLive) continue
        const levels = witness.book.levels(0)
        expect(levels).toEqual(naive.levels())
        expect(isCrossed(levels)).toBe(false)
        crossings += naive.hiddenCount
      }
    })
    fc.assert(property, propertySettings(150))
    // A script in which nothing ever crosses would prove nothing.
    expect(crossings).toBeGreaterThan(1000)
  })

  test('adds up equal prices, beyond the safe integers too', () => {
    const aggregate = new Aggregate(['a', 'b'])
    const large = Number.MAX_SAFE_INTEGER
    expect(aggregate.offer(0, snapshot(bid(99, large), ask(101, 1))).events).toEqual([
      snapshot(bid(99, large), ask(101, 1)),
    ])
    expect(aggregate.offer(1, snapshot(bid(99, 2), ask(102, 1))).events).toEqual([
      update(bid(99, 2n ** 53n + 1n), ask(102, 1)),
    ])
    expect(aggregate.offer(0, update(bid(99, 0))).events).toEqual([update(bid(99, 2))])
  })

  test('believes the book that changed last, and shows the others again when the crossing ends', () => {
    const aggregate = new Aggregate(['a', 'b'])
    aggregate.offer(0, snapshot(bid(99, 1), bid(98, 1), ask(101, 1), ask(103, 1)))
    expect(aggregate.offer(1, snapshot(bid(101, 5), ask(104, 5))).events).toEqual([
      update(bid(101, 5), ask(101, 0), ask(104, 5)),
    ])
    expect(aggregate.offer(0, update(bid(98, 2))).events).toEqual([update(bid(101, 0), bid(98, 2), ask(101, 1))])
    expect(aggregate.offer(1, update(bid(101, 0), bid(100, 5))).events).toEqual([update(bid(100, 5))])
  })

  test('does what the example of docs/aggregated-books.md says', () => {
    const aggregate = new Aggregate(['A', 'B'])
    aggregate.offer(0, snapshot(bid(1000, 1), bid(995, 2), ask(1005, 1), ask(1010, 3)))
    expect(aggregate.offer(1, snapshot(bid(995, 4), ask(1005, 2), ask(1015, 1))).events).toEqual([
      update(bid(995, 6), ask(1005, 3), ask(1015, 1)),
    ])
    expect(aggregate.offer(1, update(ask(1005, 0), bid(1005, 2))).events).toEqual([update(bid(1005, 2), ask(1005, 0))])
    expect(aggregate.offer(0, update(ask(1010, 5))).events).toEqual([update(bid(1005, 0), ask(1005, 1), ask(1010, 5))])
    expect(aggregate.offer(1, update(bid(1005, 0))).events).toEqual([])
  })

  test('does not take a book for newer because its source repeats itself', () => {
    const aggregate = new Aggregate(['a', 'b'])
    const first = snapshot(bid(99, 1), ask(101, 1))
    aggregate.offer(0, first)
    aggregate.offer(1, snapshot(bid(101, 5), ask(104, 5)))
    expect(aggregate.offer(0, update(bid(99, 1), bid(98, 0))).events).toEqual([])
    expect(aggregate.offer(0, first).events).toEqual([])
    expect(aggregate.offer(0, traded({ price: 100, amount: 1 })).events).toEqual([traded({ price: 100, amount: 1 })])
  })

  test('drops a lost source with its levels; of the last one the book stays, until any of them is back', () => {
    const aggregate = new Aggregate(['a', 'b'])
    expect(aggregate.offer(0, lost('not there')).events).toEqual([lost('a: not there')])
    aggregate.offer(0, snapshot(bid(99, 1), ask(101, 1)))
    aggregate.offer(1, snapshot(bid(99, 1), ask(102, 1)))
    expect(aggregate.offer(0, lost('gap')).events).toEqual([update(bid(99, 1), ask(101, 0))])
    expect(aggregate.offer(0, lost('gap')).events).toEqual([])
    expect(aggregate.offer(0, update(bid(99, 7))).events).toEqual([])
    expect(aggregate.offer(1, lost('cut')).events).toEqual([lost('b: cut')])
    expect(aggregate.offer(1, traded({ price: 9, amount: 1 })).events).toEqual([traded({ price: 9, amount: 1 })])
    expect(aggregate.offer(0, snapshot(bid(50, 1))).events).toEqual([snapshot(bid(50, 1))])
  })

  test('passes on what a source missed, named, from a lost one too', () => {
    const aggregate = new Aggregate(['a', 'b'])
    const missed: MarketEvent = { type: 'missed', reason: 'trades 7 to 9' }
    expect(aggregate.offer(1, missed).events).toEqual([{ type: 'missed', reason: 'b: trades 7 to 9' }])
  })

  test.each<[string, string, readonly LevelChange[]]>([
    ['crossed', 'the book is crossed', [bid(102, 1)]],
    ['negative', 'impossible level: price 98, amount -1', [bid(98, -1)]],
    ['at no price', 'impossible level: price 0, amount 1', [ask(0, 1)]],
    ['beyond exact prices', 'impossible level: price 9007199254740992, amount 1', [ask(2 ** 53, 1)]],
  ])('throws out a source whose own book is %s, and no other', (_, violation, changes) => {
    const aggregate = new Aggregate(['a', 'b'])
    aggregate.offer(0, snapshot(bid(99, 1), ask(101, 1)))
    aggregate.offer(1, snapshot(bid(98, 2), ask(102, 2)))
    const executions = [{ price: 100, amount: 1 }]
    expect(aggregate.offer(0, { type: 'update', changes, executions })).toEqual({
      events: [{ type: 'update', changes: [bid(99, 0), ask(101, 0)], executions }],
      violation,
    })
    expect(aggregate.offer(0, update(bid(99, 3))).events).toEqual([])
    expect(aggregate.offer(1, { type: 'update', changes, executions }).events.at(0)).toMatchObject({ executions })
    expect(aggregate.offer(0, snapshot(bid(99, 1))).events.map(({ type }) => type)).toContain('snapshot')
  })

  test('says the whole book to a writer that starts over', () => {
    const aggregate = new Aggregate(['a', 'b'])
    aggregate.offer(0, snapshot(bid(99, 1), ask(101, 1)))
    aggregate.offer(1, snapshot(bid(98, 2)))
    aggregate.startOver()
    const executions = [{ price: 100, amount: 1 }]
    expect(aggregate.offer(1, { type: 'update', changes: [bid(98, 3)], executions }).events).toEqual([
      snapshot(bid(99, 1), bid(98, 3), ask(101, 1)),
      traded(...executions),
    ])
    expect(aggregate.offer(1, update(bid(98, 4))).events).toEqual([update(bid(98, 4))])
  })

  test('keeps no ghost of a source that comes and goes every second for an hour', () => {
    const aggregate = new Aggregate(['steady', 'flapping'])
    const steady = new NaiveBook()
    const written = new Book()
    const offer = (source: number, event: MarketEvent) => {
      for (const said of aggregate.offer(source, event).events) {
        if (said.type === 'snapshot') written.replace(said.levels)
        else if (said.type === 'update') written.apply(said.changes)
        else throw new Error(`the market is ${said.type}, though one source is steady`)
      }
    }
    const around = (mid: number, amount: number) =>
      Array.from({ length: 50 }, (_, rank) => [bid(mid - 1 - rank, amount), ask(mid + 1 + rank, amount)]).flat()
    steady.replace(around(1000, 1))
    offer(0, snapshot(...around(1000, 1)))
    for (let second = 0; second < 3600; second++) {
      offer(1, snapshot(...around(980 + ((second * 7) % 41), 2)))
      const change = bid(900 + (second % 90), second % 5)
      steady.apply([change])
      offer(0, update(change))
      if (second % 100 === 0) expect(contents(written)).not.toEqual(steady.levels(0))
      offer(1, lost('again'))
      if (second % 100 === 0 || second === 3599) expect(contents(written)).toEqual(steady.levels(0))
    }
  })
})

function contents(book: Book): LevelChange[] {
  return ([BID, ASK] as const).flatMap((side) => {
    const levels = book.side(side)
    return Array.from({ length: levels.size }, (_, rank) => ({
      side,
      price: levels.priceAt(rank),
      amount: levels.amountAt(rank),
    }))
  })
}

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Aggregate, type AggregateStep, type AggregationPolicy } from '../../../src/streaming/market/aggregate.ts'
import { Book } from '../../../src/streaming/market/book.ts'
import {
  ASK,
  type Attribution,
  BID,
  type Execution,
  type LevelChange,
  type MarketEvent,
} from '../../../src/streaming/market/event.ts'
import { LevelShares } from '../../../src/streaming/market/venues.ts'
import { aggregateScript } from '../../support/aggregate-script.ts'
import { expectEqual } from '../../support/expect-equal.ts'
import { isCrossed, NaiveAggregate } from '../../support/naive-aggregate.ts'
import { NaiveBook, naiveDifference } from '../../support/naive-book.ts'
import { propertySettings } from '../../support/property.ts'

const bid = (price: number, amount: number | bigint): LevelChange => ({ side: BID, price, amount })
const ask = (price: number, amount: number | bigint): LevelChange => ({ side: ASK, price, amount })
const snapshot = (...levels: LevelChange[]): MarketEvent => ({ type: 'snapshot', levels })
const update = (...changes: LevelChange[]): MarketEvent => ({ type: 'update', changes, executions: [] })
const traded = (...executions: Execution[]): MarketEvent => ({ type: 'update', changes: [], executions })
const lost = (reason: string): MarketEvent => ({ type: 'lost', reason })

/** Applies the events of an aggregate, as a sequencer does, and checks their form: each change is real and reported once. */
class Consumer {
  readonly book = new NaiveBook()
  readonly shares = new LevelShares()
  isLive = false

  take(events: readonly MarketEvent[]): void {
    for (const event of events) {
      if (event.type === 'lost') this.isLive = false
      if (event.type === 'snapshot') {
        this.book.replace(event.levels)
        this.#attribute(event.attribution, 'all')
        expect(event.levels).toEqual(this.book.levels(0))
        this.isLive = true
      }
      if (event.type !== 'update') continue
      expect(
        event.changes.length + event.executions.length + this.#attribute(event.attribution, 'some'),
      ).toBeGreaterThan(0)
      if (event.changes.length > 0) expect(this.isLive).toBe(true)
      const before = this.book.levels(0)
      this.book.apply(event.changes)
      expectEqual(event.changes, naiveDifference(before, this.book.levels(0)))
    }
  }

  /** Follows what an event says of venues; returns how many levels that were. Each is a real change, said once. */
  #attribute(attribution: Attribution | undefined, type: Attribution['type']): number {
    if (attribution === undefined) return 0
    expectEqual(attribution.type, type)
    const count = attribution.type === 'only' ? 0 : attribution.levels.length
    const changed = this.shares.follow(attribution)
    if (type === 'some') expect(changed).toHaveLength(count)
    return count
  }
}

function withoutVenues(event: MarketEvent): MarketEvent {
  if (event.type !== 'snapshot' && event.type !== 'update') return event
  const { attribution: _, ...others } = event
  return others
}

/** Sources that are never too old, by recency, whose messages come a millisecond apart unless `pause` says otherwise. */
class Sources {
  readonly #aggregate: Aggregate
  #milliseconds = 0

  constructor(names: readonly string[], policy: AggregationPolicy = 'recency', maxAgeMilliseconds?: number) {
    const age = maxAgeMilliseconds === undefined ? {} : { maxAgeMilliseconds }
    this.#aggregate = new Aggregate(
      names.map((name) => ({ name, venue: name, ...age })),
      policy,
    )
  }

  /** The step, with events that name no venues. */
  offer(source: number, event: MarketEvent, pause = 1): AggregateStep {
    const step = this.attribute(source, event, pause)
    return { ...step, events: step.events.map(withoutVenues) }
  }

  /** The step as it is. */
  attribute(source: number, event: MarketEvent, pause = 1): AggregateStep {
    this.#milliseconds += pause
    return this.#aggregate.offer(source, event, this.#milliseconds)
  }

  isExcluded(source: number): boolean {
    return this.#aggregate.isExcluded(source)
  }

  startOver(): void {
    this.#aggregate.startOver()
  }
}

describe('an aggregate', () => {
  test.each<[AggregationPolicy, number]>([
    ['recency', Number.POSITIVE_INFINITY],
    ['recency', 15],
    ['priority', Number.POSITIVE_INFINITY],
    ['priority', 15],
  ])(
    'an aggregate by %s with a maximum age of %s ms equals the rule written naively, and reports exactly what differs',
    (policy, age) => {
      let crossings = 0
      let exclusions = 0
      const property = fc.property(aggregateScript(80), ({ sourceCount, offers }) => {
        // The first source has no maximum age.
        const ages = Array.from({ length: sourceCount }, (_, index) => (index === 0 ? Number.POSITIVE_INFINITY : age))
        const inputs = ages.map((maxAgeMilliseconds, index) => ({
          name: `source${index}`,
          venue: `venue${index}`,
          maxAgeMilliseconds,
        }))
        const aggregate = new Aggregate(inputs, policy)
        const naive = new NaiveAggregate(ages, policy)
        const consumer = new Consumer()
        let now = 0
        for (const { source, event, pauseMilliseconds } of offers) {
          now += pauseMilliseconds
          const wasLive = naive.liveCount > 0
          // Parts of a millisecond do not rank.
          const { events, violation } = aggregate.offer(source, event, now + source / 10)
          const due = naive.offer(source, event, now)
          consumer.take(events)
          expectEqual(violation !== undefined, due.violates)
          const executions = events.flatMap((one) => (one.type === 'update' ? one.executions : []))
          expectEqual(executions, due.executions)
          expectEqual(
            events.some(({ type }) => type === 'missed'),
            due.missed,
          )
          expectEqual(consumer.isLive, naive.liveCount > 0)
          expectEqual(
            events.some(({ type }) => type === 'snapshot'),
            !wasLive && consumer.isLive,
          )
          expectEqual(inputs.filter((_, index) => aggregate.isExcluded(index)).length, naive.excludedCount)
          if (!consumer.isLive) continue
          const levels = consumer.book.levels(0)
          expectEqual(levels, naive.levels())
          const attributed = levels.map(({ side, price, amount }) => {
            return { side, price, venues: consumer.shares.of(side, price, amount) }
          })
          expectEqual(attributed, naive.shares())
          expectEqual(isCrossed(levels), false)
          crossings += naive.hiddenCount
          exclusions += naive.excludedCount
        }
      })
      fc.assert(property, propertySettings(60))
      // A script in which nothing ever crosses, or nothing grows old, would prove nothing.
      expect(crossings).toBeGreaterThan(500)
      expect(exclusions > 50).toBe(age === 15)
    },
  )

  test('an aggregate adds up equal prices, beyond the safe integers too', () => {
    const aggregate = new Sources(['a', 'b'])
    const large = Number.MAX_SAFE_INTEGER
    expect(aggregate.offer(0, snapshot(bid(99, large), ask(101, 1))).events).toEqual([
      snapshot(bid(99, large), ask(101, 1)),
    ])
    expect(aggregate.offer(1, snapshot(bid(99, 2), ask(102, 1))).events).toEqual([
      update(bid(99, 2n ** 53n + 1n), ask(102, 1)),
    ])
    expect(aggregate.offer(0, update(bid(99, 0))).events).toEqual([update(bid(99, 2))])
  })

  test("an aggregate reports each venue's share of a level, also when only that changes, and adds up sources of one venue", () => {
    const aggregate = new Aggregate(
      [
        { name: 'kraken:BTC/USD', venue: 'kraken' },
        { name: 'kraken:XBT/USD', venue: 'kraken' },
        { name: 'coinbase:BTC-USD', venue: 'coinbase' },
      ],
      'recency',
    )
    const attribute = (source: number, event: MarketEvent, milliseconds: number) =>
      aggregate
        .offer(source, event, milliseconds)
        .events.map((one) => ('attribution' in one ? one.attribution : one.type))
    const at99 = (...venues: [string, number][]) => ({ side: BID, price: 99, venues })
    expect(attribute(2, snapshot(bid(99, 4)), 1)).toEqual([{ type: 'all', levels: [at99(['coinbase', 4])] }])
    expect(attribute(0, snapshot(bid(99, 1)), 2)).toEqual([
      { type: 'some', levels: [at99(['kraken', 1], ['coinbase', 4])] },
    ])
    expect(attribute(1, snapshot(bid(99, 2)), 3)).toEqual([
      { type: 'some', levels: [at99(['kraken', 3], ['coinbase', 4])] },
    ])
    expect(attribute(1, update(bid(99, 0)), 4)).toEqual([
      { type: 'some', levels: [at99(['kraken', 1], ['coinbase', 4])] },
    ])
    expect(attribute(2, update(bid(99, 0)), 5)).toEqual([{ type: 'some', levels: [at99(['kraken', 1])] }])
    expect(attribute(0, update(bid(99, 0)), 6)).toEqual([{ type: 'some', levels: [at99()] }])
  })

  test('an aggregate shows the crossing source whose best price moved last, and the others again when the crossing ends', () => {
    const aggregate = new Sources(['a', 'b'])
    aggregate.offer(0, snapshot(bid(99, 1), bid(98, 1), ask(101, 1), ask(103, 1)))
    expect(aggregate.offer(1, snapshot(bid(101, 5), ask(104, 5))).events).toEqual([
      update(bid(101, 5), ask(101, 0), ask(104, 5)),
    ])
    // Far from the top nothing is proved about the top.
    expect(aggregate.offer(0, update(bid(98, 3))).events).toEqual([update(bid(98, 3))])
    expect(aggregate.offer(0, update(bid(99, 2))).events).toEqual([update(bid(99, 2))])
    expect(aggregate.offer(0, update(bid(99, 0), bid(98, 2))).events).toEqual([
      update(bid(101, 0), bid(99, 0), bid(98, 2), ask(101, 1)),
    ])
    expect(aggregate.offer(1, update(bid(101, 0), bid(100, 5))).events).toEqual([update(bid(100, 5))])
  })

  test('an aggregate gives the result of the example in docs/explanation/aggregated-books.md', () => {
    const aggregate = new Sources(['A', 'B'])
    aggregate.offer(0, snapshot(bid(1000, 1), bid(995, 2), ask(1005, 1), ask(1010, 3)))
    expect(aggregate.offer(1, snapshot(bid(995, 4), ask(1005, 2), ask(1015, 1))).events).toEqual([
      update(bid(995, 6), ask(1005, 3), ask(1015, 1)),
    ])
    expect(aggregate.offer(1, update(ask(1005, 0), bid(1005, 2))).events).toEqual([update(bid(1005, 2), ask(1005, 0))])
    expect(aggregate.offer(0, update(ask(1010, 5))).events).toEqual([update(ask(1010, 5))])
    expect(aggregate.offer(0, update(bid(1001, 3))).events).toEqual([update(bid(1005, 0), bid(1001, 3), ask(1005, 1))])
    expect(aggregate.offer(1, update(bid(1005, 0))).events).toEqual([])
  })

  test('an aggregate does not take a book for newer because its source repeats itself', () => {
    const aggregate = new Sources(['a', 'b'])
    const first = snapshot(bid(99, 1), ask(101, 1))
    aggregate.offer(0, first)
    aggregate.offer(1, snapshot(bid(101, 5), ask(104, 5)))
    expect(aggregate.offer(0, update(bid(99, 1), bid(98, 0))).events).toEqual([])
    expect(aggregate.offer(0, first).events).toEqual([])
  })

  test('an aggregate takes a trade as news of the top of the book', () => {
    const aggregate = new Sources(['a', 'b'])
    aggregate.offer(0, snapshot(bid(99, 1), ask(101, 1)))
    aggregate.offer(1, snapshot(bid(101, 5), ask(104, 5)))
    const executions = [{ price: 100, amount: 1 }]
    expect(aggregate.offer(0, traded(...executions)).events).toEqual([
      { type: 'update', changes: [bid(101, 0), ask(101, 1)], executions },
    ])
  })

  test('an aggregate ranks sources that moved in one millisecond by their places, whichever came first', () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const aggregate = new Sources(['a', 'b'])
      const books = [snapshot(bid(99, 1), ask(101, 1)), snapshot(bid(101, 5), ask(104, 5))]
      for (const source of order) aggregate.offer(source, books[source]!, 0)
      aggregate.startOver()
      expect(aggregate.offer(0, update(bid(98, 1)), 0).events).toEqual([
        snapshot(bid(99, 1), bid(98, 1), ask(101, 1), ask(104, 5)),
      ])
    }
  })

  test('an aggregate by priority shows the crossing source that is named first, whatever moves', () => {
    const aggregate = new Sources(['a', 'b'], 'priority')
    aggregate.offer(0, snapshot(bid(99, 1), ask(101, 1)))
    expect(aggregate.offer(1, snapshot(bid(101, 5), bid(100, 2), ask(104, 5))).events).toEqual([
      update(bid(100, 2), ask(104, 5)),
    ])
    expect(aggregate.offer(1, update(bid(102, 1))).events).toEqual([])
    expect(aggregate.offer(0, lost('gap')).events).toEqual([update(bid(102, 1), bid(101, 5), bid(99, 0), ask(101, 0))])
  })

  test('an aggregate excludes a source that is silent while others change, until its next book message', () => {
    const aggregate = new Sources(['a', 'b'], 'recency', 100)
    aggregate.offer(0, snapshot(bid(99, 1), ask(101, 1)))
    aggregate.offer(1, snapshot(bid(98, 2), ask(102, 2)))
    // No source moved: none is too old.
    expect(aggregate.offer(0, update(bid(97, 1)), 100).events).toEqual([update(bid(97, 1))])
    expect(aggregate.offer(0, update(bid(97, 2)), 1).events).toEqual([update(bid(98, 0), bid(97, 2), ask(102, 0))])
    expect([aggregate.isExcluded(0), aggregate.isExcluded(1)]).toEqual([false, true])
    expect(aggregate.offer(1, traded({ price: 98, amount: 1 })).events).toEqual([traded({ price: 98, amount: 1 })])
    expect(aggregate.offer(1, update(bid(98, 3))).events).toEqual([update(bid(98, 3), ask(102, 2))])
    // When the only fresh one is lost, an old book is better than none.
    aggregate.offer(0, update(bid(97, 3)), 101)
    expect(aggregate.isExcluded(1)).toBe(true)
    expect(aggregate.offer(0, lost('gap')).events).toEqual([
      update(bid(99, 0), bid(98, 3), bid(97, 0), ask(101, 0), ask(102, 2)),
    ])
    expect(aggregate.isExcluded(1)).toBe(false)
  })

  test("an aggregate drops a lost source's levels, but keeps the book of the last one until a source is back", () => {
    const aggregate = new Sources(['a', 'b'])
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

  test("an aggregate passes on a source's missed executions, with the source's name, also for a lost source", () => {
    const aggregate = new Sources(['a', 'b'])
    const missed: MarketEvent = { type: 'missed', reason: 'trades 7 to 9' }
    expect(aggregate.offer(1, missed).events).toEqual([{ type: 'missed', reason: 'b: trades 7 to 9' }])
  })

  test.each<[string, string, readonly LevelChange[]]>([
    ['crossed', 'the book is crossed', [bid(102, 1)]],
    ['negative', 'impossible level: price 98, amount -1', [bid(98, -1)]],
    ['at no price', 'impossible level: price 0, amount 1', [ask(0, 1)]],
    ['beyond exact prices', 'impossible level: price 9007199254740992, amount 1', [ask(2 ** 53, 1)]],
  ])('an aggregate excludes a source whose own book is %s, and no other', (_, violation, changes) => {
    const aggregate = new Sources(['a', 'b'])
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

  test('an aggregate reports the whole book to a writer that starts over', () => {
    const aggregate = new Sources(['a', 'b'])
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

  test('an aggregate keeps no levels of a source that comes and goes every second for an hour', () => {
    const aggregate = new Sources(['steady', 'flapping'])
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

const input = (name: string) => ({ name, venue: name })

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

test("an aggregate reports each source's contribution: the levels that are shown, and the time of its last message", () => {
  const aggregate = new Aggregate([input('first'), input('second')], 'priority')
  expect(aggregate.presenceOf(0)).toEqual({ levels: 0, heardMilliseconds: 0 })
  aggregate.offer(0, snapshot(bid(100, 1), bid(99, 1), ask(101, 1)), 5)
  // Its ask at 99 and 100 would cross the bids of the first source.
  aggregate.offer(1, snapshot(bid(98, 1), ask(99, 1), ask(100, 1), ask(102, 1)), 7)
  expect(aggregate.presenceOf(0)).toEqual({ levels: 3, heardMilliseconds: 5 })
  expect(aggregate.presenceOf(1)).toEqual({ levels: 2, heardMilliseconds: 7 })
  aggregate.offer(0, lost('gone'), 9)
  expect(aggregate.presenceOf(0)).toMatchObject({ levels: 0 })
  expect(aggregate.presenceOf(1)).toMatchObject({ levels: 4 })
})

describe('a source without a configured maximum age', () => {
  const pair = () =>
    new Aggregate(
      [
        { name: 'a', venue: 'a', maxAgeMilliseconds: 'usual' },
        { name: 'b', venue: 'b', maxAgeMilliseconds: 'usual' },
      ],
      'recency',
    )

  test('a source without a maximum age is excluded after 15 s without a message while another one changes, until its next one', () => {
    const aggregate = pair()
    aggregate.offer(0, snapshot(bid(100, 1)), 1)
    for (let at = 2; at <= 15_001; at += 1_000) aggregate.offer(1, snapshot(bid(90, at)), at)
    expect(aggregate.isExcluded(0)).toBe(false)
    aggregate.offer(1, snapshot(bid(90, 1)), 15_002)
    expect([aggregate.isExcluded(0), aggregate.maxAgeOf(0)]).toEqual([true, 15_000])
    aggregate.offer(0, update(bid(100, 2)), 15_003)
    expect(aggregate.isExcluded(0)).toBe(false)
  })

  test('an excluded source that returns with an unchanged book makes no other source old', () => {
    const aggregate = pair()
    aggregate.offer(0, snapshot(bid(100, 1)), 0)
    aggregate.offer(1, snapshot(bid(90, 1)), 0)
    aggregate.offer(1, update(bid(90, 2)), 15_001)
    expect(aggregate.isExcluded(0)).toBe(true)
    aggregate.offer(0, update(bid(100, 1)), 30_002)
    expect([aggregate.isExcluded(0), aggregate.isExcluded(1)]).toEqual([false, false])
  })

  test('a source without a configured maximum age may be silent for three times its usual gap between book messages', () => {
    const aggregate = pair()
    for (let count = 0; count < 60; count++) {
      aggregate.offer(0, snapshot(bid(100, 1 + count)), 1 + 20_000 * count)
    }
    const last = 1 + 20_000 * 59
    expect(aggregate.maxAgeOf(0)).toBeGreaterThan(59_000)
    aggregate.offer(1, snapshot(bid(90, 1)), last + 59_000)
    expect(aggregate.isExcluded(0)).toBe(false)
    aggregate.offer(1, snapshot(bid(90, 2)), last + 60_001)
    expect(aggregate.isExcluded(0)).toBe(true)
  })
})

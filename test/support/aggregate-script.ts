/**
 * Random messages from two to four sources for one market. Mostly their books do not cross, around mid prices that
 * drift apart and back: a message removes what it would cross, unless it is meant to violate the rule. Sources are lost
 * and recover, repeat themselves, pause, miss executions, and send impossible levels.
 */
import fc from 'fast-check'
import { ASK, BID, type LevelChange, type MarketEvent, type Side } from '../../src/streaming/market/event.ts'
import { NaiveBook } from './naive-book.ts'

interface Offer {
  readonly source: number
  /** The delay after the previous message. Some messages share a millisecond, and some follow a long pause. */
  readonly pauseMilliseconds: number
  readonly event: MarketEvent
}

export interface AggregateScript {
  readonly sourceCount: number
  readonly offers: readonly Offer[]
}

const bid = (price: number, amount: number | bigint): LevelChange => ({ side: BID, price, amount })
const ask = (price: number, amount: number | bigint): LevelChange => ({ side: ASK, price, amount })
const levelStep = fc.record({
  side: fc.constantFrom<Side>(BID, ASK),
  distance: fc.oneof({ weight: 6, arbitrary: fc.nat(6) }, { weight: 1, arbitrary: fc.nat(40) }),
  amount: fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 3 }) },
    { weight: 1, arbitrary: fc.constantFrom(Number.MAX_SAFE_INTEGER, 2n ** 53n, 2n ** 90n) },
  ),
})

const step = fc.record({
  source: fc.nat(3),
  pauseMilliseconds: fc.constantFrom(0, 0, 1, 3, 20),
  pause: fc.constantFrom(0, 0, 1, 3, 20),
  drift: fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: -2, max: 2 }) },
    { weight: 1, arbitrary: fc.constantFrom(-25, 25) },
  ),
  type: fc.oneof(
    { weight: 16, arbitrary: fc.constant('update' as const) },
    { weight: 3, arbitrary: fc.constant('snapshot' as const) },
    { weight: 2, arbitrary: fc.constant('lost' as const) },
    { weight: 1, arbitrary: fc.constant('missed' as const) },
    { weight: 1, arbitrary: fc.constant('crossed' as const) },
    { weight: 1, arbitrary: fc.constant('impossible' as const) },
    { weight: 2, arbitrary: fc.constant('again' as const) },
  ),
  levels: fc.oneof(
    { weight: 6, arbitrary: fc.array(levelStep, { maxLength: 5 }) },
    { weight: 1, arbitrary: fc.array(levelStep, { maxLength: 60, size: 'max' }) },
  ),
  executions: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    {
      weight: 1,
      arbitrary: fc.array(fc.record({ price: fc.integer({ min: 1, max: 9 }), amount: fc.constant(1) }), {
        maxLength: 2,
      }),
    },
  ),
})

export function aggregateScript(lengthMax: number): fc.Arbitrary<AggregateScript> {
  const steps = fc.array(step, { maxLength: lengthMax, size: 'max' })
  return fc.tuple(fc.integer({ min: 2, max: 4 }), steps).map(([sourceCount, list]) => {
    const mids = Array.from({ length: sourceCount }, (_, index) => 1000 + 3 * index)
    const books = mids.map(() => new NaiveBook())
    const offers = list.map(({ source: wanted, pauseMilliseconds, drift, type, levels, executions }): Offer => {
      const source = wanted % sourceCount
      const book = books[source]!
      if (type === 'lost' || type === 'missed')
        return { source, pauseMilliseconds, event: { type, reason: 'so it is' } }
      if (type === 'again')
        return { source, pauseMilliseconds, event: { type: 'update', changes: book.levels(0), executions } }
      if (type === 'crossed') {
        const removed = book.levels(0).filter((_, index) => index % 2 === 0)
        const changes = [...removed.map((level) => ({ ...level, amount: 0 })), bid(1000, 1), ask(1000, 1)]
        return { source, pauseMilliseconds, event: { type: 'update', changes, executions } }
      }
      if (type === 'impossible')
        return { source, pauseMilliseconds, event: { type: 'update', changes: [bid(1000, -1)], executions } }
      mids[source]! += drift
      const mid = mids[source]!
      const placed = levels.map(({ side, distance, amount }) =>
        side === BID ? bid(mid - 1 - distance, amount) : ask(mid + 1 + distance, amount),
      )
      if (type === 'snapshot') {
        book.replace(placed)
        return { source, pauseMilliseconds, event: { type, levels: placed } }
      }
      const wrongSide = book.levels(0).filter(({ side, price }) => (side === BID ? price >= mid : price <= mid))
      const changes = [...wrongSide.map((level) => ({ ...level, amount: 0 })), ...placed]
      book.apply(changes)
      return { source, pauseMilliseconds, event: { type: 'update', changes, executions } }
    })
    return { sourceCount, offers }
  })
}

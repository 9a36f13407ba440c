/** REST answers compared with a stream's messages: equal ones pass, and each falsified one is named. */
import { beforeEach, describe, expect, it } from 'vitest'
import { NaiveBook } from '../../../../src/conformance/judge/naive-book.ts'
import { RestChecker } from '../../../../src/conformance/judge/rest/rest-checker.ts'
import { bookTime, execution, heartbeat, snapshot, update } from '../../../support/wire.ts'

const M = 'BTCUSD'

let found: string[]
let checker: RestChecker

beforeEach(() => {
  found = []
  checker = new RestChecker([M], (name, _market, detail) => found.push(`${name}: ${detail}`))
})

const send = (message: object, cursor?: string) =>
  checker.onMessage(JSON.stringify({ ...message, ...(cursor === undefined ? {} : { stream: { cursor, covers: 1 } }) }))

type Pair = readonly [price: string, amount: string]

function answer(cursor: string, milliseconds: number, bids: readonly Pair[], asks: readonly Pair[], members = {}) {
  const book = new NaiveBook()
  for (const [price, amount] of bids) book.set('bids', price, amount)
  for (const [price, amount] of asks) book.set('asks', price, amount)
  const levels = (side: readonly Pair[]) => side.map(([price, amount]) => ({ price, amount }))
  const head = { market: M, cursor, time: bookTime(milliseconds), depth: 0, digest: book.digest() }
  return { ...head, bids: levels(bids), asks: levels(asks), ...members }
}

/** The answer to a request which was sent now. */
function ask(body: object, depth = 0): void {
  const awaited = checker.expectBook(M)
  if (awaited !== undefined) checker.onBook(M, depth, body, awaited)
}

const BIDS: readonly Pair[] = [
  ['100.00', '1.5'],
  ['99.00', '2.0'],
]
const ASKS: readonly Pair[] = [['101.00', '1.0']]
const begin = () => send(snapshot(M, 10_000, BIDS, ASKS), 'c1')

describe('REST books', () => {
  it('a REST book equal to the stream’s is right, whether the stream is ahead or behind', () => {
    begin()
    ask(answer('c1', 9_000, BIDS, ASKS))
    const late = checker.expectBook(M)
    ask(answer('c2', 10_005, [['100.00', '1.5']], ASKS))
    expect(checker.counts.books).toBe(1)
    send(update(M, 10_005, [['99.00', '0']], []), 'c2')
    expect(checker.counts.books).toBe(2)
    if (late !== undefined) checker.onBook(M, 0, answer('c1', 9_000, BIDS, ASKS), late)
    ask(answer('d1', 9_000, [['100.00', '1.5']], ASKS, { depth: 1 }), 1)
    expect([checker.counts.books, found]).toEqual([4, []])
  })

  it('a REST book at a depth from a node that follows a little later is not named, and one of the same time is', () => {
    begin()
    const best: readonly Pair[] = [['100.00', '1.6']]
    send(update(M, 10_005, best, []), 'c2')
    ask(answer('d1', 10_000, [['100.00', '1.5']], ASKS, { depth: 1 }), 1)
    ask(answer('d2', 10_005, best, ASKS, { depth: 1 }), 1)
    expect([checker.counts.books, found]).toEqual([1, []])
    ask(answer('d2', 10_005, [['100.00', '1.5']], ASKS, { depth: 1 }), 1)
    expect(found).toEqual([
      "rest-book-differs: at d2, depth 1: bids level 1 is 100.00 x 1.5, the stream's 100.00 x 1.6",
      expect.stringContaining('the digest is'),
    ])
    send(update(M, 10_010, [['99.00', '3.0']], []), 'c3')
    ask(answer('d2', 10_005, best, ASKS, { depth: 1, digest: '0000000000000000' }), 1)
    expect(found.slice(2)).toEqual([expect.stringContaining('the digest is 0000000000000000')])
  })

  it('a falsified REST book is named: levels, digest, time, depth, and one that is old', () => {
    begin()
    const wrong = [['100.00', '1.4'], BIDS[1] as Pair] as const
    ask(answer('c1', 10_000, wrong, ASKS, { digest: answer('c1', 0, BIDS, ASKS).digest }))
    ask(answer('c1', 10_000, BIDS, ASKS, { digest: '0000000000000000' }))
    ask(answer('c1', 10_001, BIDS, ASKS))
    ask(answer('d1', 4_000, BIDS, ASKS, { depth: 1 }), 1)
    ask(answer('b9', 4_000, BIDS, ASKS))
    ask({ market: M, bids: [] })
    expect(found.map((text) => text.slice(0, 90))).toEqual([
      "rest-book-differs: at c1, depth 0: bids level 1 is 100.00 x 1.4, the stream's 100.00 x 1.5",
      expect.stringContaining('the digest is 0000000000000000'),
      expect.stringContaining('the time is 2026-01-01T00:00:10.001Z'),
      expect.stringContaining('depth 1: bids level 2 is 99.00 x 2.0, the stream'),
      expect.stringContaining('depth 1: the digest is'),
      expect.stringContaining('the book b9 of 2026-01-01T00:00:04.000Z, when'),
      expect.stringContaining('rest-malformed: order-book'),
    ])
  })

  it('a whole REST book that lacks levels, and one that ignores the wanted depth, are named', () => {
    begin()
    ask(answer('c1', 10_000, [BIDS[0] as Pair], ASKS, { depth: 1 }))
    expect(found.splice(0)).toEqual([
      "rest-book-differs: at c1, depth 1: bids level 2 is absent, the stream's 99.00 x 2.0",
      expect.stringContaining('depth 1: the digest is'),
    ])
    ask(answer('c1', 10_000, BIDS, ASKS), 1)
    ask(answer('c1', 10_000, BIDS, ASKS, { depth: 5 }), 1)
    expect(found).toEqual([
      'rest-malformed: order-book?depth=1 has the depth 0',
      'rest-malformed: order-book?depth=1 has the depth 5',
    ])
  })

  it('an unchanged book without 304, and a check without a comparison, are named', () => {
    checker.onTagged(M, '"a"', 304, '"a"')
    checker.onTagged(M, '"a"', 200, '"b"')
    expect([checker.counts.unchanged, found]).toEqual([1, []])
    checker.onTagged(M, '"a"', 200, '"a"')
    checker.onTagged(M, null, 200, null)
    begin()
    // A cursor which the stream never has.
    ask(answer('x9', 10_003, BIDS, ASKS))
    send(update(M, 10_005, [['99.00', '0']], []), 'c2')
    checker.onEnd(() => false)
    expect(found.map((text) => text.split(':')[0])).toEqual(['rest-entity-tag', 'rest-entity-tag', 'rest-not-compared'])
  })
})

it('a REST endpoint that answers nothing but a fault is named, and one that asks for a wait is not', () => {
  begin()
  ask(answer('c1', 10_000, BIDS, ASKS))
  for (const status of [200, 404]) checker.onStatus(M, 'order-book', status)
  for (const status of [503, 404, 401]) checker.onStatus(M, 'trades', status)
  checker.onStatus(M, 'candles', 503)
  checker.onEnd((market) => market === M)
  expect(found).toEqual([])
  checker.onEnd(() => false)
  expect(found).toEqual(['rest-malformed: trades: it was answered 404 only'])
})

describe('REST trades and candles', () => {
  /** Two trades in the first whole minute, one in the next; the stream then continues. */
  function trade(): void {
    send(heartbeat(50_000))
    send(execution(M, 61_000, '100.50', '0.2', { id: 'one', venue: 'v' }), 'e1')
    send(execution(M, 70_000, '99.50', '0.3', { id: 'two', venue: 'v', side: 'buy' }), 'e2')
    send(execution(M, 121_000, '99.75', '0.1', { id: 'three', venue: 'v' }), 'e3')
    send(heartbeat(200_000))
  }
  const item = (cursor: string, price: string, amount: string, milliseconds: number, members: object) => ({
    ...{ cursor, price, amount, executed_at: bookTime(milliseconds), venue: 'v' },
    ...members,
  })
  const TRADES = [
    item('e9', '1.00', '1.0', 300_000, { id: 'not yet on the stream' }),
    item('e3', '99.75', '0.1', 121_000, { id: 'three' }),
    item('e2', '99.50', '0.3', 70_000, { id: 'two', side: 'buy' }),
    item('e1', '100.50', '0.2', 61_000, { id: 'one' }),
    item('e0', '1.00', '1.0', 1_000, { id: 'before the subscription' }),
  ]

  it('REST trades equal to the executions are right, and a changed or missing one is named', () => {
    trade()
    checker.onTrades(M, { items: TRADES })
    expect([checker.counts.trades, found]).toEqual([3, []])
    checker.onTrades(M, { items: TRADES.map((one) => ({ ...one, amount: '0.1' })) })
    checker.onTrades(M, { items: TRADES.filter(({ cursor }) => cursor !== 'e2') })
    expect(found).toEqual([
      'rest-trade-differs: trade e2 differs from its execution in amount',
      'rest-trade-differs: trade e1 differs from its execution in amount',
      'rest-trade-differs: before trade e1 there are others than on the stream',
    ])
  })

  it('a REST candle equal to its executions is right, and a falsified one is named when it differs twice', () => {
    trade()
    const first = {
      time: bookTime(60_000),
      ...{ open: '100.50', high: '100.50', low: '99.50', close: '99.50', volume: '0.5', quote_volume: '49.950' },
      ...{ trades: 2, first_execution_id: 'one', last_execution_id: 'two', closed: true, incomplete: false },
    }
    const second = {
      time: bookTime(120_000),
      ...{ open: '99.75', high: '99.75', low: '99.75', close: '99.75', volume: '0.1', quote_volume: '9.976' },
      ...{ trades: 1, first_execution_id: 'three', last_execution_id: 'three', closed: true, incomplete: false },
    }
    const minutes = { from: first.time, to: bookTime(180_000) }
    expect(checker.minutesOf(M)).toEqual(minutes)
    checker.onCandles(M, { items: [first, second] }, minutes)
    expect([checker.counts.candles, found, checker.minutesOf(M)?.from]).toEqual([1, [], second.time])
    checker.onCandles(M, { items: [second] }, { ...minutes, from: second.time })
    expect(found).toEqual([
      `rest-candle-differs: candle ${second.time}: quote_volume is 9.976, from the executions 9.975`,
    ])
    expect(checker.minutesOf(M)).toBeUndefined()
  })

  it('a REST candle that is missing twice is named, and a minute without executions needs none', () => {
    send(heartbeat(50_000))
    send(execution(M, 121_000, '99.75', '0.1', { id: 'one', venue: 'v' }), 'e1')
    send(heartbeat(200_000))
    const minutes = { from: bookTime(60_000), to: bookTime(180_000) }
    checker.onCandles(M, { items: [] }, minutes)
    expect([found, checker.minutesOf(M)?.from]).toEqual([[], bookTime(120_000)])
    checker.onCandles(M, { items: [] }, { ...minutes, from: bookTime(120_000) })
    expect(found).toEqual([`rest-candle-differs: candle ${bookTime(120_000)}: it is missing, with 1 executions`])
    expect(checker.minutesOf(M)).toBeUndefined()
  })

  it('REST trades that stop while the stream continues are named when they are old twice', () => {
    const old = { items: [item('e0', '1.00', '1.0', 1_000, { id: 'before the subscription' })] }
    const next = (milliseconds: number, cursor: string) => {
      send(execution(M, milliseconds, '100.50', '0.2', { id: cursor, venue: 'v' }), cursor)
      send(heartbeat(milliseconds))
    }
    next(10_000, 'e1')
    for (const time of [20_000, 30_000]) {
      checker.onTrades(M, old)
      next(time, `e${time}`)
    }
    expect(found).toEqual([])
    checker.onTrades(M, old)
    expect(found.splice(0)).toEqual(['rest-trade-differs: trade e20000 is missing, seconds after its execution'])
    // A lagging stream has none of the newest trades yet.
    next(40_000, 'e40000')
    checker.onTrades(M, { items: [item('e9', '1.00', '1.0', 300_000, { id: 'not yet on the stream' })] })
    next(50_000, 'e50000')
    checker.onTrades(M, old)
    expect(found).toEqual([])
  })
})

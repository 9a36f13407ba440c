/** One pair at a made-up venue: what it sends, fetches and tells, on a clock that the test owns. */
import { describe, expect, it } from 'vitest'
import { createLog } from '../../../../src/platform/base/log.ts'
import { RunningClock } from '../../../../src/platform/base/running-clock.ts'
import { ASK } from '../../../../src/streaming/market/event.ts'
import type { BookStep, Fetched, Listing, VenueTrade } from '../../../../src/streaming/sources/venues/venue.ts'
import { VenuePair, type VenuePairOptions } from '../../../../src/streaming/sources/venues/venue-pair.ts'
import { VenueTrades } from '../../../../src/streaming/sources/venues/venue-trades.ts'
import { SourceListener } from '../../../support/source-listener.ts'
import { VirtualClock } from '../../../support/virtual-clock.ts'

const listing: Listing = { symbol: 'A/B', priceDecimals: 1, amountDecimals: 2, status: 'online', state: 'open' }
const snapshot: BookStep = { kind: 'snapshot', levels: [{ side: ASK, price: 10, amount: 5 }] }
const waiting: BookStep = { kind: 'waiting' }
const nothing: BookStep = { kind: 'update', changes: [] }
const update = (amount: number): BookStep => ({ kind: 'update', changes: [{ side: ASK, price: 10, amount }] })
const trade = (id: number, price = '1.5', amount = '0.25'): VenueTrade => {
  return { firstId: id, lastId: id, price, amount, executedAtMilliseconds: id }
}

/** An answer that is given when the test says so. */
interface Asked {
  readonly depth: number
  readonly signal: AbortSignal
  readonly answer: (fetched: Fetched<BookStep>) => Promise<void>
}

/** The messages of this venue are what its book says to them. */
function setUp(changed: Partial<VenuePairOptions<BookStep>> = {}, fetches = false) {
  const clock = new VirtualClock()
  const listener = new SourceListener('A/B', { depth: 30 })
  const sent: string[] = []
  const counted = {
    mismatches: 0,
    gaps: 0,
    trades: 0,
    missed: 0,
    live: false,
    silences: [] as string[],
    reconciliations: [] as boolean[],
  }
  const asked: Asked[] = []
  const made: { readonly depth: number; readonly listing: Listing; readonly seen: BookStep[] }[] = []
  const trades = new VenueTrades('A/B')
  const fetchSnapshot = (depth: number, signal: AbortSignal) =>
    new Promise<Fetched<BookStep>>((resolve) => {
      const answer = async (fetched: Fetched<BookStep>) => {
        resolve(fetched)
        await new Promise(setImmediate)
      }
      asked.push({ depth, signal, answer })
    })
  const running = new RunningClock(clock)
  running.start()
  const pair = new VenuePair<BookStep>({
    venue: 'venue',
    symbol: 'A/B',
    markets: [listener.sourceMarket],
    protocol: {
      depths: [10, 50],
      createBook: (options) => {
        const seen: BookStep[] = []
        made.push({ ...options, seen })
        return {
          apply(step) {
            seen.push(step)
            return step
          },
        }
      },
    },
    trades,
    hasTrades: false,
    isTrading: () => true,
    clock: running,
    random: () => 1,
    log: createLog('silent'),
    metrics: {
      countMismatch: () => counted.mismatches++,
      countGap: () => counted.gaps++,
      countSilence: (verdict) => counted.silences.push(verdict),
      countReconciliation: (isSame) => counted.reconciliations.push(isSame),
      countTrades: (count) => (counted.trades += count),
      countMissedTrades: (count) => (counted.missed += count),
      noteLive: (isLive) => (counted.live = isLive),
    },
    request: (action, channel, depth) => sent.push(`${action} ${channel} ${depth}`),
    ...(fetches ? { fetchSnapshot } : {}),
    ...changed,
  })
  /** Lists the pair and says that it was subscribed, as a source does. */
  const admit = () => {
    expect(pair.list(listing)).toBe(true)
    pair.subscribed()
  }
  const types = () => listener.events.map((event) => event.type)
  return { clock, listener, sent, counted, asked, made, pair, trades, admit, types }
}

describe('a book that begins on the connection', () => {
  it('a book that begins on the connection is lost, discarded and subscribed again when it is wrong, and counts', () => {
    const { pair, admit, listener, sent, counted, made } = setUp()
    admit()
    pair.apply(snapshot)
    expect(counted).toMatchObject({ gaps: 0, live: true })
    pair.apply({ kind: 'wrong', reason: 'no good', isChecksumMismatch: true })
    expect(listener.reasons()).toEqual(['no good'])
    expect(sent).toEqual(['unsubscribe book 50', 'subscribe book 50'])
    expect(counted).toMatchObject({ gaps: 1, mismatches: 1, live: false })
    pair.apply(update(7))
    pair.apply(snapshot)
    expect(made).toHaveLength(2)
    expect(listener.count('update')).toBe(0)
    expect(listener.count('snapshot')).toBe(2)
  })

  it('a book that begins on the connection is lost when it is out of sync', () => {
    const { pair, admit, listener } = setUp()
    admit()
    pair.apply(waiting)
    expect(listener.events).toEqual([])
    pair.apply(snapshot)
    pair.apply(waiting)
    expect(listener.reasons()).toEqual(['the book of A/B restarted'])
  })

  it('a book that begins on the connection reports its differences, and nothing when there are none', () => {
    const { pair, admit, listener } = setUp()
    admit()
    pair.apply(snapshot)
    pair.apply(nothing)
    pair.apply(update(7))
    expect(listener.states).toEqual([' | 1.00:0.05000000', ' | 1.00:0.07000000'])
  })

  it('a book that begins on the connection is made with the depth that the venue says it serves', () => {
    const { pair, admit, made, listener } = setUp()
    admit()
    pair.apply(waiting)
    pair.acknowledge(10)
    pair.apply(snapshot)
    expect(made.map(({ depth }) => depth)).toEqual([50, 10])
    expect(pair.notices(listener.sourceMarket)).toEqual(['venue serves 10 levels of A/B, not 50'])
  })

  it('a book that begins on the connection is as fine as its readers hold where levels may be finer than listed', () => {
    const { pair, made } = setUp()
    pair.list({ ...listing, finestPriceDecimals: 8, finestAmountDecimals: 3 })
    pair.apply(snapshot)
    expect(made[0]?.listing).toMatchObject({ priceDecimals: 2, amountDecimals: 3 })
  })
})

describe('the delay before a book that keeps failing is subscribed again', () => {
  it.each([
    ['shortest', 0, 500],
    ['longest', 1, 1000],
  ])(
    'the delay before a book that keeps failing is subscribed again is spread at random: the %s',
    (_name, random, delayMilliseconds) => {
      const { pair, admit, sent, clock } = setUp({ random: () => random })
      admit()
      pair.fail('once')
      pair.fail('twice')
      expect(sent).toHaveLength(2)
      clock.advance(delayMilliseconds - 1)
      expect(sent).toHaveLength(2)
      clock.advance(1)
      expect(sent).toHaveLength(4)
    },
  )
})

describe('a book whose beginning is fetched', () => {
  const setUpFetched = () => {
    const set = setUp({}, true)
    set.admit()
    return set
  }

  it('a book whose beginning is fetched begins when its subscription is acknowledged, and takes no message from before', async () => {
    const { pair, asked, made, listener } = setUpFetched()
    pair.apply(update(1))
    expect(asked).toHaveLength(0)
    expect(made).toHaveLength(0)
    pair.acknowledge()
    pair.apply(waiting)
    expect(asked[0]?.depth).toBe(50)
    await asked[0]?.answer({ value: snapshot })
    expect(made.map(({ seen }) => seen)).toEqual([[waiting, snapshot]])
    expect(listener.count('snapshot')).toBe(1)
  })

  it('a book whose beginning is fetched is subscribed again when it is not acknowledged', () => {
    const { clock, listener } = setUpFetched()
    clock.advance(9_999)
    expect(listener.reasons()).toEqual([])
    clock.advance(1)
    expect(listener.reasons()).toEqual(['no snapshot of A/B within 10 s'])
  })

  it('a book whose beginning is fetched is fetched again while the snapshot is too old, and subscribed again after five', async () => {
    const { pair, asked, clock, sent, listener } = setUpFetched()
    pair.acknowledge()
    for (const [index, delay] of [500, 1000, 2000, 4000].entries()) {
      await asked[index]?.answer({ value: waiting })
      clock.advance(delay - 1)
      expect(asked).toHaveLength(index + 1)
      clock.advance(1)
      expect(asked).toHaveLength(index + 2)
    }
    expect(sent).toEqual([])
    await asked[4]?.answer({ value: waiting })
    expect(listener.reasons()).toEqual(['no snapshot of A/B is new enough'])
    expect(sent).toEqual(['unsubscribe book 50', 'subscribe book 50'])
  })

  it('a book whose beginning is fetched is left alone for as long as the venue says', async () => {
    const { pair, asked, clock, sent, listener } = setUpFetched()
    pair.acknowledge()
    await asked[0]?.answer({ problem: 'HTTP 429', retryAfterMilliseconds: 7_000 })
    expect(listener.reasons()).toEqual(['no snapshot of A/B: HTTP 429'])
    clock.advance(6_999)
    expect(sent).toEqual([])
    clock.advance(1)
    expect(sent).toEqual(['unsubscribe book 50', 'subscribe book 50'])
  })

  it.each([
    ['the connection ends', (pair: VenuePair<BookStep>) => pair.disconnect('gone')],
    ['the pair ends', (pair: VenuePair<BookStep>) => pair.leave(false)],
    ['the venue takes the pair away', (pair: VenuePair<BookStep>) => pair.unlist('gone')],
  ])('a book whose beginning is fetched is not fetched to the end when %s', async (_name, end) => {
    const { pair, asked, listener } = setUpFetched()
    pair.acknowledge()
    end(pair)
    expect(asked[0]?.signal.aborted).toBe(true)
    await asked[0]?.answer({ value: snapshot })
    expect(listener.count('snapshot')).toBe(0)
  })

  it('a book whose beginning is fetched is fetched for the last acknowledgement alone', async () => {
    const { pair, asked, made, listener } = setUpFetched()
    pair.acknowledge()
    pair.apply(waiting)
    pair.acknowledge()
    await asked[0]?.answer({ value: snapshot })
    expect(listener.events).toEqual([])
    await asked[1]?.answer({ value: snapshot })
    expect(made.at(-1)?.seen).toEqual([snapshot])
    expect(listener.count('snapshot')).toBe(1)
  })

  it('a book whose beginning is fetched continues while it is fetched again for more levels, also when that fails', async () => {
    const { pair, asked, clock, listener } = setUpFetched()
    pair.acknowledge()
    await asked[0]?.answer({ value: snapshot })
    pair.apply({ ...update(6), wantsSnapshot: true } as BookStep)
    pair.apply({ ...update(7), wantsSnapshot: true } as BookStep)
    expect(asked).toHaveLength(2)
    await asked[1]?.answer({ problem: 'no answer' })
    pair.apply({ ...update(8), wantsSnapshot: true } as BookStep)
    expect(asked).toHaveLength(2)
    clock.advance(500)
    await asked[2]?.answer({ value: update(9) })
    expect(listener.reasons()).toEqual([])
    expect(listener.side(ASK)).toEqual(['1.00:0.09000000'])
  })
})

describe('a live book that is refreshed', () => {
  const REFRESH = ['unsubscribe book 50', 'subscribe book 50']
  const fresh = (...changes: number[]): BookStep => ({
    kind: 'snapshot',
    levels: [{ side: ASK, price: 10, amount: 5 }],
    changes: changes.map((amount) => ({ side: ASK, price: 10, amount })),
  })
  /** A live book with a message every 50 ms for 100 s, and what differs from the usual pair. */
  const setUpUsual = (changed: Partial<VenuePairOptions<BookStep>> = {}, best = { bid: 9, ask: 10 }) => {
    const createBook = () => ({ best, apply: (step: BookStep) => step })
    const set = setUp({ protocol: { depths: [50], createBook }, ...changed })
    set.admit()
    set.pair.apply(snapshot)
    for (let message = 0; message < 2_000; message++) {
      set.clock.advance(50)
      set.pair.apply(nothing)
    }
    let lastId = 0
    /** A trade that was executed so long ago. */
    const sell = (price: string, milliseconds = 0) => {
      lastId += 1
      const executedAtMilliseconds = set.clock.monotonicMilliseconds() - milliseconds
      set.pair.trade([{ firstId: lastId, lastId, price, amount: '1', executedAtMilliseconds }], false)
    }
    sell('1')
    return { ...set, sell }
  }

  it('a live book is subscribed again when trades come without book messages, and reports the differences', () => {
    const { pair, sell, clock, sent, listener, types, counted } = setUpUsual()
    const begin = types().length
    clock.advance(1_000)
    sell('1')
    clock.advance(2_999)
    expect(sent).toEqual([])
    clock.advance(1)
    expect(sent).toEqual(REFRESH)
    pair.apply(fresh(7))
    expect(types().slice(begin)).toEqual(['update', 'update'])
    expect(listener.side(ASK)).toEqual(['1.00:0.07000000'])
    expect(counted).toMatchObject({ silences: ['suspicious'], reconciliations: [false], gaps: 0, live: true })
  })

  it('a live book is refreshed at most once a minute, then every two, and reports nothing when nothing differs', () => {
    const { pair, sell, clock, sent, listener, counted } = setUpUsual()
    const silent = () => {
      clock.advance(1_000)
      sell('1')
      clock.advance(3_000)
    }
    silent()
    pair.apply(fresh())
    expect(counted.reconciliations).toEqual([true])
    const books = listener.count('snapshot')
    silent()
    expect(sent).toEqual(REFRESH)
    pair.apply(nothing)
    clock.advance(112_000)
    pair.apply(nothing)
    silent()
    expect(sent).toEqual([...REFRESH, ...REFRESH])
    expect(listener.count('snapshot')).toBe(books)
    expect(listener.reasons()).toEqual([])
  })

  it('a live book is not doubted while its instrument does not trade, and again when it does', () => {
    let isTrading = false
    const { sell, clock, sent, counted } = setUpUsual({ isTrading: () => isTrading })
    clock.advance(1_000)
    sell('1.1')
    clock.advance(120_000)
    expect([sent, counted.silences]).toEqual([[], []])
    isTrading = true
    clock.advance(1_000)
    sell('1')
    clock.advance(15_000)
    expect(counted.silences).toEqual(['suspicious'])
  })

  it('a live book is lost when the venue sends no snapshot for its refresh', () => {
    const { sell, clock, listener } = setUpUsual()
    clock.advance(1_000)
    sell('1')
    clock.advance(12_999)
    expect(listener.reasons()).toEqual([])
    clock.advance(1)
    expect(listener.reasons()).toEqual(['no snapshot of A/B within 10 s'])
  })

  it('a live book is lost at once when a trade proves it wrong', () => {
    const { sell, clock, listener, sent, counted } = setUpUsual()
    clock.advance(1_000)
    sell('1.1')
    clock.advance(2_000)
    expect(listener.reasons()).toEqual(['trades at 1.1, which the book does not show'])
    expect(sent).toEqual(REFRESH)
    expect(counted).toMatchObject({ silences: ['wrong'], gaps: 1 })
  })

  it('a live book is not doubted for a trade that comes late, or at a price of an auction', () => {
    const { pair, sell, clock, listener, sent } = setUpUsual()
    clock.advance(1_000)
    sell('1.1', 1_501)
    clock.advance(4_000)
    expect(sent).toEqual([])
    pair.apply(nothing)
    pair.list({ ...listing, status: 'auction', state: 'restricted' })
    clock.advance(1_000)
    sell('1.1')
    clock.advance(2_999)
    expect(listener.reasons()).toEqual([])
  })

  it('a live book is not doubted for messages that a stopped process did not read', () => {
    const { pair, sell, clock, sent } = setUpUsual()
    clock.advance(1_000)
    sell('1')
    clock.standStill(8_000)
    pair.apply(nothing)
    clock.advance(2_000)
    expect(sent).toEqual([])
  })

  it('a live book is not doubted by a process that runs only for a moment every few seconds', () => {
    const { pair, sell, clock, sent, counted } = setUpUsual()
    clock.advance(500)
    for (let second = 0; second < 12; second += 3) {
      clock.standStill(3_000)
      // Of what waits in the socket, a trade is read first.
      sell('1.1')
    }
    expect([sent, counted.silences]).toEqual([[], []])
    pair.apply(nothing)
    clock.advance(4_000)
    expect([sent, counted.silences]).toEqual([[], []])
  })

  it("a live book is reconciled every five minutes, spread by a quarter, where the venue's proofs do not cover it", () => {
    const createBook = () => ({ apply: (step: BookStep) => step })
    const { pair, admit, clock, sent, listener, counted } = setUp({
      random: () => 0,
      protocol: { depths: [50], createBook, reconcileMilliseconds: 300_000 },
    })
    admit()
    pair.apply(snapshot)
    clock.advance(224_999)
    expect(sent).toEqual([])
    clock.advance(1)
    expect(sent).toEqual(REFRESH)
    pair.acknowledge()
    pair.acknowledge(50)
    pair.apply(update(6))
    pair.apply(fresh(5))
    clock.advance(225_000)
    expect(sent).toEqual([...REFRESH, ...REFRESH])
    pair.apply(fresh())
    expect(listener.states).toEqual([' | 1.00:0.05000000', ' | 1.00:0.06000000', ' | 1.00:0.05000000'])
    expect(counted.reconciliations).toEqual([false, true])
  })

  it('a live book is refreshed on suspicion however often it was reconciled', () => {
    const createBook = () => ({ best: { bid: 9, ask: 10 }, apply: (step: BookStep) => step })
    const { pair, sell, clock, sent, counted } = setUpUsual({
      protocol: { depths: [50], createBook, reconcileMilliseconds: 40_000 },
    })
    for (let round = 0; round < 4; round++) {
      for (let message = 0; message < 1_000; message++) {
        clock.advance(50)
        pair.apply(nothing)
      }
      pair.apply(fresh())
    }
    const { length } = sent
    expect(counted.reconciliations.length).toBeGreaterThan(2)
    expect(counted.silences).toEqual([])
    clock.advance(1_000)
    sell('1')
    clock.advance(3_000)
    expect(counted.silences).toEqual(['suspicious'])
    expect(sent.length).toBeGreaterThan(length)
  })

  it('a live book continues by its numbers where its snapshot is fetched', async () => {
    const createBook = () => ({ best: { bid: 9, ask: 10 }, apply: (step: BookStep) => step })
    const { pair, admit, asked, clock, sent, listener } = setUp({ protocol: { depths: [50], createBook } }, true)
    admit()
    pair.acknowledge()
    await asked[0]?.answer({ value: snapshot })
    for (let message = 0; message < 1_300; message++) {
      clock.advance(50)
      pair.apply(nothing)
    }
    clock.advance(15_000)
    expect(sent).toEqual(REFRESH)
    pair.acknowledge()
    clock.advance(10_000)
    pair.apply(update(8))
    expect(asked).toHaveLength(1)
    expect(listener.reasons()).toEqual([])
    expect(listener.side(ASK)).toEqual(['1.00:0.08000000'])
  })
})

describe('trades', () => {
  const executions = (listener: SourceListener) =>
    listener.events.flatMap((event) => (event.type === 'update' ? event.executions : []))

  it('trades are published before the book is live, exactly at the precision of the market', () => {
    const { pair, admit, listener, counted } = setUp()
    pair.trade([trade(1)], false)
    expect(listener.events).toEqual([])
    admit()
    pair.trade([trade(2), trade(3, '100', '0.01')], false)
    expect(listener.events).toEqual([
      {
        type: 'update',
        changes: [],
        executions: [
          { price: 150, amount: 25_000_000, id: '2', executedAtMilliseconds: 2 },
          { price: 10_000, amount: 1_000_000, id: '3', executedAtMilliseconds: 3 },
        ],
      },
    ])
    expect(counted.trades).toBe(2)
  })

  it('trades that are missing are reported before later ones, and counted', () => {
    const { pair, admit, types, counted } = setUp()
    admit()
    pair.trade([trade(2), trade(5)], false)
    expect(types()).toEqual(['update', 'missed', 'update'])
    expect(counted).toMatchObject({ trades: 2, missed: 2 })
  })

  it('trades do not concern a market that is refused', () => {
    const coarse = new SourceListener('A/B', { symbol: 'COARSE', priceDecimals: 0 })
    const fine = new SourceListener('A/B')
    const { pair, admit } = setUp({ markets: [coarse.sourceMarket, fine.sourceMarket] })
    admit()
    pair.trade([trade(2), trade(5)], false)
    expect(fine.events.map(({ type }) => type)).toEqual(['update', 'missed', 'update'])
    expect(coarse.events.map(({ type }) => type)).toEqual(['lost'])
  })

  it.each([
    ['1.555', '1'],
    ['1.5', '0'],
    ['0', '1'],
    ['x', '1'],
    ['90071992547409930', '1'],
  ])('trades of %s for %s, which a market cannot hold, are missing there', (price, amount) => {
    const { pair, admit, listener } = setUp()
    admit()
    pair.trade([trade(1), trade(2, price, amount), trade(3)], false)
    const reason = `trade 2 of ${amount} at ${price} does not fit into AB`
    expect(listener.events.map((event) => (event.type === 'missed' ? event.reason : event.type))).toEqual([
      'update',
      reason,
      'update',
    ])
    expect(executions(listener).map(({ executedAtMilliseconds }) => executedAtMilliseconds)).toEqual([1, 3])
  })

  it('trades continue over a lost book, and keep their numbering over a connection and another pair', () => {
    const { pair, admit, listener, trades, sent } = setUp()
    admit()
    pair.apply(snapshot)
    pair.trade([trade(1)], false)
    pair.fail('no good')
    expect(sent).toEqual(['unsubscribe book 50', 'subscribe book 50'])
    pair.trade([trade(2)], false)
    pair.disconnect('away')
    admit()
    pair.trade([trade(1), trade(2), trade(3)], true)
    expect(executions(listener).map(({ executedAtMilliseconds }) => executedAtMilliseconds)).toEqual([1, 2, 3])
    pair.leave(true)
    expect(sent.slice(2)).toEqual(['unsubscribe book 50'])
    const next = setUp({ trades, hasTrades: true })
    next.admit()
    next.pair.trade([trade(3), trade(4)], false)
    expect(next.listener.events.map(({ type }) => type)).toEqual(['update'])
    next.pair.leave(false)
    expect(next.sent).toEqual(['unsubscribe book 50', 'unsubscribe trades 0'])
  })

  it('trades end when a listener ends the pair during its call', () => {
    const set = setUp()
    const events: string[] = []
    const listener = (event: { readonly type: string }) => {
      events.push(event.type)
      pair.stop()
    }
    const { pair, admit } = setUp({ markets: [{ ...set.listener.sourceMarket, listener }] })
    admit()
    pair.trade([trade(1), trade(2, 'x'), trade(3), trade(5)], false)
    expect(events).toEqual(['update'])
  })

  it('trades that the venue refuses are named, and asked for again after a minute, until they come', () => {
    const { pair, admit, listener, sent, clock } = setUp()
    admit()
    pair.apply(snapshot)
    pair.refuse('trades', 'not today', false)
    expect(pair.notices(listener.sourceMarket)).toEqual(['venue refused the trades for A/B: not today'])
    expect(listener.reasons()).toEqual([])
    clock.advance(60_000)
    expect(sent).toEqual(['subscribe trades 0'])
    pair.trade([trade(1)], false)
    expect(pair.notices(listener.sourceMarket)).toEqual([])
  })

  it('trades that the venue refuses are not subscribed until they are asked for again, so that another pair asks for them', () => {
    const { pair, admit, sent, clock } = setUp()
    admit()
    pair.apply(snapshot)
    expect(pair.hasTrades).toBe(true)
    pair.refuse('trades', 'not today', true)
    expect(pair.hasTrades).toBe(false)
    clock.advance(1_000)
    expect([pair.hasTrades, ...sent]).toEqual([true, 'subscribe trades 0'])
  })

  it.each<[string, (set: ReturnType<typeof setUp>) => void]>([
    ['the venue refused them after the first book', ({ pair }) => pair.refuse('trades', 'not today', false)],
    [
      'the connection ended after the first book',
      ({ pair, admit }) => {
        pair.disconnect('gone')
        admit()
      },
    ],
  ])('trades may be missing before the first one when %s', (_when, interrupt) => {
    const set = setUp()
    set.admit()
    set.pair.apply(snapshot)
    interrupt(set)
    expect(set.listener.count('missed')).toBe(0)
    set.pair.trade([trade(1)], false)
    set.pair.trade([trade(2)], false)
    expect(set.types().filter((type) => type === 'missed' || type === 'update')).toEqual(['missed', 'update', 'update'])
  })

  it('trades may be missing before the first one when the first book comes while the venue refuses them', () => {
    const { pair, admit, types } = setUp()
    admit()
    pair.refuse('trades', 'not today', true)
    pair.apply(snapshot)
    pair.trade([trade(1)], false)
    expect(types()).toEqual(['snapshot', 'missed', 'update'])
  })

  it('no trade is missing before the first one when nothing interrupted them after the first book', () => {
    const { pair, admit, types } = setUp()
    admit()
    pair.refuse('trades', 'not today', true)
    pair.disconnect('gone')
    admit()
    pair.apply(snapshot)
    pair.trade([trade(1)], false)
    expect(types()).toEqual(['lost', 'snapshot', 'update'])
  })
})

it.each([
  ['alone', 'a minute', false, 60_000],
  ['in a request for several pairs', 'a second', true, 1_000],
])('a book that the venue refuses %s is asked for again after %s', (_how, _wait, isOfGroup, milliseconds) => {
  const { pair, admit, listener, sent, clock } = setUp()
  admit()
  pair.refuse('book', 'not today', isOfGroup)
  expect(listener.reasons()).toEqual(['venue refused A/B: not today'])
  clock.advance(milliseconds - 1)
  expect(sent).toEqual([])
  clock.advance(1)
  expect(sent).toEqual(['subscribe book 50'])
})

describe('how the venue lists the pair', () => {
  it("a venue's listing names the pair's restriction while it lasts, and the book continues", () => {
    const { pair, admit, listener } = setUp()
    admit()
    pair.apply(snapshot)
    expect(pair.list({ ...listing, status: 'post_only', state: 'restricted' })).toBe(false)
    expect(pair.notices(listener.sourceMarket)).toEqual(['venue lists A/B as post_only'])
    pair.apply(update(7))
    pair.list(listing)
    expect(pair.notices(listener.sourceMarket)).toEqual([])
    expect(listener.reasons()).toEqual([])
  })

  it("a venue's listing takes the book away when the pair is gone, and brings it back with the pair", () => {
    const { pair, admit, listener, sent } = setUp()
    admit()
    pair.apply(snapshot)
    expect(pair.list({ ...listing, status: 'delisted', state: 'gone' })).toBe(false)
    expect(pair.list({ ...listing, status: 'delisted', state: 'gone' })).toBe(false)
    expect(listener.reasons()).toEqual(['venue lists A/B as delisted'])
    expect(sent).toEqual(['unsubscribe book 50', 'unsubscribe trades 0'])
    pair.apply(snapshot)
    expect(listener.count('snapshot')).toBe(1)
    admit()
    pair.apply(snapshot)
    expect(listener.count('snapshot')).toBe(2)
  })

  it("a venue's listing names the first level that no market can hold", () => {
    const unfit = [{ side: ASK, price: '99999997', amount: '1' }] as const
    const { pair, admit, listener } = setUp({
      protocol: { depths: [50], createBook: () => ({ unfit, apply: (step) => step }) },
    })
    admit()
    pair.apply(snapshot)
    const notice = "AB cannot hold venue's ask of 1 at 99999997: the asks of A/B end before it"
    expect(pair.notices(listener.sourceMarket)).toEqual([notice])
    expect(listener.reasons()).toEqual([])
  })

  it('a pair that no market can hold any more is unsubscribed', () => {
    const { pair, admit, sent } = setUp()
    admit()
    expect(pair.list({ ...listing, priceDecimals: 3 })).toBe(false)
    expect(sent).toEqual(['unsubscribe book 50', 'unsubscribe trades 0'])
  })

  it("a depth beyond the venue's deepest book for the pair is reported", () => {
    const deep = new SourceListener('A/B', { depth: 0 })
    const { pair } = setUp({ markets: [deep.sourceMarket] })
    expect(pair.depthAsked).toBe(50)
    expect(pair.notices(deep.sourceMarket)).toEqual(['venue offers no deeper book for A/B than 50 levels'])
  })
})

import { describe, expect, it } from 'vitest'
import { createLog } from '../../../../src/platform/base/log.ts'
import type { Fetched, TradeGap, VenueTrade } from '../../../../src/streaming/sources/venues/venue.ts'
import { VenueTradeFill } from '../../../../src/streaming/sources/venues/venue-trade-fill.ts'
import { VenueTrades } from '../../../../src/streaming/sources/venues/venue-trades.ts'
import { Random } from '../../../support/random.ts'
import { VirtualClock } from '../../../support/virtual-clock.ts'

type Page = Fetched<readonly VenueTrade[]>

/** Longer than a gap may take to fill. */
const LONG_MILLISECONDS = 30_000
/** Attempts at a page that brings nothing. */
const ATTEMPTS = 4

/** A trade whose time is its number, or another. */
const trade = (firstId: number, lastId = firstId, executedAtMilliseconds = lastId): VenueTrade => {
  return { firstId, lastId, price: '1', amount: '1', executedAtMilliseconds }
}

const trades = (first: number, last = first): VenueTrade[] =>
  Array.from({ length: last - first + 1 }, (_, index) => trade(first + index))

const page = (...list: readonly VenueTrade[]): Page => ({ value: list })

/** What comes out, number by number, and gaps as they are reported. */
function setUp() {
  const clock = new VirtualClock()
  const reports: string[] = []
  const numbers = new Map([
    ['A', new VenueTrades('A')],
    ['B', new VenueTrades('B')],
  ])
  const unsubscribed = new Set<string>()
  const tell = (symbol: string, steps: ReturnType<VenueTrades['take']>) => {
    for (const step of steps) {
      if (step.kind === 'missed') reports.push(`${symbol} ${step.count} missed`)
      else reports.push(...step.trades.map(({ firstId }) => `${symbol}${firstId}`))
    }
  }
  const fetches: { symbol: string; gap: TradeGap; signal: AbortSignal; answer: (fetched: Page) => void }[] = []
  const fill = new VenueTradeFill({
    clock,
    random: () => 1,
    log: createLog('silent'),
    fetchPage: (symbol, gap, signal) => new Promise((answer) => fetches.push({ symbol, gap, signal, answer })),
    position: (symbol) => (unsubscribed.has(symbol) ? undefined : numbers.get(symbol)?.position),
    pass: (symbol, list, isRepeat) => {
      if (!unsubscribed.has(symbol)) tell(symbol, numbers.get(symbol)?.take(list, isRepeat) ?? [])
    },
  })
  const live = (symbol: string, first: number, last?: number) => fill.take(symbol, trades(first, last), false)
  const repeat = (symbol: string, list: readonly VenueTrade[]) => fill.take(symbol, list, true)
  /** Answers the latest request. */
  const answer = async (fetched: Page) => {
    fetches.at(-1)?.answer(fetched)
    await Promise.resolve()
  }
  const gaps = () => fetches.map(({ gap }) => [gap.after.id, gap.before.id])
  return { clock, reports, fetches, fill, live, repeat, answer, gaps, unsubscribed }
}

/** `A1`, `A2` and so on. */
const inOrder = (first: number, last: number) => trades(first, last).map(({ firstId }) => `A${firstId}`)

describe('trades that a connection did not deliver', () => {
  it('undelivered trades are fetched when the numbers prove them, and go before those that wait', async () => {
    const { reports, fetches, live, answer } = setUp()
    live('A', 1, 2)
    live('A', 6)
    live('A', 7, 8)
    live('B', 1)
    expect(reports).toEqual(['A1', 'A2', 'B1'])
    expect(fetches.map(({ symbol }) => symbol)).toEqual(['A'])
    // The venue is ahead of the connection already.
    await answer(page(...trades(1, 9)))
    live('A', 9, 10)
    expect(reports.slice(3)).toEqual(inOrder(3, 10))
    expect(fetches).toHaveLength(1)
  })

  it('undelivered trades are fetched as soon as a repeated trade proves them, whatever the order of the repeats', async () => {
    const { reports, repeat, live, answer, gaps } = setUp()
    live('A', 1)
    repeat('A', [trade(6), trade(5)])
    expect(gaps()).toEqual([[1, 5]])
    await answer(page(...trades(2, 4)))
    expect(reports).toEqual(inOrder(1, 6))
  })

  it('undelivered trades need no request when they come late', () => {
    const { reports, fetches, live } = setUp()
    live('A', 1)
    live('A', 3)
    live('A', 2)
    live('A', 4)
    expect(reports).toEqual(inOrder(1, 4))
    expect(fetches[0]?.signal.aborted).toBe(true)
  })

  it('undelivered trades leave another gap behind them, which is filled in its turn', async () => {
    const { reports, live, answer, gaps } = setUp()
    live('A', 1)
    live('A', 3)
    live('A', 6)
    live('A', 9)
    await answer(page(trade(2)))
    await answer(page(trade(4), trade(5)))
    await answer(page(trade(7), trade(8)))
    expect(gaps()).toEqual([
      [1, 3],
      [3, 6],
      [6, 9],
    ])
    expect(reports).toEqual(inOrder(1, 9))
  })

  it('undelivered trades may stand for several numbers, and are not accepted where they reach beyond the gap', async () => {
    const { reports, live, answer, clock } = setUp()
    live('A', 1, 2)
    live('A', 10)
    await answer(page(trade(2, 4), trade(5, 6), trade(3, 4), trade(7, 9), trade(9, 11)))
    expect(reports).toEqual(['A1', 'A2', 'A3', 'A5', 'A7', 'A10'])
    clock.advance(LONG_MILLISECONDS)
    expect(reports).toHaveLength(6)
  })
})

describe('pages', () => {
  it("pages of trades continue from the old end or from the new one, with the venue's page cursor", async () => {
    const { reports, fetches, live, answer, gaps } = setUp()
    live('A', 1)
    live('A', 10)
    await answer(page(trade(2), { ...trade(3), pageCursor: 'c3' }))
    expect(fetches[1]?.gap).toEqual({
      after: { id: 3, milliseconds: 3, pageCursor: 'c3' },
      before: { id: 10, milliseconds: 10 },
    })
    await answer(page(trade(9), trade(8)))
    await answer(page(...trades(4, 7)))
    expect(gaps()).toEqual([
      [1, 10],
      [3, 10],
      [3, 8],
    ])
    expect(reports).toEqual(inOrder(1, 10))
  })

  it('pages of trades may overlap, and repeat known ones', async () => {
    const { reports, live, answer } = setUp()
    live('A', 1, 4)
    live('A', 10)
    await answer(page(...trades(3, 7)))
    await answer(page(...trades(6, 12)))
    live('A', 11)
    expect(reports).toEqual(inOrder(1, 11))
  })

  it('pages of trades that bring nothing are asked for again a little later, some times', async () => {
    const { clock, reports, fetches, live, answer } = setUp()
    live('A', 1)
    live('A', 4)
    for (let attempt = 1; attempt < ATTEMPTS; attempt++) {
      await answer(page())
      expect(fetches).toHaveLength(attempt)
      clock.advance(250 * 2 ** attempt)
      expect(fetches).toHaveLength(attempt + 1)
    }
    await answer(page(trade(2)))
    // A page with progress begins the count again.
    await answer(page(trade(2)))
    clock.advance(500)
    await answer(page(trade(3)))
    expect(reports).toEqual(inOrder(1, 4))
  })

  it('pages of trades that never bring anything leave the gap', async () => {
    const { clock, reports, fetches, live, answer } = setUp()
    live('A', 1)
    live('A', 4)
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      await answer(page(trade(1), trade(4)))
      clock.advance(4_000)
    }
    expect(reports).toEqual(['A1', 'A 2 missed', 'A4'])
    expect(fetches).toHaveLength(ATTEMPTS)
  })

  it('pages of trades with a gap of their own leave that one', async () => {
    const { clock, reports, live, answer } = setUp()
    live('A', 1)
    live('A', 8)
    await answer(page(trade(2), trade(3), trade(6), trade(7)))
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      await answer(page(trade(2), trade(3), trade(6), trade(7)))
      clock.advance(4_000)
    }
    expect(reports).toEqual(['A1', 'A2', 'A3', 'A 2 missed', 'A6', 'A7', 'A8'])
  })

  it('pages of trades that continue without end are given up', async () => {
    const { reports, fetches, live, answer } = setUp()
    live('A', 1)
    live('A', 1_000)
    for (let id = 2; id <= 201; id++) await answer(page(trade(id)))
    expect(fetches).toHaveLength(200)
    expect(reports).toEqual([...inOrder(1, 201), 'A 798 missed', 'A1000'])
  })
})

describe('a venue that does not answer', () => {
  it.each(['HTTP 503', 'fetch failed'])(
    'a venue that does not answer (%s) is asked again, and then the gap is left',
    async (problem) => {
      const { clock, reports, fetches, live, answer } = setUp()
      live('A', 1)
      live('A', 3)
      await answer({ problem })
      clock.advance(499)
      expect(fetches).toHaveLength(1)
      clock.advance(1)
      expect(fetches).toHaveLength(2)
      for (const wait of [1_000, 2_000]) {
        await answer({ problem })
        clock.advance(wait)
      }
      expect(reports).toEqual(['A1'])
      await answer({ problem })
      expect(reports).toEqual(['A1', 'A 1 missed', 'A3'])
    },
  )

  it('a venue that names the time for a retry is asked at that time', async () => {
    const { clock, reports, fetches, live, answer } = setUp()
    live('A', 1)
    live('A', 3)
    await answer({ problem: 'HTTP 429', retryAfterMilliseconds: 7_000 })
    clock.advance(6_999)
    expect(fetches).toHaveLength(1)
    clock.advance(1)
    await answer(page(trade(2)))
    expect(reports).toEqual(inOrder(1, 3))
  })

  it('a venue that names a time too late for a retry is not asked again', async () => {
    const { reports, fetches, live, answer } = setUp()
    live('A', 1)
    live('A', 3)
    await answer({ problem: 'HTTP 418', retryAfterMilliseconds: LONG_MILLISECONDS })
    expect(reports).toEqual(['A1', 'A 1 missed', 'A3'])
    expect(fetches).toHaveLength(1)
  })

  it('a venue that does not answer is not waited for longer than some seconds', async () => {
    const { clock, reports, fetches, live, answer } = setUp()
    live('A', 1)
    live('A', 3)
    clock.advance(LONG_MILLISECONDS - 1)
    expect(reports).toEqual(['A1'])
    clock.advance(1)
    expect(reports).toEqual(['A1', 'A 1 missed', 'A3'])
    expect(fetches[0]?.signal.aborted).toBe(true)
    await answer(page(trade(2)))
    expect(reports).toHaveLength(3)
  })
})

describe('a gap', () => {
  it('a gap that is larger than any venue gives in time is left at once', () => {
    const { reports, fetches, live } = setUp()
    live('A', 1)
    live('A', 20_003)
    expect(reports).toEqual(['A1', 'A 20001 missed', 'A20003'])
    expect(fetches).toEqual([])
    live('A', 40_004)
    expect(fetches).toHaveLength(1)
  })

  it('a trade gap is left when more trades arrive than may wait', () => {
    const { reports, live } = setUp()
    live('A', 1)
    live('A', 3)
    live('A', 4, 10_002)
    expect(reports).toHaveLength(1)
    live('A', 10_003)
    expect(reports.slice(0, 3)).toEqual(['A1', 'A 1 missed', 'A3'])
    expect(reports).toHaveLength(10_003)
  })

  it('a trade gap is left when all pairs together hold more trades than may wait', async () => {
    const reports = new Set<string>()
    const fill = new VenueTradeFill({
      clock: new VirtualClock(),
      random: () => 1,
      log: createLog('silent'),
      fetchPage: () => Promise.resolve(page(...trades(2, 19_000))),
      position: () => ({ id: 1, milliseconds: 1 }),
      pass: (symbol) => reports.add(symbol),
    })
    for (let index = 1; index <= 7; index++) fill.take(`C${index}`, [trade(20_001)], false)
    await new Promise(setImmediate)
    // Five pairs have 95,000 trades; the others are left when they bring more than there is space for.
    expect([...reports]).toEqual(['C6', 'C7'])
  })

  it('a trade gap is forgotten with the connection, and so are the waiting trades; the next trade proves all of it', async () => {
    const { clock, reports, fetches, fill, live, answer, gaps } = setUp()
    live('A', 1)
    live('A', 3, 4)
    fill.clear()
    expect(fetches[0]?.signal.aborted).toBe(true)
    await answer(page(trade(2)))
    clock.advance(LONG_MILLISECONDS)
    expect(reports).toEqual(['A1'])
    live('A', 6)
    expect(gaps()[1]).toEqual([1, 6])
    await answer(page(...trades(2, 5)))
    expect(reports).toEqual(inOrder(1, 6))
  })

  it('a gap of a pair that is not subscribed any more is not fetched', async () => {
    const { reports, fetches, live, answer, unsubscribed } = setUp()
    live('A', 1)
    live('A', 3)
    live('A', 9)
    unsubscribed.add('A')
    await answer(page(trade(2)))
    live('A', 20)
    expect(reports).toEqual(['A1'])
    expect(fetches).toHaveLength(1)
  })
})

describe('a venue that begins its numbers again', () => {
  it('a venue that begins its numbers again is followed when trades with lower numbers wait', async () => {
    const { clock, reports, live, fill, answer } = setUp()
    live('A', 100)
    live('A', 103)
    fill.take('A', [trade(1, 1, 200), trade(2, 2, 201)], false)
    await answer(page(trade(101), trade(102)))
    expect(reports).toEqual(['A100', 'A101', 'A102', 'A103', 'A 1 missed', 'A1', 'A2'])
    clock.advance(LONG_MILLISECONDS)
    expect(reports).toHaveLength(7)
  })

  it('a gap is left when the venue begins its numbers again and has only the new ones', async () => {
    const { clock, reports, live, answer } = setUp()
    live('A', 100)
    live('A', 103)
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      await answer(page(trade(1, 1, 200), trade(2, 2, 201)))
      clock.advance(4_000)
    }
    expect(reports).toEqual(['A100', 'A 2 missed', 'A103'])
  })
})

describe('whatever is lost, delayed, repeated and paged', () => {
  it.each(Array.from({ length: 20 }, (_, index) => index + 1))(
    'every trade is passed on once, in order, whatever is lost, delayed, repeated and paged (seed %i)',
    async (seed) => {
      const random = new Random(seed)
      const { clock, reports, fetches, fill, answer } = setUp()
      const last = 400
      let next = 2
      let answered = 0
      fill.take('A', [trade(1)], false)
      const serve = async () => {
        if (fetches.length === answered) return
        answered = fetches.length
        const { gap } = fetches.at(-1) as (typeof fetches)[number]
        const kind = random.integer(5)
        const size = 1 + random.integer(20)
        if (kind === 0) await answer(page())
        else if (kind === 1) await answer({ problem: 'HTTP 500' })
        else if (kind === 2)
          await answer(page(...trades(Math.max(1, gap.before.id - size), gap.before.id - 1).reverse()))
        else await answer(page(...trades(Math.max(1, gap.after.id - 2), gap.after.id + size)))
        clock.advance(random.integer(2) * 1_000)
      }
      while (next <= last) {
        const kind = random.integer(10)
        if (kind < 4) fill.take('A', trades(next, next++), false)
        else if (kind === 4) next += 1 + random.integer(8)
        else if (kind === 5) fill.take('A', trades(Math.max(1, next - 3), next++).reverse(), true)
        else if (kind === 7 && random.integer(5) === 0) fill.clear()
        else await serve()
      }
      fill.take('A', [trade(next)], false)
      // From here on the venue answers everything.
      for (let round = 0; round < 100; round++) {
        clock.advance(2_000)
        const { gap } = fetches.at(-1) as (typeof fetches)[number]
        await answer(page(...trades(gap.after.id + 1, gap.before.id - 1)))
      }
      const passed = reports.filter((line) => !line.includes('missed')).map((line) => Number(line.slice(1)))
      expect(passed).toEqual([...new Set(passed)].sort((left, right) => left - right))
      expect(passed.at(-1)).toBe(next)
      const missed = reports.filter((line) => line.includes('missed')).map((line) => Number(line.split(' ')[1]))
      expect(passed.length + missed.reduce((sum, count) => sum + count, 0)).toBe(next)
    },
  )
})

/** What a watcher is shown: exact spreads, rates, and whether the book is current. */
import { describe, expect, it } from 'vitest'
import type { BookChange } from '../../packages/client/src/index.ts'
import type { LiveBook } from '../../packages/client/src/stream/book.ts'
import { Level } from '../../packages/client/src/stream/level.ts'
import { MarketView, spreadOf } from '../../src/cli/watch/market-view.ts'
import { liveBook, receive } from '../support/live-book.ts'
import { nanosecondTime, snapshot, update } from '../support/wire.ts'

const M = 'BTCUSD'
const CHANGE: BookChange = { type: 'UPDATE', status: 'LIVE', time: '', bids: [new Level('1.0', '1.0')], asks: [] }

function view(book?: LiveBook): MarketView {
  const made = new MarketView(M)
  made.noteEvent({ type: 'CONNECTED', url: 'ws://127.0.0.1:8080/', protocol: 'tidegate.v1' })
  made.book = book
  return made
}

describe('spreadOf', () => {
  it.each([
    // 0.10 of 67012.15 is 0.0149226… basis points.
    ['67012.10', '67012.20', 2, '0.10', '0.015', '67012.150'],
    ['100.00', '100.01', 2, '0.01', '1.000', '100.005'],
    ['1', '3', 0, '2', '10000.000', '2.0'],
    ['0.1', '0.2', 1, '0.1', '6666.667', '0.15'],
    // Both differ in the last digit only, far beyond what a double holds.
    ['90071992547409931.01', '90071992547409931.03', 2, '0.02', '0.000', '90071992547409931.020'],
  ])('the spread of %s and %s is exact', (bid, ask, priceDecimals, value, basisPoints, middle) => {
    const best = { bestBid: new Level(bid, '1'), bestAsk: new Level(ask, '1'), priceDecimals }
    expect(spreadOf(best)).toEqual({ value, basisPoints, middle })
  })

  it('the spread is absent when a side is empty', () => {
    expect(spreadOf({ bestBid: undefined, bestAsk: new Level('1', '1'), priceDecimals: 0 })).toBeUndefined()
  })
})

describe('MarketView', () => {
  it('MarketView counts changes and trades over the last two seconds, without heartbeats and changes of the status', () => {
    const made = view()
    for (const at of [0, 250, 500]) made.noteChange(CHANGE, at)
    made.noteTrade({ type: 'EXECUTION', price: '1.0', amount: '1.0', executedAt: '' }, 750)
    made.noteHeartbeat(nanosecondTime(0), 750)
    made.noteChange({ ...CHANGE, bids: [], status: 'STALE' }, 750)
    expect(made.updatesPerSecond(999)).toBe(4)
    expect(made.updatesPerSecond(1_999)).toBe(2)
    expect(made.updatesPerSecond(60_000)).toBe(0)
  })

  it('MarketView keeps 200 trades, the newest first', () => {
    const made = view()
    for (let index = 0; index < 300; index++) made.noteTrade({ type: 'GAP', reason: `${index}` }, index)
    expect(made.trades).toHaveLength(200)
    expect(made.trades[0]).toEqual({ type: 'GAP', reason: '299' })
  })
})

describe('freshness', () => {
  const BOOK = snapshot(M, 1, [['100.00', '1.0']], [['101.00', '1.0']])
  const WITHDRAWN = update(M, 2, [['100.00', '0']], [['101.00', '0']])
  const STALE = { state: 'STALE', since: '2026-01-01T00:00:00.000Z' } as const

  it("the market view's state is that of the book, and never live without one", () => {
    expect(view().freshness(0)).toEqual({ type: 'waiting' })
    const book = liveBook(M, BOOK)
    const made = view(book)
    expect(made.freshness(0)).toEqual({ type: 'live' })
    book.suspend()
    expect(made.freshness(0)).toEqual({ type: 'resyncing' })
    receive(book, WITHDRAWN)
    expect(made.freshness(0)).toEqual({ type: 'stale', ageMilliseconds: undefined })
    receive(book, update(M, 3, [['100.00', '1.0']], []))
    expect(made.freshness(0)).toEqual({ type: 'live' })
  })

  it("the market view has a stale market's age by the service's clock, with a book and without one", () => {
    for (const made of [view(), view(liveBook(M, BOOK, WITHDRAWN))]) {
      made.served = STALE
      expect(made.freshness(500)).toEqual({ type: 'stale', ageMilliseconds: undefined })
      made.noteHeartbeat(nanosecondTime(12_000), 500)
      expect(made.freshness(1_500)).toEqual({ type: 'stale', ageMilliseconds: 13_000 })
    }
  })

  it('the market view asks the service for the state as long as the book does not show it', () => {
    const made = view()
    expect(made.needsState).toBe(true)
    made.book = liveBook(M, BOOK)
    expect(made.needsState).toBe(false)
    made.served = STALE
    expect(made.needsState).toBe(true)
    made.served = { ...STALE, state: 'LIVE' }
    expect(made.needsState).toBe(false)
    receive(made.book as LiveBook, WITHDRAWN)
    expect(made.needsState).toBe(true)
    made.noteEvent({ type: 'DISCONNECTED', reason: '', retryInMilliseconds: 0 })
    expect(made.needsState).toBe(false)
  })
})

import { describe, expect, it } from 'vitest'
import type { VenueTrade } from '../../../../src/streaming/sources/venues/venue.ts'
import { VenueTrades } from '../../../../src/streaming/sources/venues/venue-trades.ts'

/** A trade whose time is its number, or another. */
const trade = (firstId: number, lastId = firstId, executedAtMilliseconds = lastId): VenueTrade => {
  return { firstId, lastId, price: '1', amount: '1', executedAtMilliseconds }
}

/** What comes of trades: numbers, and reasons of what is missing. */
function taken(trades: VenueTrades, list: readonly (number | VenueTrade)[], isRepeat = false) {
  const whole = list.map((one) => (typeof one === 'number' ? trade(one) : one))
  return trades
    .take(whole, isRepeat)
    .flatMap<string | number>((step) =>
      step.kind === 'missed' ? [`${step.count}: ${step.reason}`] : step.trades.map((one) => one.lastId),
    )
}

describe('the first trades ever', () => {
  it('the first trades show only the current number when they are repeated', () => {
    const trades = new VenueTrades('A/B')
    expect(taken(trades, [5, 6, 7], true)).toEqual([])
    expect(taken(trades, [7, 8])).toEqual([8])
  })

  it('the first trades are executions when they are live, whatever the first number is', () => {
    expect(taken(new VenueTrades('A/B'), [100, 101])).toEqual([100, 101])
  })

  it('the first trades count as repeated where the venue does not mark them', () => {
    const trades = new VenueTrades('A/B', true)
    expect(taken(trades, [100])).toEqual([])
    expect(taken(trades, [101])).toEqual([101])
  })
})

describe('later trades', () => {
  const begun = () => {
    const trades = new VenueTrades('A/B')
    taken(trades, [9, 10], true)
    return trades
  }

  it('later trades are passed on once, however often they arrive', () => {
    const trades = begun()
    expect(taken(trades, [11, 11, 10, 12])).toEqual([11, 12])
    expect(taken(trades, [9, 10, 11, 12], true)).toEqual([])
  })

  it('later trades prove which ones are missing before them', () => {
    const trades = begun()
    expect(taken(trades, [11, 13, 17])).toEqual([
      11,
      '1: trade 12 of A/B is missing',
      13,
      '3: trades 14 to 16 of A/B are missing',
      17,
    ])
    // A trade that was reported as missing is not published when it arrives late.
    expect(taken(trades, [12])).toEqual([])
  })

  it('later trades fill a gap exactly when the venue repeats them, in either order', () => {
    expect(taken(begun(), [9, 10, 11, 12], true)).toEqual([11, 12])
    expect(taken(begun(), [13, 12, 11, 10], true)).toEqual([11, 12, 13])
  })

  it('later trades fill as much of a gap as the venue repeats', () => {
    expect(taken(begun(), [15, 16], true)).toEqual(['4: trades 11 to 14 of A/B are missing', 15, 16])
  })

  it('later trades stand for several numbers where the venue joins them', () => {
    const trades = begun()
    expect(taken(trades, [trade(11, 14), trade(15, 15)])).toEqual([14, 15])
    expect(taken(trades, [trade(18, 20)])).toEqual(['2: trades 16 to 17 of A/B are missing', 20])
  })

  it('later trades of which a part was passed on already are missing', () => {
    const trades = begun()
    expect(taken(trades, [trade(10, 12)])).toEqual(['2: trades 11 to 12 of A/B are missing'])
    expect(taken(trades, [13])).toEqual([13])
  })
})

describe('trades that another process passed on before', () => {
  it('trades continue after the position of another process, which counts only before the own first one', () => {
    const trades = new VenueTrades('A/B')
    expect(trades.position).toBeUndefined()
    expect(trades.resume({ id: 10, milliseconds: 50 })).toBe(true)
    expect(trades.position).toEqual({ id: 10, milliseconds: 50 })
    expect(taken(trades, [trade(9, 9, 49), trade(10, 10, 50)])).toEqual([])
    expect(taken(trades, [trade(11, 11, 60), trade(13, 13, 55)])).toEqual([11, '1: trade 12 of A/B is missing', 13])
    expect(trades.position).toEqual({ id: 13, milliseconds: 55 })
    expect(trades.resume({ id: 5, milliseconds: 5 })).toBe(false)
    // The latest time is that of trade 11.
    expect(taken(trades, [trade(1, 1, 60)])).toEqual([])
    expect(taken(trades, [{ ...trade(14, 14, 70), pageCursor: 'p' }])).toEqual([14])
    expect(trades.position).toEqual({ id: 14, milliseconds: 70, pageCursor: 'p' })
  })
})

describe('a venue that restarts its numbers', () => {
  it('a venue that restarts its numbers is followed, and the possibly missing trades are reported', () => {
    const trades = new VenueTrades('A/B')
    taken(trades, [1000])
    expect(taken(trades, [trade(1, 1, 1001), trade(2, 2, 1002)])).toEqual([
      "1: the numbers of A/B's trades restarted: 1 after 1000",
      1,
      2,
    ])
  })

  it('trades that come late, twice or repeated are not taken for a restart of the numbers', () => {
    const trades = new VenueTrades('A/B')
    taken(trades, [trade(1000, 1000, 50)])
    expect(taken(trades, [trade(999, 999, 50), trade(998, 998, 49)])).toEqual([])
    expect(taken(trades, [trade(1, 1, 51)], true)).toEqual([])
  })
})

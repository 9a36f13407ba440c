import { describe, expect, it } from 'vitest'
import { createLog } from '../../src/base/log.ts'
import type { Fetched, VenueTrade } from '../../src/feed/venue.ts'
import { VenueTradeFill } from '../../src/feed/venue-trade-fill.ts'
import { VenueTrades } from '../../src/feed/venue-trades.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

/** Longer than a fill may take. */
const LONG_MILLISECONDS = 5_000

function trades(first: number, last = first): VenueTrade[] {
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const id = first + index
    return { firstId: id, lastId: id, price: '1', amount: '1', executedAtMilliseconds: id }
  })
}

/** What comes out, number by number, and gaps as they are told. */
function setUp() {
  const clock = new VirtualClock()
  const told: string[] = []
  const numbers = new Map([
    ['A', new VenueTrades('A')],
    ['B', new VenueTrades('B')],
  ])
  const fetches: { symbol: string; signal: AbortSignal; answer: (fetched: Fetched<readonly VenueTrade[]>) => void }[] =
    []
  const fill = new VenueTradeFill({
    clock,
    log: createLog('silent'),
    fetch: (symbol, signal) => new Promise((answer) => fetches.push({ symbol, signal, answer })),
    hasGap: (symbol, list) => numbers.get(symbol)?.hasGap(list) === true,
    pass: (symbol, list, isRepeat) => {
      for (const step of numbers.get(symbol)?.take(list, isRepeat) ?? []) {
        if (step.kind === 'missed') told.push(`${symbol} ${step.count} missed`)
        else told.push(...step.trades.map(({ firstId }) => `${symbol}${firstId}`))
      }
    },
  })
  const live = (symbol: string, first: number, last?: number) => fill.take(symbol, trades(first, last), false)
  const answer = async (index: number, fetched: Fetched<readonly VenueTrade[]>) => {
    fetches[index]?.answer(fetched)
    await Promise.resolve()
  }
  return { clock, told, fetches, fill, live, answer }
}

describe('trades that a connection did not tell of', () => {
  it('are fetched when the numbers prove them, and go before those that wait', async () => {
    const { told, fetches, live, answer } = setUp()
    live('A', 1, 2)
    live('A', 6)
    live('A', 7, 8)
    live('B', 1)
    expect(told).toEqual(['A1', 'A2', 'B1'])
    expect(fetches.map(({ symbol }) => symbol)).toEqual(['A'])
    // The venue is ahead of the connection already.
    await answer(0, { value: trades(1, 9) })
    live('A', 9, 10)
    expect(told.slice(3)).toEqual(['A3', 'A4', 'A5', 'A6', 'A7', 'A8', 'A9', 'A10'])
    expect(fetches).toHaveLength(1)
  })

  it('are told as missing as far as the venue does not have them any more', async () => {
    const { told, live, answer } = setUp()
    live('A', 1)
    live('A', 8)
    await answer(0, { value: trades(5, 8) })
    expect(told).toEqual(['A1', 'A 3 missed', 'A5', 'A6', 'A7', 'A8'])
  })

  it('are told as missing when they cannot be had', async () => {
    const { told, live, answer } = setUp()
    live('A', 1)
    live('A', 3)
    await answer(0, { problem: 'HTTP 503' })
    expect(told).toEqual(['A1', 'A 1 missed', 'A3'])
  })

  it('are not waited for longer than some seconds', async () => {
    const { clock, told, fetches, live, answer } = setUp()
    live('A', 1)
    live('A', 3)
    clock.advance(LONG_MILLISECONDS)
    expect(told).toEqual(['A1', 'A 1 missed', 'A3'])
    expect(fetches[0]?.signal.aborted).toBe(true)
    await answer(0, { value: trades(2, 3) })
    expect(told).toHaveLength(3)
  })

  it('are not waited for while more comes than may wait', () => {
    const { told, live } = setUp()
    live('A', 1)
    live('A', 3)
    live('A', 4, 10_002)
    expect(told).toHaveLength(1)
    live('A', 10_003)
    expect(told.slice(0, 3)).toEqual(['A1', 'A 1 missed', 'A3'])
    expect(told).toHaveLength(10_003)
  })

  it('are not waited for when the connection ends', async () => {
    const { told, fetches, fill, live, answer } = setUp()
    live('A', 1)
    live('A', 3)
    fill.clear()
    expect(told).toEqual(['A1', 'A 1 missed', 'A3'])
    await answer(0, { value: trades(2) })
    expect(told).toHaveLength(3)
    live('A', 5)
    expect(fetches).toHaveLength(2)
  })
})

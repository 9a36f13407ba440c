/** What a watcher is shown: exact spreads, the aggressor side, and the rejection of messages outside this API. */
import { describe, expect, it } from 'vitest'
import { MarketView, middleText, spreadText } from '../../src/cli/market-view.ts'
import { execution, snapshot, update } from '../support/wire.ts'

const M = 'BTCUSD'

function view(...messages: object[]): MarketView {
  const made = new MarketView(M)
  for (const message of messages) made.onMessage(JSON.stringify(message), 0)
  return made
}

describe('spreadText', () => {
  it.each([
    // 0.10 of 67012.15 is 0.0149226… basis points.
    ['67012.10', '67012.20', '0.10', '0.015', '67012.150'],
    ['100.00', '100.01', '0.01', '1.000', '100.005'],
    ['1', '3', '2', '10000.000', '2.0'],
    ['0.1', '0.2', '0.1', '6666.667', '0.15'],
    // Both differ in the last digit only, far beyond what a double holds.
    ['90071992547409931.01', '90071992547409931.03', '0.02', '0.000', '90071992547409931.020'],
  ])('of %s and %s is exact', (bid, ask, value, basisPoints, middle) => {
    const best = { bid: { price: bid, amount: '1' }, ask: { price: ask, amount: '1' } }
    expect(spreadText(best)).toEqual({ value, basisPoints })
    expect(middleText(best)).toBe(middle)
  })

  it('is absent when a side is empty', () => {
    expect(spreadText({ bid: undefined, ask: { price: '1', amount: '1' } })).toBeUndefined()
  })
})

describe('the aggressor side', () => {
  const BOOK = snapshot(M, 1, [['100.00', '1.0']], [['101.00', '1.0']])

  it.each([
    { prices: ['101.00'], sides: ['buy'] },
    { prices: ['102.00'], sides: ['buy'] },
    { prices: ['100.00'], sides: ['sell'] },
    { prices: ['99.00'], sides: ['sell'] },
    { prices: ['100.50'], sides: [undefined] },
    { prices: ['100.40', '100.50', '100.50', '100.45'], sides: [undefined, 'buy', 'buy', 'sell'] },
  ])('of $prices is $sides', ({ prices, sides }) => {
    const { trades } = view(BOOK, ...prices.map((price) => execution(M, 2, price, '0.5')))
    expect(trades.map(({ side }) => side)).toEqual([...sides].reverse())
  })
})

describe('MarketView', () => {
  it('counts updates over the last two seconds, without heartbeats', () => {
    const made = view()
    const texts = [
      snapshot(M, 1, [['1.0', '1.0']], []),
      ...[2, 3, 4].map((at) => update(M, at, [['1.0', `${at}.0`]], [])),
    ]
    for (const [index, text] of texts.entries()) made.onMessage(JSON.stringify(text), index * 250)
    expect(made.updatesPerSecond(999)).toBe(4)
    expect(made.updatesPerSecond(1_999)).toBe(2)
    expect(made.updatesPerSecond(60_000)).toBe(0)
  })

  it.each([
    ['nonsense'],
    ['[]'],
    ['{"channel":"trades","payload":{}}'],
    ['{"channel":"market_data"}'],
    ['{"type":"welcome"}'],
    [JSON.stringify(update(M, 2, [['1.0', '1e5']], []))],
  ])('rejects messages that are not of this API: %s', (text) => {
    const made = view(snapshot(M, 1, [], []))
    expect(() => made.onMessage(text, 0)).toThrow('the service sent an unknown message')
  })

  it('returns what to subscribe again when the market was removed or changed, and drops its book', () => {
    const made = view(snapshot(M, 1, [['1.0', '1.5']], []))
    const entry = { type: 'market_data', params: { market: M } }
    const ended = { type: 'unsubscribe', channels: [{ ...entry, success: true, message: 'the market was changed' }] }
    expect(made.onMessage(JSON.stringify(ended), 0)).toEqual({
      type: 'ended',
      channels: [entry],
      message: 'the market was changed',
    })
    expect(made.book).toBeUndefined()
  })

  it('gives up only when the params are refused', () => {
    const reply = (error: string) =>
      JSON.stringify({ type: 'subscribe', channels: [{ type: 'market_data', success: false, error, message: 'why' }] })
    const made = view(snapshot(M, 1, [], []))
    expect(made.onMessage(reply('NO_EFFECT_ACTION'), 0)).toEqual({ type: 'reply' })
    expect(made.onMessage(reply('INTERNAL_SERVER_ERROR'), 0)).toEqual({ type: 'failed', message: 'why' })
    expect(() => made.onMessage(reply('UNKNOWN_CHANNEL_PARAMS_CONFIGURATION'), 0)).toThrow('rejected market_data')
  })
})

describe('freshness', () => {
  const BOOK = snapshot(M, 1, [['100.00', '1.0']], [['101.00', '1.0']])
  const WITHDRAWN = update(M, 2, [['100.00', '0']], [['101.00', '0']])
  const stale = { state: 'STALE', since: '2026-01-01T00:00:00.000Z', sinceMilliseconds: -12_000 } as const

  it('is live with a book, and never without one', () => {
    expect(view().freshness(0)).toEqual({ type: 'waiting' })
    expect(view(BOOK).freshness(0)).toEqual({ type: 'live' })
    const reconnected = view(BOOK)
    reconnected.onConnect()
    expect(reconnected.freshness(0)).toEqual({ type: 'waiting' })
  })

  it('is stale from the withdrawal of the book until it is restored', () => {
    const made = view(BOOK, WITHDRAWN)
    expect(made.freshness(7_000)).toEqual({ type: 'stale', ageMilliseconds: 7_000 })
    made.onMessage(JSON.stringify(update(M, 3, [['100.00', '1.0']], [])), 8_000)
    expect(made.freshness(9_000)).toEqual({ type: 'live' })
  })

  it('is the reported state, with a book and without one', () => {
    for (const made of [view(), view(BOOK), view(BOOK, WITHDRAWN)]) {
      made.served = stale
      expect(made.freshness(1_000)).toEqual({ type: 'stale', ageMilliseconds: 13_000 })
    }
    const empty = view(BOOK, WITHDRAWN)
    empty.served = { ...stale, state: 'LIVE' }
    expect(empty.freshness(1_000)).toEqual({ type: 'waiting' })
  })
})

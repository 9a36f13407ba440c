/** The best prices of a market during the last hour. */
import { describe, expect, it } from 'vitest'
import { PriceHistory } from '../../../src/streaming/gateway/price-history.ts'
import { ASK, BID } from '../../../src/streaming/market/event.ts'
import { LiveStream, levels } from './live-stream.ts'

function open() {
  const stream = new LiveStream({ markets: ['AAAUSD', 'BBBUSD'] })
  const now = () => stream.clock.wallInstant().milliseconds
  const began = now()
  const history = new PriceHistory(stream.clock, stream.hub)
  /** Advances the clock to so long after the history began; commits take time too. */
  const advanceTo = (milliseconds: number) => stream.clock.advance(began + milliseconds - now())
  return { stream, history, began, advanceTo, prices: (symbol = 'AAAUSD') => history.pricesOf({ symbol }) }
}

describe('the history of prices', () => {
  it('the price history has the best prices as exact text, every five seconds, oldest first', () => {
    const { stream, began, advanceTo, prices } = open()
    expect(prices()).toEqual([])
    stream.snapshot(levels([[9_007_199_254_740_990, 10]], [[9_007_199_254_740_991, 20]]))
    advanceTo(5_000)
    stream.update([
      { side: BID, price: 9_007_199_254_740_990, amount: 0 },
      { side: BID, price: 7, amount: 1 },
    ])
    advanceTo(9_999)
    expect(prices()).toHaveLength(1)
    advanceTo(10_000)
    expect(prices()).toEqual([
      { at: new Date(began + 5_000).toISOString(), bid: '90071992547409.90', ask: '90071992547409.91' },
      { at: new Date(began + 10_000).toISOString(), bid: '0.07', ask: '90071992547409.91' },
    ])
    // Of a market without a book there are none, and none of one that does not exist.
    expect([prices('BBBUSD'), prices('CCCUSD')]).toEqual([[], []])
  })

  it('the price history notes nothing while the market is not live, or has no ask', () => {
    const { stream, prices } = open()
    stream.snapshot()
    stream.clock.advance(5_000)
    stream.lose()
    stream.clock.advance(10_000)
    expect(prices()).toHaveLength(1)
    stream.snapshot(levels([[100, 10]], []))
    stream.clock.advance(5_000)
    expect(prices()).toHaveLength(1)
    stream.update([{ side: ASK, price: 300, amount: 1 }])
    stream.clock.advance(5_000)
    expect(prices().map(({ ask }) => ask)).toEqual(['2.00', '3.00'])
  })

  it('the price history ends after one hour: the oldest are dropped', () => {
    const { stream, began, advanceTo, prices } = open()
    stream.snapshot()
    advanceTo(725 * 5_000)
    const found = prices()
    expect(found).toHaveLength(720)
    const times = found.map(({ at }) => Date.parse(at))
    expect(times.at(-1)).toBe(began + 725 * 5_000)
    expect(times.every((time, index) => index === 0 || time === (times[index - 1] as number) + 5_000)).toBe(true)
  })

  it('the price history begins again when the market is changed, and is forgotten with it', () => {
    const { stream, history, prices } = open()
    stream.snapshot()
    stream.clock.advance(5_000)
    const { replica } = stream.hub.market('AAAUSD') ?? {}
    stream.hub.removeMarket('AAAUSD', 'removed')
    stream.clock.advance(5_000)
    expect(prices()).toEqual([])
    if (replica !== undefined) stream.hub.addMarket(replica)
    stream.clock.advance(5_000)
    expect(prices()).toHaveLength(1)
    history.stop()
    stream.clock.advance(60_000)
    expect(prices()).toHaveLength(1)
  })
})

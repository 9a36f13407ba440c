import { describe, expect, it } from 'vitest'
import { fetchListings, fetchTrades } from '../../../../../src/streaming/sources/venues/bybit/rest.ts'
import { serveHttp } from '../../../../support/http-venue.ts'

const { signal } = new AbortController()
const answer = (list: unknown) =>
  JSON.stringify({ retCode: 0, retMsg: 'OK', result: { category: 'spot', list }, retExtInfo: {}, time: 1672053054358 })

/** https://bybit-exchange.github.io/docs/v5/market/recent-trade */
const TRADE = {
  execId: '2100000000007764263',
  symbol: 'BTCUSDT',
  price: '16618.49',
  size: '0.00012',
  side: 'Buy',
  time: '1672052955758',
  isBlockTrade: false,
}
/** https://bybit-exchange.github.io/docs/v5/market/instrument, shortened */
const PAIR = {
  symbol: 'BTCUSDT',
  status: 'Trading',
  lotSizeFilter: { basePrecision: '0.000001', quotePrecision: '0.00000001' },
  priceFilter: { tickSize: '0.01' },
}

async function readTrades(text: string) {
  const { url } = await serveHttp(() => [200, text])
  return fetchTrades(url, 'BTCUSDT', signal)
}

describe('the latest trades of Bybit', () => {
  it("Bybit's latest trades are given oldest first, whatever the order of the venue, with the side of the taker", async () => {
    const newer = { ...TRADE, execId: '2100000000007764270', side: 'Sell', time: '1672052955760' }
    const { url, asked } = await serveHttp(() => [200, answer([newer, TRADE])])
    const trade = { firstId: 0, lastId: 0, price: '16618.49', amount: '0.00012' }
    const trades = {
      value: [
        { ...trade, id: '2100000000007764263', side: 'buy', executedAtMilliseconds: 1672052955758 },
        { ...trade, id: '2100000000007764270', side: 'sell', executedAtMilliseconds: 1672052955760 },
      ],
    }
    expect(await fetchTrades(url, 'BTCUSDT', signal)).toEqual(trades)
    expect(asked).toEqual(['/v5/market/recent-trade?category=spot&symbol=BTCUSDT&limit=60'])
    expect(await readTrades(answer([TRADE, newer]))).toEqual(trades)
  })

  it("Bybit's latest trades of one millisecond are taken as newest first", async () => {
    const list = await readTrades(answer([{ ...TRADE, execId: '9' }, TRADE]))
    expect('value' in list && list.value.map(({ id }) => id)).toEqual(['2100000000007764263', '9'])
  })

  it.each([
    ['<html>', 'an unreadable answer'],
    ['{"retCode":0,"result":{}}', 'an unreadable answer'],
    ['{"retCode":10001,"retMsg":"Not supported symbols"}', '10001: Not supported symbols'],
    [answer([{ ...TRADE, symbol: 'ETHUSDT' }]), 'unreadable trades'],
    [answer([{ ...TRADE, time: 5 }]), 'unreadable trades'],
    [answer([TRADE, 7]), 'unreadable trades'],
  ])("Bybit's response %s for the latest trades is a problem", async (text, problem) => {
    expect(await readTrades(text)).toEqual({ problem })
  })
})

describe('the pairs of Bybit', () => {
  it("Bybit's pairs have the decimals of their steps, and a state", async () => {
    const list = [
      PAIR,
      { ...PAIR, symbol: 'SHIBUSDT', priceFilter: { tickSize: '0.0000000100' }, lotSizeFilter: { basePrecision: '1' } },
      { ...PAIR, symbol: 'NEWUSDT', status: 'PreLaunch' },
      { ...PAIR, symbol: 'HALTUSDT', status: 'Halted' },
      { ...PAIR, symbol: 'NOUSDT', priceFilter: { tickSize: '0' } },
      { ...PAIR, symbol: 'BADUSDT', lotSizeFilter: {} },
      { status: 'Trading' },
    ]
    const { url, asked } = await serveHttp(() => [200, answer(list)])
    const fetched = await fetchListings(url, signal)
    const listings = 'value' in fetched ? fetched.value : []
    expect(
      listings.map(({ symbol, priceDecimals, amountDecimals, state }) => [
        symbol,
        priceDecimals,
        amountDecimals,
        state,
      ]),
    ).toEqual([
      ['BTCUSDT', 2, 6, 'open'],
      ['SHIBUSDT', 8, 0, 'open'],
      ['NEWUSDT', 2, 6, 'gone'],
      ['HALTUSDT', 2, 6, 'restricted'],
    ])
    expect(asked).toEqual(['/v5/market/instruments-info?category=spot'])
  })

  it('an unavailable list of the pairs of Bybit is a problem', async () => {
    const { url } = await serveHttp(() => [403, 'access too frequent'])
    expect(await fetchListings(url, signal)).toEqual({ problem: 'HTTP 403 access too frequent' })
  })
})

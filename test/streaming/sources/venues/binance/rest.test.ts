import { describe, expect, it } from 'vitest'
import { readListings, readSnapshot } from '../../../../../src/streaming/sources/venues/binance/answer.ts'
import { fetchListings, fetchSnapshot, fetchTrades } from '../../../../../src/streaming/sources/venues/binance/rest.ts'
import { serveHttp as serve } from '../../../../support/http-venue.ts'

function listed(symbol: string, changes: object = {}, tickSize = '0.01000000', stepSize = '0.00001000') {
  const filters = [
    { filterType: 'LOT_SIZE', stepSize },
    { filterType: 'PRICE_FILTER', tickSize },
  ]
  return { symbol, status: 'TRADING', baseAssetPrecision: 8, quoteAssetPrecision: 8, filters, ...changes }
}

function read(...symbols: object[]) {
  return readListings(JSON.stringify({ symbols }))
}

const FINEST = { finestPriceDecimals: 8, finestAmountDecimals: 8 }
const signal = new AbortController().signal

describe('how Binance lists its pairs', () => {
  it.each([
    ['0.01000000', '0.00001000', 2, 5],
    ['1.00000000', '1.00000000', 0, 0],
    ['10.00', '100', 0, 0],
    ['0.00000001', '0.10000000', 8, 1],
    ['0.00000000', '0.00000000', 8, 8],
  ])("Binance's pair list is read with a tick of %s and a step of %s", (tick, step, priceDecimals, amountDecimals) => {
    const listing = { symbol: 'BTCUSDT', priceDecimals, amountDecimals, ...FINEST, status: 'TRADING', state: 'open' }
    expect(read(listed('BTCUSDT', {}, tick, step))).toEqual({ value: [listing] })
  })

  const INSTRUMENTS: Readonly<Record<string, string>> = {
    AUCTION_MATCH: 'AUCTION',
    PRE_TRADING: 'CLOSED',
    END_OF_DAY: 'CLOSED',
  }
  it.each(['HALT', 'BREAK', 'AUCTION_MATCH', 'PRE_TRADING', 'END_OF_DAY'])(
    "Binance's pair list gives the state %s",
    (status) => {
      const instrument = INSTRUMENTS[status] === undefined ? {} : { instrument: INSTRUMENTS[status] }
      expect(read(listed('BTCUSDT', { status }))).toMatchObject({
        value: [{ status, state: 'restricted', ...instrument }],
      })
    },
  )

  it("Binance's pair list leaves out unreadable pairs, and reports when all are unreadable", () => {
    const odd = [listed('A', { quoteAssetPrecision: 19 }), listed('B', { baseAssetPrecision: '8' }), { no: 1 }, 7, null]
    expect(readListings(JSON.stringify({ symbols: [...odd, listed('C')] }))).toMatchObject({ value: [{ symbol: 'C' }] })
    for (const text of ['', '[]', '{"symbols":7}', '<html>']) {
      expect(readListings(text)).toEqual({ problem: 'an unreadable pair list' })
    }
  })

  it("Binance's pair list finds existing pairs among those that the venue does not have", async () => {
    const known = ['BTCUSDT', 'ETHUSDT', 'BNBUSDT']
    const { url, asked } = await serve(({ searchParams }) => {
      const symbols = JSON.parse(searchParams.get('symbols') as string) as string[]
      const isKnown = symbols.every((symbol) => known.includes(symbol))
      if (!isKnown) return [400, '{"code":-1121,"msg":"Invalid symbol."}']
      return [200, JSON.stringify({ symbols: symbols.map((symbol) => listed(symbol)) })]
    })
    const wanted = ['BTCUSDT', 'GONE', 'ETHUSDT', 'BNBUSDT', 'ALSOGONE']
    const fetched = await fetchListings(url, wanted, signal)
    expect('value' in fetched && fetched.value.map(({ symbol }) => symbol)).toEqual(known)
    expect(asked[0]).toBe(`/api/v3/exchangeInfo?symbols=${encodeURIComponent(JSON.stringify(wanted))}`)
  })

  it("Binance's pair list reports any fault other than an unknown symbol", async () => {
    const { url } = await serve(() => [400, '{"code":-1102,"msg":"Mandatory parameter missing."}'])
    expect(await fetchListings(url, ['A', 'B'], signal)).toEqual({
      problem: 'HTTP 400 {"code":-1102,"msg":"Mandatory parameter missing."}',
    })
    const busy = await serve(() => [429, 'slow down'])
    expect(await fetchListings(busy.url, ['A', 'B'], signal)).toEqual({
      problem: 'HTTP 429 slow down',
      retryAfterMilliseconds: 7_000,
    })
    expect(busy.asked).toHaveLength(1)
  })
})

describe('the trades of Binance', () => {
  const trade = { a: 26_129, p: '0.01633102', q: '4.70443515', f: 27_781, l: 27_783, T: 1_498_793_709_153, m: true }
  const gap = {
    after: { id: 26_128, milliseconds: 1_498_793_709_000 },
    before: { id: 26_140, milliseconds: 0 },
  }

  it("Binance's trades are aggregate trades, as the stream has them", async () => {
    const { url, asked } = await serve(() => [200, JSON.stringify([trade])])
    expect(await fetchTrades(url, 'BTCUSDT', gap, signal)).toEqual({
      value: [
        {
          firstId: 26_129,
          lastId: 26_129,
          side: 'sell',
          price: '0.01633102',
          amount: '4.70443515',
          executedAtMilliseconds: 1_498_793_709_153,
        },
      ],
    })
    expect(asked).toEqual(['/api/v3/aggTrades?symbol=BTCUSDT&fromId=26129&limit=1000'])
  })

  it.each([
    ['[]', { value: [] }],
    ['{}', { problem: 'unreadable trades' }],
    ['<html>', { problem: 'unreadable trades' }],
    [JSON.stringify([trade, { ...trade, T: null }]), { problem: 'unreadable trades' }],
    [JSON.stringify([{ ...trade, a: undefined }]), { problem: 'unreadable trades' }],
  ])("Binance's trades are all read or none when the response is %s", async (body, fetched) => {
    const { url } = await serve(() => [200, body])
    expect(await fetchTrades(url, 'BTCUSDT', gap, signal)).toEqual(fetched)
  })
})

describe('the beginning of a book of Binance', () => {
  it.each([
    [10, 500],
    [100, 500],
    [250, 1000],
    [500, 5000],
    [2500, 5000],
  ])('the snapshot of a Binance book is fetched with levels to spare: for %i, %i', async (depth, limit) => {
    const { url, asked } = await serve(() => [200, '{"lastUpdateId":7,"bids":[["1.5","2"]],"asks":[]}'])
    expect(await fetchSnapshot(url, 'BTCUSDT', depth, signal)).toEqual({
      value: { kind: 'snapshot', lastUpdateId: 7, limit, bids: [['1.5', '2']], asks: [] },
    })
    expect(asked).toEqual([`/api/v3/depth?symbol=BTCUSDT&limit=${limit}`])
  })

  it('the snapshot of a Binance book is a problem when it is unavailable or unreadable', async () => {
    const { url } = await serve(() => [400, '{"code":-1121,"msg":"Invalid symbol."}'])
    expect(await fetchSnapshot(url, 'A', 10, signal)).toEqual({
      problem: 'HTTP 400 {"code":-1121,"msg":"Invalid symbol."}',
    })
    for (const text of [
      '',
      '[]',
      '{"lastUpdateId":1.5,"bids":[],"asks":[]}',
      '{"lastUpdateId":1,"bids":[[1,2]],"asks":[]}',
    ]) {
      expect(readSnapshot(text, 500)).toEqual({ problem: 'an unreadable snapshot' })
    }
  })
})

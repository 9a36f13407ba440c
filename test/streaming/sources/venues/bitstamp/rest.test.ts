import { describe, expect, it } from 'vitest'
import { fetchListings, fetchSnapshot, fetchTrades } from '../../../../../src/streaming/sources/venues/bitstamp/rest.ts'
import { serveHttp } from '../../../../support/http-venue.ts'

const { signal } = new AbortController()
const TRADE = { date: '1643643584', tid: '212337562', amount: '0.00280000', type: '0', price: '38416' }
const gapOf = (milliseconds: number) => {
  return { after: { id: 1, milliseconds: 1_000 }, before: { id: 2, milliseconds: 1_000 + milliseconds } }
}

describe('the latest trades of Bitstamp', () => {
  it("Bitstamp's latest trades are given oldest first, in whole seconds", async () => {
    const { url, asked } = await serveHttp(() => [200, JSON.stringify([{ ...TRADE, tid: '212337570' }, TRADE])])
    const trade = { firstId: 0, lastId: 0, price: '38416', amount: '0.00280000', executedAtMilliseconds: 1643643584000 }
    expect(await fetchTrades(url, 'btcusd', gapOf(5_000), signal)).toEqual({
      value: [
        { ...trade, id: '212337562' },
        { ...trade, id: '212337570' },
      ],
    })
    expect(asked).toEqual(['/api/v2/transactions/btcusd/?time=minute'])
  })

  it.each([
    [30_000, 'minute'],
    [30_001, 'hour'],
    [3_300_000, 'hour'],
    [3_300_001, 'day'],
  ])("Bitstamp's latest trades after %i ms are those of a %s", async (milliseconds, period) => {
    const { url, asked } = await serveHttp(() => [200, '[]'])
    expect(await fetchTrades(url, 'btcusd', gapOf(milliseconds), signal)).toEqual({ value: [] })
    expect(asked).toEqual([`/api/v2/transactions/btcusd/?time=${period}`])
  })

  it.each(['<html>', '{}', '[7]', JSON.stringify([{ ...TRADE, tid: 5 }]), JSON.stringify([{ ...TRADE, date: '1.5' }])])(
    "Bitstamp's latest trades that are %s are a problem",
    async (text) => {
      const { url } = await serveHttp(() => [200, text])
      expect(await fetchTrades(url, 'btcusd', gapOf(1), signal)).toEqual({ problem: 'unreadable trades' })
    },
  )
})

describe('a snapshot of Bitstamp', () => {
  it('a snapshot of Bitstamp is a whole book with its time', async () => {
    const body = '{"timestamp":"1643643584","microtimestamp":"1643643584684047","bids":[["9.5","1"]],"asks":[]}'
    const { url, asked } = await serveHttp(() => [200, body])
    expect(await fetchSnapshot(url, 'btcusd', signal)).toEqual({
      value: { isSnapshot: true, microseconds: 1643643584684047, bids: [{ price: '9.5', amount: '1' }], asks: [] },
    })
    expect(asked).toEqual(['/api/v2/order_book/btcusd/?group=1'])
  })

  it('a snapshot of Bitstamp without its time is a problem', async () => {
    const { url } = await serveHttp(() => [200, '{"timestamp":"1643643584","bids":[],"asks":[]}'])
    expect(await fetchSnapshot(url, 'btcusd', signal)).toEqual({ problem: 'an unreadable book' })
  })
})

describe('the pairs of Bitstamp', () => {
  it("Bitstamp's pairs have the decimals of their currencies, and a state", async () => {
    const pair = { name: 'BTC/USD', url_symbol: 'btcusd', base_decimals: 8, counter_decimals: 0, trading: 'Enabled' }
    const list = [pair, { ...pair, url_symbol: 'xrpeur', trading: 'Disabled' }, { ...pair, base_decimals: '8' }, null]
    const { url, asked } = await serveHttp(() => [200, JSON.stringify(list)])
    const fetched = await fetchListings(url, signal)
    expect('value' in fetched && fetched.value).toMatchObject([
      { symbol: 'btcusd', priceDecimals: 0, amountDecimals: 8, status: 'Enabled', state: 'open' },
      { symbol: 'xrpeur', status: 'Disabled', state: 'restricted' },
    ])
    expect('value' in fetched && fetched.value.length).toBe(2)
    expect(asked).toEqual(['/api/v2/trading-pairs-info/'])
  })

  it('a malformed list of the pairs of Bitstamp is a problem', async () => {
    const { url } = await serveHttp(() => [200, '{}'])
    expect(await fetchListings(url, signal)).toEqual({ problem: 'an unreadable pair list' })
  })
})

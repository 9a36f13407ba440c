import { describe, expect, it } from 'vitest'
import { fetchTrades } from '../../../../../src/streaming/sources/venues/coinbase/rest.ts'
import { serveHttp } from '../../../../support/http-venue.ts'

const signal = new AbortController().signal
const after = { id: 86326500, milliseconds: 1_584_663_777_999 }
const before = { id: 86326523, milliseconds: 1_584_663_780_000 }
const entry = {
  trade_id: '86326522',
  product_id: 'BTC-USD',
  price: '6268.48000000',
  size: '0.00698254',
  time: '2020-03-20T00:22:57.833897Z',
  side: 'SELL',
  exchange: '',
}
const answer = (trades: unknown) => JSON.stringify({ trades, best_bid: '6268.47', best_ask: '6268.48' })

/** What is read of a page with this text. */
async function readTrades(text: string) {
  const { url } = await serveHttp(() => [200, text])
  return fetchTrades(url, 'BTC-USD', { after, before }, signal)
}

describe('a page of trades of Coinbase', () => {
  it('a Coinbase trade page is of the seconds from the last known trade to the first one behind the gap', async () => {
    const { url, asked } = await serveHttp(() => [200, answer([entry])])
    expect(await fetchTrades(url, 'BTC-USD', { after, before }, signal)).toEqual({
      value: [
        {
          firstId: 86326522,
          lastId: 86326522,
          price: '6268.48000000',
          amount: '0.00698254',
          executedAtMilliseconds: Date.UTC(2020, 2, 20, 0, 22, 57, 833),
        },
      ],
    })
    expect(asked).toEqual([
      '/api/v3/brokerage/market/products/BTC-USD/ticker?limit=1000&start=1584663777&end=1584663781',
    ])
  })

  it('a Coinbase trade page may be empty, and is a problem when the product is not known', async () => {
    expect(await readTrades(answer([]))).toEqual({ value: [] })
    const { url } = await serveHttp(() => [404, '{"error":"NOT_FOUND"}'])
    const fetched = await fetchTrades(url, 'NO-SUCH', { after, before }, signal)
    expect(fetched).toEqual({ problem: 'HTTP 404 {"error":"NOT_FOUND"}' })
  })

  it.each([
    ['no JSON', '<html>'],
    ['no object', '[]'],
    ['no list', '{}'],
    ['nothing', answer([null])],
    ['a number that is none', answer([{ ...entry, trade_id: '34b080bf-fcfd' }])],
    ['a price as a number', answer([{ ...entry, price: 7 }])],
    ['no size', answer([{ ...entry, size: undefined }])],
    ['a time that is none', answer([entry, { ...entry, time: 'x' }])],
  ])('a Coinbase trade page that cannot be read whole is a problem: %s', async (_what, text) => {
    expect(await readTrades(text)).toEqual({ problem: 'unreadable trades' })
  })
})

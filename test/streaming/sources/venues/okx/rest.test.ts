import { describe, expect, it } from 'vitest'
import { fetchListings, fetchSnapshot, fetchTrades } from '../../../../../src/streaming/sources/venues/okx/rest.ts'
import { serveHttp } from '../../../../support/http-venue.ts'

const signal = new AbortController().signal
const entry = {
  instId: 'BTC-USDT',
  side: 'sell',
  sz: '0.00001',
  px: '29963.2',
  tradeId: '242720720',
  ts: '1654161646974',
}
const answer = (data: unknown) => JSON.stringify({ code: '0', msg: '', data })

/** What is read of a page with this text. */
async function readTrades(text: string) {
  const { url } = await serveHttp(() => [200, text])
  return fetchTrades(url, 'BTC-USDT', { after: { id: 1, milliseconds: 1 }, before: { id: 3, milliseconds: 3 } }, signal)
}

describe('a page of trades of OKX', () => {
  it('an OKX trade page is of those before the end of the gap, by their numbers', async () => {
    const { url, asked } = await serveHttp(() => [200, answer([entry, { ...entry, tradeId: '242720719' }])])
    const gap = { after: { id: 242720000, milliseconds: 0 }, before: { id: 242720721, milliseconds: 0 } }
    const trade = { price: '29963.2', amount: '0.00001', side: 'sell', executedAtMilliseconds: 1_654_161_646_974 }
    expect(await fetchTrades(url, 'BTC-USDT', gap, signal)).toEqual({
      value: [
        { firstId: 242720720, lastId: 242720720, ...trade },
        { firstId: 242720719, lastId: 242720719, ...trade },
      ],
    })
    expect(asked).toEqual(['/api/v5/market/history-trades?instId=BTC-USDT&type=1&after=242720721&limit=100'])
  })

  it('an OKX trade page returns when requests are accepted again', async () => {
    const { url } = await serveHttp(() => [429, '{"code":"50011","msg":"Too Many Requests","data":[]}'])
    const gap = { after: { id: 1, milliseconds: 0 }, before: { id: 3, milliseconds: 0 } }
    expect(await fetchTrades(url, 'BTC-USDT', gap, signal)).toEqual({
      problem: 'HTTP 429 {"code":"50011","msg":"Too Many Requests","data":[]}',
      retryAfterMilliseconds: 7_000,
    })
  })

  it.each([
    ['<html>', 'an unreadable answer'],
    ['null', 'an unreadable answer'],
    ['{"code":"0","msg":""}', '0: '],
    ['{"code":"51001","msg":"Instrument ID does not exist","data":[]}', '51001: Instrument ID does not exist'],
    [answer([entry, { ...entry, px: 7 }]), 'unreadable trades'],
    [answer([null]), 'unreadable trades'],
    [answer([{ ...entry, tradeId: 'x' }]), 'unreadable trades'],
  ])('an OKX trade page that cannot be read whole is a problem: %s', async (text, problem) => {
    expect(await readTrades(text)).toEqual({ problem })
  })
})

describe('a book of OKX', () => {
  const levels = { bids: [['41006.3', '0.30178218', '0', '2']], asks: [['41006.8', '0.60038921', '0', '1']] }
  const entry = { ...levels, ts: '1629966436396', seqId: 3235851742 }

  it('an OKX book is fetched with as many levels as the channel has, and its number', async () => {
    const { url, asked } = await serveHttp(() => [200, answer([entry])])
    expect(await fetchSnapshot(url, 'BTC-USDT', signal)).toEqual({
      value: {
        isSnapshot: true,
        isFetched: true,
        bids: [{ price: '41006.3', amount: '0.30178218' }],
        asks: [{ price: '41006.8', amount: '0.60038921' }],
        sequence: { id: 3235851742, previous: -1 },
      },
    })
    expect(asked).toEqual(['/api/v5/market/books?instId=BTC-USDT&sz=400&source=0'])
  })

  it.each([
    ['has no number, as books-full', answer([{ ...entry, seqId: undefined }]), 'an unreadable book'],
    ['has no levels', answer([{ ...entry, bids: undefined }]), 'an unreadable book'],
    ['is none', answer([]), 'an unreadable book'],
    ['is refused', '{"code":"51001","msg":"Instrument ID does not exist"}', '51001: Instrument ID does not exist'],
  ])('an OKX book that %s is a problem', async (_what, text, problem) => {
    const { url } = await serveHttp(() => [200, text])
    expect(await fetchSnapshot(url, 'BTC-USDT', signal)).toEqual({ problem })
  })
})

describe('the instruments of OKX', () => {
  it('the instruments of OKX are fetched as the channel has them', async () => {
    const instrument = { instType: 'SPOT', instId: 'BTC-USDT', tickSz: '0.1', lotSz: '0.00000001', state: 'live' }
    const { url, asked } = await serveHttp(() => [200, answer([instrument, { ...instrument, tickSz: 'x' }, 7])])
    expect(await fetchListings(url, signal)).toEqual({
      value: [{ symbol: 'BTC-USDT', priceDecimals: 1, amountDecimals: 8, status: 'live', state: 'open' }],
    })
    expect(asked).toEqual(['/api/v5/public/instruments?instType=SPOT'])
  })

  it('unavailable instruments of OKX are a problem', async () => {
    const { url } = await serveHttp(() => [200, '{"code":"50001","msg":"Service temporarily unavailable"}'])
    expect(await fetchListings(url, signal)).toEqual({ problem: '50001: Service temporarily unavailable' })
  })
})

import { describe, expect, it } from 'vitest'
import { fetchTrades } from '../../../../../src/streaming/sources/venues/kraken/rest.ts'
import { serveHttp } from '../../../../support/http-venue.ts'

const signal = new AbortController().signal
const entry: readonly unknown[] = ['30243.40000', '0.34507674', 1688669597.8277369, 'b', 'm', '', 61044952]
const answer = (list: readonly unknown[], last: unknown = '1688671969993150842') =>
  JSON.stringify({ error: [], result: { XXBTZUSD: list, last } })

/** What is read of a page with this text. */
async function readTrades(text: string) {
  const { url } = await serveHttp(() => [200, text])
  return fetchTrades(url, 'BTC/USD', { after: { id: 1, milliseconds: 1 }, before: { id: 3, milliseconds: 3 } }, signal)
}

describe('a page of trades of Kraken', () => {
  it('a Kraken trade page begins with the millisecond of the last trade that is known', async () => {
    const { url, asked } = await serveHttp(() => [200, answer([entry, [...entry.slice(0, 6), 61044953]])])
    const after = { id: 61044951, milliseconds: 1_688_669_597_827 }
    const executedAtMilliseconds = 1_688_669_597_827
    const trade = { price: '30243.40000', amount: '0.34507674', side: 'buy', executedAtMilliseconds }
    expect(await fetchTrades(url, 'BTC/USD', { after, before: { id: 61045000, milliseconds: 0 } }, signal)).toEqual({
      value: [
        { firstId: 61044952, lastId: 61044952, ...trade },
        { firstId: 61044953, lastId: 61044953, ...trade, pageCursor: '1688671969993150842' },
      ],
    })
    expect(asked).toEqual(['/0/public/Trades?pair=BTCUSD&since=1688669597826999999&count=1000'])
  })

  it('a Kraken trade page continues where the page before ended, and repeats its last nanosecond', async () => {
    const { url, asked } = await serveHttp(() => [200, answer([])])
    const after = { id: 61044951, milliseconds: 1_688_669_597_827, pageCursor: '1688671969993150842' }
    expect(await fetchTrades(url, 'XBT.M/EUR', { after, before: { id: 61045000, milliseconds: 0 } }, signal)).toEqual({
      value: [],
    })
    expect(asked).toEqual(['/0/public/Trades?pair=XBT.MEUR&since=1688671969993150841&count=1000'])
  })

  it.each([
    [1688669597.827, 1_688_669_597_827],
    [1688669597.8269999, 1_688_669_597_827],
    [1688669597.826999, 1_688_669_597_826],
    [1688669597, 1_688_669_597_000],
  ])('a Kraken trade page has times in seconds: %d', async (seconds, executedAtMilliseconds) => {
    expect(await readTrades(answer([entry.with(2, seconds)]))).toMatchObject({ value: [{ executedAtMilliseconds }] })
  })

  it.each([
    ['no JSON', '<html>'],
    ['no result', '{"error":[]}'],
    ['no place to continue from', answer([entry], 7)],
    ['two pairs', JSON.stringify({ error: [], result: { A: [], B: [], last: '1' } })],
    ['an entry that is no list', answer([{}])],
    ['a price as a number', answer([entry.with(0, 7)])],
    ['no number', answer([entry.slice(0, 6)])],
    ['a time as text', answer([entry.with(2, '1688669597')])],
  ])('a Kraken trade page that cannot be read whole is a problem: %s', async (_what, text) => {
    expect(await readTrades(text)).toEqual({ problem: 'unreadable trades' })
  })

  it('a Kraken trade page is refused in words, and with a time to wait where too much was asked', async () => {
    expect(await readTrades('{"error":["EQuery:Unknown asset pair"]}')).toEqual({
      problem: 'EQuery:Unknown asset pair',
    })
    expect(await readTrades('{"error":["EGeneral:Too many requests"]}')).toEqual({
      problem: 'EGeneral:Too many requests',
      retryAfterMilliseconds: 3_000,
    })
  })
})

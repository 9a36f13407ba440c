import { crc32 } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { LevelChange } from '../../../../../src/streaming/market/event.ts'
import { OkxBook } from '../../../../../src/streaming/sources/venues/okx/book.ts'
import { readOkxMessage } from '../../../../../src/streaming/sources/venues/okx/message.ts'
import type { VenueTrade } from '../../../../../src/streaming/sources/venues/venue.ts'
import { receivedFrames } from '../../../../support/captures.ts'

const CAPTURE = 'OKX.ws.1.0.gz'
const SHAPES = {
  'BTC-USDT': { priceDecimals: 1, amountDecimals: 8 },
  'BTC-USD-220527': { priceDecimals: 1, amountDecimals: 0 },
  'UNI-USD-SWAP': { priceDecimals: 3, amountDecimals: 0 },
}

const optionsOf = (symbol: string) => ({
  listing: { symbol, ...SHAPES[symbol as keyof typeof SHAPES], status: 'live', state: 'open' as const },
  depth: 400,
  priceMaximum: Number.MAX_SAFE_INTEGER,
})

const messages = () => receivedFrames(CAPTURE).flatMap(({ text }) => readOkxMessage(text))

/** As sent, by price: never cut, sorted only to be looked at. */
class NaiveSide {
  readonly amounts = new Map<string, string>()

  apply(levels: readonly { price: string; amount: string }[]): void {
    for (const { price, amount } of levels) {
      if (amount === '0') this.amounts.delete(price)
      else this.amounts.set(price, amount)
    }
  }

  sorted(direction: 1 | -1): [string, string][] {
    return [...this.amounts].sort(([a], [b]) => direction * (Number(a) - Number(b)))
  }
}

describe('a recording of OKX', () => {
  it('an OKX recording is read whole: nothing in it is unreadable, refused or a reason to restart', () => {
    const counts: Record<string, number> = {}
    for (const { kind } of messages()) counts[kind] = (counts[kind] ?? 0) + 1
    expect(counts).toEqual({ acknowledged: 3, book: 290, trades: 74 })
  })

  it("an OKX recording has 290 checksums, all equal to those of our own books, which equal a naive one's", () => {
    const books = new Map<string, OkxBook>()
    const published = new Map<string, Map<string, string>>()
    const naive = new Map<string, [NaiveSide, NaiveSide]>()
    let matching = 0
    for (const message of messages()) {
      if (message.kind !== 'book') continue
      const { symbol, data } = message
      if (data.isSnapshot) {
        books.set(symbol, new OkxBook(optionsOf(symbol)))
        published.set(symbol, new Map())
        naive.set(symbol, [new NaiveSide(), new NaiveSide()])
      }
      const step = books.get(symbol)?.apply(data)
      expect(step?.kind).toBe(data.isSnapshot ? 'snapshot' : 'update')
      const changes: readonly LevelChange[] =
        step?.kind === 'snapshot' ? step.levels : step?.kind === 'update' ? step.changes : []
      const levels = published.get(symbol) as Map<string, string>
      for (const { side, price, amount } of changes) {
        const key = `${side} ${price}`
        if (amount === 0) expect(levels.delete(key)).toBe(true)
        else levels.set(key, String(amount))
      }
      const [bids, asks] = naive.get(symbol) as [NaiveSide, NaiveSide]
      bids.apply(data.bids)
      asks.apply(data.asks)
      expect(naiveChecksum(bids, asks)).toBe(data.checksum)
      expect(levels).toEqual(scaled(symbol, bids, asks))
      matching += 1
    }
    expect(matching).toBe(290)
    // What falls out of the best 400 is deleted by the venue itself.
    expect(naive.get('BTC-USDT')?.map(({ amounts }) => amounts.size)).toEqual([400, 400])
  })

  it('an OKX recording shows a change of a single amount at once', () => {
    const book = new OkxBook(optionsOf('BTC-USDT'))
    const [first] = messages().flatMap((message) =>
      message.kind === 'book' && message.symbol === 'BTC-USDT' ? [message.data] : [],
    )
    if (first === undefined) throw new Error('no book')
    const [best, ...others] = first.bids
    const bids = [{ price: best?.price ?? '', amount: `${best?.amount}1` }, ...others]
    expect(book.apply({ ...first, bids })).toMatchObject({ kind: 'wrong', isChecksumMismatch: true })
  })

  it('an OKX recording has trades whose numbers follow one another, the first of them from before the subscription', () => {
    const trades = new Map<string, VenueTrade[]>()
    for (const message of messages()) {
      if (message.kind === 'trades') {
        trades.set(message.symbol, [...(trades.get(message.symbol) ?? []), ...message.trades])
      }
    }
    expect([...trades].map(([symbol, { length }]) => [symbol, length])).toEqual([
      ['BTC-USD-220527', 4],
      ['UNI-USD-SWAP', 1],
      ['BTC-USDT', 69],
    ])
    const acknowledged = receivedFrames(CAPTURE).find(({ text }) => text.includes('"channel":"trades"'))?.milliseconds
    for (const list of trades.values()) {
      expect(list[0]?.executedAtMilliseconds).toBeLessThan(acknowledged ?? 0)
      for (const [index, { firstId, lastId }] of list.entries()) {
        expect(firstId).toBe(lastId)
        expect(firstId).toBe((list[0]?.firstId ?? 0) + index)
      }
    }
  })
})

function naiveChecksum(bids: NaiveSide, asks: NaiveSide): number {
  const [best, others] = [bids.sorted(-1), asks.sorted(1)]
  const parts: string[] = []
  for (let index = 0; index < 25; index++) parts.push(...(best[index] ?? []), ...(others[index] ?? []))
  return crc32(parts.join(':')) | 0
}

function scaled(symbol: string, bids: NaiveSide, asks: NaiveSide): Map<string, string> {
  const { priceDecimals, amountDecimals } = SHAPES[symbol as keyof typeof SHAPES]
  const integer = (text: string, decimals: number) => {
    const [whole = '', fraction = ''] = text.split('.')
    return (whole + fraction.padEnd(decimals, '0')).replace(/^0+/, '')
  }
  const levels = new Map<string, string>()
  for (const [side, { amounts }] of [bids, asks].entries()) {
    for (const [price, amount] of amounts) {
      levels.set(`${side} ${integer(price, priceDecimals)}`, integer(amount, amountDecimals))
    }
  }
  return levels
}

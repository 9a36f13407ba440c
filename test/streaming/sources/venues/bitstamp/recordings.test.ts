/** The whole recording against a book kept in the simplest way. */
import { describe, expect, it } from 'vitest'
import { BitstampBook } from '../../../../../src/streaming/sources/venues/bitstamp/book.ts'
import { readBitstampMessage, readBook } from '../../../../../src/streaming/sources/venues/bitstamp/message.ts'
import { readCapture, receivedFrames } from '../../../../support/captures.ts'
import { PlainBook } from '../../../../support/venues/plain-book.ts'

const frames = () => receivedFrames('BITSTAMP.ws.0.gz')
const messages = () => frames().flatMap(({ text }) => readBitstampMessage(text, () => undefined))
const SHAPES = { btcusd: [0, 8], xrpeur: [5, 8] } as const

describe('a recording of Bitstamp', () => {
  it('a Bitstamp recording is read whole: nothing in it is unreadable or refused', () => {
    const counts: Record<string, number> = {}
    for (const { kind } of messages()) counts[kind] = (counts[kind] ?? 0) + 1
    expect(counts).toEqual({ book: 260, trades: 24 })
  })

  it('a Bitstamp recording has books whose times ascend, and which are those of the simplest book', () => {
    for (const [symbol, [priceDecimals, amountDecimals]] of Object.entries(SHAPES)) {
      const listing = { symbol, priceDecimals, amountDecimals, status: 'Enabled', state: 'open' } as const
      const options = { listing, depth: Infinity, priceMaximum: Number.MAX_SAFE_INTEGER }
      const book = new BitstampBook(options, { microseconds: 0, regressions: 0 })
      const plain = new PlainBook()
      const published = new Map<string, string>()
      const body = readCapture('BITSTAMP.http.0.gz').find(({ address }) => address.includes(symbol))?.text ?? ''
      const snapshot = readBook(JSON.parse(body), true)
      if (snapshot === undefined) throw new Error('no snapshot')
      plain.apply(JSON.parse(body) as ReturnType<PlainBook['levels']>)
      // A message without changes at the time of the snapshot, so that messages bracket it.
      book.apply({ isSnapshot: false, microseconds: snapshot.microseconds, bids: [], asks: [] })
      const steps = [book.apply(snapshot)]
      const diffs = messages().flatMap((one) => (one.kind === 'book' && one.symbol === symbol ? [one.data] : []))
      expect(diffs.length).toBeGreaterThan(50)
      for (const data of [undefined, ...diffs]) {
        if (data !== undefined) {
          steps.push(book.apply(data))
          const texts = (levels: typeof data.bids) => levels.map(({ price, amount }) => [price, amount] as const)
          plain.apply({ bids: texts(data.bids), asks: texts(data.asks) })
        }
        const step = steps.at(-1)
        expect(step?.kind).toBe(data === undefined ? 'snapshot' : 'update')
        for (const { side, price, amount } of step?.kind === 'snapshot'
          ? step.levels
          : step?.kind === 'update'
            ? step.changes
            : []) {
          if (amount === 0) expect(published.delete(`${side} ${price}`)).toBe(true)
          else published.set(`${side} ${price}`, String(amount))
        }
        expect(published).toEqual(scaled(plain))
      }
    }
  })

  it('a Bitstamp recording has trades whose ids ascend and are not consecutive, each with the side of its taker', () => {
    const trades = messages().flatMap((message) => (message.kind === 'trades' ? message.trades : []))
    const steps = trades.slice(1).map(({ id }, index) => Number(id) - Number(trades[index]?.id))
    expect(steps.every((step) => step > 0)).toBe(true)
    expect(steps.some((step) => step > 1)).toBe(true)
    expect(new Set(trades.map(({ side }) => side))).toEqual(new Set(['buy', 'sell']))
  })
})

function scaled(plain: PlainBook): Map<string, string> {
  const { bids, asks } = plain.levels()
  const digits = (text: string) => text.replace('.', '').replace(/^0+/, '')
  const levels = new Map<string, string>()
  for (const [side, list] of [bids, asks].entries()) {
    for (const [price, amount] of list) levels.set(`${side} ${digits(price)}`, digits(amount))
  }
  return levels
}

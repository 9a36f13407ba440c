/** The whole recording: the chain of the venue, and a book kept in the simplest way. */
import { describe, expect, it } from 'vitest'
import type { LevelChange } from '../../../../../src/streaming/market/event.ts'
import { BybitBook } from '../../../../../src/streaming/sources/venues/bybit/book.ts'
import { readBybitMessage } from '../../../../../src/streaming/sources/venues/bybit/message.ts'
import { receivedFrames } from '../../../../support/captures.ts'
import { BYBIT_CAPTURES } from '../../../../support/venues/bybit.ts'
import { PlainBook } from '../../../../support/venues/plain-book.ts'

const SHAPES = { BTCUSDT: [2, 6], SOLEUR: [3, 2] } as const
const frames = () => receivedFrames(BYBIT_CAPTURES[0] as string)
const messages = () => frames().flatMap(({ text }) => readBybitMessage(text, () => undefined))

describe('a recording of Bybit', () => {
  it('a Bybit recording is read whole: nothing in it is unreadable or refused', () => {
    const counts: Record<string, number> = {}
    for (const { kind } of messages()) counts[kind] = (counts[kind] ?? 0) + 1
    expect(counts).toEqual({ book: 302, trades: 24 })
  })

  it('a Bybit recording has books whose update ids are consecutive, and which are those of the simplest book', () => {
    for (const [symbol, [priceDecimals, amountDecimals]] of Object.entries(SHAPES)) {
      const listing = { symbol, priceDecimals, amountDecimals, status: 'Trading', state: 'open' } as const
      const book = new BybitBook({ listing, depth: 50, priceMaximum: Number.MAX_SAFE_INTEGER })
      const published = new Map<string, string>()
      const plain = new PlainBook()
      let compared = 0
      for (const message of messages()) {
        if (message.kind !== 'book' || message.symbol !== symbol) continue
        const step = book.apply(message.data)
        expect(step.kind).toBe(message.data.isSnapshot ? 'snapshot' : 'update')
        const changes: readonly LevelChange[] =
          step.kind === 'snapshot' ? step.levels : step.kind === 'update' ? step.changes : []
        for (const { side, price, amount } of changes) {
          if (amount === 0) expect(published.delete(`${side} ${price}`)).toBe(true)
          else published.set(`${side} ${price}`, String(amount))
        }
        const texts = (levels: typeof message.data.bids) => levels.map(({ price, amount }) => [price, amount] as const)
        plain.apply({ bids: texts(message.data.bids), asks: texts(message.data.asks) })
        expect(published).toEqual(scaled(plain))
        compared += 1
      }
      expect(compared).toBe(symbol === 'BTCUSDT' ? 241 : 61)
      expect(plain.levels().bids.length).toBe(50)
    }
  })

  it('a Bybit recording notices the loss of any delta', () => {
    const book = messages().flatMap((message) =>
      message.kind === 'book' && message.symbol === 'SOLEUR' ? [message.data] : [],
    )
    for (let lost = 1; lost < book.length - 1; lost++) {
      const listing = {
        symbol: 'SOLEUR',
        priceDecimals: 3,
        amountDecimals: 2,
        status: 'Trading',
        state: 'open',
      } as const
      const own = new BybitBook({ listing, depth: 50, priceMaximum: Number.MAX_SAFE_INTEGER })
      const kinds = book.slice(0, lost + 2).flatMap((data, index) => (index === lost ? [] : [own.apply(data).kind]))
      expect(kinds.at(-1)).toBe('wrong')
    }
  })

  it('a Bybit recording has trades with identifiers that are unique, ascending and not consecutive', () => {
    const ids = messages()
      .flatMap((message) => (message.kind === 'trades' ? message.trades : []))
      .map(({ id }) => BigInt(id ?? 0))
    expect(ids.length).toBeGreaterThan(24)
    const steps = ids.slice(1).map((id, index) => id - (ids[index] as bigint))
    expect(steps.every((step) => step > 0n)).toBe(true)
    expect(steps.some((step) => step > 1n)).toBe(true)
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

/** Trades as venues were recorded, at the scale of a market's integers. */
import { parseDecimal } from '../../../src/platform/base/decimal.ts'
import type { Execution } from '../../../src/streaming/market/event.ts'

export const RECORDED = [
  {
    venue: 'OKX',
    file: 'OKX.ws.1.0.gz',
    // biome-ignore lint/suspicious/noExplicitAny: a venue's frame
    tradesOf: ({ arg, data }: any): Execution[] =>
      arg?.channel === 'trades' && data !== undefined
        ? // biome-ignore lint/suspicious/noExplicitAny: a venue's frame
          data.map(({ px, sz, ts, tradeId: id }: any) => recordedTrade(px, sz, Number(ts), `${arg.instId} ${id}`))
        : [],
  },
  {
    venue: 'Coinbase',
    file: 'COINBASE.ws.28.0.gz',
    // biome-ignore lint/suspicious/noExplicitAny: a venue's frame
    tradesOf: ({ type, price, size, time, trade_id: id, product_id: pair }: any): Execution[] =>
      type === 'match' || type === 'last_match' ? [recordedTrade(price, size, Date.parse(time), `${pair} ${id}`)] : [],
  },
] as const

function recordedTrade(price: string, amount: string, executedAtMilliseconds: number, id: string): Execution {
  return {
    price: parseDecimal(price, 8) as number,
    amount: parseDecimal(amount, 8) as number,
    executedAtMilliseconds,
    id,
  }
}

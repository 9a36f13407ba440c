/**
 * Synthetic recordings of venues of which there are no real ones: frames in the documented formats, with books of a
 * seeded simulation. No code of the connectors under test is used.
 */
import { formatDecimal } from '../../src/base/decimal.ts'
import { BEGIN, captureText, type Level, type Line, MadeBook } from './generated-book.ts'
import { Random } from './random.ts'

const BYBIT_PAIRS = [
  { symbol: 'BTCUSDT', decimals: [2, 6], updates: 240, trades: 24, firstUpdate: 18_521_288, firstTrade: 850_766_260 },
  { symbol: 'SOLEUR', decimals: [3, 2], updates: 60, trades: 0, firstUpdate: 902_117, firstTrade: 0 },
] as const

/** https://bybit-exchange.github.io/docs/v5/websocket/public/orderbook and `…/trade`, with 50 levels per side. */
export function bybitCapture(): string {
  const lines: Line[] = []
  for (const [place, { symbol, decimals, updates, trades, firstUpdate, firstTrade }] of BYBIT_PAIRS.entries()) {
    const [priceDecimals, amountDecimals] = decimals
    const random = new Random(3_000 + place)
    const book = new MadeBook(random, 80, 50, 10)
    const levels = (list: readonly Level[]) =>
      list.map(([at, amount]) => [
        formatDecimal(at, priceDecimals),
        amount === 0 ? '0' : formatDecimal(amount, amountDecimals),
      ])
    const push = (milliseconds: number, message: object) =>
      lines.push({ milliseconds: BEGIN + milliseconds, text: JSON.stringify(message) })
    const bookMessage = (type: 'snapshot' | 'delta', index: number, milliseconds: number) => {
      const { bids, asks } = type === 'snapshot' ? book.levels : book.step(true)
      const data = {
        s: symbol,
        b: levels(bids),
        a: levels(asks),
        u: firstUpdate + index,
        seq: 7_961_638_724 + index * 3,
      }
      const ts = BEGIN + milliseconds
      push(milliseconds, { topic: `orderbook.50.${symbol}`, ts, type, data, cts: ts - 2 })
    }
    let trade = firstTrade
    for (const req_id of [String(1 + place * 2), String(2 + place * 2)]) {
      push(place, { success: true, ret_msg: 'subscribe', conn_id: '2324d924-aa4d-45b0', req_id, op: 'subscribe' })
    }
    bookMessage('snapshot', 0, 20 + place)
    for (let index = 1; index <= updates; index++) {
      const milliseconds = 40 + Math.floor((index * 18_000) / updates) + place
      bookMessage('delta', index, milliseconds)
      const count = Math.floor((index * trades) / updates) - Math.floor(((index - 1) * trades) / updates)
      if (count === 0) continue
      const T = BEGIN + milliseconds
      const data = Array.from({ length: 1 + random.integer(2) }, () => {
        // Neither consecutive nor within the safe integers.
        trade += 1 + random.integer(4)
        const v = formatDecimal(1 + random.integer(90_000), amountDecimals)
        const p = formatDecimal(book.middle, priceDecimals)
        const S = random.chance(0.5) ? 'Buy' : 'Sell'
        return {
          i: `229000${String(trade).padStart(13, '0')}`,
          T,
          p,
          v,
          S,
          s: symbol,
          seq: 7_961_638_724,
          BT: false,
          RPI: false,
        }
      })
      push(milliseconds + 1, { topic: `publicTrade.${symbol}`, ts: T + 1, type: 'snapshot', data })
    }
  }
  return `wss://stream.bybit.com/v5/public/spot <-> ${(BEGIN / 1000 - 1).toFixed(6)}\n${captureText(lines)}`
}

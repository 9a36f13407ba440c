/**
 * Synthetic recordings for venues without real ones: frames in the documented formats, with books from a seeded
 * simulation. No code from the connectors under test is used.
 */
import { formatDecimal } from '../../src/platform/base/decimal.ts'
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

const BITSTAMP_PAIRS = [
  { pair: 'btcusd', decimals: [0, 8], levels: 150, updates: 200, trades: 24, firstTrade: 315_163_041 },
  { pair: 'xrpeur', decimals: [5, 8], levels: 60, updates: 60, trades: 0, firstTrade: 0 },
] as const

/**
 * https://www.bitstamp.net/websocket/v2/ and https://www.bitstamp.net/api/#tag/Order-book: whole books, fetched before
 * the first message. Trades have whole seconds, as in the list over HTTP.
 */
export function bitstampCaptures(): [string, string][] {
  const lines: Line[] = []
  const answers: string[] = []
  for (const [place, { pair, decimals, levels, updates, trades, firstTrade }] of BITSTAMP_PAIRS.entries()) {
    const [priceDecimals, amountDecimals] = decimals
    const random = new Random(4_000 + place)
    const book = new MadeBook(random, levels, 10_000, 1_234)
    const texts = (list: readonly Level[]) =>
      list.map(([at, amount]) => [formatDecimal(at, priceDecimals), formatDecimal(amount, amountDecimals)])
    const bookOf = (milliseconds: number, { bids, asks }: MadeBook['levels']) => {
      const microtimestamp = `${BEGIN + milliseconds}${String(place).padStart(3, '0')}`
      return { timestamp: microtimestamp.slice(0, 10), microtimestamp, bids: texts(bids), asks: texts(asks) }
    }
    const push = (milliseconds: number, message: object) =>
      lines.push({ milliseconds: BEGIN + milliseconds, text: JSON.stringify(message) })
    for (const channel of [`diff_order_book_${pair}`, `live_trades_${pair}`]) {
      push(place, { event: 'bts:subscription_succeeded', channel, data: {} })
    }
    const url = `https://www.bitstamp.net/api/v2/order_book/${pair}/?group=1`
    answers.push(`${url} -> ${(BEGIN / 1000).toFixed(6)}: ${JSON.stringify(bookOf(0, book.levels))}\n`)
    let trade = firstTrade
    let order = 1_700_000_000_000_000
    for (let index = 1; index <= updates; index++) {
      const milliseconds = 40 + Math.floor((index * 18_000) / updates)
      push(milliseconds, {
        data: bookOf(milliseconds, book.step(true)),
        channel: `diff_order_book_${pair}`,
        event: 'data',
      })
      if (Math.floor((index * trades) / updates) === Math.floor(((index - 1) * trades) / updates)) continue
      // The ids are shared by all pairs.
      trade += 1 + random.integer(6)
      order += 1 + random.integer(1_000_000)
      const type = random.integer(2)
      const [price, amount] = [book.middle, 1 + random.integer(900_000_000)]
      const seconds = String(Math.floor((BEGIN + milliseconds) / 1000))
      const data = {
        id: trade,
        timestamp: seconds,
        amount: amount / 10 ** amountDecimals,
        amount_str: formatDecimal(amount, amountDecimals),
        price: price / 10 ** priceDecimals,
        price_str: formatDecimal(price, priceDecimals),
        type,
        microtimestamp: `${seconds}000000`,
        buy_order_id: type === 0 ? order : order - 5_000,
        sell_order_id: type === 1 ? order : order - 5_000,
      }
      push(milliseconds + 1, { data, channel: `live_trades_${pair}`, event: 'trade' })
    }
  }
  return [
    ['captures/BITSTAMP.ws.0.gz', `wss://ws.bitstamp.net <-> ${(BEGIN / 1000 - 1).toFixed(6)}\n${captureText(lines)}`],
    ['captures/BITSTAMP.http.0.gz', answers.join('')],
  ]
}

/**
 * Synthetic recordings for machines without the real ones: books from a seeded simulation, written as each exchange's
 * frames in the files and formats of `../shared/data`. Their checksums, numbers and best levels are computed here from
 * the simulated book with the simplest code, without any code from the connectors under test.
 */
import { crc32 } from 'node:zlib'
import { formatDecimal } from '../../src/platform/base/decimal.ts'
import { BEGIN, captureText, type Level, type Line, MadeBook, type Step } from './generated-book.ts'
import { bitstampCaptures, bybitCapture } from './generated-captures.ts'
import { acknowledgementText } from './kraken-script.ts'
import { Random } from './random.ts'

/** All files, by their paths below the recordings' folder. Those that end in `.gz` must be compressed. */
export function makeRecordings(): ReadonlyMap<string, string> {
  return new Map([
    ['kraken-v2/kraken_btcusd_l2.cbcap.gz', krakenCapture('BTC/USD', 1, 10, 301, [0, 60, 120, 180, 240])],
    ['kraken-v2/kraken_ethusd_sample.cbcap.gz', krakenCapture('ETH/USD', 2, 25, 1129, [0])],
    ['kraken-v2-floats/orderbook-v2.json.gz', krakenFloats()],
    ['captures/OKX.ws.1.0.gz', okxCapture()],
    ...binanceCaptures(),
    ...coinbaseCaptures(),
    ['captures/BYBIT.ws.0.gz', bybitCapture()],
    ...bitstampCaptures(),
  ])
}

function krakenMessages(
  symbol: string,
  decimals: number,
  depth: number,
  count: number,
  snapshotsAt: readonly number[],
) {
  const book = new MadeBook(new Random(depth * 1000 + decimals), depth + 20, depth, 12_345)
  const price = (units: number) => formatDecimal(units, decimals)
  const quantity = (units: number) => formatDecimal(units, 8)
  const digits = (text: string) => text.replace('.', '').replace(/^0+/, '')
  const list = (levels: readonly Level[]) =>
    levels.map(([at, amount]) => `{"price":${price(at)},"qty":${quantity(amount)}}`).join(',')
  return Array.from({ length: count }, (_, index) => {
    const isSnapshot = snapshotsAt.includes(index)
    const step = isSnapshot ? book.levels : book.step(false)
    const { bids, asks } = book.levels
    // https://docs.kraken.com/api/docs/guides/spot-ws-book-v2: the ten best asks, then the ten best bids.
    const best = [...asks.slice(0, 10), ...bids.slice(0, 10)]
    const checksum = crc32(best.map(([at, amount]) => digits(price(at)) + digits(quantity(amount))).join(''))
    const time = new Date(BEGIN + index * 30).toISOString()
    const data = `{"symbol":"${symbol}","bids":[${list(step.bids)}],"asks":[${list(step.asks)}],"checksum":${checksum}`
    const stamp = isSnapshot ? '' : `,"timestamp":"${time}"`
    return `{"channel":"book","type":"${isSnapshot ? 'snapshot' : 'update'}","data":[${data}${stamp}}]}`
  })
}

/** An acknowledgement before each snapshot, and two without a snapshot after them. */
function krakenCapture(symbol: string, decimals: number, depth: number, count: number, snapshotsAt: readonly number[]) {
  const acknowledged = snapshotsAt.length === 1 ? snapshotsAt : [...snapshotsAt, 30, 90, 150]
  const lines = [`CBCAP1 kraken ${symbol} ${BEGIN}000000\n`]
  for (const [index, message] of krakenMessages(symbol, decimals, depth, count, snapshotsAt).entries()) {
    const nanoseconds = `${BEGIN + index * 30}000000`
    const texts = [message]
    if (acknowledged.includes(index)) texts.unshift(acknowledgementText('subscribe', symbol, depth))
    for (const text of texts) lines.push(`${nanoseconds} ${Buffer.byteLength(text)}\n${text}\n`)
  }
  return lines.join('')
}

/** Through doubles: trailing zeros are removed. */
function krakenFloats(): string {
  const [init, ...updates] = krakenMessages('BTC/USD', 1, 10, 510, [0]).map((text) => JSON.parse(text) as object)
  return JSON.stringify({ init, updates })
}

const OKX_INSTRUMENTS = [
  { instId: 'BTC-USD-220527', decimals: [1, 0], levels: 60, updates: 70, trades: 4, firstTrade: 7_849 },
  { instId: 'UNI-USD-SWAP', decimals: [3, 0], levels: 60, updates: 37, trades: 1, firstTrade: 12_883_020 },
  { instId: 'BTC-USDT', decimals: [1, 8], levels: 600, updates: 180, trades: 69, firstTrade: 338_476_307 },
] as const

function okxCapture(): string {
  const address = 'wss://ws.okx.com:8443/ws/v5/public'
  const lines: Line[] = []
  for (const [place, { instId, decimals, levels, updates, trades, firstTrade }] of OKX_INSTRUMENTS.entries()) {
    const [priceDecimals, amountDecimals] = decimals
    const trimmed = (text: string) => (text.includes('.') ? text.replace(/\.?0+$/, '') : text)
    const price = (units: number) => trimmed(formatDecimal(units, priceDecimals))
    const size = (units: number) => trimmed(formatDecimal(units, amountDecimals))
    const book = new MadeBook(new Random(7_000 + place), levels, 400, amountDecimals === 0 ? 1 : 12_340)
    const push = (milliseconds: number, message: object) =>
      lines.push({ milliseconds: BEGIN + milliseconds, text: JSON.stringify(message) })
    const trade = (count: number, milliseconds: number) => ({
      arg: { channel: 'trades', instId },
      data: [
        {
          instId,
          tradeId: String(firstTrade + count),
          px: price(book.middle),
          sz: size(amountDecimals === 0 ? 3 : 12_345_678),
          side: count % 3 === 0 ? 'sell' : 'buy',
          ts: String(BEGIN + milliseconds),
        },
      ],
    })
    const bookMessage = (action: 'snapshot' | 'update', step: Step, milliseconds: number) => {
      const side = (list: readonly Level[]) =>
        list.map(([at, amount]) => [price(at), size(amount), '0', amount === 0 ? '0' : '1'])
      const { bids, asks } = book.levels
      const parts: string[] = []
      for (let index = 0; index < 25; index++) {
        for (const level of [bids[index], asks[index]]) if (level) parts.push(price(level[0]), size(level[1]))
      }
      const data = { asks: side(step.asks), bids: side(step.bids), ts: String(BEGIN + milliseconds) }
      return { arg: { channel: 'books', instId }, action, data: [{ ...data, checksum: crc32(parts.join(':')) | 0 }] }
    }
    for (const channel of ['trades', 'books']) push(place, { event: 'subscribe', arg: { channel, instId } })
    push(10 + place, trade(0, -1_000))
    push(20 + place, bookMessage('snapshot', book.levels, 20))
    for (let index = 0; index < updates; index++) {
      const milliseconds = 120 + Math.floor((index * 18_000) / updates) + place
      push(milliseconds, bookMessage('update', book.step(true), milliseconds))
      const count = 1 + Math.floor((index * (trades - 1)) / updates)
      const isTrade = trades > 1 && count !== 1 + Math.floor(((index - 1) * (trades - 1)) / updates)
      if (isTrade) push(milliseconds + 1, trade(count, milliseconds))
    }
  }
  return `${address} <-> ${(BEGIN / 1000 - 1).toFixed(6)}\n${captureText(lines)}`
}

const BINANCE_PAIRS = [
  { symbol: 'NKNUSDT', assets: ['NKN', 'USDT'], decimals: [4, 0], trade: 19_862_790 },
  { symbol: 'BLZETH', assets: ['BLZ', 'ETH'], decimals: [8, 0], trade: undefined },
  { symbol: 'LRCBTC', assets: ['LRC', 'BTC'], decimals: [8, 0], trade: 12_368_013 },
  { symbol: 'RUNEEUR', assets: ['RUNE', 'EUR'], decimals: [3, 1], trade: undefined },
] as const
const BINANCE_DIFFS = 60
const BINANCE_FIRST_ID = 499_869_750

function binanceCaptures(): [string, string][] {
  const frames: Line[] = []
  const answers: string[] = []
  for (const [place, { symbol, decimals, trade }] of BINANCE_PAIRS.entries()) {
    const eight = (units: number, places: number) => formatDecimal(units * 10 ** (8 - places), 8)
    const texts = (levels: readonly Level[]) =>
      levels.map(([at, amount]) => [eight(at, decimals[0]), eight(amount, decimals[1])])
    const random = new Random(9_000 + place)
    const book = new MadeBook(random, 120, 1_000, 1)
    const push = (milliseconds: number, stream: string, data: object) =>
      frames.push({
        milliseconds: BEGIN + milliseconds,
        text: JSON.stringify({ stream: `${symbol.toLowerCase()}@${stream}`, data }),
      })
    let id = BINANCE_FIRST_ID + place * 1_000_000
    let best = ''
    for (let index = 0; index < BINANCE_DIFFS; index++) {
      const milliseconds = 100 + index * 300 + place
      const step = book.step(true)
      const [first, last] = [id, id + random.integer(3)]
      id = last + 1
      const [bid, ask] = [texts(book.levels.bids)[0] ?? [], texts(book.levels.asks)[0] ?? []]
      if (best !== [...bid, ...ask].join()) {
        push(milliseconds - 1, 'bookTicker', { u: last, s: symbol, b: bid[0], B: bid[1], a: ask[0], A: ask[1] })
      }
      best = [...bid, ...ask].join()
      const head = { e: 'depthUpdate', E: BEGIN + milliseconds, s: symbol, U: first, u: last }
      push(milliseconds, 'depth@100ms', { ...head, b: texts(step.bids), a: texts(step.asks) })
      if (index === 0) {
        const body = JSON.stringify({
          lastUpdateId: last,
          bids: texts(book.levels.bids),
          asks: texts(book.levels.asks),
        })
        const url = `https://api.binance.com/api/v3/depth?symbol=${symbol}&limit=1000`
        answers.push(`${url} -> ${((BEGIN + milliseconds + 50) / 1000).toFixed(6)}: ${body}\n`)
      }
      if (trade !== undefined && index % 20 === 10) {
        const number = trade + Math.floor(index / 20)
        const [p, q, T] = [eight(book.middle, decimals[0]), eight(58, decimals[1]), BEGIN + milliseconds]
        push(milliseconds + 1, 'aggTrade', {
          e: 'aggTrade',
          E: T,
          s: symbol,
          a: number,
          p,
          q,
          f: number,
          l: number,
          T,
          m: false,
          M: true,
        })
      }
    }
  }
  const symbols = BINANCE_PAIRS.map(({ symbol, assets, decimals }) => ({
    symbol,
    status: 'TRADING',
    baseAsset: assets[0],
    baseAssetPrecision: 8,
    quoteAsset: assets[1],
    quoteAssetPrecision: 8,
    filters: [
      { filterType: 'PRICE_FILTER', tickSize: formatDecimal(10 ** (8 - decimals[0]), 8) },
      { filterType: 'LOT_SIZE', stepSize: formatDecimal(10 ** (8 - decimals[1]), 8) },
    ],
  }))
  const listing = `https://api.binance.com/api/v3/exchangeInfo -> ${(BEGIN / 1000).toFixed(6)}: ${JSON.stringify({ symbols })}\n`
  return [
    ['captures/BINANCE.ws.1.0', captureText(frames)],
    ['captures/BINANCE.http.0.0.gz', answers.join('')],
    ['captures/BINANCE.0.gz', listing],
  ]
}

const COINBASE_PRODUCTS = [
  { id: 'SKL-USD', decimals: [4, 1], levels: 80, updates: 560, matches: 62 },
  { id: 'DASH-BTC', decimals: [8, 8], levels: 60, updates: 300, matches: 15 },
  { id: 'NU-GBP', decimals: [4, 6], levels: 60, updates: 200, matches: 20 },
  { id: 'CRV-EUR', decimals: [4, 2], levels: 60, updates: 200, matches: 0 },
] as const

function coinbaseCaptures(): [string, string][] {
  const lines: Line[] = []
  for (const [place, { id: product_id, decimals, levels, updates, matches }] of COINBASE_PRODUCTS.entries()) {
    const [priceDecimals, sizeDecimals] = decimals
    const book = new MadeBook(new Random(5_000 + place), levels, 10_000, 17)
    const text = ([at, amount]: Level) => [
      formatDecimal(at, priceDecimals),
      amount === 0 ? '0' : formatDecimal(amount, sizeDecimals),
    ]
    const push = (milliseconds: number, message: object) =>
      lines.push({ milliseconds: BEGIN + milliseconds, text: JSON.stringify(message) })
    const match = (type: 'match' | 'last_match', count: number, milliseconds: number) => ({
      type,
      trade_id: 100_000 * (place + 1) + count,
      side: count % 2 === 0 ? 'sell' : 'buy',
      size: formatDecimal(17 * (count + 1), sizeDecimals),
      price: formatDecimal(book.middle, priceDecimals),
      product_id,
      time: new Date(BEGIN + milliseconds).toISOString(),
    })
    // The real book contains such an extreme order too.
    const far = product_id === 'CRV-EUR' ? [['888888004.0000', '1.00']] : []
    const asks = [...book.levels.asks.map(text), ...far]
    push(place, { type: 'snapshot', product_id, asks, bids: book.levels.bids.map(text) })
    push(10 + place, match('last_match', 0, -1_000))
    for (let index = 0; index < updates; index++) {
      const milliseconds = 50 + Math.floor((index * 18_000) / updates) + place
      const { bids, asks } = book.step(true)
      const changes = [
        ...bids.map((level) => ['buy', ...text(level)]),
        ...asks.map((level) => ['sell', ...text(level)]),
      ]
      push(milliseconds, { type: 'l2update', product_id, changes, time: new Date(BEGIN + milliseconds).toISOString() })
      const count = 1 + Math.floor((index * matches) / updates)
      const isMatch = count !== 1 + Math.floor(((index - 1) * matches) / updates)
      if (isMatch) push(milliseconds + 1, match('match', count, milliseconds + 1))
    }
  }
  const products = COINBASE_PRODUCTS.map(({ id, decimals: [price, size] }) => ({
    id,
    base_currency: id.split('-')[0],
    quote_currency: id.split('-')[1],
    quote_increment: formatDecimal(1, price),
    base_increment: formatDecimal(1, size),
    status: 'online',
    post_only: false,
    limit_only: false,
    cancel_only: false,
    trading_disabled: false,
  }))
  const listing = `https://api.pro.coinbase.com/products -> ${(BEGIN / 1000).toFixed(6)}: ${JSON.stringify(products)}\n`
  return [
    ['captures/COINBASE.ws.28.0.gz', captureText(lines)],
    ['captures/COINBASE.0', listing],
  ]
}

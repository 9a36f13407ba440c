/**
 * A test venue that speaks Coinbase Advanced Trade's WebSocket feed, written from the venue's pages
 * (https://docs.cdp.coinbase.com/coinbase-app/advanced-trade-apis/websocket/websocket-channels, read 2026-11-22) and
 * from its known frames: `level2`, `market_trades`, `heartbeats`, one number sequence over all frames on a connection,
 * and by HTTP the product list and the trades between two seconds
 * (https://docs.cdp.coinbase.com/api-reference/advanced-trade-api/rest-api/public/get-public-market-trades). Recordings
 * from the same matching engine's older Exchange feed are converted to this form. In later rounds the trade numbers
 * continue.
 */
import { readCapture } from '../captures.ts'
import { NUMBER_MARK, type VenueClient } from './client.ts'
import { booksOf, type OkxMessage, type OkxRecording, type OkxTrade } from './okx.ts'
import { type LevelText, PlainBook, type PlainLevels } from './plain-book.ts'
import type { Playback, PlaybackOptions } from './playback.ts'
import { type Outgoing, type PlayedTrade, type Script, type ScriptFrame, torn } from './script.ts'
import { type Dialect, type HttpAnswer, VenueServer } from './server.ts'

export interface CoinbaseProduct {
  readonly product_id: string
  readonly price_increment: string
  readonly base_increment: string
  readonly [member: string]: unknown
}

/** One product's recording: a snapshot of its book first, then updates and trades. */
export interface CoinbaseRecording {
  readonly product: CoinbaseProduct
  readonly frames: readonly ScriptFrame[]
  /** The trade before the first recorded one. */
  readonly lastTrade?: CoinbaseTrade
}

export interface CoinbaseServerOptions extends PlaybackOptions {
  readonly recordings: readonly CoinbaseRecording[]
  /** Listed besides the recordings. */
  readonly otherProducts?: readonly CoinbaseProduct[]
  /** The number of trades sent on subscription; 50 when absent. */
  readonly tradesRepeated?: number
}

export interface CoinbaseTrade {
  readonly product_id: string
  readonly trade_id: string
  readonly price: string
  readonly size: string
  readonly time: string
  readonly side: 'BUY' | 'SELL'
}

interface CoinbaseUpdate {
  readonly side: 'bid' | 'offer'
  readonly event_time: string
  readonly price_level: string
  readonly new_quantity: string
}

interface CoinbaseEvent {
  readonly type: 'snapshot' | 'update'
  readonly product_id?: string
  readonly updates?: readonly CoinbaseUpdate[]
  readonly trades?: readonly CoinbaseTrade[]
}

interface CoinbaseFrame {
  readonly channel: string
  readonly events: readonly CoinbaseEvent[]
}

interface CoinbaseRequest {
  readonly type: 'subscribe' | 'unsubscribe'
  readonly product_ids?: readonly string[]
  readonly channel: string
}

/** A message recorded from the Exchange feed. */
interface ExchangeMessage {
  readonly type: string
  readonly product_id: string
  readonly bids?: readonly LevelText[]
  readonly asks?: readonly LevelText[]
  readonly changes?: readonly (readonly [side: 'buy' | 'sell', price: string, size: string])[]
  readonly trade_id?: number
  readonly price?: string
  readonly size?: string
  readonly side?: 'buy' | 'sell'
  readonly time?: string
}

export const COINBASE_BOOK = 'level2'
export const COINBASE_TRADES = 'market_trades'
const CHANNELS = [COINBASE_BOOK, COINBASE_TRADES, 'heartbeats']
const PRODUCTS_PATH = '/api/v3/brokerage/market/products'
const FRAMES = 'COINBASE.ws.28.0.gz'
const PRODUCTS = 'COINBASE.0'
export const COINBASE_CAPTURES = [FRAMES, PRODUCTS]
const TRADES_REPEATED = 50
const TRADES_PATH = /^\/api\/v3\/brokerage\/market\/products\/([^/]+)\/ticker$/
const EPOCH = '1970-01-01T00:00:00Z'

/** A frame on this channel, with the placeholder for its number. */
export function coinbaseFrame(channel: string, time: string, events: readonly object[]): string {
  const head = `{"channel":"${channel}","client_id":"","timestamp":"${nineDigits(time)}",${NUMBER_MARK}`
  return `${head},"events":${JSON.stringify(events)}}`
}

/** A `level2` frame, whose messages have another channel name. */
export function coinbaseBook(
  product_id: string,
  type: 'snapshot' | 'update',
  levels: PlainLevels,
  time = EPOCH,
): string {
  const event_time = nineDigits(time)
  const side = (name: 'bid' | 'offer', texts: readonly LevelText[]) =>
    texts.map(([price_level, new_quantity]) => ({ side: name, event_time, price_level, new_quantity }))
  const updates = [...side('bid', levels.bids), ...side('offer', levels.asks)]
  return coinbaseFrame('l2_data', time, [{ type, product_id, updates }])
}

let parsed: readonly CoinbaseRecording[] | undefined

/** All ten recorded products, in the order of their snapshots. Parsed once per process. */
export function coinbaseRecordings(): readonly CoinbaseRecording[] {
  parsed ??= parseRecordings()
  return parsed
}

function parseRecordings(): CoinbaseRecording[] {
  const products = recordedProducts()
  const frames = new Map<string, ScriptFrame[]>()
  const lastTrades = new Map<string, CoinbaseTrade>()
  let begin: number | undefined
  for (const { kind, milliseconds, text } of readCapture(FRAMES)) {
    if (kind !== 'received') continue
    const message = JSON.parse(text) as ExchangeMessage
    if (message.type === 'last_match') lastTrades.set(message.product_id, tradeOf(message))
    if (message.type === 'snapshot') frames.set(message.product_id, [])
    const converted = frameOf(message)
    if (converted === undefined) continue
    begin ??= milliseconds
    frames.get(message.product_id)?.push({ milliseconds: milliseconds - begin, text: converted })
  }
  return [...frames].map(([id, own]) => {
    const product = products.find(({ product_id }) => product_id === id) as CoinbaseProduct
    const lastTrade = lastTrades.get(id)
    return { product, frames: own, ...(lastTrade === undefined ? {} : { lastTrade }) }
  })
}

/** Every product listed when the frames were recorded. */
export function recordedProducts(): CoinbaseProduct[] {
  const listed = JSON.parse(readCapture(PRODUCTS)[0]?.text ?? '[]') as Record<string, string>[]
  return listed.map(({ id = '', quote_increment = '', ...product }) => ({
    ...product,
    product_id: id,
    price_increment: quote_increment,
    base_increment: product.base_increment as string,
  }))
}

/** A recorded message in today's format. Nothing for messages about neither book nor trades. */
function frameOf(message: ExchangeMessage): string | undefined {
  const { type, product_id, bids = [], asks = [], changes = [], time } = message
  if (type === 'snapshot') return coinbaseBook(product_id, 'snapshot', { bids, asks })
  if (type === 'match') return tradesFrame('update', [tradeOf(message)])
  if (type !== 'l2update') return undefined
  const event_time = nineDigits(time as string)
  const updates = changes.map(([side, price_level, new_quantity]) => ({
    side: side === 'buy' ? 'bid' : 'offer',
    event_time,
    price_level,
    new_quantity,
  }))
  return coinbaseFrame('l2_data', time as string, [{ type: 'update', product_id, updates }])
}

function tradeOf({ product_id, trade_id, price, size, time, side }: ExchangeMessage): CoinbaseTrade {
  return {
    product_id,
    trade_id: String(trade_id),
    price: price as string,
    size: size as string,
    time: time as string,
    side: side === 'buy' ? 'BUY' : 'SELL',
  }
}

/** `trades`: newest first. */
function tradesFrame(type: 'snapshot' | 'update', trades: readonly CoinbaseTrade[]): string {
  return coinbaseFrame(COINBASE_TRADES, trades[0]?.time ?? EPOCH, [{ type, trades }])
}

/** Times have nine decimals. */
function nineDigits(time: string): string {
  const [, seconds, fraction = ''] = /^([^.Z]*)(?:\.([0-9]*))?Z$/.exec(time) as RegExpExecArray
  return `${seconds}.${fraction.padEnd(9, '0')}Z`
}

const HOUR_MILLISECONDS = 3_600_000

/**
 * Another exchange's recording in this one's format: every level is absolute in both. Its trades are an hour later, so
 * that they differ from the other exchange's where both feed one market.
 */
export function coinbaseRecordingOf({ instId, tickSz, lotSz, frames }: OkxRecording): CoinbaseRecording {
  const product = { product_id: instId, price_increment: tickSz, base_increment: lotSz }
  const translated = frames.flatMap(({ milliseconds, text }) => {
    const { arg, action, data } = JSON.parse(text) as OkxMessage
    if (arg.channel !== 'trades') {
      return [{ milliseconds, text: coinbaseBook(instId, action ?? 'update', booksOf({ arg, data })) }]
    }
    return (data as readonly OkxTrade[]).map(({ tradeId: trade_id, px: price, sz: size, side, ts }) => {
      const time = new Date(Number(ts) + HOUR_MILLISECONDS).toISOString()
      const trade = { product_id: instId, trade_id, price, size, time, side: side === 'buy' ? 'BUY' : 'SELL' } as const
      return { milliseconds, text: tradesFrame('update', [trade]) }
    })
  })
  return { product, frames: translated }
}

export function startCoinbaseServer(options: CoinbaseServerOptions): Promise<VenueServer> {
  return VenueServer.start(new CoinbaseDialect(options), options)
}

class CoinbaseDialect implements Dialect {
  readonly path = ''
  readonly scripts: readonly CoinbaseScript[]
  readonly #products: readonly CoinbaseProduct[]
  #heartbeats = 0

  constructor({ recordings, otherProducts, tradesRepeated = TRADES_REPEATED }: CoinbaseServerOptions) {
    this.scripts = recordings.map((recording) => new CoinbaseScript(recording, tradesRepeated))
    this.#products = [...recordings.map(({ product }) => product), ...(otherProducts ?? [])]
  }

  heartbeat(client: VenueClient): readonly string[] {
    if (!client.isSubscribed('heartbeats', '')) return []
    const time = new Date().toISOString()
    return [coinbaseFrame('heartbeats', time, [{ current_time: time, heartbeat_counter: this.#heartbeats++ }])]
  }

  get(url: URL): HttpAnswer {
    const product = TRADES_PATH.exec(url.pathname)?.[1]
    const script = this.scripts.find(({ symbol }) => symbol === product)
    if (script !== undefined) {
      const [limit, start, end] = ['limit', 'start', 'end'].map((name) => Number(url.searchParams.get(name)))
      return { status: 200, body: script.pageText(limit as number, start as number, end as number) }
    }
    if (url.pathname !== PRODUCTS_PATH) return { status: 404, body: '{}' }
    const products = this.#products.map((product) => ({ status: 'online', alias: '', alias_to: [], ...product }))
    return { status: 200, body: JSON.stringify({ products, num_products: products.length }) }
  }

  answer(text: string, client: VenueClient, server: VenueServer): void {
    const { type, channel, product_ids = [] } = JSON.parse(text) as CoinbaseRequest
    const unknown = product_ids.find((symbol) => !server.tracks.has(symbol) || server.refused.has(symbol))
    if (!CHANNELS.includes(channel) || unknown !== undefined) {
      // A request with any error is rejected as a whole. Rejections have neither a channel nor a number.
      const message = unknown === undefined ? `${channel} is not a channel` : `${unknown} is not a product`
      client.send(JSON.stringify({ type: 'error', message }))
      return
    }
    if (channel === 'heartbeats') client.subscribe(channel, '')
    for (const symbol of product_ids) {
      if (type === 'unsubscribe') client.unsubscribe(channel, symbol)
      // A repeated subscription is acknowledged without a snapshot.
      else if (!client.isSubscribed(channel, symbol)) (server.tracks.get(symbol) as Playback).join(client, channel)
    }
    const subscribed = CHANNELS.map((name) => [name, client.symbolsOf(name)] as const)
    const subscriptions = Object.fromEntries(subscribed.filter(([, symbols]) => symbols.length > 0))
    client.send(coinbaseFrame('subscriptions', new Date().toISOString(), [{ subscriptions }]))
  }
}

class CoinbaseScript implements Script {
  readonly symbol: string
  readonly frames: readonly ScriptFrame[]
  readonly repeatFrom = 1
  readonly bookChannel = COINBASE_BOOK
  readonly trades: PlayedTrade[] = []
  readonly #book = new PlainBook()
  readonly #begin: PlainLevels
  readonly #tradesARound: number
  readonly #durationMilliseconds: number
  readonly #tradesRepeated: number
  /** Newest first. */
  #lastTrades: readonly CoinbaseTrade[]

  constructor({ product, frames, lastTrade }: CoinbaseRecording, tradesRepeated: number) {
    this.#tradesRepeated = tradesRepeated
    this.symbol = product.product_id
    this.frames = frames
    this.#tradesARound = frames.filter(({ text }) => text.includes(`"${COINBASE_TRADES}"`)).length
    this.#durationMilliseconds = Math.ceil(frames.at(-1)?.milliseconds ?? 0)
    this.#lastTrades = lastTrade === undefined ? [] : [lastTrade]
    const begin = new PlainBook()
    begin.apply(levelsOf(eventOf((frames[0] as ScriptFrame).text)))
    this.#begin = begin.levels()
  }

  play({ text }: ScriptFrame, round: number): Outgoing {
    const event = eventOf(text)
    if (event.trades === undefined) {
      if (event.type === 'snapshot') this.#book.clear()
      this.#book.apply(levelsOf(event))
      return { channel: COINBASE_BOOK, text, isMissed: true }
    }
    const recorded = event.trades[0] as CoinbaseTrade
    const id = Number(recorded.trade_id) + round * this.#tradesARound
    const executedAtMilliseconds = Date.parse(recorded.time) + round * this.#durationMilliseconds
    const time = round === 0 ? recorded.time : new Date(executedAtMilliseconds).toISOString()
    const trade = { ...recorded, trade_id: String(id), time }
    const side = trade.side === 'BUY' ? 'buy' : 'sell'
    this.trades.push({ id, price: trade.price, amount: trade.size, side, executedAtMilliseconds })
    this.#lastTrades = [trade, ...this.#lastTrades].slice(0, this.#tradesRepeated)
    return { channel: COINBASE_TRADES, text: tradesFrame('update', [trade]), isMissed: true }
  }

  rewind(): Outgoing {
    const changes = this.#book.changesTo(this.#begin)
    this.#book.apply(changes)
    const text = coinbaseBook(this.symbol, 'update', changes, new Date().toISOString())
    return { channel: COINBASE_BOOK, text, isMissed: true }
  }

  beginning(channel: string): string {
    if (channel === COINBASE_TRADES) return tradesFrame('snapshot', this.#lastTrades)
    return coinbaseBook(this.symbol, 'snapshot', this.#book.levels())
  }

  /** The newest trades between two seconds. */
  pageText(limit: number, start: number, end: number): string {
    const isBetween = ({ executedAtMilliseconds: at }: PlayedTrade) => at >= start * 1000 && at < end * 1000
    const page = this.trades.filter(isBetween).slice(-limit).reverse()
    const trades = page.map(({ id, price, amount: size, side, executedAtMilliseconds }) => {
      const time = new Date(executedAtMilliseconds).toISOString()
      return { trade_id: `${id}`, product_id: this.symbol, price, size, time, side: side.toUpperCase(), exchange: '' }
    })
    return JSON.stringify({ trades, best_bid: '', best_ask: '' })
  }

  levels(depth?: number): PlainLevels {
    return this.#book.levels(depth)
  }

  /** An invalid level, and an invalid frame. */
  corruptions(text: string): readonly string[] {
    return [text.replace(/"side":"(?:bid|offer)"/, '"side":"none"'), torn(text)]
  }
}

function eventOf(text: string): CoinbaseEvent {
  return (JSON.parse(text) as CoinbaseFrame).events[0] as CoinbaseEvent
}

function levelsOf({ updates = [] }: CoinbaseEvent): PlainLevels {
  const side = (name: CoinbaseUpdate['side']) =>
    updates
      .filter((update) => update.side === name)
      .map(({ price_level, new_quantity }) => [price_level, new_quantity] as const)
  return { bids: side('bid'), asks: side('offer') }
}

/**
 * A test venue that speaks enough of Coinbase Exchange's WebSocket feed
 * (https://docs.cdp.coinbase.com/exchange/websocket-feed/channels): `level2_batch`, `matches`, `heartbeat`, `status`.
 * Snapshots, changes and matches are sent as they were recorded; in later rounds the numbers of the matches go on.
 * `l2update` bears no number and no checksum, so no connector can notice that one was lost: none is ever dropped here.
 */
import { readCapture } from '../captures.ts'
import type { VenueClient } from './client.ts'
import { booksOf, type OkxMessage, type OkxRecording, type OkxTrade } from './okx.ts'
import { type LevelText, PlainBook, type PlainLevels } from './plain-book.ts'
import { type Outgoing, type PlayedTrade, type Score, type ScoreFrame, torn } from './score.ts'
import { type Dialect, VenueServer } from './server.ts'
import type { Track, TrackOptions } from './track.ts'

export interface CoinbaseProduct {
  readonly id: string
  readonly quote_increment: string
  readonly base_increment: string
  readonly [member: string]: unknown
}

/** One product's recording: `snapshot` first, then `l2update` and `match`. */
export interface CoinbaseRecording {
  readonly product: CoinbaseProduct
  readonly frames: readonly ScoreFrame[]
  /** The match before the first recorded one. */
  readonly lastMatch?: string
}

export interface CoinbaseServerOptions extends TrackOptions {
  readonly recordings: readonly CoinbaseRecording[]
  /** Listed besides the recordings. */
  readonly otherProducts?: readonly CoinbaseProduct[]
}

interface CoinbaseMessage {
  readonly type: string
  readonly product_id: string
  readonly bids?: readonly (readonly [string, string])[]
  readonly asks?: readonly (readonly [string, string])[]
  readonly changes?: readonly (readonly [string, string, string])[]
  readonly trade_id?: number
  readonly price?: string
  readonly size?: string
  readonly side?: 'buy' | 'sell'
  readonly time?: string
}

interface CoinbaseRequest {
  readonly type: 'subscribe' | 'unsubscribe'
  readonly product_ids?: readonly string[]
  readonly channels: readonly (string | { readonly name: string; readonly product_ids?: readonly string[] })[]
}

const BOOK = 'level2_batch'
const CHANNELS = [BOOK, 'matches', 'heartbeat', 'status']
const FRAMES = 'COINBASE.ws.28.0.gz'
const PRODUCTS = 'COINBASE.0'
export const COINBASE_CAPTURES = [FRAMES, PRODUCTS]

/** All ten recorded products, in the order of their snapshots. */
export function coinbaseRecordings(): CoinbaseRecording[] {
  const products = JSON.parse(readCapture(PRODUCTS)[0]?.text ?? '[]') as CoinbaseProduct[]
  const frames = new Map<string, ScoreFrame[]>()
  const lastMatches = new Map<string, string>()
  let begin: number | undefined
  for (const { kind, milliseconds, text } of readCapture(FRAMES)) {
    if (kind !== 'received') continue
    const { type, product_id } = JSON.parse(text) as CoinbaseMessage
    if (type === 'last_match') lastMatches.set(product_id, text)
    if (type === 'snapshot') frames.set(product_id, [])
    if (!['snapshot', 'l2update', 'match'].includes(type)) continue
    begin ??= milliseconds
    frames.get(product_id)?.push({ milliseconds: milliseconds - begin, text })
  }
  return [...frames].map(([id, own]) => {
    const product = products.find((candidate) => candidate.id === id) as CoinbaseProduct
    const lastMatch = lastMatches.get(id)
    return { product, frames: own, ...(lastMatch === undefined ? {} : { lastMatch }) }
  })
}

const HOUR_MILLISECONDS = 3_600_000

/**
 * The recording of another exchange in this one's words: every level is absolute in both. Its trades are an hour later,
 * so that they can be told from those of the other exchange where both feed one market.
 */
export function coinbaseRecordingOf({ instId, tickSz, lotSz, frames }: OkxRecording): CoinbaseRecording {
  const product = { id: instId, quote_increment: tickSz, base_increment: lotSz }
  const product_id = instId
  const translated = frames.flatMap(({ milliseconds, text }) => {
    const { arg, action, data } = JSON.parse(text) as OkxMessage
    const messages: CoinbaseMessage[] = []
    if (arg.channel === 'trades') {
      for (const { tradeId, px, sz, side, ts } of data as readonly OkxTrade[]) {
        const time = new Date(Number(ts) + HOUR_MILLISECONDS).toISOString()
        messages.push({ type: 'match', trade_id: Number(tradeId), side, size: sz, price: px, product_id, time })
      }
    } else {
      const { bids, asks } = booksOf({ arg, data })
      const side = (name: string, levels: readonly LevelText[]) =>
        levels.map(([price, size]) => [name, price, size] as const)
      if (action === 'snapshot') messages.push({ type: 'snapshot', product_id, bids, asks })
      else messages.push({ type: 'l2update', product_id, changes: [...side('buy', bids), ...side('sell', asks)] })
    }
    return messages.map((message) => ({ milliseconds, text: JSON.stringify(message) }))
  })
  return { product, frames: translated }
}

export function startCoinbaseServer(options: CoinbaseServerOptions): Promise<VenueServer> {
  return VenueServer.start(new CoinbaseDialect(options), options)
}

class CoinbaseDialect implements Dialect {
  readonly path = ''
  readonly scores: readonly CoinbaseScore[]
  readonly #products: readonly CoinbaseProduct[]

  constructor({ recordings, otherProducts }: CoinbaseServerOptions) {
    this.scores = recordings.map((recording) => new CoinbaseScore(recording))
    this.#products = [...recordings.map(({ product }) => product), ...(otherProducts ?? [])]
  }

  beat(client: VenueClient): readonly string[] {
    const heartbeats = client.symbolsOf('heartbeat').map((symbol) => {
      const last = this.scores.find((score) => score.symbol === symbol)?.lastId ?? 0
      return `{"type":"heartbeat","last_trade_id":${last},"product_id":"${symbol}","sequence":1,"time":"${new Date().toISOString()}"}`
    })
    return client.isSubscribed('status', '') ? [...heartbeats, this.#statusText()] : heartbeats
  }

  answer(text: string, client: VenueClient, server: VenueServer): void {
    const request = JSON.parse(text) as CoinbaseRequest
    const wanted = request.channels.map((channel) => ({
      name: typeof channel === 'string' ? channel : channel.name,
      symbols: (typeof channel === 'string' ? undefined : channel.product_ids) ?? request.product_ids ?? [],
    }))
    for (const { name, symbols } of wanted) {
      const unknown = symbols.find((symbol) => !server.tracks.has(symbol) || server.refused.has(symbol))
      const reason = CHANNELS.includes(name) ? `${unknown} is not a valid product` : `${name} is not a valid channel`
      if (unknown === undefined && CHANNELS.includes(name)) continue
      // A request with one thing wrong is refused whole.
      client.send(JSON.stringify({ type: 'error', message: `Failed to ${request.type}`, reason }))
      return
    }
    for (const { name, symbols } of wanted) {
      if (name === 'status') client.subscribe('status', '')
      if (request.type === 'unsubscribe') for (const symbol of symbols) client.unsubscribe(name, symbol)
      else for (const symbol of symbols) if (name === 'heartbeat') client.subscribe(name, symbol)
    }
    const begun = request.type === 'subscribe' ? wanted.filter(({ name }) => [BOOK, 'matches'].includes(name)) : []
    client.send(this.#subscriptionsText(client, begun))
    for (const { name, symbols } of begun) {
      for (const symbol of symbols) (server.tracks.get(symbol) as Track).join(client, name)
    }
    if (wanted.some(({ name }) => name === 'status')) client.send(this.#statusText())
  }

  #subscriptionsText(client: VenueClient, begun: readonly { name: string; symbols: readonly string[] }[]): string {
    const channels = CHANNELS.map((name) => {
      const added = begun.flatMap((channel) => (channel.name === name ? channel.symbols : []))
      return { name, product_ids: [...new Set([...client.symbolsOf(name), ...added])], account_ids: null }
    })
    return JSON.stringify({ type: 'subscriptions', channels: channels.filter((one) => one.product_ids.length > 0) })
  }

  #statusText(): string {
    const products = this.#products.map((product) => ({ status: 'online', type: 'spot', ...product }))
    return JSON.stringify({ type: 'status', currencies: [], products })
  }
}

class CoinbaseScore implements Score {
  readonly symbol: string
  readonly frames: readonly ScoreFrame[]
  readonly repeatFrom = 1
  readonly bookChannel = BOOK
  readonly trades: PlayedTrade[] = []
  readonly #book = new PlainBook()
  readonly #begin: PlainLevels
  readonly #matchesARound: number
  readonly #durationMilliseconds: number
  /** Empty while there was none. */
  #lastMatchText: string

  constructor({ product, frames, lastMatch }: CoinbaseRecording) {
    this.symbol = product.id
    this.frames = frames
    this.#matchesARound = frames.filter(({ text }) => text.includes('"type":"match"')).length
    this.#durationMilliseconds = Math.ceil(frames.at(-1)?.milliseconds ?? 0)
    this.#lastMatchText = lastMatch ?? ''
    const { bids, asks } = JSON.parse((frames[0] as ScoreFrame).text) as CoinbaseMessage
    const begin = new PlainBook()
    begin.apply({ bids: bids ?? [], asks: asks ?? [] })
    this.#begin = begin.levels()
  }

  get lastId(): number {
    return this.#lastMatchText === '' ? 0 : ((JSON.parse(this.#lastMatchText) as CoinbaseMessage).trade_id as number)
  }

  play({ text }: ScoreFrame, round: number): Outgoing {
    const message = JSON.parse(text) as CoinbaseMessage
    if (message.type === 'match') {
      const id = (message.trade_id as number) + round * this.#matchesARound
      const { price, size, side, time } = message as Required<CoinbaseMessage>
      const executedAtMilliseconds = Date.parse(time) + round * this.#durationMilliseconds
      this.trades.push({ id, price, amount: size, side, executedAtMilliseconds })
      this.#lastMatchText = text
        .replace(/"trade_id":[0-9]+/, `"trade_id":${id}`)
        .replace(time, round === 0 ? time : new Date(executedAtMilliseconds).toISOString())
      return { channel: 'matches', text: this.#lastMatchText, isMissed: true }
    }
    if (message.type === 'snapshot') {
      this.#book.clear()
      this.#book.apply({ bids: message.bids ?? [], asks: message.asks ?? [] })
    } else {
      this.#applyChanges(message)
    }
    return { channel: BOOK, text, isMissed: false }
  }

  rewind(): Outgoing {
    const { bids, asks } = this.#book.changesTo(this.#begin)
    const changes = [
      ...bids.map(([price, size]) => ['buy', price, size] as const),
      ...asks.map(([price, size]) => ['sell', price, size] as const),
    ]
    const message = { type: 'l2update', product_id: this.symbol, changes, time: new Date().toISOString() }
    this.#applyChanges(message)
    return { channel: BOOK, text: JSON.stringify(message), isMissed: false }
  }

  beginning(channel: string): string | undefined {
    if (channel === 'matches') {
      if (this.#lastMatchText === '') return undefined
      return this.#lastMatchText.replace('"type":"match"', '"type":"last_match"')
    }
    return JSON.stringify({ type: 'snapshot', product_id: this.symbol, ...this.#book.levels() })
  }

  levels(depth?: number): PlainLevels {
    return this.#book.levels(depth)
  }

  corruptions(text: string): readonly string[] {
    return [torn(text)]
  }

  #applyChanges({ changes = [] }: CoinbaseMessage): void {
    for (const [side, price, size] of changes) {
      const level = [[price, size] as const]
      this.#book.apply(side === 'buy' ? { bids: level, asks: [] } : { bids: [], asks: level })
    }
  }
}

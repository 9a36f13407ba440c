/**
 * A test venue that speaks enough of Kraken's WebSocket API v2 (https://docs.kraken.com/api/docs/guides/spot-ws-intro),
 * and over HTTP gives the trades since a time (https://docs.kraken.com/api/docs/rest-api/get-recent-trades). It serves
 * the recorded depth whatever is requested, and reports it.
 *
 * It sends book messages, heartbeats, and the acknowledgements inside a recording verbatim. It makes up the status on
 * connecting, `instrument`, each request's acknowledgement, and trades, which the recordings lack. It omits the
 * recorded status and first acknowledgement, so that no request is acknowledged twice.
 */
import { type LevelText, RecordedKrakenBook, type RecordedMessage } from '../recorded-kraken-book.ts'
import type { KrakenRecording } from '../recordings.ts'
import type { VenueClient } from './client.ts'
import { type MadeTradesOptions, TradeMaker, tradesWanted, withTradePlaces } from './generated-trades.ts'
import type { PlainLevels } from './plain-book.ts'
import type { PlaybackOptions } from './playback.ts'
import { type Outgoing, type PlayedTrade, type Script, type ScriptFrame, torn } from './script.ts'
import { type Dialect, type HttpAnswer, VenueServer } from './server.ts'

export interface KrakenServerOptions extends PlaybackOptions {
  readonly recordings: readonly KrakenRecording[]
  /** Listed by `instrument` besides the recordings, but refused by `book`. */
  readonly refusedPairs?: readonly KrakenPairListing[]
  /** Trades to generate on every pair; none when absent. */
  readonly trades?: MadeTradesOptions
}

export interface KrakenPairListing {
  readonly symbol: string
  readonly pricePrecision: number
  readonly quantityPrecision: number
  /** `online` when absent. */
  readonly status?: string
}

export interface KrakenRequest {
  readonly method: string
  readonly params: { readonly channel: string; readonly symbol?: readonly string[]; readonly depth?: number }
  readonly req_id?: number
}

export interface KrakenServer {
  readonly venue: VenueServer
  readonly url: string
  readonly finished: Promise<void>
  /** The checksums sent so far, by symbol, in order. */
  readonly checksums: ReadonlyMap<string, readonly number[]>
  /** All client requests, in arrival order. */
  readonly requests: readonly KrakenRequest[]
  until(what: string, isMet: () => boolean): Promise<void>
  connections(): number
  broadcast(text: string): void
  disconnectAll(): void
  close(): Promise<void>
}

const DEPTHS = [10, 25, 100, 500, 1000]
/** The number of recent trades sent on subscription. */
const TRADES_REPEATED = 50
const TRADES_BEGIN = Date.UTC(2026, 0, 1)

export async function startKrakenServer(options: KrakenServerOptions): Promise<KrakenServer> {
  const scripts = options.recordings.map((recording) => new KrakenScript(recording, options.trades))
  const requests: KrakenRequest[] = []
  const venue = await VenueServer.start(new KrakenDialect(scripts, options.refusedPairs ?? [], requests), options)
  return {
    venue,
    url: venue.url,
    finished: venue.finished,
    checksums: new Map(scripts.map((script) => [script.symbol, script.checksums])),
    requests,
    until: (what, isMet) => venue.until(what, isMet),
    connections: () => venue.connections(),
    broadcast: (text) => venue.broadcast(text),
    disconnectAll: () => venue.disconnectAll(),
    close: () => venue.close(),
  }
}

class KrakenDialect implements Dialect {
  readonly path = ''
  readonly scripts: readonly KrakenScript[]
  readonly #refusedPairs: readonly KrakenPairListing[]
  readonly #requests: KrakenRequest[]

  constructor(scripts: readonly KrakenScript[], refusedPairs: readonly KrakenPairListing[], requests: KrakenRequest[]) {
    this.scripts = scripts
    this.#refusedPairs = refusedPairs
    this.#requests = requests
  }

  greeting(): string {
    return '{"channel":"status","type":"update","data":[{"version":"2.0.10","system":"online","api_version":"v2","connection_id":1}]}'
  }

  heartbeat(): readonly string[] {
    return ['{"channel":"heartbeat"}']
  }

  answer(text: string, client: VenueClient, server: VenueServer): void {
    const request = JSON.parse(text) as KrakenRequest
    this.#requests.push(request)
    const { method, params, req_id } = request
    const time = new Date().toISOString()
    const ends = { time_in: time, time_out: time, ...(req_id === undefined ? {} : { req_id }) }
    const say = (message: object) => client.send(JSON.stringify({ method, ...message, ...ends }))
    if (method === 'ping') {
      say({ method: 'pong' })
      return
    }
    if (params.channel === 'instrument') {
      say({ result: { channel: 'instrument', snapshot: true }, success: true })
      client.send(this.instrumentText())
      return
    }
    for (const symbol of params.symbol ?? []) {
      const script = this.scripts.find((candidate) => candidate.symbol === symbol)
      const track = server.tracks.get(symbol)
      const result = { channel: params.channel, symbol, ...(params.channel === 'book' ? { depth: script?.depth } : {}) }
      if (script === undefined || track === undefined || server.refused.has(symbol)) {
        say({ error: `Currency pair not supported ${symbol}`, success: false, symbol })
      } else if (params.channel === 'book' && !DEPTHS.includes(params.depth ?? 10)) {
        say({ error: 'Unsupported depth', success: false, symbol })
      } else if (method === 'unsubscribe') {
        const wasSubscribed = client.unsubscribe(params.channel, symbol)
        say(wasSubscribed ? { result, success: true } : { error: 'Not subscribed', success: false, symbol })
      } else {
        say({ result: { ...result, snapshot: true }, success: true })
        track.join(client, params.channel)
      }
    }
  }

  get({ pathname, searchParams }: URL): HttpAnswer {
    if (pathname !== '/0/public/Trades') return { status: 404, body: '{"error":["EGeneral:Unknown method"]}' }
    const pair = searchParams.get('pair')
    const script = this.scripts.find(({ symbol }) => symbol.replace('/', '') === pair)
    if (script === undefined) return { status: 200, body: '{"error":["EQuery:Unknown asset pair"]}' }
    const since = BigInt(searchParams.get('since') ?? 0)
    return { status: 200, body: script.pageText(since, Number(searchParams.get('count') ?? 1000)) }
  }

  instrumentText(): string {
    const listings = [...this.scripts.map(({ recording }) => recording), ...this.#refusedPairs]
    return JSON.stringify({
      channel: 'instrument',
      type: 'snapshot',
      data: { assets: [], pairs: listings.map(describePair) },
    })
  }
}

function describePair({ symbol, pricePrecision, quantityPrecision, status }: KrakenPairListing): object {
  const [base, quote] = symbol.split('/')
  const precisions = { price_precision: pricePrecision, qty_precision: quantityPrecision, cost_precision: 5 }
  return { symbol, base, quote, status: status ?? 'online', ...precisions, marginable: true, qty_min: 0.0001 }
}

class KrakenScript implements Script {
  readonly recording: KrakenRecording
  readonly symbol: string
  readonly depth: number
  readonly frames: readonly ScriptFrame[]
  readonly repeatFrom = 1
  readonly bookChannel = 'book'
  readonly checksums: number[] = []
  readonly #book: RecordedKrakenBook
  readonly #maker: TradeMaker
  readonly #durationMilliseconds: number
  #begin: RecordedMessage = {}

  constructor(recording: KrakenRecording, trades: MadeTradesOptions | undefined) {
    // From the first book message on: earlier messages belong to the recorded connection's start.
    const first = recording.frames.findIndex(({ text }) => text.includes('"channel":"book","type":"snapshot"'))
    const frames = recording.frames.slice(first)
    this.frames = trades === undefined ? frames : withTradePlaces(frames, trades)
    // A placeholder for trades never precedes the snapshot: the first frame is the earliest.
    this.recording = { ...recording, frames }
    this.symbol = recording.symbol
    this.depth = recording.depth
    this.#book = new RecordedKrakenBook(recording)
    this.#maker = new TradeMaker(trades?.seed ?? 0, 1_000, recording.quantityPrecision)
    this.#durationMilliseconds = Math.ceil(frames.at(-1)?.milliseconds ?? 0)
  }

  get trades(): readonly PlayedTrade[] {
    return this.#maker.trades
  }

  play(frame: ScriptFrame, round: number): Outgoing {
    const count = tradesWanted(frame)
    if (count !== undefined) {
      const executedAt = Math.round(TRADES_BEGIN + frame.milliseconds + round * this.#durationMilliseconds)
      const made = this.#maker.make(count, this.levels(), executedAt)
      return { channel: 'trade', text: this.#tradeText('update', made), isMissed: true }
    }
    const before = this.#book.checksum()
    const message = JSON.parse(frame.text) as RecordedMessage
    if (this.checksums.length === 0) this.#begin = message
    const checksum = this.#book.apply(message)
    if (checksum !== undefined) this.checksums.push(checksum)
    if (message.channel !== 'book') return { channel: 'book', text: frame.text, isMissed: false, isAside: true }
    // The checksum covers the best ten levels: a lost change to other levels may be undetectable.
    return {
      channel: 'book',
      text: frame.text,
      isMissed: message.type === 'update' && before !== this.#book.checksum(),
    }
  }

  rewind(): Outgoing {
    const target = new RecordedKrakenBook(this.recording)
    target.apply(this.#begin)
    const side = (from: readonly LevelText[], to: readonly LevelText[]) => {
      const kept = new Set(to.map(([price]) => price))
      return [...from.filter(([price]) => !kept.has(price)).map(([price]): LevelText => [price, '0']), ...to]
    }
    const changes = {
      bids: side(this.#book.bids(), target.bids()),
      asks: side(this.#book.asks(), target.asks()),
    }
    const text = bookText('update', this.symbol, changes, target.checksum())
    const checksum = this.#book.apply(JSON.parse(text) as RecordedMessage) as number
    this.checksums.push(checksum)
    return { channel: 'book', text, isMissed: false }
  }

  beginning(channel: string): string | undefined {
    if (channel === 'trade') {
      const last = this.trades.slice(-TRADES_REPEATED)
      return last.length === 0 ? undefined : this.#tradeText('snapshot', last)
    }
    this.checksums.push(this.#book.checksum())
    return this.#book.snapshotText()
  }

  levels(depth = Number.POSITIVE_INFINITY): PlainLevels {
    return { bids: this.#book.bids().slice(0, depth), asks: this.#book.asks().slice(0, depth) }
  }

  corruptions(text: string): readonly string[] {
    const wrong = text.replace(/"checksum":[0-9]+/, '"checksum":1')
    return wrong === text ? [torn(text)] : [wrong, torn(text)]
  }

  /** The trades after a time, in nanoseconds. */
  pageText(since: bigint, count: number): string {
    const nanoseconds = ({ executedAtMilliseconds }: PlayedTrade) => BigInt(executedAtMilliseconds) * 1_000_000n
    const page = this.trades.filter((trade) => nanoseconds(trade) > since).slice(0, count)
    const list = page.map(({ id, price, amount, side, executedAtMilliseconds }) => {
      return [price, amount, executedAtMilliseconds / 1000, side[0], 'l', '', id]
    })
    const last = page.at(-1)
    const result = { [`X${this.symbol.replace('/', 'Z')}`]: list, last: String(last ? nanoseconds(last) : since) }
    return JSON.stringify({ error: [], result })
  }

  #tradeText(type: 'snapshot' | 'update', trades: readonly PlayedTrade[]): string {
    const data = trades.map(({ id, price, amount, side, executedAtMilliseconds }) => {
      const time = new Date(executedAtMilliseconds).toISOString().replace('Z', '000Z')
      return `{"symbol":"${this.symbol}","side":"${side}","price":${price},"qty":${amount},"ord_type":"limit","trade_id":${id},"timestamp":"${time}"}`
    })
    return `{"channel":"trade","type":"${type}","data":[${data.join(',')}]}`
  }
}

function bookText(type: string, symbol: string, { bids, asks }: PlainLevels, checksum: number): string {
  const side = (levels: readonly LevelText[]) =>
    levels.map(([price, quantity]) => `{"price":${price},"qty":${quantity}}`).join(',')
  const levels = `"bids":[${side(bids)}],"asks":[${side(asks)}]`
  return `{"channel":"book","type":"${type}","data":[{"symbol":"${symbol}",${levels},"checksum":${checksum},"timestamp":"2026-01-01T00:00:00.000000Z"}]}`
}

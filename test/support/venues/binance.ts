/**
 * A test venue with the part of the Binance spot API that the connector uses: combined streams with changes and
 * aggregate trades, with requests on the connection
 * (https://developers.binance.com/docs/binance-spot-api-docs/web-socket-streams), and over HTTP `depth`, `exchangeInfo`
 * and `aggTrades`. A book begins with the recorded snapshot. Changes are sent as recorded, in later rounds with
 * continuing numbers.
 */
import { readCapture, receivedFrames } from '../captures.ts'
import type { VenueClient } from './client.ts'
import { type MadeTradesOptions, TradeMaker, tradesWanted, withTradePlaces } from './generated-trades.ts'
import { type LevelText, PlainBook, type PlainLevels } from './plain-book.ts'
import type { PlaybackOptions } from './playback.ts'
import { type Outgoing, type PlayedTrade, type Script, type ScriptFrame, torn } from './script.ts'
import { type Dialect, type HttpAnswer, VenueServer } from './server.ts'

export interface BinanceRecording {
  readonly symbol: string
  readonly lastUpdateId: number
  readonly snapshot: PlainLevels
  /** `depthUpdate` and `aggTrade` messages after the snapshot, in the combined stream's format. */
  readonly frames: readonly ScriptFrame[]
  /** The venue's own messages about the best level per side after a book update, ordered by their numbers. */
  readonly best: readonly { readonly u: number; readonly bid: LevelText; readonly ask: LevelText }[]
  /** The entry in `exchangeInfo`. */
  readonly listing: { readonly symbol: string; readonly [member: string]: unknown }
}

export interface BinanceServerOptions extends PlaybackOptions {
  readonly recordings: readonly BinanceRecording[]
  /** Trades to generate on every pair, instead of the few recorded ones. */
  readonly trades?: MadeTradesOptions
}

interface DepthUpdate {
  readonly U: number
  readonly u: number
  readonly b: readonly LevelText[]
  readonly a: readonly LevelText[]
}

interface AggregateTrade {
  readonly a: number
  readonly p: string
  readonly q: string
  readonly f: number
  readonly l: number
  readonly T: number
  readonly m: boolean
}

interface BinanceRequest {
  readonly method: string
  readonly params?: readonly string[]
  readonly id: unknown
}

const FRAMES = 'BINANCE.ws.1.0'
const SNAPSHOTS = 'BINANCE.http.0.0.gz'
const LISTINGS = 'BINANCE.0.gz'
export const BINANCE_CAPTURES = [FRAMES, SNAPSHOTS, LISTINGS]
const DEPTH = 'depth@100ms'
const TRADE = 'aggTrade'

/** All four recorded pairs. */
export function binanceRecordings(): BinanceRecording[] {
  const info = JSON.parse(readCapture(LISTINGS)[0]?.text ?? '{}') as { symbols: BinanceRecording['listing'][] }
  const received = receivedFrames(FRAMES).map(({ milliseconds, text }) => ({
    milliseconds,
    text,
    ...(JSON.parse(text) as { stream: string; data: { u: number; b: string; B: string; a: string; A: string } }),
  }))
  return readCapture(SNAPSHOTS).map(({ address, text }) => {
    const symbol = new URL(address).searchParams.get('symbol') as string
    const { lastUpdateId, bids, asks } = JSON.parse(text) as PlainLevels & { lastUpdateId: number }
    const own = (stream: string) => received.filter((frame) => frame.stream === `${symbol.toLowerCase()}@${stream}`)
    const depth = own(DEPTH).filter(({ data }) => data.u > lastUpdateId)
    const frames = [...depth, ...own(TRADE)].sort((left, right) => left.milliseconds - right.milliseconds)
    const begin = received[0]?.milliseconds ?? 0
    return {
      symbol,
      lastUpdateId,
      snapshot: { bids, asks },
      frames: frames.map((frame) => ({ milliseconds: frame.milliseconds - begin, text: frame.text })),
      best: own('bookTicker').map(({ data: { u, b, B, a, A } }) => ({ u, bid: [b, B] as const, ask: [a, A] as const })),
      listing: info.symbols.find((candidate) => candidate.symbol === symbol) as BinanceRecording['listing'],
    }
  })
}

export function startBinanceServer(options: BinanceServerOptions): Promise<VenueServer> {
  return VenueServer.start(new BinanceDialect(options), options)
}

class BinanceDialect implements Dialect {
  readonly path = '/stream'
  readonly sendsPings = true
  readonly scripts: readonly BinanceScript[]
  readonly #recordings: readonly BinanceRecording[]

  constructor({ recordings, trades }: BinanceServerOptions) {
    this.#recordings = recordings
    this.scripts = recordings.map((recording) => new BinanceScript(recording, trades))
  }

  heartbeat(): readonly string[] {
    return []
  }

  answer(text: string, client: VenueClient, server: VenueServer): void {
    const { method, params = [], id } = JSON.parse(text) as BinanceRequest
    if (method === 'LIST_SUBSCRIPTIONS') {
      const streams = [DEPTH, TRADE].flatMap((stream) =>
        client.symbolsOf(stream).map((symbol) => `${symbol.toLowerCase()}@${stream}`),
      )
      client.send(JSON.stringify({ result: streams, id }))
      return
    }
    const wanted = params.map((param) => {
      const place = param.indexOf('@')
      return { symbol: param.slice(0, place).toUpperCase(), stream: param.slice(place + 1) }
    })
    if (wanted.some(({ symbol }) => server.refused.has(symbol))) {
      client.send(JSON.stringify({ error: { code: 2, msg: 'Invalid request: refused' }, id }))
      return
    }
    client.send(JSON.stringify({ result: null, id }))
    for (const { symbol, stream } of wanted) {
      if (method === 'UNSUBSCRIBE') client.unsubscribe(stream, symbol)
      // As at the venue: a subscription to an unknown stream is acknowledged and remains silent.
      else {
        server.tracks.get(symbol)?.join(client, stream)
        const script = this.scripts.find((one) => one.symbol === symbol)
        // A diff whose range includes every snapshot taken now, because the pairs here are never quiet for long.
        if (stream === DEPTH && script !== undefined) client.send(script.positionText())
      }
    }
  }

  get(url: URL): HttpAnswer {
    const named = url.searchParams.get('symbol')
    const symbols = named === null ? (JSON.parse(url.searchParams.get('symbols') ?? '[]') as string[]) : [named]
    if (symbols.some((symbol) => !this.scripts.some((script) => script.symbol === symbol))) {
      return { status: 400, body: '{"code":-1121,"msg":"Invalid symbol."}' }
    }
    const script = this.scripts.find(({ symbol }) => symbol === symbols[0]) as BinanceScript
    const limit = Number(url.searchParams.get('limit') ?? 500)
    switch (url.pathname) {
      case '/api/v3/depth':
        return { status: 200, body: script.depthText(limit) }
      case '/api/v3/aggTrades': {
        const from = url.searchParams.get('fromId')
        return { status: 200, body: script.tradesText(limit, from === null ? undefined : Number(from)) }
      }
      case '/api/v3/exchangeInfo': {
        const listings = symbols.map((symbol) => this.#recordings.find((one) => one.symbol === symbol)?.listing)
        return { status: 200, body: JSON.stringify({ timezone: 'UTC', rateLimits: [], symbols: listings }) }
      }
      default:
        return { status: 404, body: '{}' }
    }
  }
}

class BinanceScript implements Script {
  readonly symbol: string
  readonly frames: readonly ScriptFrame[]
  readonly repeatFrom = 0
  readonly bookChannel = DEPTH
  readonly #recording: BinanceRecording
  readonly #book = new PlainBook()
  readonly #maker: TradeMaker
  readonly #hasMadeTrades: boolean
  readonly #recordedTrades: PlayedTrade[] = []
  /** The aggregate's number by a recorded trade's number. A generated trade is its own aggregate. */
  readonly #aggregateIds = new Map<number, number>()
  readonly #idsARound: number
  readonly #tradesARound: number
  readonly #begin: number
  readonly #durationMilliseconds: number
  #lastUpdateId: number

  constructor(recording: BinanceRecording, trades: MadeTradesOptions | undefined) {
    const changes = recording.frames.filter(({ text }) => text.includes('"depthUpdate"'))
    this.symbol = recording.symbol
    this.frames = trades === undefined ? recording.frames : withTradePlaces(changes, trades)
    this.#recording = recording
    this.#book.apply(recording.snapshot)
    this.#lastUpdateId = recording.lastUpdateId
    this.#maker = new TradeMaker(trades?.seed ?? 0, 5_000, 0)
    this.#hasMadeTrades = trades !== undefined
    const last = changes.at(-1)
    // One more for the message that leads back to the beginning.
    this.#idsARound = (last === undefined ? 0 : readDepth(last.text).u - recording.lastUpdateId) + 1
    this.#tradesARound = recording.frames.length - changes.length
    this.#durationMilliseconds = Math.ceil(this.frames.at(-1)?.milliseconds ?? 0)
    this.#begin = Date.UTC(2021, 9, 12)
  }

  get trades(): readonly PlayedTrade[] {
    return this.#hasMadeTrades ? this.#maker.trades : this.#recordedTrades
  }

  play(frame: ScriptFrame, round: number): Outgoing | undefined {
    const count = tradesWanted(frame)
    if (count !== undefined) {
      const at = Math.round(this.#begin + frame.milliseconds + round * this.#durationMilliseconds)
      const [trade] = this.#maker.make(1, this.levels(1), at)
      return trade === undefined ? undefined : { channel: TRADE, text: this.#madeText(trade), isMissed: true }
    }
    if (frame.text.includes('"aggTrade"')) return this.#playTrade(frame.text, round)
    const shift = round * this.#idsARound
    const { U, u, b, a } = readDepth(frame.text)
    // The first recorded change begins before the snapshot: in later rounds that part has been sent before.
    const first = round === 0 ? U : Math.max(U + shift, this.#lastUpdateId + 1)
    this.#book.apply({ bids: b, asks: a })
    this.#lastUpdateId = u + shift
    const text = frame.text.replace(/"U":[0-9]+/, `"U":${first}`).replace(/"u":[0-9]+/, `"u":${this.#lastUpdateId}`)
    return { channel: DEPTH, text, isMissed: true }
  }

  rewind(): Outgoing {
    const { bids: b, asks: a } = this.#book.changesTo(this.#recording.snapshot)
    this.#book.apply({ bids: b, asks: a })
    this.#lastUpdateId++
    const u = this.#lastUpdateId
    const data = { e: 'depthUpdate', E: Date.now(), s: this.symbol, U: u, u, b, a }
    return { channel: DEPTH, text: this.#streamText(DEPTH, data), isMissed: true }
  }

  /** Nothing is sent on subscription: snapshots are fetched over HTTP. */
  beginning(): undefined {
    return undefined
  }

  levels(depth?: number): PlainLevels {
    return this.#book.levels(depth)
  }

  corruptions(text: string): readonly string[] {
    return [torn(text), text.replace(/"u":[0-9]+/, '"u":1')]
  }

  /** A diff without a change, at the current position. */
  positionText(): string {
    const position = this.#lastUpdateId
    const data = { e: 'depthUpdate', E: Date.now(), s: this.symbol, U: position, u: position, b: [], a: [] }
    return this.#streamText(DEPTH, data)
  }

  depthText(limit: number): string {
    return JSON.stringify({ lastUpdateId: this.#lastUpdateId, ...this.#book.levels(limit) })
  }

  /** From an aggregate on, or the latest. */
  tradesText(limit: number, from?: number): string {
    const all = this.trades.map((trade) => aggregateTrade(trade, this.#aggregateIds.get(trade.id)))
    const page = from === undefined ? all.slice(-limit) : all.filter(({ a }) => a >= from)
    return JSON.stringify(page.slice(0, limit))
  }

  #playTrade(recorded: string, round: number): Outgoing {
    const shift = round * this.#tradesARound
    const { a, p, q, f, l, T, m } = (JSON.parse(recorded) as { data: AggregateTrade }).data
    const side = m ? 'sell' : 'buy'
    const executedAtMilliseconds = T + round * this.#durationMilliseconds
    this.#aggregateIds.set(f + shift, a + shift)
    this.#recordedTrades.push({ id: f + shift, price: p, amount: q, side, executedAtMilliseconds })
    const text = recorded
      .replace(/"a":[0-9]+/, `"a":${a + shift}`)
      .replace(/"f":[0-9]+/, `"f":${f + shift}`)
      .replace(/"l":[0-9]+/, `"l":${l + shift}`)
      .replace(/"T":[0-9]+/, `"T":${executedAtMilliseconds}`)
    return { channel: TRADE, text, isMissed: true }
  }

  #madeText(trade: PlayedTrade): string {
    const { executedAtMilliseconds: E } = trade
    return this.#streamText(TRADE, { e: 'aggTrade', E, s: this.symbol, ...aggregateTrade(trade) })
  }

  #streamText(stream: string, data: object): string {
    return JSON.stringify({ stream: `${this.symbol.toLowerCase()}@${stream}`, data })
  }
}

function aggregateTrade(
  { id, price, amount, side, executedAtMilliseconds }: PlayedTrade,
  a = id,
): AggregateTrade & { readonly M: boolean } {
  return { a, p: price, q: amount, f: id, l: id, T: executedAtMilliseconds, m: side === 'sell', M: true }
}

function readDepth(text: string): DepthUpdate {
  return (JSON.parse(text) as { data: DepthUpdate }).data
}

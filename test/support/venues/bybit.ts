/**
 * A test venue that speaks enough of Bybit's public WebSocket API v5 for spot pairs
 * (https://bybit-exchange.github.io/docs/v5/ws/connect): `orderbook.50` with consecutive update ids, `publicTrade`,
 * pings, and over HTTP the instrument list and the 60 latest trades. Frames are sent as recorded, and in later rounds
 * the update ids, identifiers and times continue. A restarting service sends a snapshot with the update id 1.
 */
import { receivedFrames } from '../captures.ts'
import type { VenueClient } from './client.ts'
import { type LevelText, PlainBook, type PlainLevels } from './plain-book.ts'
import type { PlaybackOptions } from './playback.ts'
import { type Outgoing, type PlayedTrade, type Script, type ScriptFrame, torn } from './script.ts'
import { type Dialect, type HttpAnswer, VenueServer } from './server.ts'

/** One pair's recording: a snapshot first, then deltas and trades. */
export interface BybitRecording {
  readonly symbol: string
  readonly tickSize: string
  readonly basePrecision: string
  readonly frames: readonly ScriptFrame[]
}

export interface BybitServerOptions extends PlaybackOptions {
  readonly recordings: readonly BybitRecording[]
}

interface BookMessage {
  readonly topic: string
  readonly type: 'snapshot' | 'delta'
  readonly data: { readonly b: readonly LevelText[]; readonly a: readonly LevelText[]; readonly u: number }
}

interface TradesMessage {
  readonly topic: string
  readonly data: readonly BybitTrade[]
}

interface BybitTrade {
  readonly i: string
  readonly T: number
  readonly p: string
  readonly v: string
  readonly S: 'Buy' | 'Sell'
}

const FRAMES = 'BYBIT.ws.0.gz'
export const BYBIT_CAPTURES = [FRAMES]
const BOOK = 'orderbook.50'
const TRADES = 'publicTrade'
const ID_PREFIX = '229000'
const LATEST_TRADES = 60

/** All recorded pairs. */
export function bybitRecordings(): BybitRecording[] {
  const frames = new Map<string, ScriptFrame[]>()
  let begin: number | undefined
  for (const { milliseconds, text } of receivedFrames(FRAMES)) {
    const { topic } = JSON.parse(text) as Partial<BookMessage>
    if (topic === undefined) continue
    begin ??= milliseconds
    const symbol = topic.slice(topic.lastIndexOf('.') + 1)
    const own = frames.get(symbol) ?? []
    own.push({ milliseconds: milliseconds - begin, text })
    frames.set(symbol, own)
  }
  return [...frames].map(([symbol, own]) => {
    const { a } = (JSON.parse(own[0]?.text ?? '') as BookMessage).data
    const [price = '', amount = ''] = a[0] ?? []
    return { symbol, tickSize: unitOf(price), basePrecision: unitOf(amount), frames: own }
  })
}

export function startBybitServer(options: BybitServerOptions): Promise<VenueServer> {
  return VenueServer.start(new BybitDialect(options), options)
}

/** One unit of the last digit: `0.01` for `123.40`. */
function unitOf(text: string): string {
  const digits = (text.split('.')[1] ?? '').length
  return digits === 0 ? '1' : `0.${'1'.padStart(digits, '0')}`
}

class BybitDialect implements Dialect {
  readonly path = '/v5/public/spot'
  readonly scripts: readonly BybitScript[]
  readonly #recordings: readonly BybitRecording[]

  constructor({ recordings }: BybitServerOptions) {
    this.#recordings = recordings
    this.scripts = recordings.map((recording) => new BybitScript(recording))
  }

  heartbeat(): readonly string[] {
    return []
  }

  answer(text: string, client: VenueClient, server: VenueServer): void {
    const { op, args = [], req_id } = JSON.parse(text) as { op: string; args?: readonly string[]; req_id?: string }
    const reply = (success: boolean, ret_msg: string) =>
      client.send(JSON.stringify({ success, ret_msg, conn_id: '2324d924-aa4d-45b0', req_id, op }))
    if (op === 'ping') {
      reply(true, 'pong')
      return
    }
    const wanted = args.map((arg) => {
      const place = arg.lastIndexOf('.')
      return { arg, topic: arg.slice(0, place), symbol: arg.slice(place + 1) }
    })
    const wrong = wanted.find(
      ({ topic, symbol }) =>
        ![BOOK, TRADES].includes(topic) || !server.tracks.has(symbol) || server.refused.has(symbol),
    )
    if (wrong !== undefined || wanted.length > 10) {
      reply(false, `error:handler not found,topic:${wrong?.arg}`)
      return
    }
    reply(true, op)
    for (const { topic, symbol } of wanted) {
      if (op === 'unsubscribe') client.unsubscribe(topic, symbol)
      else server.tracks.get(symbol)?.join(client, topic)
    }
  }

  get({ pathname, searchParams }: URL): HttpAnswer {
    const answer = (list: readonly object[]) => {
      const body = { retCode: 0, retMsg: 'OK', result: { category: 'spot', list }, retExtInfo: {}, time: 1 }
      return { status: 200, body: JSON.stringify(body) }
    }
    const wrong = {
      status: 200,
      body: '{"retCode":10001,"retMsg":"params error","result":{},"retExtInfo":{},"time":1}',
    }
    if (searchParams.get('category') !== 'spot') return wrong
    if (pathname === '/v5/market/instruments-info') {
      return answer(
        this.#recordings.map(({ symbol, tickSize, basePrecision }) => ({
          symbol,
          status: 'Trading',
          lotSizeFilter: { basePrecision, quotePrecision: '0.00000001' },
          priceFilter: { tickSize },
        })),
      )
    }
    const script = this.scripts.find(({ symbol }) => symbol === searchParams.get('symbol'))
    if (pathname !== '/v5/market/recent-trade' || script === undefined) return wrong
    return answer(script.latest(Math.min(Number(searchParams.get('limit') ?? LATEST_TRADES), LATEST_TRADES)))
  }
}

class BybitScript implements Script {
  readonly symbol: string
  readonly frames: readonly ScriptFrame[]
  readonly repeatFrom = 1
  readonly bookChannel = BOOK
  readonly trades: PlayedTrade[] = []
  readonly #book = new PlainBook()
  readonly #begin: PlainLevels
  readonly #idsARound: number
  readonly #durationMilliseconds: number
  #updateId: number

  constructor({ symbol, frames }: BybitRecording) {
    this.symbol = symbol
    this.frames = frames
    const { data } = JSON.parse((frames[0] as ScriptFrame).text) as BookMessage
    this.#updateId = data.u
    const begin = new PlainBook()
    begin.apply({ bids: data.b, asks: data.a })
    this.#begin = begin.levels()
    const numbers = frames.flatMap(({ text }) => tradesOf(text)).map(({ i }) => numberOf(i))
    this.#idsARound = numbers.length === 0 ? 0 : Math.max(...numbers) - Math.min(...numbers) + 1
    this.#durationMilliseconds = Math.ceil(frames.at(-1)?.milliseconds ?? 0)
  }

  play({ text }: ScriptFrame, round: number): Outgoing {
    if (text.includes(`"topic":"${TRADES}.`)) return this.#playTrades(text, round)
    const { type, data } = JSON.parse(text) as BookMessage
    if (type === 'snapshot') this.#book.clear()
    else this.#updateId++
    this.#book.apply({ bids: data.b, asks: data.a })
    const sent = text.replace(/"u":[0-9]+/, `"u":${this.#updateId}`)
    return { channel: BOOK, text: sent, isMissed: type === 'delta' }
  }

  rewind(): Outgoing {
    const { bids, asks } = this.#book.changesTo(this.#begin)
    this.#book.apply({ bids, asks })
    this.#updateId++
    return { channel: BOOK, text: this.#bookText('delta', { bids, asks }), isMissed: true }
  }

  /** Trades from before a subscription are not repeated. */
  beginning(channel: string): string | undefined {
    return channel === BOOK ? this.#bookText('snapshot', this.#book.levels(50)) : undefined
  }

  levels(depth?: number): PlainLevels {
    return this.#book.levels(depth)
  }

  corruptions(text: string): readonly string[] {
    const wrong = text.replace(/"u":([0-9]+)/, (_, u: string) => `"u":${Number(u) + 5}`)
    return wrong === text ? [torn(text)] : [wrong, torn(text)]
  }

  /** The snapshot after a service restart. */
  restart(): string {
    this.#updateId = 1
    return this.#bookText('snapshot', this.#book.levels(50))
  }

  /** The latest trades, newest first. */
  latest(limit: number): object[] {
    const page = this.trades.slice(-limit).reverse()
    return page.map(({ id, price, amount: size, side, executedAtMilliseconds }) => ({
      execId: idText(id),
      symbol: this.symbol,
      price,
      size,
      side: side === 'buy' ? 'Buy' : 'Sell',
      time: String(executedAtMilliseconds),
      isBlockTrade: false,
    }))
  }

  #playTrades(recorded: string, round: number): Outgoing {
    const text = recorded
      .replace(/"i":"([0-9]+)"/g, (_, id: string) => `"i":"${idText(numberOf(id) + round * this.#idsARound)}"`)
      .replace(/"T":([0-9]+)/g, (_, T: string) => `"T":${Number(T) + round * this.#durationMilliseconds}`)
    for (const { i, p, v, S, T } of tradesOf(text)) {
      const side = S === 'Buy' ? 'buy' : 'sell'
      this.trades.push({ id: numberOf(i), price: p, amount: v, side, executedAtMilliseconds: T })
    }
    // Nothing proves that a trade is missing.
    return { channel: TRADES, text, isMissed: false }
  }

  #bookText(type: 'snapshot' | 'delta', { bids: b, asks: a }: PlainLevels): string {
    const data = { s: this.symbol, b, a, u: this.#updateId, seq: 1 }
    return JSON.stringify({ topic: `${BOOK}.${this.symbol}`, ts: Date.now(), type, data, cts: Date.now() })
  }
}

function tradesOf(text: string): readonly BybitTrade[] {
  const { topic, data } = JSON.parse(text) as TradesMessage
  return topic.startsWith(TRADES) ? data : []
}

/** The changing digits, because the whole number is not a safe integer. */
function numberOf(id: string): number {
  return Number(id.slice(ID_PREFIX.length))
}

function idText(number: number): string {
  return ID_PREFIX + String(number).padStart(13, '0')
}

/**
 * A test venue that speaks enough of Bitstamp's WebSocket API v2 (https://www.bitstamp.net/websocket/v2/):
 * `diff_order_book`, `live_trades`, heartbeats, and over HTTP pairs, whole books and the last minute's, hour's or day's
 * trades (https://www.bitstamp.net/api/). Frames are sent as recorded, and in later rounds times and identifiers
 * continue. An error names no channel, as in the documentation.
 */
import { readCapture, receivedFrames } from '../captures.ts'
import type { VenueClient } from './client.ts'
import { type LevelText, PlainBook, type PlainLevels } from './plain-book.ts'
import type { PlaybackOptions } from './playback.ts'
import { type Outgoing, type PlayedTrade, type Script, type ScriptFrame, torn } from './script.ts'
import { type Dialect, type HttpAnswer, VenueServer } from './server.ts'

/** One pair's recording: book and trade messages after the snapshot. */
export interface BitstampRecording {
  readonly pair: string
  readonly snapshot: PlainLevels
  readonly microseconds: number
  readonly priceDecimals: number
  readonly amountDecimals: number
  readonly frames: readonly ScriptFrame[]
}

export interface BitstampServerOptions extends PlaybackOptions {
  readonly recordings: readonly BitstampRecording[]
  /** Pairs whose trading is disabled. */
  readonly disabled?: readonly string[]
}

interface BookMessage {
  readonly data: {
    readonly microtimestamp: string
    readonly bids: readonly LevelText[]
    readonly asks: readonly LevelText[]
  }
}

interface TradeMessage {
  readonly data: {
    readonly id: number
    readonly amount_str: string
    readonly price_str: string
    readonly type: 0 | 1
    readonly microtimestamp: string
  }
}

const FRAMES = 'BITSTAMP.ws.0.gz'
const SNAPSHOTS = 'BITSTAMP.http.0.gz'
export const BITSTAMP_CAPTURES = [FRAMES, SNAPSHOTS]
const BOOK = 'diff_order_book'
const TRADES = 'live_trades'
const PERIOD_SECONDS: Readonly<Record<string, number>> = { minute: 60, hour: 3_600, day: 86_400 }

/** All recorded pairs. */
export function bitstampRecordings(): BitstampRecording[] {
  const received = receivedFrames(FRAMES).filter(({ text }) => !text.includes('"bts:'))
  const begin = received[0]?.milliseconds ?? 0
  return readCapture(SNAPSHOTS).map(({ address, text }) => {
    const pair = /order_book\/([a-z0-9]+)\//.exec(address)?.[1] ?? ''
    const { microtimestamp, bids, asks } = JSON.parse(text) as BookMessage['data']
    const own = received.filter((frame) => frame.text.includes(`_${pair}","event"`))
    const [price = '', amount = ''] = asks[0] ?? []
    return {
      pair,
      snapshot: { bids, asks },
      microseconds: Number(microtimestamp),
      priceDecimals: fractionOf(price),
      amountDecimals: fractionOf(amount),
      frames: own.map((frame) => ({ milliseconds: frame.milliseconds - begin, text: frame.text })),
    }
  })
}

export function startBitstampServer(options: BitstampServerOptions): Promise<VenueServer> {
  return VenueServer.start(new BitstampDialect(options), options)
}

function fractionOf(text: string): number {
  return (text.split('.')[1] ?? '').length
}

class BitstampDialect implements Dialect {
  readonly path = ''
  readonly scripts: readonly BitstampScript[]
  readonly #options: BitstampServerOptions

  constructor(options: BitstampServerOptions) {
    this.#options = options
    this.scripts = options.recordings.map((recording) => new BitstampScript(recording))
  }

  heartbeat(): readonly string[] {
    return []
  }

  answer(text: string, client: VenueClient, server: VenueServer): void {
    const { event, data } = JSON.parse(text) as { event: string; data?: { channel?: string } }
    if (event === 'bts:heartbeat') {
      client.send(JSON.stringify({ event, channel: '', data: { status: 'success' } }))
      return
    }
    const channel = data?.channel ?? ''
    const place = channel.lastIndexOf('_')
    const [name, pair] = [channel.slice(0, place), channel.slice(place + 1)]
    const track = server.tracks.get(pair)
    if (track === undefined || ![BOOK, TRADES].includes(name) || server.refused.has(pair)) {
      const error = { code: null, message: 'Bad subscription string.' }
      client.send(JSON.stringify({ event: 'bts:error', channel: '', data: error }))
    } else if (event === 'bts:unsubscribe') {
      client.unsubscribe(name, pair)
      client.send(JSON.stringify({ event: 'bts:unsubscription_succeeded', channel, data: {} }))
    } else {
      client.send(JSON.stringify({ event: 'bts:subscription_succeeded', channel, data: {} }))
      track.join(client, name)
    }
  }

  get({ pathname, searchParams }: URL): HttpAnswer {
    const answer = (value: unknown) => ({ status: 200, body: JSON.stringify(value) })
    if (pathname === '/api/v2/trading-pairs-info/') {
      return answer(
        this.#options.recordings.map(({ pair, priceDecimals, amountDecimals }) => ({
          name: pair.toUpperCase(),
          url_symbol: pair,
          base_decimals: amountDecimals,
          counter_decimals: priceDecimals,
          trading: this.#options.disabled?.includes(pair) === true ? 'Disabled' : 'Enabled',
        })),
      )
    }
    const [, what, pair] = /^\/api\/v2\/([a-z_]+)\/([a-z0-9]+)\/$/.exec(pathname) ?? []
    const script = this.scripts.find(({ symbol }) => symbol === pair)
    if (script === undefined) return { status: 404, body: '{"response_code":"404.002"}' }
    if (what === 'order_book') return answer(script.fetchedBook())
    const seconds = PERIOD_SECONDS[searchParams.get('time') ?? 'hour']
    if (what !== 'transactions' || seconds === undefined) return { status: 404, body: '{}' }
    return answer(script.transactions(seconds))
  }
}

class BitstampScript implements Script {
  readonly symbol: string
  readonly frames: readonly ScriptFrame[]
  readonly repeatFrom = 0
  readonly bookChannel = BOOK
  readonly trades: PlayedTrade[] = []
  readonly #begin: PlainLevels
  readonly #book = new PlainBook()
  readonly #durationMicroseconds: number
  readonly #idsARound: number
  #microseconds: number

  constructor({ pair, snapshot, microseconds, frames }: BitstampRecording) {
    this.symbol = pair
    this.frames = frames
    this.#begin = snapshot
    this.#book.apply(snapshot)
    this.#microseconds = microseconds
    // Whole seconds, so that the trades' times stay whole seconds, and time for the message that leads back.
    this.#durationMicroseconds = (Math.ceil((frames.at(-1)?.milliseconds ?? 0) / 1000) + 2) * 1_000_000
    const ids = frames.flatMap(({ text }) => (isTrade(text) ? [(JSON.parse(text) as TradeMessage).data.id] : []))
    this.#idsARound = ids.length === 0 ? 0 : Math.max(...ids) - Math.min(...ids) + 3
  }

  play({ text }: ScriptFrame, round: number): Outgoing {
    const shift = round * this.#durationMicroseconds
    const shifted = text.replace(
      /"microtimestamp":"([0-9]+)"/,
      (_, time: string) => `"microtimestamp":"${Number(time) + shift}"`,
    )
    if (isTrade(text)) {
      const sent = shifted.replace(/"id":([0-9]+)/, (_, id: string) => `"id":${Number(id) + round * this.#idsARound}`)
      const { id, price_str: price, amount_str: amount, type, microtimestamp } = (JSON.parse(sent) as TradeMessage).data
      const executedAtMilliseconds = Number(microtimestamp) / 1000
      this.trades.push({ id, price, amount, side: type === 0 ? 'buy' : 'sell', executedAtMilliseconds })
      // Nothing proves that a trade is missing.
      return { channel: TRADES, text: sent, isMissed: false }
    }
    const { bids, asks, microtimestamp } = (JSON.parse(shifted) as BookMessage).data
    this.#book.apply({ bids, asks })
    this.#microseconds = Number(microtimestamp)
    // Its loss is not noticed, but its delay behind the next one is.
    return { channel: BOOK, text: shifted, isMissed: true }
  }

  rewind(): Outgoing {
    const { bids, asks } = this.#book.changesTo(this.#begin)
    this.#book.apply({ bids, asks })
    this.#microseconds += 1_000
    const data = { timestamp: '0', microtimestamp: String(this.#microseconds), bids, asks }
    const text = JSON.stringify({ data, channel: `${BOOK}_${this.symbol}`, event: 'data' })
    return { channel: BOOK, text, isMissed: true }
  }

  /** Nothing is sent on subscription: snapshots are fetched over HTTP. */
  beginning(): undefined {
    return undefined
  }

  levels(depth?: number): PlainLevels {
    return this.#book.levels(depth)
  }

  corruptions(text: string): readonly string[] {
    const early = text.replace(/"microtimestamp":"[0-9]+"/, '"microtimestamp":"1700000000000000"')
    return isTrade(text) ? [text.replace('"id"', '"no"')] : [early, torn(text)]
  }

  fetchedBook(): object {
    const microtimestamp = String(this.#microseconds)
    return { timestamp: microtimestamp.slice(0, 10), microtimestamp, ...this.#book.levels() }
  }

  /** The last seconds' trades, newest first. */
  transactions(seconds: number): object[] {
    const from = this.#microseconds / 1000 - seconds * 1000
    const page = this.trades.filter(({ executedAtMilliseconds }) => executedAtMilliseconds >= from).reverse()
    return page.map(({ id, price, amount, side, executedAtMilliseconds }) => ({
      date: String(executedAtMilliseconds / 1000),
      tid: String(id),
      amount,
      type: side === 'buy' ? '0' : '1',
      price,
    }))
  }
}

function isTrade(text: string): boolean {
  return text.includes('"event":"trade"')
}

/**
 * A test venue that speaks enough of OKX's public WebSocket API v5
 * (https://www.okx.com/docs-v5/en/#overview-websocket): `books` with checksums over the top 25, `trades`,
 * `instruments`, text pings, and over HTTP trades by their numbers, books and instruments
 * (https://www.okx.com/docs-v5/en/#order-book-trading-market-data). Frames are sent as recorded, and in later rounds
 * the trade numbers continue. The recording is older than the venue's sequence ids. On request the server adds them, so
 * that every lost message shows, even one that changes nothing in the top 25.
 */
import { crc32 } from 'node:zlib'
import { receivedFrames } from '../captures.ts'
import type { VenueClient } from './client.ts'
import { type LevelText, PlainBook, type PlainLevels } from './plain-book.ts'
import type { PlaybackOptions } from './playback.ts'
import { type Outgoing, type PlayedTrade, type Script, type ScriptFrame, torn } from './script.ts'
import { type Dialect, type HttpAnswer, VenueServer } from './server.ts'

/** One instrument's recording: a `books` snapshot first, then updates and trades. */
export interface OkxRecording {
  readonly instId: string
  readonly tickSz: string
  readonly lotSz: string
  readonly frames: readonly ScriptFrame[]
  /** The last trade before the recording began, as a frame. */
  readonly lastTrade?: string
}

export interface OkxServerOptions extends PlaybackOptions {
  readonly recordings: readonly OkxRecording[]
  /** Adds `seqId` and `prevSeqId`, as the venue does today. */
  readonly hasSequenceIds?: boolean
  /** An instrument's state; `live` when absent. */
  readonly states?: Readonly<Record<string, string>>
  /** The channel does not begin with a snapshot, as the venue has announced. */
  readonly isWithoutSnapshots?: boolean
  /** The instrument channel does not begin with the list. */
  readonly isWithoutInstruments?: boolean
}

type OkxLevel = readonly [price: string, size: string, ...rest: string[]]

export interface OkxTrade {
  readonly tradeId: string
  readonly px: string
  readonly sz: string
  readonly side: 'buy' | 'sell'
  readonly ts: string
}

export interface OkxMessage {
  readonly arg: { readonly channel: string; readonly instId: string }
  readonly action?: 'snapshot' | 'update'
  readonly data: readonly unknown[]
}

interface OkxRequest {
  readonly op: 'subscribe' | 'unsubscribe'
  readonly args: readonly { readonly channel: string; readonly instId?: string; readonly instType?: string }[]
}

const FRAMES = 'OKX.ws.1.0.gz'
export const OKX_CAPTURES = [FRAMES]
const CHECKSUM_LEVELS = 25
const SNAPSHOT_LEVELS = 400

/** All three recorded instruments. */
export function okxRecordings(): OkxRecording[] {
  const frames = new Map<string, ScriptFrame[]>()
  const lastTrades = new Map<string, string>()
  let begin: number | undefined
  for (const { milliseconds, text } of receivedFrames(FRAMES)) {
    const { arg, action, data } = JSON.parse(text) as Partial<OkxMessage>
    if (arg === undefined || data === undefined) continue
    if (action === 'snapshot') frames.set(arg.instId, [])
    const own = frames.get(arg.instId)
    if (arg.channel === 'trades' && own === undefined) lastTrades.set(arg.instId, text)
    if (!['books', 'trades'].includes(arg.channel)) continue
    begin ??= milliseconds
    own?.push({ milliseconds: milliseconds - begin, text })
  }
  return [...frames].map(([instId, own]) => {
    const all = own.map(({ text }) => text).join('\n')
    const lastTrade = lastTrades.get(instId)
    return {
      instId,
      tickSz: unit(all, /\["([0-9.]+)","[0-9.]+","0","[0-9]+"\]/g),
      lotSz: unit(all, /\["[0-9.]+","([0-9.]+)","0","[0-9]+"\]|"sz":"([0-9.]+)"/g),
      frames: own,
      ...(lastTrade === undefined ? {} : { lastTrade }),
    }
  })
}

/** The same recording under another name: the connector is for spot pairs, whose names have two parts. */
export function renamed(recording: OkxRecording, instId: string): OkxRecording {
  const rename = (text: string) => text.replaceAll(`"instId":"${recording.instId}"`, `"instId":"${instId}"`)
  const frames = recording.frames.map(({ milliseconds, text }) => ({ milliseconds, text: rename(text) }))
  const { lastTrade } = recording
  return { ...recording, instId, frames, ...(lastTrade === undefined ? {} : { lastTrade: rename(lastTrade) }) }
}

export function startOkxServer(options: OkxServerOptions): Promise<VenueServer> {
  return VenueServer.start(new OkxDialect(options), options)
}

/** The smallest step common to all the values: one unit in the longest fraction. */
function unit(text: string, pattern: RegExp): string {
  let digits = 0
  for (const [, price, size] of text.matchAll(pattern)) {
    digits = Math.max(digits, ((price ?? size ?? '').split('.')[1] ?? '').length)
  }
  return digits === 0 ? '1' : `0.${'1'.padStart(digits, '0')}`
}

class OkxDialect implements Dialect {
  readonly path = ''
  readonly scripts: readonly OkxScript[]
  readonly #options: OkxServerOptions

  constructor(options: OkxServerOptions) {
    this.#options = options
    this.scripts = options.recordings.map((recording) => new OkxScript(recording, options))
  }

  heartbeat(): readonly string[] {
    return []
  }

  answer(text: string, client: VenueClient, server: VenueServer): void {
    if (text === 'ping') {
      client.send('pong')
      return
    }
    const { op, args } = JSON.parse(text) as OkxRequest
    for (const arg of args) {
      const { channel, instId } = arg
      const track = instId === undefined ? undefined : server.tracks.get(instId)
      if (instId !== undefined && (track === undefined || server.refused.has(instId))) {
        const msg = `Wrong URL or channel:${channel},instId:${instId} doesn't exist. Please use the correct URL, channel and parameters referring to API document.`
        client.send(JSON.stringify({ event: 'error', code: '60018', msg, connId: 'a4d3ae55' }))
        continue
      }
      client.send(JSON.stringify({ event: op, arg, connId: 'a4d3ae55' }))
      if (op === 'unsubscribe') client.unsubscribe(channel, instId ?? '')
      else if (track !== undefined) track.join(client, channel)
      else if (channel === 'instruments' && this.#options.isWithoutInstruments !== true) {
        client.send(JSON.stringify({ arg, data: this.#instruments() }))
      }
    }
  }

  get({ pathname, searchParams }: URL): HttpAnswer {
    const answer = (data: readonly object[]) => ({ status: 200, body: JSON.stringify({ code: '0', msg: '', data }) })
    if (pathname === '/api/v5/public/instruments') return answer(this.#instruments())
    const script = this.scripts.find(({ symbol }) => symbol === searchParams.get('instId'))
    if (script === undefined)
      return { status: 200, body: '{"code":"51001","msg":"Instrument ID does not exist","data":[]}' }
    if (pathname === '/api/v5/market/books') return answer([script.fetchedBook(Number(searchParams.get('sz') ?? 1))])
    if (pathname !== '/api/v5/market/history-trades' || searchParams.get('type') !== '1') {
      return { status: 404, body: '{"code":"404","msg":"Not Found"}' }
    }
    const before = Number(searchParams.get('after') ?? Number.POSITIVE_INFINITY)
    const limit = Math.min(Number(searchParams.get('limit') ?? 100), 100)
    return { status: 200, body: script.pageText(before, limit) }
  }

  #instruments(): readonly object[] {
    return this.#options.recordings.map(({ instId, tickSz, lotSz }) => {
      const [baseCcy, quoteCcy] = instId.split('-')
      const state = this.#options.states?.[instId] ?? 'live'
      return { instType: 'SPOT', instId, baseCcy, quoteCcy, tickSz, lotSz, minSz: lotSz, state }
    })
  }
}

class OkxScript implements Script {
  readonly symbol: string
  readonly frames: readonly ScriptFrame[]
  readonly repeatFrom = 1
  readonly bookChannel = 'books'
  readonly trades: PlayedTrade[] = []
  readonly #hasSequenceIds: boolean
  readonly #hasSnapshots: boolean
  readonly #book = new PlainBook()
  readonly #begin: PlainLevels
  readonly #idsARound: number
  readonly #durationMilliseconds: number
  #sequenceId = 1_000
  #lastTradeText: string

  constructor(
    { instId, frames, lastTrade }: OkxRecording,
    { hasSequenceIds = false, isWithoutSnapshots = false }: OkxServerOptions,
  ) {
    this.#hasSnapshots = !isWithoutSnapshots
    this.symbol = instId
    this.frames = frames
    this.#hasSequenceIds = hasSequenceIds
    this.#lastTradeText = lastTrade ?? ''
    this.#idsARound = frames.reduce((count, { text }) => count + tradesOf(text).length, 0)
    this.#durationMilliseconds = Math.ceil(frames.at(-1)?.milliseconds ?? 0)
    const begin = new PlainBook()
    begin.apply(booksOf(JSON.parse((frames[0] as ScriptFrame).text) as OkxMessage))
    this.#begin = begin.levels()
  }

  play({ text }: ScriptFrame, round: number): Outgoing | undefined {
    const message = JSON.parse(text) as OkxMessage
    if (message.arg.channel === 'trades') {
      const shifted = (value: string, step: number) => String(Number(value) + round * step)
      this.#lastTradeText = text
        .replace(/"tradeId":"([0-9]+)"/g, (_, id: string) => `"tradeId":"${shifted(id, this.#idsARound)}"`)
        .replace(/"ts":"([0-9]+)"/g, (_, ts: string) => `"ts":"${shifted(ts, this.#durationMilliseconds)}"`)
      for (const { tradeId, px, sz, side, ts } of tradesOf(this.#lastTradeText)) {
        this.trades.push({ id: Number(tradeId), price: px, amount: sz, side, executedAtMilliseconds: Number(ts) })
      }
      return { channel: 'trades', text: this.#lastTradeText, isMissed: true }
    }
    const before = this.#checksum()
    if (message.action === 'snapshot') this.#book.clear()
    this.#book.apply(booksOf(message))
    if (message.action === 'snapshot' && !this.#hasSnapshots) return undefined
    const isMissed = message.action === 'update' && (this.#hasSequenceIds || before !== this.#checksum())
    return { channel: 'books', text: this.#withSequence(text, message.action === 'snapshot'), isMissed }
  }

  rewind(): Outgoing {
    const changes = this.#book.changesTo(this.#begin)
    this.#book.apply(changes)
    return { channel: 'books', text: this.#bookText('update', changes), isMissed: this.#hasSequenceIds }
  }

  beginning(channel: string): string | undefined {
    if (channel === 'trades') return this.#lastTradeText === '' ? undefined : this.#lastTradeText
    if (!this.#hasSnapshots) return undefined
    return this.#bookText('snapshot', this.#book.levels(SNAPSHOT_LEVELS))
  }

  /** The current book. */
  fetchedBook(depth: number): object {
    const { bids, asks } = this.#book.levels(depth)
    const side = (levels: readonly LevelText[]) => levels.map(([price, size]) => [price, size, '0', '1'])
    return { asks: side(asks), bids: side(bids), ts: String(Date.now()), seqId: this.#sequenceId }
  }

  /** The trades before a number, newest first. */
  pageText(before: number, limit: number): string {
    const page = this.trades.filter(({ id }) => id < before).slice(-limit)
    const data = page.map(({ id, price, amount, side, executedAtMilliseconds }) => {
      return { instId: this.symbol, side, sz: amount, px: price, tradeId: `${id}`, ts: `${executedAtMilliseconds}` }
    })
    return JSON.stringify({ code: '0', msg: '', data: data.reverse() })
  }

  levels(depth?: number): PlainLevels {
    return this.#book.levels(depth)
  }

  corruptions(text: string): readonly string[] {
    const wrong = text.replace(/"checksum":-?[0-9]+/, '"checksum":1')
    return wrong === text ? [torn(text)] : [wrong, torn(text)]
  }

  #bookText(action: 'snapshot' | 'update', { bids, asks }: PlainLevels): string {
    const side = (levels: readonly LevelText[]) => levels.map(([price, size]) => [price, size, '0', '1'])
    const data = [{ asks: side(asks), bids: side(bids), ts: String(Date.now()), checksum: this.#checksum() }]
    const text = JSON.stringify({ arg: { channel: 'books', instId: this.symbol }, action, data })
    return this.#withSequence(text, action === 'snapshot')
  }

  /** A snapshot for one client does not advance the other clients' sequence. */
  #withSequence(text: string, isSnapshot: boolean): string {
    if (!this.#hasSequenceIds) return text
    const previous = isSnapshot ? -1 : this.#sequenceId
    if (!isSnapshot) this.#sequenceId += 7
    return text.replace(/("checksum":-?[0-9]+)/, `$1,"prevSeqId":${previous},"seqId":${this.#sequenceId}`)
  }

  /** https://www.okx.com/docs-v5/en/#order-book-trading-market-data-ws-order-book-channel */
  #checksum(): number {
    const { bids, asks } = this.#book.levels(CHECKSUM_LEVELS)
    const parts: string[] = []
    for (let index = 0; index < CHECKSUM_LEVELS; index++) {
      for (const level of [bids[index], asks[index]]) if (level !== undefined) parts.push(`${level[0]}:${level[1]}`)
    }
    return crc32(parts.join(':')) | 0
  }
}

/** A book message's levels, without its other members. */
export function booksOf({ data }: OkxMessage): PlainLevels {
  const [book] = data as readonly { bids: readonly OkxLevel[]; asks: readonly OkxLevel[] }[]
  const side = (levels: readonly OkxLevel[] = []) => levels.map(([price, size]): LevelText => [price, size])
  return { bids: side(book?.bids), asks: side(book?.asks) }
}

function tradesOf(text: string): readonly OkxTrade[] {
  const message = JSON.parse(text) as OkxMessage
  return message.arg.channel === 'trades' ? (message.data as readonly OkxTrade[]) : []
}

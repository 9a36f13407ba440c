/**
 * The feed benchmark's input for each connector: its venue's recorded book and trade frames, in order. The recordings
 * are next to the repository. A venue without a recording is omitted, except Coinbase: its frames are renumbered here
 * in any case, so it gets generated frames instead. For Bybit and Bitstamp there are only synthetic recordings.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { BINANCE } from '../src/streaming/sources/venues/binance/protocol.ts'
import { BITSTAMP } from '../src/streaming/sources/venues/bitstamp/protocol.ts'
import { BYBIT } from '../src/streaming/sources/venues/bybit/protocol.ts'
import { COINBASE } from '../src/streaming/sources/venues/coinbase/protocol.ts'
import { KRAKEN } from '../src/streaming/sources/venues/kraken/protocol.ts'
import { OKX } from '../src/streaming/sources/venues/okx/protocol.ts'
import type { Fetched, Listing, VenueProtocol } from '../src/streaming/sources/venues/venue.ts'
import type { VenueName } from '../src/streaming/sources/venues/venues.ts'
import { capturesMissing } from '../test/support/captures.ts'
import { Random } from '../test/support/random.ts'
import { krakenBtcUsd, krakenEthUsd, krakenRecordingsMissing } from '../test/support/recordings.ts'
import { BINANCE_CAPTURES, binanceRecordings } from '../test/support/venues/binance.ts'
import { type BitstampRecording, bitstampRecordings } from '../test/support/venues/bitstamp.ts'
import { bybitRecordings } from '../test/support/venues/bybit.ts'
import { NUMBER_MARK } from '../test/support/venues/client.ts'
import { COINBASE_CAPTURES, coinbaseBook, coinbaseRecordings } from '../test/support/venues/coinbase.ts'
import { OKX_CAPTURES, okxRecordings } from '../test/support/venues/okx.ts'
import { type LevelText, PlainBook, type PlainLevels } from '../test/support/venues/plain-book.ts'

export interface BenchFrame {
  /** The time since the first frame. */
  readonly milliseconds: number
  readonly text: string
}

export interface Workload {
  readonly venue: VenueName
  readonly origin: 'recorded' | 'made'
  readonly frames: readonly BenchFrame[]
  readonly listings: readonly Listing[]
  /** The subscription's levels per side, by symbol. */
  readonly depths: ReadonlyMap<string, number>
  readonly createProtocol: () => VenueProtocol<unknown>
  /** The frame's text in a round (the first is 0) when rounds follow each other on one connection. */
  readonly inRound: (text: string, round: number) => string
}

const MADE_FRAMES = 10_000
const MADE_SEED = 7

/** By venue; undefined without a recording. */
export const WORKLOADS: Readonly<Partial<Record<VenueName, () => Promise<Workload | undefined>>>> = {
  kraken: async () => (krakenRecordingsMissing ? undefined : kraken()),
  coinbase: async () => (capturesMissing(...COINBASE_CAPTURES) ? madeCoinbase() : coinbase()),
  binance: async () => (capturesMissing(...BINANCE_CAPTURES) ? undefined : await binance()),
  okx: async () => (capturesMissing(...OKX_CAPTURES) ? undefined : okx()),
  bybit: async () => bybit(),
  bitstamp: async () => bitstamp(),
}

function kraken(): Workload {
  const recordings = [krakenBtcUsd(), krakenEthUsd()]
  const { read } = KRAKEN.createProtocol({ restUrl: '' })
  return {
    venue: 'kraken',
    origin: 'recorded',
    frames: inOrder(recordings).filter(({ text }) => read(text).some(({ kind }) => kind === 'book')),
    listings: recordings.map(({ symbol, pricePrecision, quantityPrecision }) =>
      listing(symbol, pricePrecision, quantityPrecision),
    ),
    depths: new Map(recordings.map(({ symbol, depth }) => [symbol, depth])),
    createProtocol: () => KRAKEN.createProtocol({ restUrl: '' }),
    inRound: (text) => text,
  }
}

function coinbase(): Workload {
  const recordings = coinbaseRecordings()
  const listings = recordings.map(({ product }) =>
    listing(product.product_id, decimalsOf(product.price_increment), decimalsOf(product.base_increment)),
  )
  return coinbaseOf('recorded', inOrder(recordings), listings)
}

/** One connection's frames with subscriptions to all products: their numbers continue from round to round. */
function coinbaseOf(origin: Workload['origin'], unnumbered: readonly BenchFrame[], listings: readonly Listing[]) {
  const frames = unnumbered.map(({ milliseconds, text }, index) => ({
    milliseconds,
    text: text.replace(NUMBER_MARK, `"sequence_num":${index}`),
  }))
  const symbols = listings.map(({ symbol }) => symbol)
  return {
    venue: 'coinbase',
    origin,
    frames,
    listings,
    depths: new Map<string, number>(),
    createProtocol: () => {
      const protocol = COINBASE.createProtocol({ restUrl: '' })
      for (const channel of ['book', 'trades'] as const) protocol.requests('subscribe', channel, symbols, Infinity)
      return protocol
    },
    inRound: (text: string, round: number) =>
      text.replace(
        /"sequence_num":([0-9]+)/,
        (_, number) => `"sequence_num":${Number(number) + round * frames.length}`,
      ),
  } as const
}

/** One product whose best prices do not change while the amounts around them do. */
function madeCoinbase(): Workload {
  const random = new Random(MADE_SEED)
  const symbol = 'BTC-USD'
  const price = (side: number, rank: number) => (100_000 + (side === 0 ? -1 - rank : rank) / 100).toFixed(2)
  const levels = (side: number) =>
    Array.from({ length: 1_000 }, (_, rank): LevelText => [price(side, rank), '1.00000000'])
  const change = (side: number): LevelText => [price(side, random.integer(100)), `${random.integer(3)}.12345678`]
  const frames = Array.from({ length: MADE_FRAMES }, (_, index) => {
    const changes = { bids: [change(0)], asks: [change(1)] }
    return coinbaseBook(symbol, 'update', changes, new Date(index * 25).toISOString())
  })
  const snapshot = coinbaseBook(symbol, 'snapshot', { bids: levels(0), asks: levels(1) })
  const timed = [snapshot, ...frames].map((text, index) => ({ milliseconds: index * 25, text }))
  return coinbaseOf('made', timed, [listing(symbol, 2, 8)])
}

/** Lists and snapshots are fetched beforehand and cost the benchmark no time. */
async function binance(): Promise<Workload> {
  const recordings = binanceRecordings()
  const symbols = recordings.map(({ symbol }) => symbol)
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost')
    const recording = recordings.find(({ symbol }) => symbol === url.searchParams.get('symbol'))
    const book = { lastUpdateId: recording?.lastUpdateId, ...recording?.snapshot }
    const info = { symbols: recordings.map((one) => one.listing) }
    response.end(JSON.stringify(url.pathname.endsWith('/depth') ? book : info))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const restUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { listings, fetchSnapshot } = BINANCE.createProtocol({ restUrl })
  if (!('fetch' in listings) || fetchSnapshot === undefined) throw new Error('Binance is fetched no longer')
  const { signal } = new AbortController()
  const listed = known(await listings.fetch(symbols, signal))
  const beginnings = new Map<string, Awaited<ReturnType<typeof fetchSnapshot>>>()
  for (const symbol of symbols) beginnings.set(symbol, await fetchSnapshot(symbol, 1_000, signal))
  server.close()
  server.closeAllConnections()
  const frames = inOrder(recordings)
  const spans = updateSpans(frames)
  return {
    venue: 'binance',
    origin: 'recorded',
    frames,
    listings: listed,
    depths: new Map(symbols.map((symbol) => [symbol, 100])),
    createProtocol: () => {
      const begin = async (symbol: string) => beginnings.get(symbol) ?? { problem: 'not recorded' }
      return { ...BINANCE.createProtocol({ restUrl }), fetchSnapshot: begin }
    },
    inRound: (text, round) => {
      const span = spans.get(/"s":"([^"]*)"/.exec(text)?.[1] ?? '') ?? 0
      return text.replace(/"([Uu])":([0-9]+)/g, (_, name, id) => `"${name}":${Number(id) + round * span}`)
    },
  }
}

/** By symbol: the range of update numbers in one recording. */
function updateSpans(frames: readonly BenchFrame[]): Map<string, number> {
  const firsts = new Map<string, number>()
  const spans = new Map<string, number>()
  for (const { text } of frames) {
    const { s, U, u } = (JSON.parse(text) as { data: { s: string; U?: number; u?: number } }).data
    if (U === undefined || u === undefined) continue
    const first = firsts.get(s) ?? U
    firsts.set(s, first)
    spans.set(s, u + 1 - first)
  }
  return spans
}

function okx(): Workload {
  const recordings = okxRecordings()
  return {
    venue: 'okx',
    origin: 'recorded',
    frames: inOrder(recordings),
    listings: recordings.map(({ instId, tickSz, lotSz }) => listing(instId, decimalsOf(tickSz), decimalsOf(lotSz))),
    depths: new Map(recordings.map(({ instId }) => [instId, 400])),
    createProtocol: () => OKX.createProtocol({ restUrl: '' }),
    inRound: (text) => text,
  }
}

/** The synthetic recording. Each round begins with a snapshot, so the update ids may begin again. */
function bybit(): Workload {
  const recordings = bybitRecordings()
  return {
    venue: 'bybit',
    origin: 'made',
    frames: inOrder(recordings),
    listings: recordings.map(({ symbol, tickSize, basePrecision }) =>
      listing(symbol, decimalsOf(tickSize), decimalsOf(basePrecision)),
    ),
    depths: new Map(recordings.map(({ symbol }) => [symbol, 50])),
    createProtocol: () => BYBIT.createProtocol({ restUrl: '' }),
    inRound: (text) => text,
  }
}

/**
 * The synthetic recording. Rounds follow one another in time, and each round's last message leads back to the first
 * book.
 */
function bitstamp(): Workload {
  const recordings = bitstampRecordings()
  const symbols = recordings.map(({ pair }) => pair)
  const roundMicroseconds = 20_000_000
  return {
    venue: 'bitstamp',
    origin: 'made',
    frames: inOrder(recordings.map((one) => ({ frames: [...one.frames, wayBack(one)] }))),
    listings: recordings.map(({ pair, priceDecimals, amountDecimals }) => listing(pair, priceDecimals, amountDecimals)),
    depths: new Map(symbols.map((symbol) => [symbol, 100])),
    createProtocol: () => {
      const protocol = BITSTAMP.createProtocol({ restUrl: '' })
      const begin = async (symbol: string) => {
        const recording = recordings.find(({ pair }) => pair === symbol)
        if (recording === undefined) return { problem: 'not recorded' }
        // The book after the first message, which brackets it.
        const { data } = JSON.parse(recording.frames[0]?.text ?? '') as {
          data: PlainLevels & { microtimestamp: string }
        }
        const microseconds = Number(data.microtimestamp)
        const book = new PlainBook()
        book.apply(recording.snapshot)
        book.apply(data)
        const side = (levels: readonly LevelText[]) => levels.map(([price, amount]) => ({ price, amount }))
        const { bids, asks } = book.levels()
        return { value: { isSnapshot: true, microseconds, bids: side(bids), asks: side(asks) } }
      }
      return { ...protocol, fetchSnapshot: begin }
    },
    inRound: (text, round) =>
      text.replace(
        /"microtimestamp":"([0-9]+)"/,
        (_, time) => `"microtimestamp":"${Number(time) + round * roundMicroseconds}"`,
      ),
  }
}

function wayBack({ pair, snapshot, frames }: BitstampRecording): BenchFrame {
  const book = new PlainBook()
  book.apply(snapshot)
  for (const { text } of frames) {
    const { event, data } = JSON.parse(text) as { event: string; data: PlainLevels }
    if (event === 'data') book.apply(data)
  }
  const { milliseconds, text } = frames.at(-1) as BenchFrame
  const microtimestamp = String(Number(/"microtimestamp":"([0-9]+)"/.exec(text)?.[1]) + 1_000_000)
  const data = { timestamp: '0', microtimestamp, ...book.changesTo(snapshot) }
  const back = JSON.stringify({ data, channel: `diff_order_book_${pair}`, event: 'data' })
  return { milliseconds: milliseconds + 1_000, text: back }
}

function inOrder(recordings: readonly { readonly frames: readonly BenchFrame[] }[]): BenchFrame[] {
  return recordings.flatMap(({ frames }) => frames).sort((left, right) => left.milliseconds - right.milliseconds)
}

function listing(symbol: string, priceDecimals: number, amountDecimals: number): Listing {
  return { symbol, priceDecimals, amountDecimals, status: 'online', state: 'open' }
}

function decimalsOf(step: string): number {
  return (step.split('.')[1] ?? '').replace(/0+$/, '').length
}

function known<Value>(fetched: Fetched<Value>): Value {
  if ('problem' in fetched) throw new Error(fetched.problem)
  return fetched.value
}

/**
 * Each connector over real sockets, at a venue that plays a recording again and again and fails in every way we know:
 * whatever happens, a reader sees no book that the venue did not have, hears of what is lost, and has the right book
 * again afterwards; executions are the venue's trades, without a gap that could be filled. The whole world runs faster
 * than life: the recording, the venue's heartbeats and the connector's clock.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLog } from '../../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../../src/platform/base/metrics.ts'
import type { Source } from '../../../../src/streaming/sources/source.ts'
import { VENUES, type VenueName } from '../../../../src/streaming/sources/venues/venues.ts'
import { Random } from '../../../support/random.ts'
import { krakenBtcUsd } from '../../../support/recordings.ts'
import { binanceRecordings, startBinanceServer } from '../../../support/venues/binance.ts'
import { bitstampRecordings, startBitstampServer } from '../../../support/venues/bitstamp.ts'
import { bybitRecordings, startBybitServer } from '../../../support/venues/bybit.ts'
import { coinbaseRecordings, startCoinbaseServer } from '../../../support/venues/coinbase.ts'
import type { FrameFault } from '../../../support/venues/faults.ts'
import { FedMarket } from '../../../support/venues/fed-market.ts'
import { startKrakenServer } from '../../../support/venues/kraken.ts'
import { okxRecordings, startOkxServer } from '../../../support/venues/okx.ts'
import type { PlaybackOptions } from '../../../support/venues/playback.ts'
import type { HttpAnswer, VenueServer } from '../../../support/venues/server.ts'
import { VenueHistory } from '../../../support/venues/venue-history.ts'
import { VirtualClock } from '../../../support/virtual-clock.ts'

/** How much faster than life the connector's clock and the venue's heartbeats are. */
const SPEED = 200
/** The recordings are less so, to leave the processor time for everything else. */
const FRAMES_SPEED = 40
const TICK_MILLISECONDS = 2
const DEPTH = 10
const ATTEMPTS_MAX = 10
const MADE_TRADES = { seed: 4711, everyMilliseconds: 400 }

interface Stage {
  readonly name: VenueName
  readonly bookChannel: string
  readonly tradeChannel: string
  /** The symbol that is hit; the others must not notice what is only its own. */
  readonly symbol: string
  readonly others: readonly string[]
  /** Whether the frames of a connection share their numbers: one that is missing costs every market its book. */
  readonly numbersConnection?: true
  /** Whether trades have no consecutive numbers: one that is missing between two others cannot be noticed. */
  readonly hasUnnumberedTrades?: true
  /** Whether messages of books have times alone: one that is missing cannot be noticed. */
  readonly hasUnnumberedBooks?: true
  /** Whether a frame names its pair only at its end: one that is torn costs every market its book. */
  readonly namesPairLast?: true
  /** Whether the list of pairs is had by HTTP. */
  readonly usesHttp?: true
  readonly start: (options: PlaybackOptions) => Promise<VenueServer>
}

const STAGES: readonly Stage[] = [
  {
    name: 'kraken',
    bookChannel: 'book',
    tradeChannel: 'trade',
    symbol: 'BTC/USD',
    others: [],
    start: async (options) =>
      (await startKrakenServer({ ...options, recordings: [krakenBtcUsd()], trades: MADE_TRADES })).venue,
  },
  {
    name: 'coinbase',
    bookChannel: 'level2',
    tradeChannel: 'market_trades',
    symbol: 'SKL-USD',
    others: ['NU-GBP'],
    numbersConnection: true,
    usesHttp: true,
    start: (options) => startCoinbaseServer({ ...options, recordings: coinbaseRecordings() }),
  },
  {
    name: 'okx',
    bookChannel: 'books',
    tradeChannel: 'trades',
    symbol: 'BTC-USDT',
    others: ['UNI-USD-SWAP'],
    start: (options) => startOkxServer({ ...options, recordings: okxRecordings(), hasSequenceIds: true }),
  },
  {
    name: 'binance',
    bookChannel: 'depth@100ms',
    tradeChannel: 'aggTrade',
    symbol: 'NKNUSDT',
    others: ['LRCBTC'],
    usesHttp: true,
    start: (options) => startBinanceServer({ ...options, recordings: binanceRecordings(), trades: MADE_TRADES }),
  },
  {
    name: 'bybit',
    bookChannel: 'orderbook.50',
    tradeChannel: 'publicTrade',
    symbol: 'BTCUSDT',
    others: ['SOLEUR'],
    hasUnnumberedTrades: true,
    usesHttp: true,
    start: (options) => startBybitServer({ ...options, recordings: bybitRecordings() }),
  },
  {
    name: 'bitstamp',
    bookChannel: 'diff_order_book',
    tradeChannel: 'live_trades',
    symbol: 'btcusd',
    others: ['xrpeur'],
    hasUnnumberedTrades: true,
    hasUnnumberedBooks: true,
    namesPairLast: true,
    usesHttp: true,
    start: (options) => startBitstampServer({ ...options, recordings: bitstampRecordings() }),
  },
]

const HTTP_FAULTS: [string, HttpAnswer][] = [
  ['429', { status: 429, body: '{"code":-1003,"msg":"Too many requests."}', headers: { 'retry-after': '3' } }],
  ['418', { status: 418, body: '{"code":-1003,"msg":"Banned."}', headers: { 'retry-after': '5' } }],
  ['500', { status: 500, body: 'oops' }],
  ['nonsense', { status: 200, body: '{"lastUpdateId":' }],
  ['half of it', { status: 200, body: '{"symbols":[],"bids":[],"asks":[]}', isStuck: true }],
]

describe.each(STAGES)('$name', (stage) => {
  const isTradeLossSilent = stage.numbersConnection === true || stage.hasUnnumberedTrades === true

  describe('at a venue that fails', () => {
    const clock = new VirtualClock()
    const history = new VenueHistory(DEPTH)
    const markets = [stage.symbol, ...stage.others].map((symbol) => new FedMarket(symbol, history, DEPTH))
    const [hit, ...others] = markets as [FedMarket, ...FedMarket[]]
    let server: VenueServer
    let source: Source
    let ticking: NodeJS.Timeout

    beforeAll(async () => {
      server = await stage.start({
        speed: FRAMES_SPEED,
        isRepeated: true,
        heartbeatMilliseconds: 1000 / SPEED,
        onPlayed: history.onPlayed,
      })
      history.begin(server)
      source = VENUES[stage.name].createSource(
        { url: server.url, restUrl: server.restUrl },
        {
          name: stage.name,
          markets: markets.map((market) => market.source),
          clock,
          random: random(),
          log: createLog('silent'),
          metrics: createMetricsRegistry(),
        },
      )
      source.start()
      ticking = setInterval(() => clock.advance(TICK_MILLISECONDS * SPEED), TICK_MILLISECONDS)
      await atRest()
    })

    afterAll(async () => {
      clearInterval(ticking)
      await source?.stop()
      await server?.close()
    })

    /** Every market has what the venue has, in the middle of a recording that stands still. */
    async function atRest(): Promise<void> {
      for (const market of markets) await market.until('live', () => market.isLive)
      server.pause()
      for (const market of markets) {
        await market.until('the venue’s book', () => market.isLive && market.verifier.isCurrent)
        expect(market.verifier.problems).toEqual([])
      }
      server.resume()
    }

    /** Something happens to all, they say that they are lost, and are right again. */
    async function survive(happen: () => void): Promise<void> {
      const losses = markets.map((market) => market.reasons.length)
      happen()
      for (const [index, market] of markets.entries()) {
        await market.until('lost', () => market.reasons.length > (losses[index] as number))
      }
      await atRest()
    }

    async function hitFrame(kind: FrameFault, channel: string, isOver: () => boolean, variant = 0): Promise<void> {
      const done = server.faults.done.length
      server.faults.arm({ kind, symbol: stage.symbol, channel, variant })
      await hit.until(`${kind} ${channel}`, () => server.faults.done.length > done && isOver())
      await atRest()
    }

    // Of two exchanged messages without numbers, the later one is applied first, and only the other one shows it.
    const noticed = (['dropped', 'reordered', 'corrupted'] as const).filter(
      (kind) => stage.hasUnnumberedBooks !== true || kind === 'corrupted',
    )
    it.each(noticed)('a book message that is %s costs its own market the book until a new one', async (kind) => {
      const losses = hit.reasons.length
      const otherLosses = others.map((market) => market.reasons.length)
      const variant = stage.name === 'binance' ? 1 : 0
      // The next message may set the same levels, and so repair what was lost: then the loss cannot be noticed, and
      // need not be.
      for (let attempt = 0; attempt < ATTEMPTS_MAX && hit.reasons.length === losses; attempt++) {
        const { matched } = hit.verifier
        const isOver = () => hit.reasons.length > losses || hit.verifier.matched > matched + 5
        await hitFrame(kind, stage.bookChannel, isOver, variant)
      }
      expect(hit.reasons.length).toBeGreaterThan(losses)
      const isShared = kind !== 'corrupted' && stage.numbersConnection === true
      if (!isShared) expect(others.map((market) => market.reasons.length)).toEqual(otherLosses)
    })

    it('a book message that comes twice changes nothing', async () => {
      const { matched } = hit.verifier
      await hitFrame('doubled', stage.bookChannel, () => hit.verifier.matched > matched + 3)
    })

    it.skipIf(stage.name === 'coinbase' || stage.namesPairLast === true)(
      'a frame that cannot be read costs only the pair that it names',
      async () => {
        const losses = hit.reasons.length
        const otherLosses = others.map((market) => market.reasons.length)
        const variant = stage.name === 'binance' ? 0 : 1
        await hitFrame('corrupted', stage.bookChannel, () => hit.reasons.length > losses, variant)
        expect(others.map((market) => market.reasons.length)).toEqual(otherLosses)
      },
    )

    const lostTrades = stage.hasUnnumberedTrades === true ? [] : (['dropped', 'reordered'] as const)
    it.each(lostTrades)('a trade that is %s is fetched', async (kind) => {
      await hit.until('an execution', () => hit.verifier.executions > 0)
      const missed = [...hit.missed]
      const { executions } = hit.verifier
      await hitFrame(kind, stage.tradeChannel, () => hit.verifier.executions > executions + 2)
      expect(hit.missed).toEqual(missed)
    })

    // Where a lost frame begins a new connection, which repeats the last trades, none are asked for.
    it.each(isTradeLossSilent ? [] : HTTP_FAULTS)(
      'a request for trades that is answered %s is made again',
      async (_, answer) => {
        await hit.until('an execution', () => hit.verifier.executions > 0)
        const missed = [...hit.missed]
        const { executions } = hit.verifier
        server.httpFaults.push(answer)
        // Trades before the dropped one may be enough in number, and the request comes after it.
        const isOver = () => server.httpFaults.length === 0 && hit.verifier.executions > executions + 2
        await hitFrame('dropped', stage.tradeChannel, isOver)
        expect(hit.missed).toEqual(missed)
      },
    )

    it.runIf(stage.hasUnnumberedTrades === true)('trades that cannot be read are fetched', async () => {
      await hit.until('an execution', () => hit.verifier.executions > 0)
      const missed = [...hit.missed]
      const { executions } = hit.verifier
      await hitFrame('corrupted', stage.tradeChannel, () => hit.verifier.executions > executions + 3)
      expect(hit.missed).toEqual(missed)
    })

    it('a trade that comes twice is executed once', async () => {
      const missed = [...hit.missed]
      const { executions } = hit.verifier
      await hitFrame('doubled', stage.tradeChannel, () => hit.verifier.executions > executions + 2)
      expect(hit.missed).toEqual(missed)
    })

    it('trades that no connection delivered are fetched', async () => {
      await hit.until('an execution', () => hit.verifier.executions > 0)
      const missed = [...hit.missed]
      await survive(() => {
        server.disconnectAll()
        server.tracks.get(stage.symbol)?.playUnseen(stage.hasUnnumberedTrades === true ? 40 : 100)
      })
      const { executions } = hit.verifier
      await hit.until('executions after it', () => hit.verifier.executions > executions + 1)
      expect(hit.missed).toEqual(missed)
    })

    it.skipIf(isTradeLossSilent)('trades that cannot be had are said to be missing', async () => {
      await hit.until('an execution', () => hit.verifier.executions > 0)
      const missed = hit.missed.length
      server.httpFaults.push({ status: 429, body: '{}', headers: { 'retry-after': '31' } })
      await hitFrame('dropped', stage.tradeChannel, () => hit.missed.length > missed)
      expect(server.httpFaults).toEqual([])
    })

    it('a connection that is cut is followed by another', () => survive(() => server.disconnectAll()))
    it('a connection that the venue closes for a limit is followed by another', () =>
      survive(() => server.closeAll(1008, 'rate limit exceeded')))
    it('a connection on which nothing comes any more is dead', () => survive(() => server.silenceAll()))
    it('a connection whose other end died silently is dead', () => survive(() => server.abandonAll()))

    it.skipIf(['binance', 'bitstamp'].includes(stage.name))('a snapshot that ends in its middle is unreadable', () =>
      survive(() => {
        server.cutNextBeginning()
        server.disconnectAll()
      }),
    )

    it('handshakes with a venue are tried until one is accepted', async () => {
      await survive(() => {
        server.handshakeFaults.push(503, 429, 0)
        server.disconnectAll()
      })
      expect(server.handshakeFaults).toEqual([])
    })

    it('a refused pair is tried again, and says why it is lost', async () => {
      await survive(() => {
        server.refused.add(stage.symbol)
        server.disconnectAll()
        void hit
          .until('refused', () => hit.reasons.at(-1)?.includes('refused') === true)
          .then(() => server.refused.clear())
      })
      expect(hit.reasons.at(-1)).toContain(`${stage.name} refused ${stage.symbol}`)
    })

    it.each(stage.usesHttp === true ? HTTP_FAULTS : [])(
      'an HTTP request that is answered %s is made again',
      async (_, answer) => {
        await survive(() => {
          // The list of pairs is asked for first, then (at Binance) two books.
          server.httpFaults.push(answer, ...Array.from({ length: 3 }, () => answer))
          server.disconnectAll()
        })
        expect(server.httpFaults).toEqual([])
      },
    )
  })
})

function random(): () => number {
  const seeded = new Random(1)
  return () => seeded.next()
}

/**
 * One book of a venue goes silent while its connection, its trades and all other books continue, over real sockets: the
 * book is subscribed again by itself, and is the venue's again. Recordings, heartbeats and the connector's clock run at
 * the same speed.
 */
import { afterEach, describe, expect, it } from 'vitest'
import { createLog } from '../../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../../src/platform/base/metrics.ts'
import { VENUES, type VenueName } from '../../../../src/streaming/sources/venues/venues.ts'
import { capturesMissing } from '../../../support/captures.ts'
import { krakenBtcUsd, krakenRecordingsMissing } from '../../../support/recordings.ts'
import { BINANCE_CAPTURES, binanceRecordings, startBinanceServer } from '../../../support/venues/binance.ts'
import { COINBASE_CAPTURES, coinbaseRecordings, startCoinbaseServer } from '../../../support/venues/coinbase.ts'
import { FedMarket } from '../../../support/venues/fed-market.ts'
import { startKrakenServer } from '../../../support/venues/kraken.ts'
import { OKX_CAPTURES, okxRecordings, startOkxServer } from '../../../support/venues/okx.ts'
import type { PlaybackOptions } from '../../../support/venues/playback.ts'
import type { VenueServer } from '../../../support/venues/server.ts'
import { VenueHistory } from '../../../support/venues/venue-history.ts'
import { VirtualClock } from '../../../support/virtual-clock.ts'

const SPEED = 20
const TICK_MILLISECONDS = 5
const DEPTH = 10
const MADE_TRADES = { seed: 7, everyMilliseconds: 400 }

const STAGES: readonly [VenueName, boolean, string, string, (options: PlaybackOptions) => Promise<VenueServer>][] = [
  [
    'kraken',
    krakenRecordingsMissing,
    'BTC/USD',
    'book',
    async (options) =>
      (await startKrakenServer({ ...options, recordings: [krakenBtcUsd()], trades: MADE_TRADES })).venue,
  ],
  [
    'coinbase',
    capturesMissing(...COINBASE_CAPTURES),
    'SKL-USD',
    'level2',
    (options) => startCoinbaseServer({ ...options, recordings: coinbaseRecordings() }),
  ],
  [
    'okx',
    capturesMissing(...OKX_CAPTURES),
    'BTC-USDT',
    'books',
    (options) => startOkxServer({ ...options, recordings: okxRecordings(), hasSequenceIds: true }),
  ],
  [
    'binance',
    capturesMissing(...BINANCE_CAPTURES),
    'NKNUSDT',
    'depth@100ms',
    (options) => startBinanceServer({ ...options, recordings: binanceRecordings(), trades: MADE_TRADES }),
  ],
]

const opened: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

describe.each(STAGES)('%s', (name, isMissing, symbol, channel, start) => {
  it.skipIf(isMissing)('a silent book of a venue is subscribed again (needs venue recordings)', async () => {
    const clock = new VirtualClock()
    const history = new VenueHistory(DEPTH)
    const market = new FedMarket(symbol, history, DEPTH)
    const heartbeatMilliseconds = 1000 / SPEED
    const server = await start({ speed: SPEED, isRepeated: true, heartbeatMilliseconds, onPlayed: history.onPlayed })
    opened.push(() => server.close())
    history.begin(server)
    const surroundings = { name, clock, random: () => 0.5, log: createLog('silent'), metrics: createMetricsRegistry() }
    const source = VENUES[name].createSource(
      { url: server.url, restUrl: server.restUrl },
      { markets: [market.source], ...surroundings },
    )
    source.start()
    opened.push(() => source.stop())
    const ticking = setInterval(() => clock.advance(TICK_MILLISECONDS * SPEED), TICK_MILLISECONDS)
    opened.push(async () => clearInterval(ticking))
    await market.until('executions and a book', () => market.verifier.executions > 1 && market.verifier.matched > 5)
    const subscriptions = () =>
      server.said.filter((text) => text.includes(channel) && /"(?:op|method|type)":"subscribe"/i.test(text)).length
    const before = subscriptions()
    server.silenceBook(symbol)
    await server.until('the book to be subscribed again', () => subscriptions() > before)
    const { matched } = market.verifier
    await market.until('a new book', () => market.isLive && market.verifier.matched > matched)
    server.pause()
    await market.until('the book of the venue', () => market.isLive && market.verifier.isCurrent)
    expect(market.verifier.problems).toEqual([])
  })
})

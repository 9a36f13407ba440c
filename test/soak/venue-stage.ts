/** The venues of a soak, the markets that read them, and the built service between them and its clients. */
import { krakenBtcUsd, krakenEthUsd } from '../support/recordings.ts'
import { type ServiceProcess, startServiceProcess } from '../support/running-service.ts'
import { binanceRecordings, startBinanceServer } from '../support/venues/binance.ts'
import { coinbaseRecordingOf, coinbaseRecordings, startCoinbaseServer } from '../support/venues/coinbase.ts'
import { startKrakenServer } from '../support/venues/kraken.ts'
import { okxRecordings, renamed, startOkxServer } from '../support/venues/okx.ts'
import { VenueHistory } from '../support/venues/venue-history.ts'
import type { SoakVenue } from './venue-faults.ts'

/** Levels per side of every market. */
export const SOAK_DEPTH = 25
const EXECUTIONS_KEPT = 500

export interface SoakStage {
  readonly venues: readonly SoakVenue[]
  /** By venue: symbols of two venues may be the same. */
  readonly histories: ReadonlyMap<string, VenueHistory>
  /** Markets of one source: venue and symbol by market. */
  readonly markets: ReadonlyMap<string, readonly [venue: string, symbol: string]>
  /** Markets of several sources. */
  readonly aggregates: ReadonlyMap<string, readonly (readonly [venue: string, symbol: string])[]>
  readonly service: ServiceProcess
  close(): Promise<number | null>
}

/** Pairs whose jokes (a price of 888888004.0000) do not fit into eight decimals. */
const PRICE_DECIMALS: Readonly<Record<string, number>> = { CRVEUR: 4 }
const DECIMALS = 8

export async function openStage(folder: string, seed: number): Promise<SoakStage> {
  const histories = new Map(
    ['kraken', 'coinbase', 'okx', 'binance'].map((venue) => [venue, new VenueHistory(SOAK_DEPTH)]),
  )
  const options = (venue: string) => ({
    speed: 1,
    isRepeated: true,
    onPlayed: (histories.get(venue) as VenueHistory).onPlayed,
    trades: { seed, everyMilliseconds: 700 },
  })
  // Futures and swaps under the names of spot pairs: near books of other amounts, which cross now and then.
  const names: Record<string, string> = { 'BTC-USD-220527': 'BTCF-USD', 'UNI-USD-SWAP': 'UNIS-USD' }
  const okxBooks = okxRecordings().map((one) => renamed(one, names[one.instId] ?? one.instId))
  const tether = okxBooks.filter(({ instId }) => instId === 'BTC-USDT').map(coinbaseRecordingOf)
  const kraken = await startKrakenServer({ ...options('kraken'), recordings: [krakenBtcUsd(), krakenEthUsd()] })
  const venues: SoakVenue[] = [
    {
      name: 'kraken',
      server: kraken.venue,
      bookChannel: 'book',
      tradeChannel: 'trade',
      busySymbols: ['BTC/USD', 'ETH/USD'],
    },
    {
      name: 'coinbase',
      server: await startCoinbaseServer({ ...options('coinbase'), recordings: [...coinbaseRecordings(), ...tether] }),
      bookChannel: 'level2',
      tradeChannel: 'market_trades',
      busySymbols: ['SKL-USD', 'DASH-BTC', 'BTC-USDT'],
    },
    {
      name: 'okx',
      server: await startOkxServer({ ...options('okx'), recordings: okxBooks, hasSequenceIds: true }),
      bookChannel: 'books',
      tradeChannel: 'trades',
      busySymbols: okxBooks.map(({ instId }) => instId),
    },
    {
      name: 'binance',
      server: await startBinanceServer({ ...options('binance'), recordings: binanceRecordings() }),
      bookChannel: 'depth@100ms',
      tradeChannel: 'aggTrade',
      busySymbols: ['NKNUSDT'],
    },
  ]
  for (const { name, server } of venues) histories.get(name)?.begin(server)
  const markets = new Map<string, readonly [string, string]>()
  for (const { name, server } of venues) {
    for (const symbol of server.tracks.keys()) {
      const market = symbol.replaceAll(/[^A-Z0-9]/g, '')
      if (!markets.has(market)) markets.set(market, [name, symbol])
    }
  }
  const aggregates = new Map<string, readonly (readonly [string, string])[]>([
    [
      'NEARUSD',
      [
        ['okx', 'BTC-USDT'],
        ['coinbase', 'BTC-USDT'],
        ['okx', 'BTCF-USD'],
      ],
    ],
    [
      'FARUSD',
      [
        ['kraken', 'BTC/USD'],
        ['okx', 'BTC-USDT'],
      ],
    ],
  ])
  const entries = [
    ...[...markets].map(([market, source]) => marketEntry(market, [source])),
    ...[...aggregates].map(([market, sources]) => marketEntry(market, sources)),
  ]
  const urls = venues.flatMap(({ name, server }) => [
    [`feeds.${name}.url`, server.url],
    [`feeds.${name}.rest_url`, server.restUrl],
  ])
  const service = await startServiceProcess('serve', folder, {
    markets: JSON.stringify(entries),
    ...Object.fromEntries(urls),
    // As many as the busiest markets make in some minutes, so that the logs are full when memory is looked at.
    'stream.executions_kept': EXECUTIONS_KEPT,
  })
  return {
    venues,
    histories,
    markets,
    aggregates,
    service,
    async close() {
      const { code } = await service.stop()
      for (const { server } of venues) await server.close()
      return code
    },
  }
}

function marketEntry(symbol: string, sources: readonly (readonly [string, string])[]): object {
  return {
    symbol,
    base_asset: symbol.slice(0, -3),
    quote_asset: symbol.slice(-3),
    price_decimals: PRICE_DECIMALS[symbol] ?? DECIMALS,
    amount_decimals: DECIMALS,
    depth: SOAK_DEPTH,
    sources: sources.map(([venue, venueSymbol]) => `${venue}:${venueSymbol}`),
  }
}

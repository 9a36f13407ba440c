/** The settings of markets and where their data comes from. */
import { markets } from '../markets.ts'
import { factor, integer, seconds, toggle, url } from '../setting-kinds.ts'

export const MARKETS_SETTINGS = {
  markets: markets({
    initial: [],
    live: true,
    meaning: 'the markets of this service, with the sources of each; demo has three simulated ones',
  }),
  'feeds.kraken.url': url({
    initial: 'wss://ws.kraken.com/v2',
    schemes: ['wss', 'ws'],
    meaning: 'where sources named kraken:SYMBOL connect',
  }),
  'feeds.kraken.rest_url': url({
    initial: 'https://api.kraken.com',
    schemes: ['https', 'http'],
    meaning: 'where they fetch the trades that a connection did not deliver',
  }),
  'feeds.okx.url': url({
    initial: 'wss://ws.okx.com:8443/ws/v5/public',
    schemes: ['wss', 'ws'],
    meaning: 'where sources named okx:SYMBOL connect',
  }),
  'feeds.okx.rest_url': url({
    initial: 'https://www.okx.com',
    schemes: ['https', 'http'],
    meaning: 'where they fetch the trades that a connection did not deliver',
  }),
  'feeds.binance.url': url({
    initial: 'wss://stream.binance.com:9443/stream',
    schemes: ['wss', 'ws'],
    meaning: 'where sources named binance:SYMBOL connect, to the combined streams',
  }),
  'feeds.binance.rest_url': url({
    initial: 'https://api.binance.com',
    schemes: ['https', 'http'],
    meaning:
      'where they fetch lists of pairs, the beginnings of books, and the trades that a connection did not deliver',
  }),
  'feeds.coinbase.url': url({
    initial: 'wss://advanced-trade-ws.coinbase.com',
    schemes: ['wss', 'ws'],
    meaning: 'where sources named coinbase:SYMBOL connect, to Advanced Trade',
  }),
  'feeds.coinbase.rest_url': url({
    initial: 'https://api.coinbase.com',
    schemes: ['https', 'http'],
    meaning: 'where they fetch the list of products and the trades that a connection did not deliver',
  }),
  'simulator.allowed': toggle({
    initial: false,
    live: true,
    meaning: 'whether a market may have the source simulator, whose prices are invented; true in demo',
  }),
  'simulator.seed': integer({ initial: 1, min: 0, max: 4_294_967_295, meaning: 'same seed, same orders' }),
  'simulator.rate': integer({ initial: 40, min: 1, max: 10_000, meaning: 'mean book updates per second and market' }),
  'replay.speed': factor({
    initial: 1,
    min: 0.001,
    max: 1_000_000,
    meaning: 'how many times as fast as they were recorded the files of sources named replay:FILE are played',
  }),
  'replay.from_seconds': seconds({
    initial: 0,
    min: 0,
    max: 999_999_999,
    meaning: 'where in a recording to begin, counted from its first entry',
  }),
  'replay.loop': toggle({ initial: false, meaning: 'whether a recording that has ended starts over' }),
} as const

/** What the venues report about the configured sources; a local server takes the place of the venue. */

import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { createSystemClock } from '../../../src/platform/base/clock.ts'
import { loadConfig } from '../../../src/service/config/load.ts'
import { checkSources } from '../../../src/service/doctor/source-check.ts'
import { once } from '../../support/awaited.ts'
import { type ListedPair, listedPair, startListingVenue } from '../../support/listing-venue.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const closers: (() => void)[] = []

afterEach(() => {
  for (const close of closers.splice(0)) close()
})

async function krakenWith(...pairs: readonly ListedPair[]): Promise<string> {
  const { url, close } = await startListingVenue(pairs)
  closers.push(close)
  return url
}

/** A market with 2 price decimals and 8 amount decimals. */
function market(base: string, ...sources: readonly string[]): object {
  return {
    symbol: `${base}USD`,
    base_asset: base,
    quote_asset: 'USD',
    price_decimals: 2,
    amount_decimals: 8,
    depth: 10,
    sources,
  }
}

function configOf(url: string, markets: readonly object[]) {
  // No server listens at the address of OKX.
  const feeds = { 'feeds.kraken.url': url, 'feeds.okx.url': 'ws://127.0.0.1:9' }
  const flags = { markets: JSON.stringify(markets), 'simulator.allowed': 'true', ...feeds }
  const result = loadConfig({ flags, environment: {}, file: undefined, readFile: () => '' })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result
}

describe('the sources of the markets', () => {
  test('market sources pass when their venues list them no finer than the market', async () => {
    const url = await krakenWith(
      listedPair('BTC/USD'),
      listedPair('ETH/USD', 'online', 2, 8),
      listedPair('XXX/USD', 'delisted'),
    )
    const { config, origins } = configOf(url, [market('BTC', 'kraken:BTC/USD'), market('ETH', 'kraken:ETH/USD')])
    expect(await checkSources(config, origins, createSystemClock())).toEqual({
      problems: [],
      warnings: [],
      goodCount: 2,
    })
  })

  test('market sources are problems with their keys when unlisted, delisted or finer, and warnings when restricted', async () => {
    const url = await krakenWith(
      listedPair('BTC/USD'),
      listedPair('OLD/USD', 'delisted'),
      listedPair('FINE/USD', 'online', 3, 8),
      listedPair('TINY/USD', 'online', 2, 10),
      listedPair('SLOW/USD', 'post_only'),
    )
    const names = ['NONE', 'OLD', 'FINE', 'TINY', 'SLOW']
    const markets = [
      market('SIM', 'simulator'),
      market('BTC', 'kraken:BTC/USD', 'kraken:BTX/USD'),
      ...names.map((base) => market(base, `kraken:${base}/USD`)),
    ]
    const { config, origins } = configOf(url, markets)
    const { problems, warnings, goodCount } = await checkSources(config, origins, createSystemClock())
    expect(problems.map(({ key, message }) => `${key} ${message}`)).toEqual([
      'markets[1].sources[1] is kraken:BTX/USD, which kraken does not list',
      'markets[2].sources[0] is kraken:NONE/USD, which kraken does not list',
      'markets[3].sources[0] is kraken:OLD/USD, which kraken lists as delisted: it has no book',
      'markets[4].sources[0] is kraken:FINE/USD, which has 3 price and 8 amount decimals, but FINEUSD keeps 2 and 8',
      'markets[5].sources[0] is kraken:TINY/USD, which has 2 price and 10 amount decimals, but TINYUSD keeps 2 and 8',
    ])
    expect(problems.every(({ origin }) => origin === '--markets')).toBe(true)
    expect(warnings).toEqual(['markets[6].sources[0]: kraken lists SLOW/USD as post_only. Its book may stand still'])
    expect(goodCount).toBe(2)
  })

  test('market sources cause a warning when the venue refuses the request', async () => {
    const { config, origins } = configOf('ws://127.0.0.1:9', [market('BTC', 'kraken:BTC/USD')])
    const { problems, warnings, goodCount } = await checkSources(config, origins, createSystemClock())
    expect({ problems, goodCount }).toEqual({ problems: [], goodCount: 0 })
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatch(/^kraken could not be asked for its markets’ pairs: .*ECONNREFUSED/)
  })

  test('market sources cause a warning after twelve seconds when the venue accepts the connection and sends nothing', async () => {
    const sockets = new Set<Socket>()
    const server = createServer((socket) => sockets.add(socket.on('error', () => undefined))).listen(0, '127.0.0.1')
    await once(server, 'listening')
    closers.push(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    const { config, origins } = configOf(`ws://127.0.0.1:${port}`, [market('BTC', 'kraken:BTC/USD')])
    const clock = new VirtualClock()
    const checked = checkSources(config, origins, clock)
    await once(server, 'connection')
    clock.advance(12_000)
    expect((await checked).warnings).toEqual([
      'kraken could not be asked for its markets’ pairs: no pair list within 12 s',
    ])
  })

  test('market sources are checked venue by venue: an unavailable venue delays no other', async () => {
    const url = await krakenWith(listedPair('ETH/USD'))
    const { config, origins } = configOf(url, [
      market('BTC', 'okx:BTC-USD', 'kraken:BTC/USD'),
      market('ETH', 'kraken:ETH/USD'),
    ])
    const { problems, warnings, goodCount } = await checkSources(config, origins, createSystemClock())
    expect(problems.map(({ key }) => key)).toEqual(['markets[0].sources[1]'])
    expect(warnings).toEqual([expect.stringMatching(/^okx could not be asked/)])
    expect(goodCount).toBe(1)
  })

  test('the market sources of Bybit and Bitstamp are found, missed, or finer than their market', async () => {
    const bybit = (symbol: string, tickSize: string) => {
      return { symbol, status: 'Trading', priceFilter: { tickSize }, lotSizeFilter: { basePrecision: '0.000001' } }
    }
    const list = [bybit('BTCUSDT', '0.01'), bybit('FINEUSDT', '0.0001')]
    const bitstamp = { url_symbol: 'btcusd', base_decimals: 8, counter_decimals: 0, trading: 'Enabled' }
    const pairs = [bitstamp, { ...bitstamp, url_symbol: 'xrpusd', counter_decimals: 5 }]
    const server = createHttpServer((request, response) =>
      response.end(JSON.stringify(request.url?.startsWith('/v5/') === true ? { retCode: 0, result: { list } } : pairs)),
    )
    await once(server.listen(0, '127.0.0.1'), 'listening')
    closers.push(() => server.close())
    const { port } = server.address() as AddressInfo
    const flags = {
      markets: JSON.stringify([
        market('BTC', 'bybit:BTCUSDT', 'bybit:XUSDT', 'bybit:FINEUSDT'),
        market('XBT', 'bitstamp:btcusd', 'bitstamp:nousd', 'bitstamp:xrpusd'),
      ]),
      'feeds.bybit.rest_url': `http://127.0.0.1:${port}`,
      'feeds.bitstamp.rest_url': `http://127.0.0.1:${port}`,
    }
    const loaded = loadConfig({ flags, environment: {}, file: undefined, readFile: () => '' })
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
    const { problems, goodCount } = await checkSources(loaded.config, loaded.origins, createSystemClock())
    expect(problems.map(({ key, message }) => `${key} ${message}`).toSorted()).toEqual([
      expect.stringMatching(/^markets\[0\]\S* .*bybit:XUSDT, which bybit does not list/),
      expect.stringMatching(/^markets\[0\]\S* .*4/),
      expect.stringMatching(/^markets\[1\]\S* .*bitstamp:nousd, which bitstamp does not list/),
      expect.stringMatching(/^markets\[1\]\S* .*5/),
    ])
    expect(goodCount).toBe(2)
  })

  test('a market source causes a warning when it shares the feed of another pair', async () => {
    const product = { price_increment: '0.01', base_increment: '0.00000001', status: 'online', alias: '' }
    const products = [
      { ...product, product_id: 'BTC-USD', alias_to: ['BTC-USDC'] },
      { ...product, product_id: 'BTC-USDC', alias: 'BTC-USD' },
    ]
    const server = createHttpServer((_request, response) => response.end(JSON.stringify({ products })))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    closers.push(() => server.close())
    const { port } = server.address() as AddressInfo
    const flags = {
      markets: JSON.stringify([market('BTC', 'coinbase:BTC-USD', 'coinbase:BTC-USDC', 'coinbase:BTC-USDX')]),
      'feeds.coinbase.rest_url': `http://127.0.0.1:${port}`,
    }
    const loaded = loadConfig({ flags, environment: {}, file: undefined, readFile: () => '' })
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
    const { problems, warnings, goodCount } = await checkSources(loaded.config, loaded.origins, createSystemClock())
    expect(problems.map(({ key, message }) => `${key} ${message}`)).toEqual([
      'markets[0].sources[2] is coinbase:BTC-USDX, which coinbase does not list',
    ])
    expect(warnings).toEqual(['markets[0].sources[1]: coinbase sends BTC-USD’s book and trades for BTC-USDC'])
    expect(goodCount).toBe(2)
  })

  test('market sources cause a warning when they are more books than the venue allows on a connection', async () => {
    const markets = Array.from({ length: 31 }, (_, index) => market(`B${index}`, `coinbase:B${index}-USD`))
    const flags = { markets: JSON.stringify(markets), 'feeds.coinbase.rest_url': 'http://127.0.0.1:9' }
    const loaded = loadConfig({ flags, environment: {}, file: undefined, readFile: () => '' })
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
    const { warnings } = await checkSources(loaded.config, loaded.origins, createSystemClock())
    expect(warnings).toEqual([
      'the venue takes 30 books on a connection, and markets name 31 of coinbase; name another feed with the kind coinbase for the others',
      expect.stringMatching(/^coinbase could not be asked/),
    ])
  })

  test('the source check asks no venue when no market names one', async () => {
    const { config, origins } = configOf('ws://127.0.0.1:9', [market('SIM', 'simulator')])
    expect(await checkSources(config, origins, createSystemClock())).toEqual({
      problems: [],
      warnings: [],
      goodCount: 0,
    })
  })
})

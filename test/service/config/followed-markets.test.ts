/** Which markets a process follows whether they are wanted or not, by its roles and settings. */
import { expect, test } from 'vitest'
import { FOLLOW_ALL_MARKETS_MAX, followsAlways } from '../../../src/service/config/followed-markets.ts'
import { loadConfig } from '../../../src/service/config/load.ts'

function configOf(count: number, flags: Record<string, string> = {}) {
  const markets = Array.from({ length: count }, (_, index) => ({
    symbol: `M${index}USD`,
    base_asset: `M${index}`,
    quote_asset: 'USD',
    price_decimals: 2,
    amount_decimals: 8,
    depth: 10,
    sources: ['kraken:BTC/USD'],
    feed_group: index === 0 ? 'first' : 'others',
  }))
  const loaded = loadConfig({
    flags: {
      markets: JSON.stringify(markets),
      'bus.url': 'nats://127.0.0.1:4222',
      'store.url': 'postgres://127.0.0.1/tidegate',
      roles: '[gateway]',
      ...flags,
    },
    environment: {},
    file: undefined,
    readFile: () => '',
  })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return loaded.config
}

const countOf = (count: number, flags?: Record<string, string>) => followsAlways(configOf(count, flags)).size

test('a process follows all markets by default up to 500, and only wanted ones above', () => {
  expect(countOf(FOLLOW_ALL_MARKETS_MAX)).toBe(500)
  expect(countOf(FOLLOW_ALL_MARKETS_MAX + 1)).toBe(0)
  expect(configOf(FOLLOW_ALL_MARKETS_MAX + 1)['stream.follow']).toBe('wanted')
  expect(countOf(FOLLOW_ALL_MARKETS_MAX + 1, { 'stream.follow': 'all' })).toBe(501)
  expect(countOf(3, { 'stream.follow': 'wanted' })).toBe(0)
})

test('a feed follows the markets of the groups that it may lead, and a recorder follows all', () => {
  const wanted = { 'stream.follow': 'wanted' }
  expect(countOf(3, { ...wanted, roles: '[feed, gateway]' })).toBe(3)
  expect([...followsAlways(configOf(3, { ...wanted, roles: '[feed]', 'feed.groups': '[first]' }))]).toEqual(['M0USD'])
  expect(countOf(3, { ...wanted, 'recording.dir': '/tmp/recordings' })).toBe(3)
})

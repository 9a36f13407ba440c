/** Two feeds of one kind in one process: each has its own connection, its own name and its own metrics. */
import { afterEach, expect, it } from 'vitest'
import { createLog } from '../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { loadConfig } from '../../../src/service/config/load.ts'
import { createFeedSource } from '../../../src/streaming/markets/sources.ts'
import { type ListingVenue, listedPair, startListingVenue } from '../../support/listing-venue.ts'
import { SourceListener } from '../../support/source-listener.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const opened: (() => unknown)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

it("a market's sources are read side by side under their own names", async () => {
  const venues = [
    await startListingVenue([listedPair('ETH/USD')]),
    await startListingVenue([listedPair('BTC/USD', 'delisted')]),
  ]
  const [{ url }, { url: secondUrl }] = venues as [ListingVenue, ListingVenue]
  const feeds = { kraken: { url }, 'kraken-2': { kind: 'kraken', url: secondUrl, rest_url: 'http://127.0.0.1:9' } }
  const loaded = loadConfig({
    flags: { feeds: JSON.stringify(feeds) },
    environment: {},
    file: undefined,
    readFile: () => '',
  })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const metrics = createMetricsRegistry()
  const parts = { clock: new VirtualClock(), random: () => 0, log: createLog('silent'), metrics }
  const listeners = Object.keys(feeds).map((name) => {
    const listener = new SourceListener('BTC/USD')
    const source = createFeedSource(loaded.config, { ...parts, name, markets: [listener.sourceMarket] })
    source.start()
    opened.push(() => source.stop())
    return listener
  })
  opened.unshift(...venues.map(({ close }) => close))
  for (const listener of listeners) await listener.until('an answer', () => listener.reasons().length > 0)
  expect(listeners.map((listener) => listener.reasons())).toEqual([
    ['kraken does not list BTC/USD'],
    ['kraken-2 lists BTC/USD as delisted'],
  ])
  const text = await metrics.metrics()
  for (const name of Object.keys(feeds)) {
    expect(text).toContain(`tidegate_feed_messages_total{venue="${name}"} 1`)
    expect(text).toContain(`tidegate_feed_last_message_age_seconds{venue="${name}"}`)
  }
  expect(() => createFeedSource(loaded.config, { ...parts, name: 'nowhere', markets: [] })).toThrow('no feed nowhere')
})

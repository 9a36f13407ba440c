import { afterEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/service/config/load.ts'
import { checkBooks } from '../../../src/streaming/markets/book-check.ts'
import { scriptKraken } from '../../support/kraken-script.ts'
import { listedPair, startListingVenue } from '../../support/listing-venue.ts'
import { startKrakenServer } from '../../support/venues/kraken.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const closers: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

const xmr = { symbol: 'XMR/USD', depth: 10, pricePrecision: 2, quantityPrecision: 8 }
const book = scriptKraken(xmr, [
  {
    type: 'snapshot',
    bids: [[350.1, 1]],
    asks: [
      [350.2, 2],
      [99_999_997, 1],
    ],
  },
])

async function venue(): Promise<string> {
  const server = await startKrakenServer({ recordings: [book], speed: Infinity })
  closers.push(() => server.close())
  return server.url
}

function configOf(url: string, priceDecimals: number) {
  const market = {
    symbol: 'XMRUSD',
    base_asset: 'XMR',
    quote_asset: 'USD',
    price_decimals: priceDecimals,
    amount_decimals: 8,
    depth: 10,
    sources: ['kraken:XMR/USD'],
  }
  const flags = { markets: JSON.stringify([market]), 'feeds.kraken.url': url }
  const result = loadConfig({ flags, environment: {}, file: undefined, readFile: () => '' })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.config
}

describe('books that a market cannot hold as a whole', () => {
  it('the book check names books that a market cannot hold as a whole, with the level before which they end', async () => {
    expect(await checkBooks(configOf(await venue(), 8), new VirtualClock())).toEqual([
      "markets[0].sources[0]: XMRUSD cannot hold kraken's ask of 1 at 99999997: the asks of XMR/USD end before it",
    ])
  })

  it('the book check looks for no such book where prices have few decimals', async () => {
    expect(await checkBooks(configOf(await venue(), 6), new VirtualClock())).toEqual([])
  })

  it('the book check knows nothing where the venue cannot be asked', async () => {
    expect(await checkBooks(configOf('ws://127.0.0.1:9', 8), new VirtualClock())).toEqual([])
  })

  it('the book check waits no longer than 5 s for a venue', async () => {
    const silent = await startListingVenue([listedPair('XMR/USD')])
    closers.push(async () => silent.close())
    const clock = new VirtualClock()
    const looking = checkBooks(configOf(silent.url, 8), clock)
    clock.advance(5_000)
    expect(await looking).toEqual([])
  })
})

/** Bitstamp over a real socket, at a venue that plays a recording: what only Bitstamp does. */

import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../../../support/awaited.ts'
import { SourceListener } from '../../../../support/source-listener.ts'
import {
  type BitstampServerOptions,
  bitstampRecordings,
  startBitstampServer,
} from '../../../../support/venues/bitstamp.ts'
import { FedMarket } from '../../../../support/venues/fed-market.ts'
import { type Reading, readVenue } from '../../../../support/venues/reading.ts'
import type { VenueServer } from '../../../../support/venues/server.ts'
import { VenueHistory } from '../../../../support/venues/venue-history.ts'

const DEPTH = 200
const BTC = 'btcusd'
/** More than the first delay before a new connection. */
const RECONNECT_MILLISECONDS = 1_000
/** At the shortest, with a random number of 0. */
const RECONCILE_MILLISECONDS = 45_000

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close()
})

const bitcoin = () => bitstampRecordings().filter(({ pair }) => pair === BTC)

async function serve(options: Partial<BitstampServerOptions>): Promise<{ server: VenueServer; history: VenueHistory }> {
  const history = new VenueHistory(DEPTH)
  const server = await startBitstampServer({
    speed: Number.POSITIVE_INFINITY,
    recordings: bitcoin(),
    onPlayed: history.onPlayed,
    ...options,
  })
  opened.push(server)
  history.begin(server)
  return { server, history }
}

function read(server: VenueServer, markets: readonly (FedMarket | SourceListener)[]): Reading {
  const reading = readVenue('bitstamp', server, markets)
  opened.push({ close: () => reading.source.stop() })
  return reading
}

/** Passes time on the connector's clock; the answer to a ping shows that the connection lives. */
async function pass({ clock, messages }: Reading, milliseconds: number): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += 2_000) {
    const before = await messages()
    clock.advance(2_000)
    await until('another message', async () => (await messages()) > before)
  }
}

/** Until the book is live: the clock passes the delays between two requests for a snapshot. */
async function goLive(market: FedMarket, reading: Reading): Promise<void> {
  await until(
    'a live book',
    () => market.isLive,
    () => pass(reading, 2_000),
  )
}

describe('Bitstamp', () => {
  it('Bitstamp gives the books and the trades of the recording', async () => {
    const { server, history } = await serve({ speed: 40 })
    const market = new FedMarket(BTC, history, DEPTH)
    const reading = read(server, [market])
    await goLive(market, reading)
    await server.finished
    const { verifier } = market
    const count = server.tracks.get(BTC)?.script.trades.length ?? 0
    await market.until('the last book and trade', () => verifier.isCurrent && verifier.executions >= count)
    expect({ ...market, problems: verifier.problems }).toMatchObject({ reasons: [], missed: [], problems: [] })
  })

  it('Bitstamp finds a message that the venue did not send by the next snapshot, and publishes the difference', async () => {
    let go: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      go = resolve
    })
    const { server, history } = await serve({ hold: (_symbol, index) => (index === 60 ? held : undefined), speed: 200 })
    const market = new FedMarket(BTC, history, DEPTH)
    const reading = read(server, [market])
    await goLive(market, reading)
    await market.until('the middle', () => server.tracks.get(BTC)?.played === 60 && market.verifier.isCurrent)
    server.pause()
    const track = server.tracks.get(BTC)
    track?.playUnseen(6)
    const lost = history.now(BTC)
    expect(market.verifier.state).not.toBe(lost)
    const asked = () => server.said.filter((text) => text.startsWith('/api/v2/order_book/')).length
    const before = asked()
    await pass(reading, RECONCILE_MILLISECONDS)
    await server.until('a snapshot', () => asked() > before)
    go()
    server.resume()
    await market.until('the book of the venue', () => market.verifier.isCurrent)
    expect(server.said.filter((text) => text.includes('bts:unsubscribe'))).toEqual([])
    expect(market.reasons).toEqual([])
  })

  it('Bitstamp begins a new connection when the venue asks for one, and has the trades between both', async () => {
    const { server, history } = await serve({ speed: 40, isRepeated: true })
    const market = new FedMarket(BTC, history, DEPTH)
    const reading = read(server, [market])
    await goLive(market, reading)
    await market.until('an execution', () => market.verifier.executions > 0)
    server.broadcast('{"event":"bts:request_reconnect","channel":"","data":""}')
    await market.until('lost', () => market.reasons.length > 0)
    expect(market.reasons[0]).toContain('the venue asks for a new connection')
    server.tracks.get(BTC)?.playUnseen(60)
    const { executions } = market.verifier
    reading.clock.advance(RECONNECT_MILLISECONDS)
    await goLive(market, reading)
    await market.until('more executions', () => market.verifier.executions > executions + 4)
    expect(market.missed).toEqual([])
    expect(market.verifier.problems).toEqual([])
  })

  it('Bitstamp has a pair that is disabled halted, with its book', async () => {
    const { server, history } = await serve({ speed: 40, disabled: [BTC] })
    const market = new FedMarket(BTC, history, DEPTH)
    const reading = read(server, [market])
    await goLive(market, reading)
    expect(reading.source.instrument?.(market.source)).toEqual({ state: 'HALTED', reason: 'Disabled' })
    expect(reading.source.notices?.(market.source)).toEqual(['bitstamp lists btcusd as Disabled'])
  })

  it('Bitstamp gives each execution its identifier and the side of its taker', async () => {
    const { server } = await serve({})
    const market = new SourceListener(BTC, { priceDecimals: 0, amountDecimals: 8 })
    read(server, [market])
    const executions = () => market.events.flatMap((event) => (event.type === 'update' ? event.executions : []))
    await server.finished
    const trades = server.tracks.get(BTC)?.script.trades ?? []
    await market.until('all executions', () => executions().length >= trades.length)
    expect(executions().map(({ id, side }) => [id, side])).toEqual(trades.map(({ id, side }) => [String(id), side]))
  })
})

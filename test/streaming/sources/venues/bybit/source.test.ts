/** Bybit over a real socket, at a venue that plays a recording: what only Bybit does. */

import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../../../support/awaited.ts'
import { SourceListener } from '../../../../support/source-listener.ts'
import { type BybitServerOptions, bybitRecordings, startBybitServer } from '../../../../support/venues/bybit.ts'
import { FedMarket } from '../../../../support/venues/fed-market.ts'
import { type Reading, readVenue } from '../../../../support/venues/reading.ts'
import type { VenueServer } from '../../../../support/venues/server.ts'
import { VenueHistory } from '../../../../support/venues/venue-history.ts'

const DEPTH = 50
const BTC = 'BTCUSDT'
/** More than the first delay before a new connection. */
const RECONNECT_MILLISECONDS = 1000

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close()
})

async function serve(options: Partial<BybitServerOptions>): Promise<{ server: VenueServer; history: VenueHistory }> {
  const history = new VenueHistory(DEPTH)
  const server = await startBybitServer({
    speed: Number.POSITIVE_INFINITY,
    recordings: bybitRecordings(),
    onPlayed: history.onPlayed,
    ...options,
  })
  opened.push(server)
  history.begin(server)
  return { server, history }
}

const bitcoin = () => bybitRecordings().filter(({ symbol }) => symbol === BTC)

function read(server: VenueServer, markets: readonly (FedMarket | SourceListener)[]): Reading {
  const reading = readVenue('bybit', server, markets)
  opened.push({ close: () => reading.source.stop() })
  return reading
}

describe('Bybit', () => {
  it('Bybit gives every book and every trade of the recording', async () => {
    const { server, history } = await serve({})
    const markets = bybitRecordings().map(({ symbol }) => new FedMarket(symbol, history, DEPTH))
    read(server, markets)
    await server.finished
    for (const market of markets) {
      const { verifier } = market
      const count = server.tracks.get(verifier.symbol)?.script.trades.length ?? 0
      await market.until('the last book and trade', () => verifier.isCurrent && verifier.executions >= count)
      expect({ ...market, problems: verifier.problems }).toMatchObject({ reasons: [], missed: [], problems: [] })
      expect(verifier.executions).toBe(count)
    }
  })

  it('Bybit gives each execution its identifier and the side of its taker', async () => {
    const { server } = await serve({ recordings: bitcoin() })
    const market = new SourceListener(BTC, { priceDecimals: 2, amountDecimals: 6 })
    read(server, [market])
    const executions = () => market.events.flatMap((event) => (event.type === 'update' ? event.executions : []))
    await server.finished
    const { trades } = (server.tracks.get(BTC) as NonNullable<ReturnType<typeof server.tracks.get>>).script
    await market.until('all executions', () => executions().length >= trades.length)
    expect(executions().map(({ id, side }) => [id, side])).toEqual(
      trades.map(({ id, side }) => [`229000${String(id).padStart(13, '0')}`, side]),
    )
  })

  it('Bybit takes a snapshot with the update id 1 after a restart of the service, and stays live', async () => {
    let isRestarted = false
    const { server, history } = await serve({
      recordings: bitcoin(),
      corrupt: (text, symbol, index) => {
        if (index < 100 || isRestarted || !text.includes('orderbook')) return text
        isRestarted = true
        // The delta is contained in the snapshot that is sent instead of it.
        const { script } = server.tracks.get(symbol) as { script: { restart?: () => string } }
        return script.restart?.() ?? text
      },
    })
    const market = new FedMarket(BTC, history, DEPTH)
    read(server, [market])
    await server.finished
    await market.until('the last book', () => market.verifier.isCurrent)
    expect(isRestarted).toBe(true)
    expect({ ...market, problems: market.verifier.problems }).toMatchObject({ reasons: [], missed: [], problems: [] })
  })

  it.each([
    [3, 'all of them, where the latest trades reach the last one known', 0],
    [80, 'a report, and what the venue still has, where they do not', 1],
  ])('Bybit after %i trades that no connection delivered gives %s', async (unseen, _what, gaps) => {
    let go: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      go = resolve
    })
    const { server, history } = await serve({
      recordings: bitcoin(),
      hold: (_symbol, index) => (index === 60 ? held : undefined),
      speed: 40,
      isRepeated: unseen > 60,
    })
    const market = new FedMarket(BTC, history, DEPTH)
    const { clock } = read(server, [market])
    const script = history.script(BTC)
    const isRead = () => market.verifier.isCurrent && market.verifier.executions === script.trades.length
    await market.until('the middle', () => server.tracks.get(BTC)?.played === 60 && isRead())
    const before = script.trades.length
    server.pause()
    server.disconnectAll()
    await market.until('lost', () => market.reasons.length > 0)
    while (script.trades.length < before + unseen) server.tracks.get(BTC)?.playUnseen(1)
    clock.advance(RECONNECT_MILLISECONDS)
    go()
    await market.until('live', () => market.isLive && market.verifier.isCurrent)
    server.resume()
    const fetched = () => server.said.filter((text) => text.startsWith('/v5/market/recent-trade')).length
    await market.until('a trade after it', () => market.verifier.executions > before + (gaps === 0 ? unseen : 50))
    expect(fetched()).toBe(1)
    expect(market.missed).toEqual(
      gaps === 0 ? [] : [`trades of ${BTC} may be missing: the venue's latest trades do not reach the last one known`],
    )
    expect(market.verifier.problems).toEqual([])
  })

  it('a Bybit connection stays alive on answers to pings alone', async () => {
    const { server, history } = await serve({ recordings: bitcoin() })
    const market = new FedMarket(BTC, history, DEPTH)
    const { clock, messages } = read(server, [market])
    await server.finished
    await market.until('the end', () => market.verifier.isCurrent)
    for (let round = 0; round < 3; round++) {
      const before = await messages()
      clock.advance(2_000)
      await until('another message', async () => (await messages()) > before)
    }
    await server.until('three pings', () => server.said.filter((text) => text === '{"op":"ping"}').length === 3)
    expect(market.reasons).toEqual([])
  })
})

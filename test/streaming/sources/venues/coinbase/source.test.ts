/** Coinbase over a real socket, at a local venue that plays what was recorded: what only Coinbase does. */

import { afterEach, describe, expect, it } from 'vitest'
import { ASK } from '../../../../../src/streaming/market/event.ts'
import { until } from '../../../../support/awaited.ts'
import { capturesMissing } from '../../../../support/captures.ts'
import { SourceListener } from '../../../../support/source-listener.ts'
import {
  COINBASE_BOOK,
  COINBASE_CAPTURES,
  COINBASE_TRADES,
  type CoinbaseRecording,
  type CoinbaseServerOptions,
  coinbaseBook,
  coinbaseFrame,
  coinbaseRecordings,
  startCoinbaseServer,
} from '../../../../support/venues/coinbase.ts'
import { FedMarket } from '../../../../support/venues/fed-market.ts'
import { readVenue } from '../../../../support/venues/reading.ts'
import type { VenueServer } from '../../../../support/venues/server.ts'
import { VenueHistory } from '../../../../support/venues/venue-history.ts'

/** Levels per side that are compared; the books have a thousand. */
const DEPTH = 50
const SKL = 'SKL-USD'
const DASH = 'DASH-BTC'
const NU = 'NU-GBP'
/** An ask far above any price. */
const FAR = 'CRV-EUR'
/** More than the first delay before a new connection. */
const RECONNECT_MILLISECONDS = 1000
const REFUSED_MILLISECONDS = 60_000
const GROUP_REFUSED_MILLISECONDS = 1_000
/** More than the venue's rate of requests lets one wait. */
const RATE_MILLISECONDS = 1000
const BEAT_MILLISECONDS = 2_500
const NEVER_MILLISECONDS = 3_600_000

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close()
})

/**
 * A venue whose heartbeats come when the test says so, and where nothing happens to a product before its trades are
 * subscribed too.
 */
async function serve(
  options: Pick<CoinbaseServerOptions, 'hold'> & Partial<CoinbaseServerOptions>,
): Promise<{ server: VenueServer; history: VenueHistory }> {
  const history = new VenueHistory(DEPTH)
  const isAsked = (symbol: string) =>
    server.said.some((text) => text.includes('market_trades') && text.includes(symbol))
  const server: VenueServer = await startCoinbaseServer({
    speed: Number.POSITIVE_INFINITY,
    recordings: coinbaseRecordings(),
    heartbeatMilliseconds: NEVER_MILLISECONDS,
    onPlayed: history.onPlayed,
    ...options,
    hold: (symbol, index) =>
      index > 0 && !isAsked(symbol)
        ? server.until(`the trades of ${symbol}`, () => isAsked(symbol))
        : options.hold?.(symbol, index),
  })
  opened.push(server)
  history.begin(server)
  return { server, history }
}

function read(server: VenueServer, markets: readonly (FedMarket | SourceListener)[]) {
  const { clock, source } = readVenue('coinbase', server, markets)
  opened.push({ close: () => source.stop() })
  /** Time passes on a connection that lives. */
  const live = async (milliseconds: number) => {
    for (let passed = 0; passed < milliseconds; passed += BEAT_MILLISECONDS) await step()
  }
  const step = async () => {
    server.heartbeat()
    await server.heard()
    clock.advance(BEAT_MILLISECONDS)
  }
  const liveUntil = (what: string, isMet: () => boolean) => until(what, isMet, step)
  return { clock, source, live, liveUntil }
}

function recordingsOf(...products: readonly string[]) {
  return coinbaseRecordings().filter(({ product }) => products.includes(product.product_id))
}

/** Lets the products stand still before these frames, until it is called. */
function holdAt(indexes: Readonly<Record<string, number>>) {
  let go: () => void = () => undefined
  const held = new Promise<void>((resolve) => {
    go = resolve
  })
  return { go, hold: (symbol: string, index: number) => (index < (indexes[symbol] ?? index + 1) ? undefined : held) }
}

/** Where the frames of a product's recording are that say this. */
function framesWith(product: string, part: string): number[] {
  const [recording] = recordingsOf(product)
  return recording?.frames.flatMap(({ text }, index) => (text.includes(part) ? [index] : [])) ?? []
}

describe.skipIf(capturesMissing(...COINBASE_CAPTURES))('Coinbase (needs venue recordings)', () => {
  it('Coinbase gives every book and every trade of nine products, and no trade from before', async () => {
    const recordings = coinbaseRecordings().filter(({ product }) => product.product_id !== FAR)
    const { server, history } = await serve({ recordings })
    const markets = recordings.map(({ product }) => new FedMarket(product.product_id, history, DEPTH))
    read(server, markets)
    await server.finished
    let executions = 0
    for (const market of markets) {
      const { verifier } = market
      const count = history.trades(verifier.symbol).length
      await market.until('the last book and trade', () => verifier.isCurrent && verifier.executions >= count)
      expect({ ...market, problems: verifier.problems }).toMatchObject({ reasons: [], missed: [], problems: [] })
      expect(verifier.executions).toBe(count)
      executions += count
    }
    expect(executions).toBe(97)
  })

  it('Coinbase follows a book with an ask at 888888004, and ends before it where a market has too many price decimals', async () => {
    const { server, history } = await serve({ recordings: recordingsOf(FAR) })
    const fine = new FedMarket(FAR, history, DEPTH)
    const good = new SourceListener(FAR, { priceDecimals: 4, amountDecimals: 2, depth: 0 })
    for (const market of [fine, good]) read(server, [market])
    await fine.until('live', () => fine.isLive)
    expect({ reasons: fine.reasons, problems: fine.verifier.problems }).toEqual({ reasons: [], problems: [] })
    await good.until('live', () => good.count('snapshot') === 1)
    expect(good.side(ASK).at(-1)).toMatch(/^888888004\.0000:/)
  })

  it.each([
    ['those that the venue repeats', 50],
    ['a page that is fetched', 1],
  ])('Coinbase fills the trades of an outage from %s', async (_what, tradesRepeated) => {
    const trades = framesWith(SKL, 'market_trades')
    const { go, hold } = holdAt({ [SKL]: (trades[2] as number) + 1 })
    const { server, history } = await serve({ recordings: recordingsOf(SKL), hold, tradesRepeated })
    const market = new FedMarket(SKL, history, DEPTH)
    const { clock } = read(server, [market])
    await market.until('the middle', () => market.verifier.isCurrent && market.verifier.executions === 3)
    server.pause()
    server.disconnectAll()
    await market.until('lost', () => !market.isLive)
    const played = () => history.trades(SKL).length
    while (played() < 5) server.tracks.get(SKL)?.playUnseen(1)
    clock.advance(RECONNECT_MILLISECONDS)
    go()
    await market.until('live', () => market.isLive && market.verifier.isCurrent)
    await market.until('the trades of the outage', () => market.verifier.executions === 5)
    server.resume()
    await server.finished
    await market.until('the end', () => market.verifier.isCurrent && market.verifier.executions >= played())
    expect(market.verifier.executions).toBe(played())
    expect(market.missed).toEqual([])
    expect(market.verifier.problems).toEqual([])
  })

  it.each(['dropped', 'reordered'] as const)(
    'Coinbase begins a new connection when a frame was %s, whatever its channel, and then has all trades and the right book',
    async (kind) => {
      for (const channel of [COINBASE_BOOK, COINBASE_TRADES]) {
        const { server, history } = await serve({ recordings: recordingsOf(DASH, SKL) })
        const markets = [DASH, SKL].map((product) => new FedMarket(product, history, DEPTH))
        const [dash] = markets as [FedMarket]
        const { clock } = read(server, markets)
        await dash.until('live', () => dash.isLive)
        server.faults.arm({ kind, channel, symbol: DASH })
        for (const market of markets) await market.until('lost', () => market.reasons.length > 0)
        expect(dash.reasons[0]).toMatch(/^frame [0-9]+ came where frame [0-9]+ is due$/)
        clock.advance(RECONNECT_MILLISECONDS)
        await server.finished
        for (const market of markets) {
          const count = history.trades(market.verifier.symbol).length
          await market.until('the end', () => market.verifier.isCurrent && market.verifier.executions === count)
          expect({ ...market, problems: market.verifier.problems }).toMatchObject({ missed: [], problems: [] })
        }
      }
    },
  )

  it('Coinbase notices by the next heartbeat that the last frame was lost', async () => {
    const { server, history } = await serve({ recordings: recordingsOf(DASH) })
    const market = new FedMarket(DASH, history, DEPTH)
    read(server, [market])
    await server.finished
    await market.until('the end', () => market.verifier.isCurrent && market.verifier.executions === 15)
    server.skipNumbers()
    server.heartbeat()
    await market.until('lost', () => !market.isLive)
    expect(market.reasons).toEqual([expect.stringMatching(/^frame [0-9]+ came where frame [0-9]+ is due$/)])
  })

  it('Coinbase asks again for a book whose snapshot does not come, also when another one does', async () => {
    const { server, history } = await serve({ recordings: recordingsOf(SKL, DASH) })
    const market = new FedMarket(DASH, history, DEPTH)
    server.faults.arm({ kind: 'dropped', channel: COINBASE_BOOK, symbol: DASH })
    const { live, clock } = read(server, [market])
    await server.until('the book is asked for', () => server.said.some((text) => text.includes('level2')))
    server.broadcast(coinbaseBook(SKL, 'snapshot', { bids: [['1', '1']], asks: [['2', '1']] }))
    // What is dropped takes its number with it: the connection begins again, and the second one has a snapshot.
    await market.until('lost', () => market.reasons.length > 0)
    expect(market.verifier.matched).toBe(0)
    clock.advance(RECONNECT_MILLISECONDS)
    await live(BEAT_MILLISECONDS)
    await market.until('live', () => market.isLive)
    expect(market.verifier.problems).toEqual([])
  })

  it('Coinbase asks again for a product that was refused, while the others continue', async () => {
    const { server, history } = await serve({ recordings: recordingsOf(SKL, DASH) })
    server.refused.add(SKL)
    const [skl, dash] = [SKL, DASH].map((product) => new FedMarket(product, history, DEPTH)) as [FedMarket, FedMarket]
    const { live } = read(server, [skl, dash])
    // One request for both is refused whole; a second later each is asked for by itself.
    await server.until('both are asked for', () => asked(server, COINBASE_TRADES, SKL) === 1)
    await skl.until('refused', () => skl.reasons.at(-1)?.includes('refused') === true)
    expect(skl.reasons.at(-1)).toEqual(`coinbase refused ${SKL}: ${SKL} is not a product`)
    await live(GROUP_REFUSED_MILLISECONDS)
    await dash.until('live', () => dash.isLive)
    server.refused.clear()
    await live(REFUSED_MILLISECONDS + BEAT_MILLISECONDS)
    await skl.until('live', () => skl.isLive)
    await server.until('the trades are asked for again', () => asked(server, COINBASE_TRADES, SKL) === 3)
    expect([skl, dash].map(({ verifier }) => verifier.problems)).toEqual([[], []])
    expect(dash.reasons).toEqual([`coinbase refused ${DASH}: ${SKL} is not a product`])
  })

  it('Coinbase has no book of a product that is not listed, delisted, or finer than the market, and continues with others', async () => {
    const fine = { priceDecimals: 8, amountDecimals: 8, depth: 0 }
    const old = { product_id: 'OLD-USD', price_increment: '0.01', base_increment: '1', status: 'delisted' }
    const { server } = await serve({ recordings: recordingsOf(NU), otherProducts: [old] })
    const good = new SourceListener(NU, fine)
    const coarse = new SourceListener(NU, { ...fine, symbol: 'COARSE', amountDecimals: 0 })
    const unknown = new SourceListener('NO-SUCH', fine)
    const delisted = new SourceListener('OLD-USD', fine)
    const { source, liveUntil } = read(server, [good, coarse, unknown, delisted])
    await good.until('live', () => good.count('snapshot') === 1)
    expect(unknown.reasons()).toEqual(['coinbase does not list NO-SUCH'])
    expect(delisted.reasons()).toEqual(['coinbase lists OLD-USD as delisted'])
    expect(coarse.reasons()).toEqual(["coinbase's NU-GBP has 4 price and 6 amount decimals, COARSE keeps 8 and 0"])
    expect(source.notices(good.sourceMarket)).toEqual([])
    await server.finished
    const [recording] = recordingsOf(NU)
    const list = (status: string) => JSON.stringify({ products: [{ ...recording?.product, status }] })
    server.httpFaults.push({ status: 200, body: list('delisted') }, { status: 200, body: list('offline') })
    await liveUntil('a reason', () => good.reasons().length === 1)
    expect(good.reasons()).toEqual(['coinbase lists NU-GBP as delisted'])
    const snapshots = good.count('snapshot')
    await liveUntil('another snapshot', () => good.count('snapshot') > snapshots)
    expect(source.notices(good.sourceMarket)).toEqual(['coinbase lists NU-GBP as offline'])
  })

  it('Coinbase reads one feed for the products that share it, and reports that', async () => {
    const [{ product }] = recordingsOf(DASH) as [CoinbaseRecording]
    const alias = { ...product, product_id: 'DASH-USDC', alias: DASH }
    const { server, history } = await serve({ recordings: recordingsOf(DASH), otherProducts: [alias] })
    const dash = new FedMarket(DASH, history, DEPTH)
    const usdc = new SourceListener('DASH-USDC', { priceDecimals: 8, amountDecimals: 8, depth: DEPTH })
    const { source, clock } = read(server, [dash, usdc])
    await server.finished
    await dash.until('the end', () => dash.verifier.isCurrent && dash.verifier.executions === 15)
    expect(usdc.states.at(-1)).not.toBe('')
    expect(usdc.events.flatMap((event) => (event.type === 'update' ? event.executions : []))).toHaveLength(15)
    expect(source.notices(usdc.sourceMarket)).toEqual(['coinbase sends DASH-BTC’s book and trades for DASH-USDC'])
    expect(source.notices(dash.source)).toEqual([])
    expect(server.said.filter((text) => text.includes('level2'))).toEqual([
      JSON.stringify({ type: 'subscribe', product_ids: [DASH], channel: 'level2' }),
    ])
    source.remove(dash.source)
    const late = new FedMarket(DASH, history, DEPTH)
    source.add(late.source)
    clock.advance(RATE_MILLISECONDS)
    await late.until('live', () => late.isLive && late.verifier.isCurrent)
    await usdc.until('a second snapshot', () => usdc.count('snapshot') === 2)
    expect(usdc.reasons()).toEqual([])
  })

  it('Coinbase begins a new connection after a frame that is not JSON', async () => {
    const { server, history } = await serve({ recordings: recordingsOf(DASH) })
    const market = new FedMarket(DASH, history, DEPTH)
    const { clock } = read(server, [market])
    await server.finished
    await market.until('the end', () => market.verifier.isCurrent && market.verifier.executions === 15)
    server.broadcast('{"channel":"l2_da')
    await market.until('lost', () => !market.isLive)
    clock.advance(RECONNECT_MILLISECONDS)
    await market.until('live again', () => market.isLive && market.verifier.isCurrent)
    expect(market.missed).toEqual([])
    expect(market.verifier.problems).toEqual([])
  })

  it.each([
    ['cannot be right', coinbaseBook(SKL, 'update', { bids: [['-1', '1']], asks: [] }), 'cannot take price -1'],
    [
      'cannot be read',
      coinbaseFrame('l2_data', '2026-08-09T10:00:00Z', [{ type: 'update', product_id: SKL }]),
      'an unreadable l2_data event, type update',
    ],
  ])('Coinbase subscribes a book again that %s, and nothing else', async (_what, text, reason) => {
    const { server, history } = await serve({ recordings: recordingsOf(SKL, DASH) })
    const [skl, dash] = [SKL, DASH].map((product) => new FedMarket(product, history, DEPTH)) as [FedMarket, FedMarket]
    const { clock } = read(server, [skl, dash])
    await server.finished
    for (const market of [skl, dash]) await market.until('the end', () => market.isLive && market.verifier.isCurrent)
    server.broadcast(text)
    await skl.until('lost', () => !skl.isLive)
    clock.advance(RATE_MILLISECONDS)
    await skl.until('live again', () => skl.isLive && skl.verifier.isCurrent)
    expect(skl.reasons).toEqual([reason])
    expect(dash.reasons).toEqual([])
    expect(server.said.filter((said) => said.includes('unsubscribe'))).toEqual([
      JSON.stringify({ type: 'unsubscribe', product_ids: [SKL], channel: 'level2' }),
    ])
  })
})

/** How often a product was asked for. */
function asked(server: VenueServer, channel: string, product: string): number {
  return server.said.filter((text) => text.includes(channel) && text.includes(product)).length
}

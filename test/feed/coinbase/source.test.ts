/** Coinbase over a real socket, at a venue that plays what was recorded: what only Coinbase does. */
import { afterEach, describe, expect, it } from 'vitest'
import { ASK } from '../../../src/market/event.ts'
import { capturesMissing } from '../../support/captures.ts'
import { SourceListener } from '../../support/source-listener.ts'
import {
  COINBASE_CAPTURES,
  type CoinbaseServerOptions,
  coinbaseRecordings,
  startCoinbaseServer,
} from '../../support/venues/coinbase.ts'
import { FedMarket } from '../../support/venues/fed-market.ts'
import { readVenue } from '../../support/venues/reading.ts'
import type { VenueServer } from '../../support/venues/server.ts'
import { VenueTruth } from '../../support/venues/truth.ts'

/** Levels a side that are compared; the books have a thousand. */
const DEPTH = 50
const SKL = 'SKL-USD'
const DASH = 'DASH-BTC'
const NU = 'NU-GBP'
/** Somebody sells far above any price. */
const FAR = 'CRV-EUR'
/** More than the first delay before a new connection. */
const RECONNECT_MILLISECONDS = 1000
const REFUSED_MILLISECONDS = 60_000
const BEAT_MILLISECONDS = 2_500
const NEVER_MILLISECONDS = 3_600_000

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close()
})

/**
 * A venue whose heartbeats and lists of products come when they are asked for, and where nothing happens to a product
 * before its trades are subscribed too.
 */
async function serve(
  options: Pick<CoinbaseServerOptions, 'hold'> & Partial<CoinbaseServerOptions>,
): Promise<{ server: VenueServer; truth: VenueTruth }> {
  const truth = new VenueTruth(DEPTH)
  const isAsked = (symbol: string) => server.said.some((text) => text.includes('matches') && text.includes(symbol))
  const server: VenueServer = await startCoinbaseServer({
    speed: Number.POSITIVE_INFINITY,
    recordings: coinbaseRecordings(),
    beatMilliseconds: NEVER_MILLISECONDS,
    onPlayed: truth.onPlayed,
    ...options,
    hold: (symbol, index) =>
      index > 0 && !isAsked(symbol)
        ? server.until(`the trades of ${symbol}`, () => isAsked(symbol))
        : options.hold?.(symbol, index),
  })
  opened.push(server)
  truth.begin(server)
  return { server, truth }
}

function read(server: VenueServer, markets: readonly (FedMarket | SourceListener)[]) {
  const { clock, source } = readVenue('coinbase', server, markets)
  opened.push({ close: () => source.stop() })
  /** Time passes on a connection that lives. */
  const live = async (milliseconds: number) => {
    for (let passed = 0; passed < milliseconds; passed += BEAT_MILLISECONDS) {
      server.beat()
      await server.heard()
      clock.advance(BEAT_MILLISECONDS)
    }
  }
  return { clock, source, live }
}

function recordingsOf(...products: readonly string[]) {
  return coinbaseRecordings().filter(({ product }) => products.includes(product.id))
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

describe.skipIf(capturesMissing(...COINBASE_CAPTURES))('Coinbase (needs ../shared/data)', () => {
  it('gives every book and every trade of nine products, and no trade from before', async () => {
    const recordings = coinbaseRecordings().filter(({ product }) => product.id !== FAR)
    const { server, truth } = await serve({ recordings })
    const markets = recordings.map(({ product }) => new FedMarket(product.id, truth, DEPTH))
    read(server, markets)
    await server.finished
    let executions = 0
    for (const market of markets) {
      const { judge } = market
      const count = truth.trades(judge.symbol).length
      await market.until('the last book and trade', () => judge.isCurrent && judge.executions >= count)
      expect({ ...market, problems: judge.problems }).toMatchObject({ reasons: [], missed: [], problems: [] })
      expect(judge.executions).toBe(count)
      executions += count
    }
    expect(executions).toBe(97)
  })

  it('follows a book with an ask at 888888004, unless the market has too many price decimals to hold it', async () => {
    const { server, truth } = await serve({ recordings: recordingsOf(FAR) })
    const fine = new FedMarket(FAR, truth, DEPTH)
    const good = new SourceListener(FAR, { priceDecimals: 4, amountDecimals: 2, depth: 0 })
    for (const market of [fine, good]) read(server, [market])
    await fine.until('lost', () => fine.reasons.length > 0)
    expect(fine.reasons).toEqual(['price 888888004.0000 has no place in a market of so many price decimals'])
    await good.until('live', () => good.count('snapshot') === 1)
    expect(good.side(ASK).at(-1)).toMatch(/^888888004\.0000:/)
  })

  it.each([
    [0, 0],
    [1, 0],
    [2, 1],
  ])('after %i trades that nobody was told of has %i gaps: the last of them is repeated', async (unseen, gaps) => {
    const trades = framesWith(SKL, '"type":"match"')
    const { go, hold } = holdAt({ [SKL]: (trades[2] as number) + 1 })
    const { server, truth } = await serve({ recordings: recordingsOf(SKL), hold })
    const market = new FedMarket(SKL, truth, DEPTH)
    const { clock } = read(server, [market])
    await market.until('the middle', () => market.judge.isCurrent && market.judge.executions === 3)
    server.pause()
    server.disconnectAll()
    await market.until('lost', () => !market.isLive)
    const played = () => truth.trades(SKL).length
    while (played() < 3 + unseen) server.tracks.get(SKL)?.playUnseen(1)
    clock.advance(RECONNECT_MILLISECONDS)
    go()
    await market.until('live', () => market.isLive && market.judge.isCurrent)
    if (unseen > 0) await market.until('the repeated trade', () => market.judge.executions === 4)
    server.resume()
    await server.finished
    const told = played() - gaps
    await market.until('the end', () => market.judge.isCurrent && market.judge.executions >= told)
    expect(market.judge.executions).toBe(told)
    expect(market.missed).toHaveLength(gaps)
    expect(market.judge.problems).toEqual([])
  })

  it('misses a trade that was left out when the next one comes', async () => {
    const { server, truth } = await serve({ recordings: recordingsOf(DASH) })
    const market = new FedMarket(DASH, truth, DEPTH)
    server.faults.arm({ kind: 'dropped', channel: 'matches' })
    read(server, [market])
    await server.finished
    await market.until('the end', () => market.judge.isCurrent && market.judge.executions === 14)
    expect(market.missed).toHaveLength(1)
    expect(market.judge.problems).toEqual([])
  })

  it('misses the last trade that was left out at the second heartbeat', async () => {
    const trades = framesWith(DASH, '"type":"match"')
    const { go, hold } = holdAt({ [DASH]: trades.at(-1) as number })
    const { server, truth } = await serve({ recordings: recordingsOf(DASH), hold })
    const market = new FedMarket(DASH, truth, DEPTH)
    read(server, [market])
    await market.until('all but the last', () => market.judge.executions === 14)
    server.beat()
    server.faults.arm({ kind: 'dropped', channel: 'matches' })
    go()
    await server.finished
    await market.until('the last book', () => market.judge.isCurrent)
    server.beat()
    server.beat()
    await market.until('missed', () => market.missed.length > 0)
    expect(market.missed).toEqual([expect.stringMatching(/^trade [0-9]+ of DASH-BTC is missing$/)])
    expect(market.judge.problems).toEqual([])
  })

  it('asks again for a product that was refused, while the others go on', async () => {
    const { server, truth } = await serve({ recordings: recordingsOf(SKL, DASH) })
    server.refused.add(SKL)
    const [skl, dash] = [SKL, DASH].map((product) => new FedMarket(product, truth, DEPTH)) as [FedMarket, FedMarket]
    const { live } = read(server, [skl, dash])
    await skl.until('refused', () => skl.reasons.length > 0)
    expect(skl.reasons).toEqual([`coinbase refused ${SKL}: Failed to subscribe: ${SKL} is not a valid product`])
    await server.tracks.get(DASH)?.finished
    await dash.until('the end', () => dash.judge.isCurrent && dash.judge.executions === 15)
    server.refused.clear()
    await live(REFUSED_MILLISECONDS + BEAT_MILLISECONDS)
    await skl.until('live', () => skl.isLive)
    // That the trades were refused shows by two lists of products, and they are asked for again a minute later.
    await live(BEAT_MILLISECONDS)
    const asked = () => server.said.filter((text) => text.includes('matches') && text.includes(SKL)).length
    await server.until('the trades are asked for again', () => asked() === 2)
    expect([skl, dash].map(({ judge }) => judge.problems)).toEqual([[], []])
    expect(dash.reasons).toEqual([])
  })

  it('has no book of a product that is not listed, delisted, or finer than the market, and goes on with others', async () => {
    const fine = { priceDecimals: 8, amountDecimals: 8, depth: 0 }
    const [recording] = recordingsOf(NU)
    const gone = { id: 'OLD-USD', quote_increment: '0.01', base_increment: '1', status: 'delisted' }
    const { server } = await serve({ recordings: recordingsOf(NU), otherProducts: [gone] })
    const good = new SourceListener(NU, fine)
    const coarse = new SourceListener(NU, { ...fine, symbol: 'COARSE', amountDecimals: 0 })
    const unknown = new SourceListener('NO-SUCH', fine)
    const old = new SourceListener('OLD-USD', fine)
    const { source } = read(server, [good, coarse, unknown, old])
    await good.until('live', () => good.count('snapshot') === 1)
    expect(unknown.reasons()).toEqual(['coinbase does not list NO-SUCH'])
    expect(old.reasons()).toEqual(['coinbase lists OLD-USD as delisted'])
    expect(coarse.reasons()).toEqual(["coinbase's NU-GBP has 4 price and 6 amount decimals, COARSE keeps 8 and 0"])
    expect(source.notices(good.sourceMarket)).toEqual([])
    await server.finished
    const status = (members: object) =>
      JSON.stringify({ type: 'status', products: [{ ...recording?.product, status: 'online', ...members }] })
    server.broadcast(status({ post_only: true }))
    server.broadcast(status({ status: 'delisted' }))
    await good.until('gone', () => good.reasons().length === 1)
    expect(good.reasons()).toEqual(['coinbase lists NU-GBP as delisted'])
    server.broadcast(status({ post_only: true }))
    await good.until('back', () => good.count('snapshot') === 2)
    expect(source.notices(good.sourceMarket)).toEqual(['coinbase lists NU-GBP as post_only'])
  })

  it.each([
    ['a frame that is no JSON', '{"type":"l2upd'],
    ['an error that ends the connection', '{"type":"error","message":"ErrSlowConsume"}'],
  ])('begins a new connection after %s', async (_what, text) => {
    const { server, truth } = await serve({ recordings: recordingsOf(DASH) })
    const market = new FedMarket(DASH, truth, DEPTH)
    const { clock } = read(server, [market])
    await server.finished
    await market.until('the end', () => market.judge.isCurrent && market.judge.executions === 15)
    server.broadcast(text)
    await market.until('lost', () => !market.isLive)
    clock.advance(RECONNECT_MILLISECONDS)
    await market.until('live again', () => market.isLive && market.judge.isCurrent)
    expect(market.missed).toEqual([])
    expect(market.judge.problems).toEqual([])
  })

  it('subscribes a book anew that cannot be right, and nothing else', async () => {
    const { server, truth } = await serve({ recordings: recordingsOf(SKL, DASH) })
    const [skl, dash] = [SKL, DASH].map((product) => new FedMarket(product, truth, DEPTH)) as [FedMarket, FedMarket]
    read(server, [skl, dash])
    await server.finished
    for (const market of [skl, dash]) await market.until('the end', () => market.isLive && market.judge.isCurrent)
    server.broadcast(JSON.stringify({ type: 'l2update', product_id: SKL, changes: [['buy', '-1', '1']] }))
    await skl.until('lost', () => !skl.isLive)
    await skl.until('live again', () => skl.isLive && skl.judge.isCurrent)
    expect(skl.reasons).toEqual(['cannot take price -1'])
    expect(dash.reasons).toEqual([])
    expect(server.said.filter((text) => text.includes('unsubscribe'))).toEqual([
      JSON.stringify({ type: 'unsubscribe', channels: [{ name: 'level2_batch', product_ids: [SKL] }] }),
    ])
  })
})

/** OKX over a real socket, at a venue that plays what was recorded: what only OKX does. */

import { afterEach, describe, expect, it } from 'vitest'
import { createLog } from '../../../../../src/platform/base/log.ts'
import { VENUES } from '../../../../../src/streaming/sources/venues/venues.ts'
import { until } from '../../../../support/awaited.ts'
import { areRecordingsGenerated } from '../../../../support/recorded-files.ts'
import { SourceListener } from '../../../../support/source-listener.ts'
import { FedMarket } from '../../../../support/venues/fed-market.ts'
import { type OkxServerOptions, okxRecordings, startOkxServer } from '../../../../support/venues/okx.ts'
import { type Reading, readVenue } from '../../../../support/venues/reading.ts'
import type { VenueServer } from '../../../../support/venues/server.ts'
import { VenueHistory } from '../../../../support/venues/venue-history.ts'
import { VirtualClock } from '../../../../support/virtual-clock.ts'

const DEPTH = 400
const BTC = 'BTC-USDT'
/** More than the first delay before a new connection. */
const RECONNECT_MILLISECONDS = 1000

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close()
})

async function serve(options: Partial<OkxServerOptions>): Promise<{ server: VenueServer; history: VenueHistory }> {
  const history = new VenueHistory(DEPTH)
  const server = await startOkxServer({
    speed: Number.POSITIVE_INFINITY,
    recordings: okxRecordings(),
    hasSequenceIds: true,
    onPlayed: history.onPlayed,
    ...options,
  })
  opened.push(server)
  history.begin(server)
  return { server, history }
}

function read(server: VenueServer, markets: readonly (FedMarket | SourceListener)[]): Reading {
  const reading = readVenue('okx', server, markets)
  opened.push({ close: () => reading.source.stop() })
  return reading
}

/** As the venue sends it today. */
const withoutChecksum = (text: string) => text.replace(/"checksum":-?[0-9]+/, '"checksum":0')
const withoutProof = (text: string) => withoutChecksum(text).replace(/,"prevSeqId":-?[0-9]+,"seqId":[0-9]+/, '')

describe('OKX', () => {
  it.each([
    ['with checksums alone, as recorded', { hasSequenceIds: false }],
    ['with checksums and sequence ids', {}],
    ['with sequence ids alone, as today', { corrupt: withoutChecksum }],
  ])('OKX gives every book and every trade of the recording, %s', async (_name, options) => {
    const { server, history } = await serve(options)
    const markets = okxRecordings().map(({ instId }) => new FedMarket(instId, history, DEPTH))
    read(server, markets)
    await server.finished
    for (const market of markets) {
      const { verifier } = market
      const count = server.tracks.get(verifier.symbol)?.script.trades.length ?? 0
      await market.until('the last book and trade', () => verifier.isCurrent && verifier.executions >= count)
      expect({ ...market, problems: verifier.problems }).toMatchObject({ reasons: [], missed: [], problems: [] })
      // The trade from before the recording, which the venue repeats, is none of ours.
      expect(verifier.executions).toBe(count)
    }
    expect(markets.map(({ verifier }) => verifier.executions)).toEqual([3, 0, 68])
    // Messages that changed something.
    expect(markets.map(({ verifier }) => verifier.matched)).toEqual(
      areRecordingsGenerated ? [71, 38, 181] : [99, 90, 98],
    )
  })

  it('OKX believes nothing that neither a checksum nor a chain proves', async () => {
    const { server, history } = await serve({ corrupt: withoutProof })
    const market = new FedMarket(BTC, history, DEPTH)
    read(server, [market])
    await market.until('lost', () => market.reasons.length > 0)
    expect(market.reasons[0]).toBe('a book message with neither checksum nor sequence ids')
    expect(market.verifier.matched).toBe(0)
  })

  it.each([
    [0, 'nothing', 0],
    [1, 'one that is repeated', 0],
    [2, 'all of them', 0],
    [2, 'only the repeated one when the venue gives no trades', 1],
  ])('OKX after %i trades that no connection delivered has %s', async (unseen, _what, gaps) => {
    let go: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      go = resolve
    })
    const { server, history } = await serve({
      recordings: recordingsOf(BTC),
      hold: (_symbol, index) => (index < 60 ? undefined : held),
    })
    const market = new FedMarket(BTC, history, DEPTH)
    const { clock } = read(server, [market])
    const script = history.script(BTC)
    const isRead = () => market.verifier.isCurrent && market.verifier.executions === script.trades.length
    await market.until('the middle', () => server.tracks.get(BTC)?.played === 60 && isRead())
    expect(market.verifier.executions).toBeGreaterThanOrEqual(3)
    server.pause()
    server.disconnectAll()
    await market.until('lost', () => market.reasons.length > 0)
    const before = script.trades.length
    expect(market.verifier.executions).toBe(before)
    while (script.trades.length < before + unseen) server.tracks.get(BTC)?.playUnseen(1)
    if (gaps > 0) server.httpFaults.push({ status: 429, body: '{}', headers: { 'retry-after': '3600' } })
    clock.advance(RECONNECT_MILLISECONDS)
    go()
    await market.until('live', () => market.isLive && market.verifier.isCurrent)
    if (unseen > 0)
      await market.until('the repeated trade', () => market.verifier.executions === before + unseen - gaps)
    server.resume()
    await server.finished
    const all = script.trades.length
    await market.until(
      'the end',
      () => market.verifier.isCurrent && market.verifier.executions >= all - (gaps > 0 ? 1 : 0),
    )
    expect(market.missed).toHaveLength(gaps)
    expect(market.verifier.problems).toEqual([])
  })

  it.each([
    ['notice', '64008', 'The connection will soon be closed for a service upgrade. Please reconnect.'],
    ['error', '60014', 'Requests too frequent'],
  ])('OKX begins a new connection on %s %s', async (event, code, msg) => {
    const { server, history } = await serve({})
    const market = new FedMarket(BTC, history, DEPTH)
    const { clock } = read(server, [market])
    await market.until('live', () => market.isLive)
    server.broadcast(JSON.stringify({ event, code, msg, connId: 'a4d3ae55' }))
    await market.until('lost', () => !market.isLive)
    expect(market.reasons).toEqual([expect.stringContaining(`${code}: ${msg}`)])
    clock.advance(RECONNECT_MILLISECONDS)
    await market.until('live again', () => market.isLive && market.verifier.isCurrent)
    expect(market.verifier.problems).toEqual([])
  })

  it('an OKX connection stays alive on answers to pings alone', async () => {
    const { server, history } = await serve({ recordings: recordingsOf(BTC) })
    const market = new FedMarket(BTC, history, DEPTH)
    const { clock, messages } = read(server, [market])
    await server.finished
    await market.until('the end', () => market.verifier.isCurrent && market.verifier.executions === 68)
    for (let round = 0; round < 3; round++) {
      const before = await messages()
      clock.advance(2_000)
      await until('another message', async () => (await messages()) > before)
    }
    await server.until('three pings', () => server.said.filter((text) => text === 'ping').length === 3)
    expect(market.reasons).toEqual([])
  })

  describe('when the channel does not begin with a snapshot', () => {
    const held = 60
    const setUp = async () => {
      let go: () => void = () => undefined
      const gate = new Promise<void>((resolve) => {
        go = resolve
      })
      let reach: () => void = () => undefined
      const reached = new Promise<void>((resolve) => {
        reach = resolve
      })
      const hold = (_symbol: string, index: number) => {
        if (index === held) reach()
        return index < held ? undefined : gate
      }
      const { server, history } = await serve({ recordings: recordingsOf(BTC), isWithoutSnapshots: true, hold })
      const market = new FedMarket(BTC, history, DEPTH)
      const { clock } = read(server, [market])
      await reached
      await server.heard()
      const books = () => server.said.filter((text) => text.startsWith('/api/v5/market/books?')).length
      return { server, market, clock, go, books }
    }

    it('OKX begins with a fetched book that names a number of the channel when the channel has no snapshot', async () => {
      const { server, market, clock, go, books } = await setUp()
      clock.advance(2_999)
      await server.heard()
      expect(books()).toBe(0)
      clock.advance(1)
      await market.until('live', () => market.isLive && market.verifier.isCurrent)
      go()
      await server.finished
      await market.until('the end', () => market.verifier.isCurrent)
      expect({ ...market, problems: market.verifier.problems }).toMatchObject({ reasons: [], problems: [] })
      expect(books()).toBe(1)
    })

    it('OKX does not begin with a fetched book that names no number of the channel, reports it, and asks again', async () => {
      const { server, market, clock, books } = await setUp()
      const body = server.answerTo('/api/v5/market/books?instId=BTC-USDT&sz=400')
      const between = body.replace(/"seqId":([0-9]+)/, (_, id: string) => `"seqId":${Number(id) - 3}`)
      server.httpFaults.push({ status: 200, body: between })
      clock.advance(3_000)
      await market.until('lost', () => market.reasons.length === 1)
      expect(market.reasons[0]).toBe(
        'okx sent no snapshot of BTC-USDT, and the fetched one shares no sequence number with its messages: ' +
          'waiting for either',
      )
      await new Promise(setImmediate)
      clock.advance(2_000)
      await market.until('live', () => market.isLive && market.verifier.isCurrent)
      expect(books()).toBe(2)
      expect(market.verifier.problems).toEqual([])
    })

    it('OKX begins with a snapshot of the channel that comes late', async () => {
      const { server, market, clock, go } = await setUp()
      server.httpFaults.push({ status: 200, body: '{"code":"0","msg":"","data":[{}]}' })
      clock.advance(2_000)
      const { asks, bids, seqId } = JSON.parse(server.answerTo('/api/v5/market/books?instId=BTC-USDT&sz=400')).data[0]
      const data = [{ asks, bids, ts: '1', checksum: 0, seqId, prevSeqId: -1 }]
      server.broadcast(JSON.stringify({ arg: { channel: 'books', instId: BTC }, action: 'snapshot', data }))
      await market.until('live', () => market.isLive && market.verifier.isCurrent)
      clock.advance(2_000)
      go()
      await server.finished
      await market.until('the end', () => market.verifier.isCurrent)
      expect({ ...market, problems: market.verifier.problems }).toMatchObject({ reasons: [], problems: [] })
    })
  })

  describe('as it lists its pairs', () => {
    const ETH = 'ETH-USDT'
    const fine = { priceDecimals: 1, amountDecimals: 8, depth: 400 }
    const instrument = (state: string, tickSz = '0.1') =>
      JSON.stringify({
        arg: { channel: 'instruments', instType: 'SPOT' },
        data: [{ instType: 'SPOT', instId: BTC, tickSz, lotSz: '0.00000001', state }],
      })

    it('OKX has no book of a pair that it does not list, or that is finer than the market, and continues with others', async () => {
      const { server } = await serve({ recordings: recordingsOf(BTC) })
      const good = new SourceListener(BTC, fine)
      const coarse = new SourceListener(BTC, { ...fine, symbol: 'COARSE', amountDecimals: 6 })
      const unknown = new SourceListener(ETH, fine)
      const { source } = read(server, [good, coarse, unknown])
      await good.until('live', () => good.count('snapshot') === 1)
      expect(unknown.reasons()).toEqual(['okx does not list ETH-USDT'])
      expect(coarse.reasons()).toEqual(["okx's BTC-USDT has 1 price and 8 amount decimals, COARSE keeps 1 and 6"])
      expect([unknown, coarse].map((one) => one.count('snapshot'))).toEqual([0, 0])
      expect(source.notices(good.sourceMarket)).toEqual([])
    })

    it('OKX opens a live pair, names a suspended one, and leaves one that is gone', async () => {
      const { server } = await serve({ recordings: recordingsOf(BTC), states: { [BTC]: 'preopen' } })
      const market = new SourceListener(BTC, fine)
      const { source } = read(server, [market])
      await market.until('lost', () => market.reasons().length > 0)
      expect(market.reasons()).toEqual(['okx lists BTC-USDT as preopen'])
      expect(server.said.some((text) => text.includes('"books"'))).toBe(false)
      server.broadcast(instrument('live'))
      await market.until('live', () => market.count('snapshot') === 1)
      await server.finished
      server.broadcast(instrument('suspend'))
      server.broadcast(status('ongoing'))
      server.broadcast(instrument('expired'))
      await market.until('gone', () => market.reasons().length === 2)
      expect(market.reasons().at(-1)).toBe('okx lists BTC-USDT as expired')
      expect(source.notices(market.sourceMarket)).toContain('okx reports the status ongoing: Upgrade')
    })

    it('OKX names a suspended pair, and its own maintenance, while the book stands', async () => {
      const { server } = await serve({ recordings: recordingsOf(BTC), states: { [BTC]: 'suspend' } })
      const market = new SourceListener(BTC, { ...fine, depth: 1000 })
      const { source } = read(server, [market])
      server.until('connected', () => server.connections() === 1).then(() => server.broadcast(status('ongoing')))
      await market.until('live', () => market.count('snapshot') === 1)
      expect(source.notices(market.sourceMarket)).toEqual([
        'okx reports the status ongoing: Upgrade',
        'okx lists BTC-USDT as suspend',
        'okx offers no deeper book for BTC-USDT than 400 levels',
      ])
    })

    it('OKX is asked by HTTP where the channel does not send the list', async () => {
      const { server } = await serve({ recordings: recordingsOf(BTC), isWithoutInstruments: true })
      const good = new SourceListener(BTC, fine)
      const unknown = new SourceListener(ETH, fine)
      const { clock } = read(server, [good, unknown])
      await server.until('the subscription', () => server.said.some((text) => text.includes('instruments')))
      for (let second = 0; second < 5; second++) {
        await server.heard()
        clock.advance(1_000)
      }
      await good.until('live', () => good.count('snapshot') === 1)
      expect(unknown.reasons()).toEqual(['okx does not list ETH-USDT'])
      const parts = { name: 'okx', clock, log: createLog('silent') }
      const looked = VENUES.okx.readListings({ url: server.url, restUrl: server.restUrl }, [BTC, ETH], parts)
      await server.until('the second connection', () => server.connections() === 2)
      clock.advance(5_000)
      expect(await looked).toMatchObject({ value: [{ symbol: BTC }] })
    })

    it('OKX gives its listing to a caller that only asks how pairs are listed', async () => {
      const { server } = await serve({ recordings: recordingsOf(BTC) })
      const parts = { name: 'okx', clock: new VirtualClock(), log: createLog('silent') }
      expect(await VENUES.okx.readListings({ url: server.url, restUrl: '' }, [BTC, ETH], parts)).toEqual({
        value: [{ symbol: BTC, priceDecimals: 1, amountDecimals: 8, status: 'live', state: 'open' }],
      })
    })
  })
})

const recordingsOf = (symbol: string) => okxRecordings().filter(({ instId }) => instId === symbol)

function status(state: string): string {
  const data = [{ title: 'Upgrade', state, serviceType: '5', env: '1', begin: '1', end: '2', ts: '3' }]
  return JSON.stringify({ arg: { channel: 'status' }, data })
}

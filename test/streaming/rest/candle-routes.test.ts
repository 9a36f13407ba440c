/** Candles and the ticker over REST. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { CandleReader } from '../../../src/streaming/candles/candle-reader.ts'
import { CandleWriter } from '../../../src/streaming/candles/candle-writer.ts'
import { captureLog } from '../../support/captured-log.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'
import { openTestStore } from '../../support/test-store.ts'
import { WRITTEN_ALONE, written } from '../candles/candle-market.ts'
import { LiveStream } from '../gateway/live-stream.ts'

const { log } = captureLog()
const db = await openTestStore({ log })
const stream = new LiveStream({ markets: ['AAAUSD', 'NEWUSD'] })
const { clock } = stream
const reader = new CandleReader({ db, clock, delayMilliseconds: 0, retentionDays: () => 400 })
const replicas = [...stream.replicas.values()]
const writer = new CandleWriter({
  db,
  clock,
  log,
  metrics: createMetricsRegistry(),
  written: () => replicas.map((replica) => ({ replica, ...WRITTEN_ALONE })),
})
let node: RestNode
let customer: RestCustomer

beforeAll(async () => {
  node = await RestNode.open({ hub: stream.hub, db, candles: reader })
  customer = await node.newCustomer()
  await node.operator('PATCH', `/customers/${customer.customerId}`, { streaming: true })
})
afterAll(async () => {
  await writer.stop()
  await node.close()
  await db.close()
})

const get = (path: string, headers = {}) => customer.call('GET', `/v2/markets/${path}`, undefined, headers)

describe('candles and the ticker', () => {
  it('candles and the ticker are 503 until the market’s executions are known, and then have an entity tag', async () => {
    const early = await get('AAAUSD/candles?interval=1m')
    expect([early.status, early.headers.get('retry-after'), early.body.code]).toEqual([503, '1', 'market_not_live'])
    expect((await get('AAAUSD/ticker')).body.code).toBe('market_not_live')
    stream.snapshot()
    stream.update([], [{ price: 150, amount: 2, id: 'one' }])
    stream.update([], [{ price: 151, amount: 1, id: 'two' }])
    await written(clock, writer)
    const { body, headers } = await get('AAAUSD/candles?interval=5m')
    expect(body).toEqual({
      market: 'AAAUSD',
      interval: '5m',
      items: [
        {
          time: '2026-01-01T00:00:00.000Z',
          ...{ open: '1.50', high: '1.51', low: '1.50', close: '1.51', volume: '0.0003', quote_volume: '0.000451' },
          ...{ trades: 2, first_execution_id: 'one', last_execution_id: 'two' },
          ...{ revision: 0, closed: false, incomplete: true },
        },
      ],
    })
    const tag = { 'if-none-match': headers.get('etag') ?? '' }
    expect(headers.get('cache-control')).toBe('private, max-age=0')
    expect((await get('AAAUSD/candles?interval=5m', tag)).status).toBe(304)
    stream.update([], [{ price: 152, amount: 1 }])
    expect((await get('AAAUSD/candles?interval=5m', tag)).body.items[0]).toMatchObject({ trades: 3, close: '1.52' })
  })

  it('the ticker has the last 24 hours and the best prices, and is 503 without a live book', async () => {
    const { body, headers } = await get('AAAUSD/ticker')
    expect(body).toMatchObject({
      ...{ market: 'AAAUSD', last: '1.52', bid: '1.00', ask: '2.00', open: '1.50', high: '1.52', low: '1.50' },
      // 6.03 / 4 = 1.5075
      ...{ volume: '0.0004', quote_volume: '0.000603', vwap: '1.51', trades: 3 },
    })
    expect((await get('AAAUSD/ticker', { 'if-none-match': headers.get('etag') ?? '' })).status).toBe(304)
    clock.advance(86_400_000 + 120_000)
    await writer.settled()
    const { time: _, ...later } = (await get('AAAUSD/ticker')).body
    expect(later).toEqual({
      ...{ market: 'AAAUSD', last: '1.52', bid: '1.00', ask: '2.00', open: '1.52', high: '1.52', low: '1.52' },
      ...{ volume: '0.0000', quote_volume: '0.000000', trades: 0 },
    })
    stream.lose()
    expect((await get('AAAUSD/ticker')).status).toBe(503)
    expect((await get('AAAUSD/candles?interval=1d')).body.items).toHaveLength(2)
  })

  it('a market without executions has no candles, and pages follow from, to and limit', async () => {
    stream.snapshot(undefined, 'NEWUSD')
    await written(clock, writer)
    expect((await get('NEWUSD/candles?interval=1h')).body.items).toEqual([])
    expect((await get('NEWUSD/ticker')).body.trades).toBe(0)
    const times = async (query: string) =>
      (await get(`AAAUSD/candles?interval=4h&${query}`)).body.items.map(({ time }: { time: string }) =>
        time.slice(5, 13),
      )
    expect(await times('limit=2')).toEqual(['01-01T20', '01-02T00'])
    expect(await times('from=2026-01-01T03:00:00Z&limit=2')).toEqual(['01-01T04', '01-01T08'])
    expect(await times('from=2025-01-01T00:00:00Z&to=2026-01-01T04:00:00.0005Z')).toEqual(['01-01T00', '01-01T04'])
    expect(await times('from=2027-01-01T00:00:00Z')).toEqual([])
    expect(await times('from=2026-01-01T08:00:00Z&to=2026-01-01T04:00:00Z')).toEqual([])
    const all = await times('from=0001-01-01T00:00:00Z&to=9999-12-31T23:59:59.999Z&limit=1000')
    expect(all).toEqual(await times('limit=1000'))
  })

  it('the operator gets the same candles and trades without a plan', async () => {
    for (const path of ['AAAUSD/candles?interval=1h&limit=5', 'AAAUSD/trades?limit=2']) {
      const { status, text } = await node.operator('GET', `/markets/${path}`)
      expect([status, text]).toEqual([200, (await get(path)).text])
    }
    const wrong = await node.operator('GET', '/markets/AAAUSD/candles?interval=2m')
    expect([wrong.status, (await node.operator('GET', '/markets/NONE/trades')).status]).toEqual([400, 404])
  })

  it('a wrong parameter, a plan without the channel and an unknown market are named', async () => {
    for (const query of [
      '',
      'interval=2m',
      'interval=1m&limit=1001',
      'interval=1m&from=yesterday',
      'interval=1m&to=1',
    ]) {
      const { status, body } = await get(`AAAUSD/candles?${query}`)
      expect([status, body.errors[0].parameter]).toEqual([400, query.split('&').at(-1)?.split('=')[0] || 'interval'])
    }
    expect((await get('XXXUSD/candles?interval=1m')).status).toBe(404)
    await node.operator('POST', '/plans', { name: 'tape', channels: ['execution_data'] })
    await node.operator('PATCH', `/customers/${customer.customerId}`, { plan: 'tape' })
    expect((await get('AAAUSD/candles?interval=1m')).status).toBe(200)
    const { body } = await get('AAAUSD/ticker')
    expect(body.detail).toBe('the plan tape does not include the channel market_data.top_of_book')
  })
})

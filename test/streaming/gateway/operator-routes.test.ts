import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { noteOperator } from '../../../src/access/clients/operator-calls.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { createHttpServer } from '../../../src/platform/http/server.ts'
import { listAudit } from '../../../src/platform/store/audit.ts'
import { type Db, StoreUnavailable } from '../../../src/platform/store/db.ts'
import { migrate } from '../../../src/platform/store/migrate.ts'
import { translateStoreError } from '../../../src/service/listeners/listener.ts'
import { type ObservedSource, registerStreamOperatorRoutes } from '../../../src/streaming/gateway/operator-routes.ts'
import { BID } from '../../../src/streaming/market/event.ts'
import { captureLog } from '../../support/captured-log.ts'
import { testNode } from '../../support/node-exchange.ts'
import { openTemporaryStore } from '../../support/test-store.ts'
import { itemsOf } from '../../support/text-page.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'
import { deepBook, LiveStream, levels } from './live-stream.ts'

const NO_ONE = '018f0000-0000-7000-8000-000000000000'

let db: Db
let stream: LiveStream
let app: FastifyInstance
/** Stands between the routes and the store. */
let fault: (() => Promise<void>) | undefined

beforeAll(async () => {
  const { log } = captureLog()
  db = await openTemporaryStore(log, new VirtualClock())
  await migrate(db, log)
})
afterAll(() => db?.close())
beforeEach(() => {
  fault = undefined
  stream = new LiveStream({ markets: ['AAAUSD', 'BBBUSD'], depth: 5 })
  app = newApp()
})

function newApp(): FastifyInstance {
  const server = createHttpServer({
    listener: 'operator',
    log: captureLog().log,
    metrics: createMetricsRegistry(),
    headerBytesMax: 16_384,
    requestMilliseconds: 30_000,
    translate: translateStoreError,
  })
  server.addHook('onRequest', async (request) =>
    noteOperator(request, { name: 'token', role: 'admin', via: 'operator_token', issuers: [] }),
  )
  const transaction: Db['transaction'] = async (work, options) => {
    await fault?.()
    return await db.transaction(work, options)
  }
  registerStreamOperatorRoutes(server, {
    db: { ...db, available: true, transaction },
    hub: stream.hub,
    cluster: testNode({ clock: stream.clock }),
    sourcesOf: sourcesOfTest,
  })
  return server
}

function sourcesOfTest(symbol: string): ObservedSource[] {
  const sinceMilliseconds = Date.UTC(2026, 10, 20)
  const live = {
    source: `test:${symbol}`,
    state: 'live',
    reason: '',
    sinceMilliseconds,
    notices: ['post_only'],
    proof: 'SEQUENCE',
  } as const
  const lost = { ...live, source: 'test:other', state: 'lost', reason: 'gap', notices: [] } as const
  return symbol === 'AAAUSD' ? [live, lost] : [live]
}

async function ask(method: 'GET' | 'DELETE', url: string) {
  const response = await app.inject({ method, url })
  return { status: response.statusCode, body: response.json() }
}

async function auditOf(subject: string) {
  const items = itemsOf(await listAudit(db, { order: 'DESC' }, { subject }))
  return items
}

describe('connections', () => {
  it('connections are listed with client, customer and state', async () => {
    stream.snapshot()
    const client = stream.connect({ clientId: 'reader' })
    client.subscribe('AAAUSD market_data', 'AAAUSD execution_data', 'heartbeat')
    const { body } = await ask('GET', '/connections')
    expect(body).toEqual({
      items: [
        {
          id: client.session.id,
          client_id: 'reader',
          customer_id: 'customer',
          client_address: '127.0.0.1',
          created_at: new Date(client.session.createdMilliseconds).toISOString(),
          subscriptions: 3,
          behind: false,
          reading: true,
          queued_bytes: 0,
          bytes_out: client.transport.bytesWritten,
          conflated_messages: 0,
          node: 'test:1',
        },
      ],
      nodes: [{ node: 'test:1', connections: 1 }],
    })
    expect(client.transport.bytesWritten).toBeGreaterThan(200)
    client.transport.subprotocol = 'tidegate.v1'
    expect((await ask('GET', '/connections')).body.items[0].subprotocol).toBe('tidegate.v1')
  })

  it('connections that do not drain are lagging, with their queued bytes', async () => {
    stream = new LiveStream({ markets: ['AAAUSD'], depth: 0, settings: { outboxBytesMax: 2_000 } })
    app = newApp()
    stream.snapshot(deepBook(200, 5))
    const slow = stream.connect({ kernelBytes: 10 })
    slow.receive({ type: 'subscribe', channels: [{ type: 'market_data', params: { market: 'AAAUSD' } }] })
    stream.clock.settle()
    const [shown] = (await ask('GET', '/connections')).body.items
    expect(shown).toMatchObject({ behind: true, queued_bytes: slow.transport.queuedBytes })
    slow.read()
    expect((await ask('GET', '/connections')).body.items).toMatchObject([{ behind: false, queued_bytes: 0 }])
  })

  it('connections are shown one by one with their markets; an unknown or ended one is 404', async () => {
    stream.snapshot()
    const client = stream.connect({ clientId: 'reader' })
    client.subscribe('AAAUSD market_data', 'heartbeat')
    const { id } = client.session
    const { status, body } = await ask('GET', `/connections/${id.toUpperCase()}`)
    const [listed] = (await ask('GET', '/connections')).body.items
    expect([status, body]).toEqual([
      200,
      {
        ...listed,
        heartbeat: true,
        market_count: 1,
        markets: [
          { market: 'AAAUSD', channels: [{ type: 'market_data' }], behind: false, version: 1, current_version: 1 },
        ],
      },
    ])
    client.session.close('operator')
    for (const other of [id, 'x', '%00']) {
      expect(await ask('GET', `/connections/${other}`)).toMatchObject({ status: 404, body: { code: 'not_found' } })
    }
  })

  it('connections are filtered by client and customer, and paged exactly once while others come and go', async () => {
    const clients = Array.from({ length: 7 }, (_, index) => {
      stream.clock.advance(index % 2)
      return stream.connect({ clientId: index % 3 === 0 ? 'first' : 'second' })
    })
    const ids = clients.map(({ session }) => session.id)
    expect((await ask('GET', '/connections?client_id=first')).body.items).toHaveLength(3)
    expect((await ask('GET', '/connections?customer_id=customer&client_id=second')).body.items).toHaveLength(4)
    expect((await ask('GET', '/connections?customer_id=other')).body.items).toEqual([])
    const seen: string[] = []
    let path = '/connections?limit=2'
    for (;;) {
      const { body } = await ask('GET', path)
      seen.push(...body.items.map(({ id }: { id: string }) => id))
      if (body.next_page_cursor === undefined) break
      path = `/connections?limit=2&page_cursor=${body.next_page_cursor}`
      clients[6]?.session.end()
      stream.connect()
    }
    expect(seen).toEqual(ids.toReversed())
    expect((await ask('GET', '/connections?order=ASC&limit=2')).body.items[0].id).toBe(ids[0])
  })

  it('connections refuse an invalid limit, order or cursor', async () => {
    expect((await ask('GET', '/connections?limit=0')).body).toMatchObject({ errors: [{ parameter: 'limit' }] })
    expect((await ask('GET', '/connections?order=UP')).status).toBe(400)
    stream.connect()
    stream.connect()
    const { next_page_cursor: cursor } = (await ask('GET', '/connections?limit=1')).body
    const foreign = await ask('GET', `/connections?client_id=client&page_cursor=${cursor}`)
    expect(foreign).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
  })
})

describe('closing a connection', () => {
  it('closing a connection leaves its audit row first, then closes it with 1001; it is gone from the list', async () => {
    const client = stream.connect({ clientId: 'reader' })
    const { id } = client.session
    let closedBeforeTheRow: boolean | undefined
    fault = async () => {
      closedBeforeTheRow = client.transport.closed !== undefined
    }
    const { status, body } = await ask('DELETE', `/connections/${id.toUpperCase()}`)
    expect([status, body.id, closedBeforeTheRow]).toEqual([200, id, false])
    expect(client.transport.closed?.code).toBe(1001)
    expect((await ask('GET', '/connections')).body.items).toEqual([])
    expect(await auditOf(id)).toMatchObject([
      {
        actor: 'operator',
        action: 'connection.close',
        detail: { client_id: 'reader', customer_id: 'customer', client_address: '127.0.0.1' },
      },
    ])
  })

  it('closing a connection twice, in turn or at once, is one audit row; an ended or unknown connection is 404', async () => {
    const client = stream.connect()
    const { id } = client.session
    const answers = await Promise.all([1, 2, 3].map(() => ask('DELETE', `/connections/${id}`)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect((await ask('DELETE', `/connections/${id}`)).status).toBe(200)
    expect(await auditOf(id)).toHaveLength(1)
    client.session.end()
    expect(await ask('DELETE', `/connections/${id}`)).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect((await ask('DELETE', `/connections/${NO_ONE}`)).status).toBe(404)
    expect((await ask('DELETE', '/connections/%00')).status).toBe(404)
  })

  it('closing a connection that the store cannot record is 503 and closes no connection; later it works', async () => {
    const client = stream.connect()
    const { id } = client.session
    fault = () => Promise.reject(new StoreUnavailable('away'))
    expect(await ask('DELETE', `/connections/${id}`)).toMatchObject({ status: 503, body: { code: 'unavailable' } })
    expect(client.transport.closed).toBeUndefined()
    expect(await auditOf(id)).toEqual([])
    fault = undefined
    expect((await ask('DELETE', `/connections/${id}`)).status).toBe(200)
    expect(client.transport.closed?.code).toBe(1001)
  })
})

describe('markets', () => {
  it('markets are all shown, with and without a book', async () => {
    stream.snapshot(
      levels(
        [
          [9_950, 15_000],
          [9_900, 1],
        ],
        [[10_000, 20_001]],
      ),
    )
    stream.connect().subscribe('AAAUSD market_data', 'AAAUSD execution_data')
    const { body } = await ask('GET', '/markets')
    expect(body.items).toEqual([
      {
        symbol: 'AAAUSD',
        live: true,
        sources: ['test:AAAUSD', 'test:other'],
        source_states: [
          {
            source: 'test:AAAUSD',
            live: true,
            since: '2026-11-20T00:00:00.000Z',
            notices: ['post_only'],
            proof: 'SEQUENCE',
          },
          {
            source: 'test:other',
            live: false,
            reason: 'gap',
            since: '2026-11-20T00:00:00.000Z',
            notices: [],
            proof: 'SEQUENCE',
          },
        ],
        depth: 5,
        version: 1,
        committed_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/),
        bid_levels: 2,
        ask_levels: 1,
        best_bid: { price: '99.50', amount: '1.5000' },
        best_ask: { price: '100.00', amount: '2.0001' },
        subscribers: 1,
      },
      {
        symbol: 'BBBUSD',
        live: false,
        reason: 'waiting for the first snapshot',
        sources: ['test:BBBUSD'],
        source_states: [expect.objectContaining({ source: 'test:BBBUSD' })],
        depth: 5,
        version: 0,
        bid_levels: 0,
        ask_levels: 0,
        subscribers: 0,
      },
    ])
  })

  it('markets that are stale have the reason and the time, until they are live again', async () => {
    stream.snapshot()
    stream.clock.advance(1_000)
    const since = new Date(stream.clock.wallInstant().milliseconds).toISOString()
    stream.lose()
    stream.clock.advance(5_000)
    stream.lose()
    const [lost] = (await ask('GET', '/markets')).body.items
    expect(lost).toMatchObject({ live: false, reason: 'the test says so', stale_since: since, version: 1 })
    stream.snapshot()
    const [back] = (await ask('GET', '/markets')).body.items
    expect(back.live).toBe(true)
    expect(back).not.toHaveProperty('stale_since')
    expect(back).not.toHaveProperty('reason')
  })
})

describe('a book', () => {
  it('a book is the one that the stream publishes, as exact text, with its version and time', async () => {
    stream.snapshot(deepBook(8, 5))
    stream.update([{ side: BID, price: 9_999_999, amount: 12_345 }])
    const client = stream.connect()
    const [, snapshot] = client.subscribe('AAAUSD market_data').map((text) => JSON.parse(text))
    const { body } = await ask('GET', '/markets/AAAUSD/book')
    const { time, bids, asks } = snapshot.payload
    expect(body).toEqual({
      symbol: 'AAAUSD',
      live: true,
      version: stream.replicas.get('AAAUSD')?.version,
      time,
      depth: 100,
      bid_levels: 5,
      ask_levels: 5,
      bids,
      asks,
    })
    expect(body.bids).toHaveLength(5)
    expect(body.bids[0]).toEqual({ price: '99999.99', amount: '1.2345' })
    const top = (await ask('GET', '/markets/AAAUSD/book?depth=1')).body
    expect([top.bids, top.asks]).toEqual([bids.slice(0, 1), asks.slice(0, 1)])
  })

  it('a book has at most 100 levels per side by default, never more than 1000, and the number of all levels', async () => {
    stream = new LiveStream({ markets: ['AAAUSD'], depth: 0 })
    app = newApp()
    stream.snapshot(deepBook(1_100, 5))
    const { body } = await ask('GET', '/markets/AAAUSD/book')
    expect(body.asks).toHaveLength(100)
    expect(body).toMatchObject({ depth: 100, bid_levels: 1_100, ask_levels: 1_100 })
    const deep = (await ask('GET', '/markets/AAAUSD/book?depth=1000')).body
    expect(deep.bids).toHaveLength(1_000)
    expect(deep).toMatchObject({ depth: 1_000, bid_levels: 1_100, ask_levels: 1_100 })
    for (const depth of ['0', '1001', '-1', '1.5', '', 'all', '00001']) {
      expect((await ask('GET', `/markets/AAAUSD/book?depth=${depth}`)).body).toMatchObject({
        code: 'invalid_request',
        errors: [{ parameter: 'depth', detail: 'must be a whole number from 1 to 1000' }],
      })
    }
  })

  it('a missing book is empty with the reason; an unknown market is 404 with the list of markets', async () => {
    expect((await ask('GET', '/markets/BBBUSD/book')).body).toEqual({
      symbol: 'BBBUSD',
      live: false,
      reason: 'waiting for the first snapshot',
      version: 0,
      depth: 100,
      bid_levels: 0,
      ask_levels: 0,
      bids: [],
      asks: [],
    })
    const detail = 'there is no market with this symbol: the markets are AAAUSD, BBBUSD'
    expect(await ask('GET', '/markets/CCCUSD/book')).toMatchObject({ status: 404, body: { code: 'not_found', detail } })
    expect((await ask('GET', '/markets/__proto__/book')).status).toBe(404)
  })
})

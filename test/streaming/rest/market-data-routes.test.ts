/** Books and trades over REST: equal to the stream's at the same cursor, and never old. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ASK, BID } from '../../../src/streaming/market/event.ts'
import { digestOf } from '../../support/extended-verifier.ts'
import { Random } from '../../support/random.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'
import { deepBook, LiveStream, levels, type Message } from '../gateway/live-stream.ts'

const stream = new LiveStream({ markets: ['AAAUSD', 'OLDUSD', 'BIGUSD', 'NEWUSD'], depth: 0, executionsKept: 8 })
let node: RestNode
let customer: RestCustomer

beforeAll(async () => {
  node = await RestNode.open({ hub: stream.hub })
  customer = await node.newCustomer()
  await node.operator('PATCH', `/customers/${customer.customerId}`, { streaming: true })
})
afterAll(() => node.close())

const get = (path: string, headers = {}) => customer.call('GET', `/v2/markets/${path}`, undefined, headers)

type Level = { readonly price: string; readonly amount: string }

/** A subscriber that keeps its book by cursor. */
class Follower {
  readonly #client = stream.connect({ subprotocol: 'tidegate.v1' })
  readonly #sides = { bids: new Map<string, string>(), asks: new Map<string, string>() }
  cursor = ''

  constructor(depth: number | undefined) {
    const params = { market: 'AAAUSD', ...(depth === undefined ? {} : { depth }) }
    this.#apply(this.#client.ask({ type: 'subscribe', channels: [{ type: 'market_data', params }] }))
  }

  read(): void {
    this.#apply(this.#client.read())
  }

  /** The sides as REST shows them. */
  get book(): { readonly bids: Level[]; readonly asks: Level[]; readonly digest: string } {
    const sorted = (side: Map<string, string>, sign: number) =>
      [...side].map(([price, amount]) => ({ price, amount })).sort((a, b) => sign * (Number(a.price) - Number(b.price)))
    const { bids, asks } = this.#sides
    return { bids: sorted(bids, -1), asks: sorted(asks, 1), digest: digestOf({ bids, asks }) }
  }

  #apply(texts: readonly string[]): void {
    for (const text of texts) {
      const { channel, payload, stream: sent } = JSON.parse(text) as Message
      if (channel !== 'market_data') continue
      for (const name of ['bids', 'asks'] as const) {
        if (payload.type === 'SNAPSHOT') this.#sides[name].clear()
        for (const { price, amount } of payload[name] ?? []) {
          if (amount === '0') this.#sides[name].delete(price)
          else this.#sides[name].set(price, amount)
        }
      }
      this.cursor = sent?.cursor ?? ''
    }
  }
}

describe('GET /v2/markets/{market}/order-book', () => {
  it('a book equals the one that a subscriber has at the same cursor, at every depth, over random changes', async () => {
    const random = new Random(7)
    stream.snapshot(deepBook(30, 10))
    const depths = [undefined, 1, 5, 10, 25]
    const followers = depths.map((depth) => new Follower(depth))
    let compared = 0
    for (let round = 0; round < 60; round++) {
      const price = 10_000_000 + random.integer(80) - 40
      const side = price < 10_000_000 ? BID : ASK
      stream.update([{ side, price, amount: random.chance(0.4) ? 0 : 1 + random.integer(9) }])
      for (const [at, follower] of followers.entries()) {
        follower.read()
        const depth = depths[at]
        const { status, body } = await get(`AAAUSD/order-book${depth === undefined ? '' : `?depth=${depth}`}`)
        const { market, cursor, bids, asks, digest } = body
        expect([status, market, body.depth, cursor]).toEqual([200, 'AAAUSD', depth ?? 0, follower.cursor])
        expect({ bids, asks, digest }).toEqual(follower.book)
        compared++
      }
    }
    expect(compared).toBe(300)
  })

  it('a book is served at the plan’s depth, and refused for a market or channel outside the plan', async () => {
    stream.snapshot(deepBook(30, 10))
    const plan = { name: 'rest', markets: ['AAAUSD', 'NOTUSD'], channels: ['market_data'], depth_max: 5 }
    await node.operator('POST', '/plans', plan)
    await node.operator('PATCH', `/customers/${customer.customerId}`, { plan: 'rest' })
    const answers = []
    for (const path of ['', '?depth=10', '?depth=1']) answers.push((await get(`AAAUSD/order-book${path}`)).body)
    expect(answers.map(({ depth, bids }) => [depth, bids.length])).toEqual([
      [5, 5],
      [5, 5],
      [1, 1],
    ])
    const refused = [await get('OLDUSD/order-book'), await get('AAAUSD/trades'), await get('NOTUSD/order-book')]
    expect(refused.map(({ status, body }) => [status, body.detail])).toEqual([
      [403, 'the plan rest does not include the market OLDUSD'],
      [403, 'the plan rest does not include the channel execution_data'],
      // Other markets on the node are not in the plan.
      [404, 'there is no market with this name: the markets are AAAUSD'],
    ])
    const { body } = await customer.call('GET', '/v2/markets')
    expect(body.items.map(({ market }: { market: string }) => market)).toEqual(['AAAUSD'])
    await node.operator('PATCH', `/customers/${customer.customerId}`, { plan: 'unlimited' })
  })

  it('an unchanged book is 304 for its entity tag, and has the same text', async () => {
    stream.snapshot(deepBook(5, 10))
    const first = await get('AAAUSD/order-book?depth=1')
    const tag = first.headers.get('etag') ?? ''
    expect(first.headers.get('cache-control')).toBe('private, max-age=0')
    const unchanged = await get('AAAUSD/order-book?depth=1', { 'if-none-match': tag })
    // A 304 has no length, or the book's (RFC 9110).
    expect([unchanged.status, unchanged.text, unchanged.headers.has('content-length')]).toEqual([304, '', false])
    // Outside this view.
    stream.update([{ side: BID, price: 9_000_000, amount: 1 }])
    expect((await get('AAAUSD/order-book?depth=1', { 'if-none-match': tag })).status).toBe(304)
    expect((await get('AAAUSD/order-book?depth=1')).text).toBe(first.text)
    expect((await get('AAAUSD/order-book?depth=5', { 'if-none-match': tag })).status).toBe(200)
    stream.update([{ side: BID, price: 9_999_999, amount: 77 }])
    const changed = await get('AAAUSD/order-book?depth=1', { 'if-none-match': tag })
    expect([changed.status, changed.body.bids]).toEqual([200, [{ price: '99999.99', amount: '0.0077' }]])
    expect(changed.headers.get('etag')).not.toBe(tag)
  })

  it('a large book, encoded in slices, is one version even while it changes', async () => {
    stream.snapshot(deepBook(6_000, 10), 'BIGUSD')
    const answers = Promise.all(Array.from({ length: 5 }, () => get('BIGUSD/order-book')))
    for (let price = 1; price <= 40; price++) {
      stream.update([{ side: ASK, price: 10_000_000 + price, amount: 1_000 + price }], [], 'BIGUSD')
      await new Promise((resolve) => setImmediate(resolve))
    }
    for (const { body } of await answers) {
      const side = (rows: readonly Level[]) => new Map(rows.map(({ price, amount }) => [price, amount]))
      expect(body.digest).toBe(digestOf({ bids: side(body.bids), asks: side(body.asks) }))
    }
    expect((await get('BIGUSD/order-book')).body.asks[39].amount).toBe('0.1040')
  })

  it('a market withdrawn while its large book is encoded is 404, and one made again is 503', async () => {
    for (const [isAgain, status] of [
      [false, 404],
      [true, 503],
    ] as const) {
      stream.snapshot(deepBook(6_000, 10), 'BIGUSD')
      const { view } = stream.hub.market('BIGUSD')!.book.viewFor(0)
      const levelsOf = view.levels.bind(view)
      view.levels = () => {
        // After the first slice.
        queueMicrotask(() => {
          stream.removeMarket('BIGUSD')
          if (isAgain) stream.addMarket('BIGUSD')
        })
        return levelsOf()
      }
      expect((await get('BIGUSD/order-book')).status).toBe(status)
      if (!isAgain) stream.addMarket('BIGUSD')
    }
  })

  it('odd conditional requests are answered as RFC 9110 says, and HEAD as GET', async () => {
    stream.snapshot(deepBook(5, 10))
    const whole = await get('AAAUSD/order-book')
    const tag = whole.headers.get('etag') ?? ''
    const many = Array.from({ length: 40 }, (_, number) => `"${number}"`).join(', ')
    const statuses = []
    for (const field of ['*', `W/${tag}`, `"x",${tag}`, `${many}, W/${tag}`, '', '"', 'x', tag.slice(1, -1), ',,,']) {
      statuses.push((await get('AAAUSD/order-book', { 'if-none-match': field })).status)
    }
    expect(statuses).toEqual([304, 304, 304, 304, 200, 200, 200, 200, 200])
    // A list that long is not read: the answer is complete.
    const long = await get('AAAUSD/order-book', { 'if-none-match': `${'"x",'.repeat(16_000)}${tag}` })
    expect([long.status, long.text]).toEqual([200, whole.text])
    const head = await customer.call('HEAD', '/v2/markets/AAAUSD/order-book')
    const length = String(Buffer.byteLength(whole.text))
    const { headers } = head
    expect([head.status, headers.get('etag'), headers.get('content-length'), head.text]).toEqual([200, tag, length, ''])
    const unchanged = await customer.call('HEAD', '/v2/markets/AAAUSD/order-book', undefined, { 'if-none-match': tag })
    expect([unchanged.status, unchanged.headers.get('etag')]).toEqual([304, tag])
  })

  it('a market that is not live is 503, and never has an old book', async () => {
    expect((await get('OLDUSD/order-book')).body.code).toBe('market_not_live')
    stream.snapshot(undefined, 'OLDUSD')
    expect((await get('OLDUSD/order-book')).status).toBe(200)
    stream.lose('OLDUSD')
    const lost = await get('OLDUSD/order-book')
    expect([lost.status, lost.headers.get('retry-after'), lost.body.code]).toEqual([503, '1', 'market_not_live'])
  })

  it('a wrong depth, an unknown market, a missing scope and a customer off the allow list are named', async () => {
    const wrong = await get('AAAUSD/order-book?depth=7')
    expect([wrong.status, wrong.body.errors[0].parameter]).toEqual([400, 'depth'])
    const unknown = await get('XXXUSD/order-book')
    expect([unknown.status, unknown.body.detail]).toEqual([404, expect.stringContaining('AAAUSD')])
    const other = await node.newCustomer()
    expect((await other.call('GET', '/v2/markets/AAAUSD/order-book')).body.code).toBe('not_allowed')
    const without = await node.newClient(customer.customerId, ['identity:read_account'])
    expect((await without.call('GET', '/v2/markets/AAAUSD/order-book')).body.code).toBe('insufficient_scope')
    expect((await get('AAAUSD/order-book?deep=7')).headers.get('tidegate-ignored-parameters')).toBe('deep')
  })

  it('a process without the role gateway names it', async () => {
    const api = await RestNode.open({ hub: stream.hub, isGateway: false })
    const who = await api.newCustomer()
    await api.operator('PATCH', `/customers/${who.customerId}`, { streaming: true })
    for (const path of ['order-book', 'trades']) {
      const { status, body } = await who.call('GET', `/v2/markets/AAAUSD/${path}`)
      expect([status, body.code, body.meta.roles]).toEqual([503, 'role_missing', ['gateway']])
    }
    await api.close()
  })
})

describe('GET /v2/markets/{market}/trades', () => {
  it('trades are the stream’s executions, the newest first, page by page', async () => {
    stream.snapshot(levels([[100, 10]], [[200, 20]]), 'NEWUSD')
    expect((await get('NEWUSD/trades')).body).toEqual({ market: 'NEWUSD', items: [] })
    const client = stream.connect({ subprotocol: 'tidegate.v1' })
    client.ask({ type: 'subscribe', channels: [{ type: 'execution_data', params: { market: 'NEWUSD' } }] })
    for (let amount = 1; amount <= 10; amount++) stream.update([], [{ price: 150, amount }], 'NEWUSD')
    const sent = client.readMessages()
    const trades = sent
      .map(({ payload: { market: _, ...members }, stream: position }) => ({ cursor: position?.cursor, ...members }))
      .toReversed()
    // Eight are kept.
    expect((await get('NEWUSD/trades')).body.items).toEqual(trades.slice(0, 8))
    const first = (await get('NEWUSD/trades?limit=3')).body.items
    expect(first).toEqual(trades.slice(0, 3))
    expect((await get(`NEWUSD/trades?limit=3&before=${first[2].cursor}`)).body.items).toEqual(trades.slice(3, 6))
    for (const query of [`before=${trades[9]?.cursor}`, 'before=x', 'limit=0']) {
      const { status, body } = await get(`NEWUSD/trades?${query}`)
      expect([status, body.errors[0].parameter]).toEqual([400, query.split('=')[0]])
    }
  })
})

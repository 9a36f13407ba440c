/** Connections of several nodes through the operator API of one of them. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { noteOperator } from '../../../src/access/clients/operator-calls.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { createHttpServer } from '../../../src/platform/http/server.ts'
import { listAudit } from '../../../src/platform/store/audit.ts'
import { type Db, StoreUnavailable } from '../../../src/platform/store/db.ts'
import { migrate } from '../../../src/platform/store/migrate.ts'
import { translateStoreError } from '../../../src/service/listeners/listener.ts'
import { registerStreamOperatorRoutes } from '../../../src/streaming/gateway/operator-routes.ts'
import { until } from '../../support/awaited.ts'
import { captureLog } from '../../support/captured-log.ts'
import { NodeExchange, testNode } from '../../support/node-exchange.ts'
import { openTemporaryStore } from '../../support/test-store.ts'
import { itemsOf } from '../../support/text-page.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'
import { LiveStream } from './live-stream.ts'

const NO_ONE = '018f0000-0000-7000-8000-000000000000'

let db: Db
let clock: VirtualClock
let exchange: NodeExchange
let nodes: TestNode[]
/** Those under way: they take real time. */
let transactions = 0

beforeAll(async () => {
  const { log } = captureLog()
  db = await openTemporaryStore(log, new VirtualClock())
  await migrate(db, log)
})
afterAll(() => db?.close())
beforeEach(() => {
  clock = new VirtualClock()
  exchange = new NodeExchange(clock)
  nodes = ['a:1', 'b:1', 'c:1'].map((name) => new TestNode(name))
  // It serves no stream, and is not asked.
  testNode({ clock, exchange, name: 'd:1', roles: ['api'] })
  clock.advance(2_000)
})

class TestNode {
  readonly stream = new LiveStream({ markets: ['AAAUSD'] })
  readonly node: ReturnType<typeof testNode>
  readonly #app
  fault: (() => Promise<void>) | undefined

  constructor(name: string) {
    this.node = testNode({ clock, exchange, name })
    this.#app = createHttpServer({
      listener: 'operator',
      log: captureLog().log,
      metrics: createMetricsRegistry(),
      headerBytesMax: 16_384,
      requestMilliseconds: 30_000,
      translate: translateStoreError,
    })
    this.#app.addHook('onRequest', async (request) =>
      noteOperator(request, { name: 'ada', role: 'admin', via: 'session', issuers: [] }),
    )
    const transaction: Db['transaction'] = async (work, options) => {
      await this.fault?.()
      transactions += 1
      return await db.transaction(work, options).finally(() => {
        transactions -= 1
      })
    }
    registerStreamOperatorRoutes(this.#app, {
      db: { ...db, available: true, transaction },
      hub: this.stream.hub,
      cluster: this.node,
      sourcesOf: () => [],
    })
  }

  connect(clientId: string): string {
    return this.stream.connect({ clientId }).session.id
  }

  /** Time passes until the answer is there. */
  async ask(method: 'GET' | 'DELETE', url: string) {
    let isAnswered = false
    const answer = this.#app.inject({ method, url }).finally(() => {
      isAnswered = true
    })
    const pass = async () => {
      await new Promise(setImmediate)
      if (transactions === 0) clock.advance(1)
    }
    await until(`the answer to ${method} ${url}`, () => isAnswered, pass)
    const response = await answer
    return { status: response.statusCode, body: response.json() }
  }

  async pages(query: string): Promise<{ items: { id: string; node: string }[] }[]> {
    const pages = []
    for (let cursor = ''; ; ) {
      const { body } = await this.ask('GET', `/connections?${query}&page_cursor=${cursor}`)
      pages.push(body)
      if (body.next_page_cursor === undefined) return pages
      cursor = body.next_page_cursor
    }
  }
}

/** Connections spread over the nodes by turns, in the order of their creation, with the names of their nodes. */
function connectAll(count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    for (const { stream } of nodes) stream.clock.advance(index % 2)
    const { node, ...on } = nodes[index % nodes.length] as TestNode
    return `${on.stream.connect({ clientId: index % 4 === 0 ? 'first' : 'second' }).session.id} ${node.name}`
  })
}

const shown = (items: readonly { id: string; node: string }[]) => items.map(({ id, node }) => `${id} ${node}`)

describe('the connections of all nodes', () => {
  it.each(['limit=1', 'limit=2', 'limit=7', 'limit=100', 'limit=3&order=ASC'])(
    'the connections of all nodes are listed exactly once each, in order, with their nodes: %s',
    async (query) => {
      const all = connectAll(20)
      const pages = await (nodes[1] as TestNode).pages(query)
      const listed = pages.flatMap(({ items }) => shown(items))
      expect(listed).toEqual(query.includes('ASC') ? all : all.toReversed())
    },
  )

  it('the connections of all nodes are filtered on each, and counted', async () => {
    connectAll(20)
    const { body } = await (nodes[0] as TestNode).ask('GET', '/connections?client_id=first&limit=2')
    expect(body.items).toHaveLength(2)
    expect(body.nodes).toEqual([
      { node: 'a:1', connections: 2 },
      { node: 'b:1', connections: 2 },
      { node: 'c:1', connections: 1 },
    ])
  })

  it('the connections of all nodes are cut where a response would be too large, and continued on the next page', async () => {
    const all = connectAll(40)
    exchange.payloadBytesMax = 2_000
    const pages = await (nodes[0] as TestNode).pages('limit=100')
    expect(pages.flatMap(({ items }) => shown(items))).toEqual(all.toReversed())
    expect(pages.length).toBeGreaterThan(2)
    expect(Math.max(...exchange.answers)).toBeLessThanOrEqual(2_000)
  })

  it("a list of all nodes' connections lacks those of a node that does not answer, which is named", async () => {
    connectAll(6)
    const [, quiet] = nodes as [TestNode, TestNode]
    exchange.cut.add(quiet.node.id)
    const asked = clock.monotonicMilliseconds()
    const { body } = await (nodes[0] as TestNode).ask('GET', '/connections')
    expect(clock.monotonicMilliseconds() - asked).toBeLessThan(2_100)
    expect(body.items).toHaveLength(4)
    expect(body.nodes[1]).toEqual({ node: 'b:1', problem: 'no answer in time' })
    clock.advance(4_000)
    const later = (await (nodes[0] as TestNode).ask('GET', '/connections')).body
    expect(later.nodes[1]).toEqual({ node: 'b:1', problem: expect.stringMatching(/^silent since 20/) })
  })

  it("a list of all nodes' connections lacks those of a node whose response cannot be read", async () => {
    const [first, second] = nodes as [TestNode, TestNode]
    for (const answer of [
      {},
      { records: [] },
      { records: {}, total: 1 },
      { records: [{}], total: 1 },
      { records: [], total: 1, end: {} },
      { records: [], total: 1, end: { id: 'x', createdMilliseconds: 0 } },
      { records: [], total: 1, end: { id: NO_ONE, createdMilliseconds: 0.5 } },
    ]) {
      second.node.questions.answer('connections', async () => answer)
      const { body } = await first.ask('GET', '/connections')
      expect(body.nodes[1], JSON.stringify(answer)).toEqual({ node: 'b:1', problem: 'its answer cannot be read' })
    }
  })
})

describe('a connection of another node', () => {
  it('a connection of another node is shown with the figures that the node has sent', async () => {
    const [first, second] = nodes as [TestNode, TestNode]
    const client = second.stream.connect({ clientId: 'reader' })
    client.subscribe('AAAUSD execution_data')
    const { status, body } = await first.ask('GET', `/connections/${client.session.id}`)
    expect([status, body]).toMatchObject([
      200,
      { id: client.session.id, node: 'b:1', market_count: 1, markets: [{ market: 'AAAUSD', behind: false }] },
    ])
  })

  it('a connection of another node that misses its pongs is shown as not reading, and unchanged by an earlier release', async () => {
    const [first, second] = nodes as [TestNode, TestNode]
    const client = second.stream.connect()
    second.stream.clock.advance(15_100)
    client.session.receivePong(client.transport.pingData.at(-1) as Buffer)
    second.stream.clock.advance(60_000)
    const listed = async () => (await first.ask('GET', '/connections')).body
    const [shown] = (await listed()).items
    expect(shown).toMatchObject({ behind: false, reading: false, round_trip_ms: expect.any(Number) })
    expect(shown.pong_age_ms).toBeGreaterThan(59_000)
    const { reading: _, pong_age_ms: __, round_trip_ms: ___, ...earlier } = shown
    const place = { id: shown.id, createdMilliseconds: 0 }
    for (const [document, count] of [
      [earlier, 1],
      [{ ...shown, reading: 'yes' }, 0],
      [{ ...shown, pong_age_ms: '1' }, 0],
    ]) {
      second.node.questions.answer('connections', async () => ({ records: [{ ...place, document }], total: 1 }))
      expect((await listed()).items).toHaveLength(count)
    }
  })

  it('a connection of another node is 404 only when each node has answered that it has none', async () => {
    const [first, second] = nodes as [TestNode, TestNode]
    expect((await first.ask('GET', `/connections/${NO_ONE}`)).status).toBe(404)
    exchange.cut.add(second.node.id)
    const unsure = await first.ask('GET', `/connections/${NO_ONE}`)
    expect([unsure.status, unsure.body.detail]).toEqual([503, expect.stringContaining('b:1')])
  })
})

describe('closing a connection of another node', () => {
  it('closing a connection of another node is done by that node, once, with one audit row', async () => {
    const [first, second] = nodes as [TestNode, TestNode]
    const client = second.stream.connect({ clientId: 'reader' })
    const { id } = client.session
    const answers = await Promise.all([1, 2, 3].map(() => first.ask('DELETE', `/connections/${id.toUpperCase()}`)))
    expect(answers.map(({ status, body }) => [status, body.id, body.node])).toEqual(
      [1, 2, 3].map(() => [200, id, 'b:1']),
    )
    expect(client.transport.closed?.code).toBe(1001)
    expect(itemsOf(await listAudit(db, { order: 'DESC' }, { subject: id }))).toHaveLength(1)
    client.session.end()
    expect(await first.ask('DELETE', `/connections/${id}`)).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })

  it("closing a connection is 503 and closes nothing when the other node's store cannot record it", async () => {
    const [first, second] = nodes as [TestNode, TestNode]
    const client = second.stream.connect()
    second.fault = () => Promise.reject(new StoreUnavailable('away'))
    const answer = await first.ask('DELETE', `/connections/${client.session.id}`)
    expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } })
    expect(client.transport.closed).toBeUndefined()
  })

  it('closing an unknown connection is 404 only when each node has answered that it has none', async () => {
    const [first, second] = nodes as [TestNode, TestNode]
    expect((await first.ask('DELETE', `/connections/${NO_ONE}`)).status).toBe(404)
    expect((await first.ask('DELETE', '/connections/%00')).status).toBe(404)
    exchange.cut.add(second.node.id)
    const unsure = await first.ask('DELETE', `/connections/${NO_ONE}`)
    expect(unsure).toMatchObject({ status: 503, body: { code: 'unavailable' } })
    expect(unsure.body.detail).toContain('b:1')
  })
})

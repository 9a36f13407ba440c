/**
 * Three nodes of the built program on one PostgreSQL and one NATS: one runs the sources, two serve the stream, the second of
 * them on a port of its own. A feed that is killed and started again, and a NATS server that is, are repaired on the
 * open connections of clients. Each node shows and closes the connections of the others.
 */
import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canSharePorts } from '../../src/platform/http/shared-port.ts'
import type { Readiness } from '../../src/service/health/readiness.ts'
import { startCommand } from '../support/command-line.ts'
import { NATS_SERVER, titleWith } from '../support/foreign-programs.ts'
import { connectOnceKnown } from '../support/known-client.ts'
import { NatsServer } from '../support/nats-server.ts'
import { claimPort } from '../support/ports.ts'
import { hasPostgres, migratedDatabase } from '../support/postgres.ts'
import {
  ensureBuilt,
  type Flags,
  market,
  newToken,
  OperatorApi,
  type RunningService,
  temporaryFolder,
  tokenOf,
} from '../support/running-service.ts'
import { HandshakeRefused, SampleClient } from '../support/sample-client.ts'

const MARKETS = ['BTCUSD', 'ETHUSD']
const SECRET = 'not-in-any-log'

const folder = temporaryFolder()
const file = join(folder.path, 'tidegate.yaml')
let nats: NatsServer
let feed: Process
let gateway: Process
let other: Process
let store: string

function configure(...markets: readonly ReturnType<typeof market>[]): void {
  writeFileSync(file, JSON.stringify({ markets, simulator: { allowed: true } }))
}

function flagsOf(name: string, roles: string): Flags {
  return {
    config: file,
    data_dir: join(folder.path, name),
    'http.port': 0,
    'operator.port': 0,
    roles,
    'bus.url': nats.url.replace('//', `//tidegate:${SECRET}@`),
    'store.url': store,
    'stream.drain_seconds': 0,
  }
}

const argumentsOf = (flags: Flags) => Object.entries(flags).flatMap(([key, value]) => [`--${key}`, String(value)])

async function start(name: string, roles: string, more: Flags = {}) {
  const path = join(folder.path, name)
  mkdirSync(path, { recursive: true })
  const command = startCommand(['serve', ...argumentsOf({ ...flagsOf(name, roles), ...more })], { isBuilt: true })
  const { http, ws, operator } = JSON.parse(await command.line((line) => line.includes('"ready":true')))
  return { http, ws, operator: new OperatorApi(operator, path), folder: path, command }
}

function stop(node: Process | undefined) {
  node?.command.child.kill('SIGTERM')
  return node?.command.result
}

type Process = Awaited<ReturnType<typeof start>>

const startFeed = () => start('feed', '[feed, api, worker]')

async function checks({ operator }: RunningService): Promise<Readiness['checks']> {
  return ((await (await fetch(`${operator.url}/readyz`)).json()) as Readiness).checks
}

const failing = async (service: RunningService) =>
  (await checks(service)).filter(({ ok }) => !ok).map(({ name }) => name)

const bookOf = (symbol: string) => ({ type: 'market_data', params: { market: symbol } }) as const

const BOOKS = MARKETS.flatMap((market) =>
  (['market_data', 'market_data.top_of_book'] as const).map((type) => ({ type, params: { market } })),
)

/** A reader of both markets that has had more than 20 updates. */
async function connect(hasExecutions = true, { ws } = gateway): Promise<SampleClient> {
  const reader = await connectOnceKnown(ws, await newToken(feed))
  if (hasExecutions) await reader.subscribeAll(...MARKETS)
  else await reader.subscribe(...BOOKS)
  await moreUpdates(reader)
  return reader
}

interface Connections {
  readonly items: readonly { readonly id: string; readonly client_id: string; readonly node: string }[]
  readonly nodes: readonly { readonly node: string; readonly connections?: number; readonly problem?: string }[]
}

const connectionsOf = ({ operator }: Process, query = '') => operator.call<Connections>('GET', `/connections${query}`)

interface Node {
  readonly name: string
  readonly roles: readonly string[]
  readonly ready: boolean
  readonly state: string
  readonly same_definitions: boolean
}

const nodesOf = async ({ operator }: Process) => (await operator.call<{ items: Node[] }>('GET', '/nodes')).items

const nameOf = async (node: Process) => (await nodesOf(node))[0]?.name as string

async function moreUpdates(reader: SampleClient): Promise<void> {
  const { updates } = reader.counts
  await reader.until('updates', () => reader.counts.updates > updates + 20)
}

describe.skipIf(NATS_SERVER.isSkipped || !hasPostgres)(
  titleWith('a feed and a gateway on PostgreSQL', NATS_SERVER, 'nats-server'),
  () => {
    beforeAll(async () => {
      ensureBuilt()
      configure(market('BTC', 2, 50), market('ETH', 2, 50))
      nats = await NatsServer.start({ user: 'tidegate', password: SECRET })
      store = await migratedDatabase()
      feed = await startFeed()
      const gateways = [start('gateway', '[gateway]'), start('other', '[gateway, api]', { 'stream.port': 0 })]
      ;[gateway, other] = (await Promise.all(gateways)) as [Process, Process]
    })

    afterAll(async () => {
      await Promise.all([feed, gateway, other].map((node) => stop(node)))
      await nats?.remove()
      folder.remove()
    })

    test('the gateway streams exact books; the feed serves no stream', async () => {
      const reader = await connect()
      expect(reader.problems).toEqual([])
      reader.terminate()
      await expect.poll(() => failing(gateway)).toEqual([])
      await expect.poll(() => checks(gateway)).toContainEqual({ name: 'bus', ok: true, detail: 'ok' })
      const refused = await SampleClient.connect({ wsUrl: feed.ws, token: await newToken(feed) }).catch(
        (error) => error,
      )
      expect(refused).toBeInstanceOf(HandshakeRefused)
      expect(refused.status).toBe(404)
      // Each has the operations of its roles alone.
      const headers = { authorization: `Bearer ${await newToken(feed)}` }
      const answers = await Promise.all([feed, gateway].map(({ http }) => fetch(`${http}/v2/markets`, { headers })))
      expect(answers.map(({ status }) => status)).toEqual([200, 404])
      const scope = 'exchange:read_marketdata'
      const { customerId } = await feed.operator.createClient()
      const made = await feed.operator.call<{ client_id: string; client_secret: string }>(
        'POST',
        `/customers/${customerId}/clients`,
        () => ({ name: 'books', scopes: [scope] }),
      )
      const { client_id, client_secret } = made
      const form = { grant_type: 'client_credentials', client_id, client_secret, scope }
      const granted = await fetch(`${feed.http}/oauth2/token`, { method: 'POST', body: new URLSearchParams(form) })
      const { access_token: booksToken } = (await granted.json()) as { access_token: string }
      const statusOf = async ({ http }: Process) => {
        const authorization = `Bearer ${booksToken}`
        return (await fetch(`${http}/v2/markets/BTCUSD/order-book?depth=1`, { headers: { authorization } })).status
      }
      expect(await statusOf(feed)).toBe(503)
      // When the client that the feed has created is known there too.
      await expect.poll(() => statusOf(gateway)).toBe(200)
    })

    test.skipIf(!canSharePorts())('two gateways of one machine share a port (needs Node.js 22.12)', async () => {
      const flags = { 'stream.port': await claimPort(), 'stream.reuse_port': 'true' }
      const sharing = [start('sharing-1', '[gateway]', flags), start('sharing-2', '[gateway]', flags)]
      const nodes = await Promise.all(sharing)
      const client = await feed.operator.createClient()
      const token = await tokenOf(feed, client)
      const { ws } = nodes[0] as Process
      expect(nodes.map((node) => node.ws)).toEqual([ws, ws])
      const readers = await Promise.all(Array.from({ length: 24 }, () => connectOnceKnown(ws, token)))
      const places = async () => {
        const { items } = await connectionsOf(feed, `?client_id=${client.clientId}`)
        return [items.length, new Set(items.map(({ node }) => node)).size]
      }
      await expect.poll(places).toEqual([24, 2])
      for (const reader of readers) reader.terminate()
      await Promise.all(nodes.map((node) => stop(node)))
      await expect.poll(async () => (await nodesOf(gateway)).length).toBe(3)
    })

    test('each node knows the others; doctor reports them', async () => {
      const shown = async () =>
        (await nodesOf(gateway))
          .map((node) => [node.roles.join(), node.ready, node.state, node.same_definitions])
          .toSorted()
      const roles = ['feed,api,worker', 'gateway,api', 'gateway']
      await expect.poll(shown).toEqual(roles.map((own) => [own, true, 'present', true]))
      await expect.poll(() => checks(gateway)).toContainEqual({ name: 'nodes', ok: true, detail: 'ok' })
      const flags = { ...flagsOf('gateway', '[gateway]'), 'operator.port': new URL(gateway.operator.url).port }
      const { stdout } = await startCommand(['doctor', ...argumentsOf(flags)], { isBuilt: true }).result
      for (const name of [await nameOf(feed), await nameOf(other)]) expect(stdout).toContain(`node ${name} `)
      expect(stdout).toMatch(/ok +node .* gateway, api; version [0-9.]+; 2 markets; ready/)
    })

    test('each node lists, shows and closes the connections of all', async () => {
      const client = await feed.operator.createClient()
      const readers = await Promise.all(
        [gateway, gateway, other].map(async ({ ws }) => connectOnceKnown(ws, await tokenOf(feed, client))),
      )
      const query = `?client_id=${client.clientId}`
      const names = [await nameOf(gateway), await nameOf(other)] as [string, string]
      for (const node of [feed, gateway, other]) {
        // A node may answer late once, and be named as one that did not.
        const listed = async () => {
          const { items, nodes } = await connectionsOf(node, query)
          return {
            of: items.map(({ node: name }) => name).toSorted(),
            nodes: nodes.map((each) => JSON.stringify(each)),
          }
        }
        await expect.poll(listed).toEqual({
          of: [names[0], ...names].toSorted(),
          nodes: expect.arrayContaining([
            JSON.stringify({ node: names[0], connections: 2 }),
            JSON.stringify({ node: names[1], connections: 1 }),
          ]),
        })
      }
      const remote = (await connectionsOf(other, query)).items.find(({ node }) => node === names[1])
      await readers[2]?.subscribe(bookOf('ETHUSD'))
      const markets = [{ market: 'ETHUSD', channels: [{ type: 'market_data' }] }]
      for (const { operator } of [feed, gateway, other]) {
        const shown = { id: remote?.id, client_id: client.clientId, node: names[1], subscriptions: 1, markets }
        expect(await operator.call('GET', `/connections/${remote?.id}`)).toMatchObject(shown)
      }
      const close = (id: string) =>
        fetch(`${gateway.operator.url}/admin/v1/connections/${id}`, {
          method: 'DELETE',
          headers: { authorization: `Bearer ${gateway.operator.token}` },
        })
      expect((await close(remote?.id as string)).status).toBe(200)
      await readers[2]?.untilClosed()
      expect(readers.map(({ closed }) => closed?.code)).toEqual([undefined, undefined, 1001])
      await expect.poll(async () => (await close(remote?.id as string)).status).toBe(404)
      // What a client may do changes on every node, whichever makes the change.
      await other.operator.call('PATCH', `/clients/${client.clientId}`, { scopes: [] })
      await Promise.all(readers.map((reader) => reader.untilClosed()))
      await expect.poll(async () => (await connectionsOf(feed, query)).items).toEqual([])
    })

    test('a node that is suspended is named where its connections are missing', async () => {
      const name = await nameOf(other)
      other.command.child.kill('SIGSTOP')
      try {
        const { nodes } = await connectionsOf(gateway)
        expect(nodes).toContainEqual({
          node: name,
          problem: expect.stringMatching(/^(no answer in time|silent since )/),
        })
        // It may have any connection that no other has.
        const headers = { authorization: `Bearer ${gateway.operator.token}` }
        const shown = await fetch(`${gateway.operator.url}/admin/v1/connections/${randomUUID()}`, { headers })
        expect(shown.status).toBe(503)
        expect(await shown.text()).toContain(`node ${name} has not answered in time`)
        const list = ['admin', 'connection', 'list', '--operator-url', gateway.operator.url]
        const { code, stderr } = await startCommand([...list, '--data_dir', gateway.folder], { isBuilt: true }).result
        expect(code).toBe(1)
        expect(stderr).toContain(`connections are missing: ${name}: `)
      } finally {
        other.command.child.kill('SIGCONT')
      }
      await expect.poll(async () => (await connectionsOf(gateway)).nodes).toContainEqual({ node: name, connections: 0 })
    })

    test('doctor names the server of the bus, and why it cannot be reached', async () => {
      const doctor = async (flags: Flags) => {
        const command = startCommand(['doctor', '--json', ...argumentsOf(flags)], { isBuilt: true })
        const { stdout } = await command.result
        const { findings } = JSON.parse(stdout) as { findings: { name: string; verdict: string; detail: string }[] }
        return findings.find(({ name }) => name === 'bus')
      }
      const flags = { ...flagsOf('gateway', '[gateway]'), 'operator.port': new URL(gateway.operator.url).port }
      const place = nats.url.replace('nats://', '')
      const found = await doctor(flags)
      expect(found).toMatchObject({ verdict: 'ok' })
      expect(found?.detail).toMatch(new RegExp(`^${place}, NATS 2`))
      expect(await doctor({ ...flags, 'bus.url': nats.url })).toMatchObject({
        verdict: 'bad',
        detail: `no connection to NATS: ${place}: Authorization Violation`,
      })
    })

    test('books become stale and are repaired when a feed is killed and started again', async () => {
      const [reader, executionReader, third] = await Promise.all([connect(false), connect(), connect(false, other)])
      feed.command.child.kill('SIGKILL')
      await feed.command.result
      await expect.poll(() => failing(gateway)).toEqual(MARKETS.map((symbol) => `market ${symbol}`))
      const late = (await checks(gateway)).find(({ name }) => name === 'market BTCUSD')
      expect(late?.detail).toBe('no contact with the market’s feed')
      feed = await startFeed()
      await Promise.all([reader, third].map((each) => moreUpdates(each)))
      await expect.poll(() => failing(gateway)).toEqual([])
      expect([reader, executionReader, third].flatMap(({ problems }) => problems)).toEqual([])
      // What was executed between the two feeds is not known.
      await executionReader.untilClosed()
      expect(executionReader.closed?.code).toBe(4000)
      expect([reader.closed, third.closed]).toEqual([undefined, undefined])
      reader.terminate()
      third.terminate()
    })

    test('connections stay, heartbeats continue and books are repaired when NATS is killed and started again', async () => {
      const [reader, third] = await Promise.all([connect(), connect(true, other)])
      await nats.kill()
      await expect.poll(() => failing(gateway)).toEqual(['bus', ...MARKETS.map((symbol) => `market ${symbol}`)])
      const { heartbeats } = reader.counts
      await reader.until('heartbeats', () => reader.counts.heartbeats > heartbeats + 1)
      await expect.poll(() => failing(feed)).toEqual(['bus'])
      await nats.restart()
      for (const each of [reader, third]) {
        await moreUpdates(each)
        expect(each.problems).toEqual([])
        expect(each.closed).toBeUndefined()
        each.terminate()
      }
      await expect.poll(() => failing(gateway)).toEqual([])
      expect(gateway.command.stderr()).toContain('no connection to NATS')
      expect(gateway.command.stderr() + feed.command.stderr()).not.toContain(SECRET)
    })

    test('a reload adds, changes and removes markets of all nodes', async () => {
      const [reader, third] = await Promise.all([connect(false), connect(false, other)])
      configure(market('ETH', 3, 50), market('SOL', 2, 50))
      const reload = async ({ command }: Process) => {
        command.child.kill('SIGHUP')
        await command.errorLine((line) => line.includes('"event":"configuration reloaded"'))
      }
      await reload(feed)
      const nodesCheck = async () => (await checks(gateway)).find(({ name }) => name === 'nodes')
      const differing = { name: 'nodes', ok: false, detail: `other market definitions: ${await nameOf(feed)}` }
      await expect.poll(nodesCheck).toEqual(differing)
      for (const node of [gateway, other]) await reload(node)
      await expect.poll(nodesCheck).toMatchObject({ ok: true })
      const isEnd = ({ type }: { type: string }) => type === 'unsubscribe'
      for (const each of [reader, third]) {
        await each.until('notices', () => each.replies.filter(isEnd).length >= 2)
        await each.subscribe(...['ETHUSD', 'SOLUSD'].map((symbol) => bookOf(symbol)))
        const isWhole = (symbol: string) => each.books.get(symbol)?.isComplete === true
        await each.until('both books', () => isWhole('ETHUSD') && isWhole('SOLUSD'))
        await moreUpdates(each)
        expect(each.problems).toEqual([])
        const prices = [...each.book('ETHUSD').bids.keys()]
        expect(prices.every((price) => /^[0-9]+[.][0-9]{3}$/.test(price))).toBe(true)
        each.terminate()
      }
      const names = (await checks(gateway)).map(({ name }) => name).filter((name) => name.startsWith('market '))
      expect(names).toEqual(['market ETHUSD', 'market SOLUSD'])
    })
  },
)

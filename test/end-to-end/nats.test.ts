/**
 * Two processes of the built program on one PostgreSQL and one NATS: one runs the sources, the other serves the stream. A
 * feed that is killed and started again, and a NATS server that is, are repaired on the open connections of clients.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Readiness } from '../../src/app/readiness.ts'
import { startCommand } from '../support/command-line.ts'
import { NATS_SERVER, titleWith } from '../support/foreign-programs.ts'
import { NatsServer } from '../support/nats-server.ts'
import { hasPostgres } from '../support/postgres.ts'
import {
  ensureBuilt,
  type Flags,
  market,
  newToken,
  OperatorApi,
  type RunningService,
  temporaryFolder,
} from '../support/running-service.ts'
import { HandshakeRefused, SampleClient } from '../support/sample-client.ts'
import { migratedDatabase } from '../support/test-store.ts'

const MARKETS = ['BTCUSD', 'ETHUSD']
const SECRET = 'not-in-any-log'

const folder = temporaryFolder()
const file = join(folder.path, 'tidegate.yaml')
let nats: NatsServer
let feed: Process
let gateway: Process
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

async function start(name: string, roles: string) {
  const path = join(folder.path, name)
  mkdirSync(path, { recursive: true })
  const command = startCommand(['serve', ...argumentsOf(flagsOf(name, roles))], { isBuilt: true })
  const { http, ws, operator } = JSON.parse(await command.line((line) => line.includes('"ready":true')))
  return { http, ws, operator: new OperatorApi(operator, path), folder: path, command }
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
async function connect(hasExecutions = true): Promise<SampleClient> {
  const reader = await SampleClient.connect({ wsUrl: gateway.ws, token: await newToken(feed) })
  if (hasExecutions) await reader.subscribeAll(...MARKETS)
  else await reader.subscribe(...BOOKS)
  await moreUpdates(reader)
  return reader
}

async function moreUpdates(reader: SampleClient): Promise<void> {
  const { updates } = reader.counts
  await reader.until('updates', () => reader.counts.updates > updates + 20)
}

describe.skipIf(NATS_SERVER.isSkipped || !hasPostgres)(
  titleWith('a feed and a gateway (needs PostgreSQL)', NATS_SERVER, 'nats-server'),
  () => {
    beforeAll(async () => {
      ensureBuilt()
      configure(market('BTC', 2, 50), market('ETH', 2, 50))
      nats = await NatsServer.start({ user: 'tidegate', password: SECRET })
      store = await migratedDatabase()
      feed = await startFeed()
      gateway = await start('gateway', '[gateway]')
    })

    afterAll(async () => {
      for (const { command } of [feed, gateway]) {
        command?.child.kill('SIGTERM')
        await command?.result
      }
      await nats?.remove()
      folder.remove()
    })

    test('the gateway streams exact books; the feed serves no stream', async () => {
      const reader = await connect()
      expect(reader.problems).toEqual([])
      reader.terminate()
      expect(await failing(gateway)).toEqual([])
      expect(await checks(gateway)).toContainEqual({ name: 'bus', ok: true, detail: 'ok' })
      const refused = await SampleClient.connect({ wsUrl: feed.ws, token: await newToken(feed) }).catch(
        (error) => error,
      )
      expect(refused).toBeInstanceOf(HandshakeRefused)
      expect(refused.status).toBe(404)
      // Each has the operations of its roles alone.
      const headers = { authorization: `Bearer ${await newToken(feed)}` }
      const answers = await Promise.all([feed, gateway].map(({ http }) => fetch(`${http}/v2/markets`, { headers })))
      expect(answers.map(({ status }) => status)).toEqual([200, 404])
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

    test('a feed that is killed and started again: books become stale, and are repaired', async () => {
      const [reader, executionReader] = await Promise.all([connect(false), connect()])
      feed.command.child.kill('SIGKILL')
      await feed.command.result
      await expect.poll(() => failing(gateway)).toEqual(MARKETS.map((symbol) => `market ${symbol}`))
      const late = (await checks(gateway)).find(({ name }) => name === 'market BTCUSD')
      expect(late?.detail).toBe('no contact with the feed of the market')
      feed = await startFeed()
      await moreUpdates(reader)
      expect(await failing(gateway)).toEqual([])
      expect([...reader.problems, ...executionReader.problems]).toEqual([])
      // What was executed between the two feeds is not known.
      await executionReader.untilClosed()
      expect(executionReader.closed?.code).toBe(4000)
      expect(reader.closed).toBeUndefined()
      reader.terminate()
    })

    test('NATS that is killed and started again: connections stay, heartbeats continue, books are repaired', async () => {
      const reader = await connect()
      await nats.kill()
      await expect.poll(() => failing(gateway)).toEqual(['bus', ...MARKETS.map((symbol) => `market ${symbol}`)])
      const { heartbeats } = reader.counts
      await reader.until('heartbeats', () => reader.counts.heartbeats > heartbeats + 1)
      expect(await failing(feed)).toEqual(['bus'])
      await nats.restart()
      await moreUpdates(reader)
      expect(await failing(gateway)).toEqual([])
      expect(reader.problems).toEqual([])
      expect(reader.closed).toBeUndefined()
      reader.terminate()
      expect(gateway.command.stderr()).toContain('no connection to NATS')
      expect(gateway.command.stderr() + feed.command.stderr()).not.toContain(SECRET)
    })

    test('a reload adds, changes and removes markets of both', async () => {
      const reader = await connect(false)
      configure(market('ETH', 3, 50), market('SOL', 2, 50))
      for (const { command } of [feed, gateway]) {
        command.child.kill('SIGHUP')
        await command.errorLine((line) => line.includes('"event":"configuration reloaded"'))
      }
      const isEnd = ({ type }: { type: string }) => type === 'unsubscribe'
      await reader.until('notices', () => reader.replies.filter(isEnd).length >= 2)
      await reader.subscribe(...['ETHUSD', 'SOLUSD'].map((symbol) => bookOf(symbol)))
      const isWhole = (symbol: string) => reader.books.get(symbol)?.isComplete === true
      await reader.until('both books', () => isWhole('ETHUSD') && isWhole('SOLUSD'))
      await moreUpdates(reader)
      expect(reader.problems).toEqual([])
      const prices = [...reader.book('ETHUSD').bids.keys()]
      expect(prices.every((price) => /^[0-9]+[.][0-9]{3}$/.test(price))).toBe(true)
      const names = (await checks(gateway)).map(({ name }) => name).filter((name) => name.startsWith('market '))
      expect(names).toEqual(['market ETHUSD', 'market SOLUSD'])
      reader.terminate()
    })
  },
)

/**
 * A feed and a gateway of the built program on one PostgreSQL and one NATS server. The gateway follows only wanted
 * markets: it reports all of them as live, follows one when it is subscribed, and serves a leader's successor.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Readiness } from '../../src/service/health/readiness.ts'
import { Cluster, type ClusterProcess } from '../support/cluster.ts'
import { NATS_SERVER, titleWith } from '../support/foreign-programs.ts'
import { connectOnceKnown } from '../support/known-client.ts'
import { hasPostgres, migratedDatabase } from '../support/postgres.ts'
import { market } from '../support/running-service.ts'
import type { SampleClient } from '../support/sample-client.ts'

const SYMBOLS = ['BTCUSD', 'ETHUSD', 'SOLUSD', 'XRPUSD', 'LTCUSD']

let cluster: Cluster
let gateway: ClusterProcess
let token: string

const followed = ({ operator }: ClusterProcess) => operator.metric('tidegate_bus_followed_markets')

const connect = () => connectOnceKnown(gateway.ws, token)

const book = (symbol: string) => ({ type: 'market_data', params: { market: symbol } }) as const

/** Resolves when the books are complete and change. Returns the milliseconds until they were complete. */
async function subscribed(client: SampleClient, ...symbols: string[]): Promise<number> {
  const { updates } = client.counts
  const start = performance.now()
  await client.subscribe(...symbols.map(book))
  await client.until('books', () => symbols.every((symbol) => client.books.get(symbol)?.isComplete === true))
  const milliseconds = performance.now() - start
  await client.until('updates', () => client.counts.updates > updates + 20)
  return milliseconds
}

describe.skipIf(NATS_SERVER.isSkipped || !hasPostgres)(
  titleWith('a gateway that follows wanted markets', NATS_SERVER, 'nats-server'),
  () => {
    beforeAll(async () => {
      cluster = await Cluster.start({
        processes: { 'feed-1': '[feed, api]', 'feed-2': '[feed]', gateway: '[gateway]' },
        markets: SYMBOLS.map((symbol) => market(symbol.slice(0, 3), 2, 50)),
        flagsOf: { gateway: { 'stream.follow': 'wanted' } },
        store: await migratedDatabase(),
      })
      gateway = cluster.process('gateway')
      ;({ token } = await cluster.createClient())
    })

    afterAll(() => cluster?.remove())

    test('a gateway without subscribers follows no market, is ready and reports every market as live', async () => {
      const marketChecks = async () => {
        const { ready, checks } = (await (await fetch(`${gateway.operator.url}/readyz`)).json()) as Readiness
        return [ready, checks.filter(({ name, ok }) => name.startsWith('market ') && ok).length]
      }
      await expect.poll(marketChecks).toEqual([true, SYMBOLS.length])
      const { items } = await gateway.operator.call<{ items: { symbol: string; live: boolean }[] }>('GET', '/markets')
      expect(items.map(({ symbol, live }) => [symbol, live])).toEqual(SYMBOLS.map((symbol) => [symbol, true]))
      expect(await followed(gateway)).toBe(0)
      expect(await followed(cluster.process('feed-2'))).toBe(SYMBOLS.length)
    })

    test('the first subscriber to a market has its SNAPSHOT within a second', async () => {
      const client = await connect()
      for (const [place, symbol] of ['BTCUSD', 'ETHUSD'].entries()) {
        expect(await subscribed(client, symbol)).toBeLessThan(1_000)
        expect(await followed(gateway)).toBe(place + 1)
      }
      expect(client.problems).toEqual([])
      client.terminate()
    })

    test('an operator who reads a book has it followed', async () => {
      const read = () => gateway.operator.call<{ live: boolean; bids: unknown[] }>('GET', '/markets/XRPUSD/book')
      await expect.poll(async () => (await read()).bids.length).toBeGreaterThan(0)
      expect(await followed(gateway)).toBe(3)
    })

    test('a market that is wanted after its leader died is served by the next leader', async () => {
      const client = await connect()
      await subscribed(client, 'BTCUSD')
      const [leader] = await cluster.leaders()
      await cluster.kill(leader as string)
      await subscribed(client, 'SOLUSD', 'LTCUSD')
      const before = client.books.get('BTCUSD')?.time as string
      await client.until('the old market again', () => (client.books.get('BTCUSD')?.time as string) > before)
      expect(client.problems).toEqual([])
      client.terminate()
    })
  },
)

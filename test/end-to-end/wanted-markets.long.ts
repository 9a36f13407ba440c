/**
 * The memory of a gateway with 3,000 configured markets and 300 subscribed ones, against that of a gateway with the 300
 * alone, and the time until the first subscriber of a market has its SNAPSHOT. Every process is the built program, on one
 * PostgreSQL and one NATS server.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { Cluster } from '../support/cluster.ts'
import { collectGarbage } from '../support/collect-garbage.ts'
import { NATS_SERVER, titleWith } from '../support/foreign-programs.ts'
import { connectOnceKnown } from '../support/known-client.ts'
import { note } from '../support/note.ts'
import { hasPostgres, migratedDatabase } from '../support/postgres.ts'
import { market } from '../support/running-service.ts'
import type { SampleClient } from '../support/sample-client.ts'

const ENGINE = fileURLToPath(new URL('../support/quiet-engine.mjs', import.meta.url))
const WANTED = 300
const CONFIGURED = 3_000
const MEMORY_DIFFERENCE_BYTES_MAX = 20_000_000
const COLD_MARKETS = 200
const AT_ONCE = 500
const SNAPSHOT_MILLISECONDS_MAX = 1_000
const REST_MILLISECONDS = 20_000

const symbolOf = (index: number) => `M${index}USD`
const bookOf = (symbol: string) => ({ type: 'market_data', params: { market: symbol } }) as const

let cluster: Cluster | undefined

async function start(count: number) {
  cluster = await Cluster.start({
    processes: { feed: '[feed]', api: '[api]', gateway: '[gateway]' },
    markets: Array.from({ length: count }, (_, index) => {
      return market(`M${index}`, 2, 200, `module:${ENGINE}:M${index}USD`)
    }),
    store: await migratedDatabase(),
  })
  const { token } = await cluster.createClient()
  const [gateway, feed] = [cluster.process('gateway'), cluster.process('feed')]
  const client = await connectOnceKnown(gateway.ws, token)
  return { cluster, gateway, feed, client }
}

async function subscribe(client: SampleClient, symbols: readonly string[]): Promise<void> {
  await client.subscribe(...symbols.map(bookOf))
  await client.until('books', () => symbols.every((symbol) => client.books.get(symbol)?.isComplete === true))
}

/** With the first 300 markets subscribed, in bytes. */
async function measure({ gateway, feed, client }: Awaited<ReturnType<typeof start>>): Promise<number> {
  await subscribe(
    client,
    Array.from({ length: WANTED }, (_, index) => symbolOf(index)),
  )
  await wait(REST_MILLISECONDS)
  const cpu = async () => [
    await gateway.operator.metric('process_cpu_seconds_total'),
    await feed.operator.metric('process_cpu_seconds_total'),
  ]
  const before = await cpu()
  await wait(REST_MILLISECONDS)
  const used = (await cpu()).map((seconds, place) => ((seconds - before[place]!) / REST_MILLISECONDS) * 100_000)
  await collectGarbage(gateway.command.child.pid as number)
  const bytes = await gateway.operator.metric('process_resident_memory_bytes')
  const followed = await gateway.operator.metric('tidegate_bus_followed_markets')
  const cores = used.map((percent) => percent.toFixed(1))
  note(`${followed} markets followed: gateway ${bytes} bytes; ${cores[0]} % of a core, its feed ${cores[1]} %`)
  expect([followed, client.problems]).toEqual([WANTED, []])
  return bytes
}

describe.skipIf(NATS_SERVER.isSkipped || !hasPostgres)(
  titleWith('a gateway with many markets', NATS_SERVER, 'nats-server'),
  () => {
    afterAll(() => cluster?.remove())

    test('a gateway with 3,000 markets of which 300 are wanted takes at most 20 MB more than with the 300 alone', async () => {
      const few = await start(WANTED)
      const alone = await measure(few)
      await few.cluster.remove()
      const many = await start(CONFIGURED)
      const among = await measure(many)
      note(`300 alone: ${alone} bytes; among 3,000: ${among} bytes`)
      expect(among - alone).toBeLessThan(MEMORY_DIFFERENCE_BYTES_MAX)

      const times: number[] = []
      for (let index = WANTED; index < WANTED + COLD_MARKETS; index++) {
        const begin = performance.now()
        await subscribe(many.client, [symbolOf(index)])
        times.push(performance.now() - begin)
      }
      times.sort((left, right) => left - right)
      const at = (part: number) =>
        (times[Math.min(times.length - 1, Math.floor(times.length * part))] as number).toFixed(1)
      note(`first SNAPSHOT of ${COLD_MARKETS} markets, ms: p50 ${at(0.5)}, p99 ${at(0.99)}, at most ${at(1)}`)
      expect(times.at(-1)).toBeLessThan(SNAPSHOT_MILLISECONDS_MAX)
      const next = WANTED + COLD_MARKETS
      const begin = performance.now()
      await subscribe(
        many.client,
        Array.from({ length: AT_ONCE }, (_, index) => symbolOf(next + index)),
      )
      note(`SNAPSHOTs of ${AT_ONCE} markets wanted at once: ${(performance.now() - begin).toFixed(0)} ms`)
      expect(many.client.problems).toEqual([])
    })
  },
)

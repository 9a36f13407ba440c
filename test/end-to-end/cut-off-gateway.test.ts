/**
 * A gateway that reaches PostgreSQL and NATS through connections of its own, which are disturbed, beside a process of the
 * other roles: when it is ready, and which streams it accepts.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Readiness } from '../../src/service/health/readiness.ts'
import { Cluster, type ClusterProcess } from '../support/cluster.ts'
import { NATS_SERVER, titleWith } from '../support/foreign-programs.ts'
import { hasPostgres, migratedDatabase } from '../support/postgres.ts'
import { proxyPostgres } from '../support/postgres-proxy.ts'
import { market } from '../support/running-service.ts'
import { fetchToken, HandshakeRefused, SampleClient } from '../support/sample-client.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'

const STALE_SECONDS = 3
/** Longer than a gate may fail before it counts. */
const COUNTS_MILLISECONDS = 3_000
const POLL = { timeout: 60_000, interval: 50 }

let cluster: Cluster
let postgres: TcpProxy
let nats: TcpProxy
let feed: ClusterProcess
let gateway: ClusterProcess

async function readiness({ operator }: ClusterProcess) {
  const { ready, checks } = (await (await fetch(`${operator.url}/readyz`)).json()) as Readiness
  const failing = checks.flatMap(({ name, ok }) => (ok || name.startsWith('market ') ? [] : [name]))
  return { ready, failing, detailOf: (name: string) => checks.find((row) => row.name === name)?.detail }
}

const failing = async (process: ClusterProcess) => (await readiness(process)).failing
const isReady = async (process: ClusterProcess) => (await readiness(process)).ready
const passing = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** The status with which a stream is answered; 101 when it is opened. */
async function statusOf(token: string): Promise<number> {
  try {
    const client = await SampleClient.connect({ wsUrl: gateway.ws, token })
    client.terminate()
    return 101
  } catch (error) {
    if (error instanceof HandshakeRefused) return error.status
    throw error
  }
}

describe.skipIf(NATS_SERVER.isSkipped || !hasPostgres)(
  titleWith('a gateway that is cut off on PostgreSQL', NATS_SERVER, 'nats-server'),
  () => {
    beforeAll(async () => {
      const store = await migratedDatabase()
      cluster = await Cluster.start({ processes: {}, markets: [market('BTC', 2, 50)], store })
      nats = await TcpProxy.listen(cluster.nats.port)
      const proxied = await proxyPostgres(store)
      postgres = proxied.proxy
      gateway = await cluster.launch('gateway', '[gateway]', {
        'store.url': proxied.url,
        'bus.url': `nats://127.0.0.1:${nats.port}`,
        'auth.directory_stale_seconds': STALE_SECONDS,
      })
    })

    afterAll(async () => {
      await cluster?.remove()
      postgres?.close()
      nats?.close()
    })

    test('a gateway is not ready before it has heard a feed, and then at once', async () => {
      expect(await readiness(gateway)).toMatchObject({ ready: false, failing: ['feed'] })
      feed = await cluster.launch('feed', '[feed, api, worker]')
      await expect.poll(() => failing(gateway), POLL).toEqual([])
      expect(await isReady(gateway)).toBe(true)
    })

    test('a gateway that is cut off from PostgreSQL stays ready until access changes that it cannot know', async () => {
      const client = await feed.operator.createClient()
      const token = await fetchToken({ authUrl: feed.http, ...client })
      await expect.poll(() => statusOf(token), POLL).toBe(101)
      const stream = await SampleClient.connect({ wsUrl: gateway.ws, token })
      postgres.freeze()
      await expect.poll(() => failing(gateway), POLL).toEqual(['store'])
      await passing(Math.max(COUNTS_MILLISECONDS, STALE_SECONDS * 1_000 + 1_000))
      expect(await readiness(gateway)).toMatchObject({ ready: true, failing: ['store'] })
      expect(await statusOf(token)).toBe(101)
      await feed.operator.call('PATCH', `/clients/${client.clientId}`, { enabled: false })
      await expect.poll(() => statusOf(token), POLL).toBe(503)
      await expect.poll(() => isReady(gateway), POLL).toBe(false)
      expect(await failing(gateway)).toEqual(['store', 'directory'])
      expect([await isReady(feed), stream.closed]).toEqual([true, undefined])
      postgres.thaw()
      await stream.untilClosed()
      expect(stream.closed?.code).toBe(4003)
      await expect.poll(() => statusOf(token), POLL).toBe(403)
      await expect.poll(() => isReady(gateway), POLL).toBe(true)
    })

    test('a gateway that alone is cut off from NATS is not ready until it is back', async () => {
      await nats.refuse()
      await expect.poll(() => isReady(gateway), POLL).toBe(false)
      const { failing, detailOf } = await readiness(gateway)
      expect([failing, detailOf('bus')]).toEqual([['bus'], expect.stringContaining('other nodes reach it')])
      expect(await isReady(feed)).toBe(true)
      await nats.accept()
      await expect.poll(() => isReady(gateway), POLL).toBe(true)
    })

    test('a gateway is ready while no node reaches NATS', async () => {
      await cluster.nats.kill()
      await expect.poll(async () => [await failing(gateway), await failing(feed)], POLL).toEqual([['bus'], ['bus']])
      await passing(COUNTS_MILLISECONDS)
      expect([await isReady(gateway), await isReady(feed)]).toEqual([true, true])
      await cluster.nats.restart()
      await expect.poll(() => failing(gateway), POLL).toEqual([])
    })
  },
)

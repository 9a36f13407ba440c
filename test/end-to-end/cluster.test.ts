/**
 * Two feeds, two gateways, two APIs and two workers of the built program on one PostgreSQL and one NATS server, with clients
 * that check every message and deposits that are reported all the time, while the feed that leads and a gateway are killed.
 * After each fault: every reader has fresh books of every market, no rule was broken, no time went back, the self-audit found
 * nothing, no deposit was lost and the ledger balances. `cluster-faults.long.ts` has all faults.
 */

import type { Server } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import WebSocket from 'ws'
import { ALL_KEYS } from '../support/address-keys.ts'
import { once } from '../support/awaited.ts'
import { CLUSTER_PROCESSES, Cluster } from '../support/cluster.ts'
import { ClusterReader } from '../support/cluster-reader.ts'
import { ClusterWatch } from '../support/cluster-watch.ts'
import { NATS_SERVER, titleWith } from '../support/foreign-programs.ts'
import { PlannedCustomers } from '../support/planned-customers.ts'
import { hasPostgres, migratedDatabase } from '../support/postgres.ts'
import { executorFlags, ReportedDeposits, startExecutor } from '../support/reported-deposits.ts'
import { market } from '../support/running-service.ts'

const READERS = 8
const MARKETS = ['BTCUSD', 'ETHUSD']

let cluster: Cluster
let executor: Server
let readers: ClusterReader[]
let watch: ClusterWatch
let deposits: ReportedDeposits
let headers: Record<string, string>

/** The sequences of the events that a new subscriber receives from the first on. Deposits keep making new ones. */
async function firstEvents(ws: string, count: number): Promise<number[]> {
  const sequences: number[] = []
  const socket = new WebSocket(ws, ['tidegate.v1'], { headers })
  await once(socket, 'open')
  const isComplete = new Promise<void>((resolve) => {
    socket.on('message', (data) => {
      const { channel, payload } = JSON.parse(String(data))
      if (channel === 'events') sequences.push(payload.sequence)
      if (sequences.length === count) resolve()
    })
  })
  socket.send(JSON.stringify({ type: 'subscribe', channels: [{ type: 'events', params: { after: 0 } }] }))
  await isComplete
  socket.close()
  return sequences.slice(0, count)
}

/** Kills a process, and starts it again when the readers have fresh books without it. */
async function survive(name: string): Promise<void> {
  await cluster.kill(name)
  await watch.fresh(performance.now())
  await cluster.launch(name)
  await watch.fresh(performance.now())
  await watch.leader()
  expect(await watch.problems()).toEqual([])
}

describe.skipIf(NATS_SERVER.isSkipped || !hasPostgres)(
  titleWith('a cluster on PostgreSQL', NATS_SERVER, 'nats-server'),
  () => {
    beforeAll(async () => {
      executor = startExecutor()
      await once(executor, 'listening')
      cluster = await Cluster.start({
        processes: CLUSTER_PROCESSES,
        markets: [market('BTC', 2, 50), market('ETH', 2, 50)],
        store: await migratedDatabase(),
        flags: { ...ALL_KEYS, 'simulator.rate': 5, ...executorFlags(executor) },
      })
      const { token } = await cluster.createClient()
      headers = { authorization: `Bearer ${token}` }
      const addresses = () => cluster.withRole('gateway').map(({ ws }) => ws)
      readers = Array.from({ length: READERS }, () => new ClusterReader({ addresses, token, markets: MARKETS }))
      watch = new ClusterWatch(cluster, readers, MARKETS)
      deposits = new ReportedDeposits(() => cluster.withRole('api'), token)
      await deposits.start()
      await watch.fresh(0)
    })

    afterAll(async () => {
      deposits?.end()
      for (const reader of readers ?? []) await reader.stop()
      await cluster?.remove()
      executor?.closeAllConnections()
      executor?.close()
    })

    test("the cluster's book is repaired when the leading feed is killed", async () => survive(await watch.leader()))

    test("the cluster's book is repaired when a gateway is killed", () => survive('gateway-1'))

    test('a downgraded plan acts at both gateways, on open connections and over REST, and on no other plan', async () => {
      const [gateways, apis] = [cluster.withRole('gateway'), cluster.withRole('api')]
      const planned = await PlannedCustomers.open({ gateways, apis, customers: 12, plans: 3 })
      try {
        await planned.downgrade(0)
        await planned.downgrade(1)
        expect(planned.problems([0, 1])).toEqual([])
      } finally {
        planned.close()
      }
    })

    test('a customer’s events reach its subscribers at both gateways in the order of the list, also those that follow', async () => {
      const [api] = cluster.withRole('api')
      const answer = await fetch(`${api?.http}/v2/events?limit=1&order=DESC`, { headers })
      const { items } = (await answer.json()) as { items: [{ sequence: number }] }
      const last = items[0].sequence
      const gateways = cluster.withRole('gateway')
      expect(gateways.length).toBe(2)
      for (const received of await Promise.all(gateways.map(({ ws }) => firstEvents(ws, last + 3)))) {
        expect(received).toEqual(Array.from({ length: last + 3 }, (_, index) => index + 1))
      }
    })

    test('each process builds only the parts of its role, and names the roles that serve a call', async () => {
      for (const name of cluster.names) {
        const { operator } = cluster.process(name)
        const read = (path: string) =>
          fetch(`${operator.url}${path}`, { headers: { authorization: `Bearer ${operator.token}` } })
        const movesMoney = /^(api|worker)/.test(name)
        const statuses = await Promise.all(
          ['deposits', 'overview', 'controls', 'nodes', 'connections', 'markets'].map(
            async (call) => (await read(`/admin/v1/${call}`)).status,
          ),
        )
        expect([name, ...statuses]).toEqual([name, movesMoney ? 200 : 503, 200, 200, 200, 200, 200])
        if (!movesMoney) {
          const refusal = await (await read('/admin/v1/deposits')).json()
          expect(refusal).toMatchObject({ code: 'role_missing', meta: { roles: ['api', 'worker'] } })
        }
        const metrics = await (await read('/metrics')).text()
        expect([name, metrics.includes('tidegate_ledger_imbalance')]).toEqual([name, movesMoney])
        // A feed that waits for the lead opens no venue either.
        if (!name.startsWith('feed')) expect([name, metrics.includes('tidegate_source_live{')]).toEqual([name, false])
      }
    })

    test('the cluster has converted and delivered every deposit that was acknowledged', async () => {
      const statuses = await deposits.stop()
      expect(deposits.acknowledged).toBeGreaterThan(5)
      expect(new Set(statuses)).toEqual(new Set(['COMPLETED']))
    })
  },
)

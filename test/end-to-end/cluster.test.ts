/**
 * Two feeds, two gateways, two APIs and two workers of the built program on one PostgreSQL and one NATS server, with clients
 * that check every message and deposits that are reported all the time, while the feed that leads and a gateway are killed.
 * After each fault: every reader has fresh books of every market, no rule was broken, no time went back, the self-audit found
 * nothing, no deposit was lost and the ledger balances. `cluster-faults.long.ts` has all faults.
 */
import { once } from 'node:events'
import type { Server } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ALL_KEYS } from '../support/address-keys.ts'
import { CLUSTER_PROCESSES, Cluster } from '../support/cluster.ts'
import { ClusterReader } from '../support/cluster-reader.ts'
import { ClusterWatch } from '../support/cluster-watch.ts'
import { NATS_SERVER, titleWith } from '../support/foreign-programs.ts'
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

    test('is repaired when the feed that leads is killed', async () => survive(await watch.leader()))

    test('is repaired when a gateway is killed', () => survive('gateway-1'))

    test('has converted and delivered every deposit that was acknowledged', async () => {
      const statuses = await deposits.stop()
      expect(deposits.acknowledged).toBeGreaterThan(5)
      expect(new Set(statuses)).toEqual(new Set(['COMPLETED']))
    })
  },
)

/**
 * 1,000 customers with 20 plans on three nodes, and on one node with two gateway processes: each downgrade of a plan acts
 * on every connection and on every node's REST API within a second of the operator's answer.
 * `TIDEGATE_PLANNED_CUSTOMERS` sets another number of customers.
 */
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { canSharePorts } from '../../src/platform/http/shared-port.ts'
import { Cluster } from '../support/cluster.ts'
import { NATS_SERVER, titleWith } from '../support/foreign-programs.ts'
import { note } from '../support/note.ts'
import { PlannedCustomers } from '../support/planned-customers.ts'
import { hasPostgres, migratedDatabase } from '../support/postgres.ts'
import {
  ensureBuilt,
  market,
  type ServiceProcess,
  startServiceProcess,
  temporaryFolder,
} from '../support/running-service.ts'

const CUSTOMERS = Number(process.env.TIDEGATE_PLANNED_CUSTOMERS ?? 1_000)
const PLANS = 20
const MILLISECONDS_MAX = 1_000
const MARKETS = [market('BTC', 2, 50), market('ETH', 2, 50)]
const FLAGS = { 'simulator.rate': 2, 'auth.token_rate_per_second': 1_000 }

let customers: PlannedCustomers | undefined
afterEach(() => customers?.close())

async function downgradeAll(planned: PlannedCustomers): Promise<void> {
  customers = planned
  const times: number[] = []
  for (let plan = 0; plan < PLANS; plan++) times.push(...(await planned.downgrade(plan)))
  times.sort((one, other) => one - other)
  const at = (share: number) => Math.round(times[Math.ceil(share * times.length) - 1] as number)
  note(`${times.length} effects of ${PLANS} downgrades, ms: p50 ${at(0.5)}, p99 ${at(0.99)}, longest ${at(1)}`)
  expect(planned.problems(Array.from({ length: PLANS }, (_, plan) => plan))).toEqual([])
  expect(times.at(-1)).toBeLessThan(MILLISECONDS_MAX)
}

describe.skipIf(NATS_SERVER.isSkipped || !hasPostgres)(
  titleWith('plans on three nodes', NATS_SERVER, 'nats-server'),
  () => {
    let cluster: Cluster | undefined
    afterAll(() => cluster?.remove())

    test('a downgraded plan acts on all connections to three nodes, and on their REST APIs, within a second', async () => {
      const names = ['node-1', 'node-2', 'node-3']
      cluster = await Cluster.start({
        processes: Object.fromEntries(names.map((name) => [name, '[feed, gateway, api]'])),
        markets: MARKETS,
        store: await migratedDatabase(),
        flags: FLAGS,
      })
      const nodes = names.map((name) => (cluster as Cluster).process(name))
      await downgradeAll(
        await PlannedCustomers.open({ gateways: nodes, apis: nodes, customers: CUSTOMERS, plans: PLANS }),
      )
    })
  },
)

describe.skipIf(!canSharePorts())('plans with gateway processes', () => {
  const folder = temporaryFolder()
  let service: ServiceProcess | undefined
  afterAll(async () => {
    await service?.stop()
    folder.remove()
  })

  test('a downgraded plan acts on all connections to two gateway processes within a second', async () => {
    ensureBuilt()
    service = await startServiceProcess('serve', folder.path, {
      ...FLAGS,
      'gateway.processes': 2,
      'stream.port': 0,
      markets: JSON.stringify(MARKETS),
    })
    const nodes = [service]
    await downgradeAll(
      await PlannedCustomers.open({ gateways: nodes, apis: nodes, customers: CUSTOMERS, plans: PLANS }),
    )
  })
})

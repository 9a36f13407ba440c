/**
 * Deposits per second in process, without events and with them, alternately: two stores of one engine. In one the
 * triggers that write events are off. In the other they are on, and one customer has a webhook endpoint, whose receiver
 * answers at once. Either one of a thousand customers has it, or the only customer with deposits.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createWebhookMetrics } from '../src/access/webhook-endpoints/metrics.ts'
import { WebhookSender } from '../src/access/webhook-endpoints/sender.ts'
import { createEndpoint } from '../src/access/webhook-endpoints/service.ts'
import { SCOPES } from '../src/contract/scopes.ts'
import { createSystemClock } from '../src/platform/base/clock.ts'
import { newId } from '../src/platform/base/ids.ts'
import { createLog } from '../src/platform/base/log.ts'
import { createMetricsRegistry } from '../src/platform/base/metrics.ts'
import type { Db, Transaction } from '../src/platform/store/db.ts'
import { migrate } from '../src/platform/store/migrate.ts'
import { sql } from '../src/platform/store/sql.ts'
import { createReceivers } from '../test/support/receivers.ts'
import { ENCRYPTION_KEY } from '../test/support/rest.ts'
import { type Contender, interleaved } from './interleaved.ts'
import { depositsPerSecond } from './orchestration-in-process.ts'
import { type OrchestrationService, startOrchestrationService } from './orchestration-service.ts'
import type { BenchResult } from './result.ts'
import { measureStores } from './stores.ts'

const CUSTOMERS = 1_000
const BATCH = 50
const TABLES_WITH_EVENTS = ['accounts', 'deposit_addresses', 'destinations', 'rules', 'transfers', 'orchestrations']
const log = createLog('error')
const clock = createSystemClock()

export async function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  const size = quick ? { rounds: 3, milliseconds: 1_000 } : { rounds: 7, milliseconds: 3_000 }
  const receiver = spawn(process.execPath, [join(import.meta.dirname, 'event-receiver.mjs')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [line] = (await once(receiver.stdout as NonNullable<ChildProcess['stdout']>, 'data')) as [Buffer]
    return await measureStores((engine, db, openAnother) => measure(engine, db, openAnother, `${line}`.trim(), size))
  } finally {
    receiver.kill()
  }
}

interface Size {
  readonly rounds: number
  readonly milliseconds: number
}

async function measure(
  engine: string,
  plainDb: Db,
  openAnother: () => Promise<Db>,
  url: string,
  { rounds, milliseconds }: Size,
): Promise<BenchResult[]> {
  const plain = await startStand(plainDb)
  for (const table of TABLES_WITH_EVENTS)
    await sql.raw(`alter table ${table} disable trigger user`).execute(plainDb.tables())
  const withEvents = await startStand(await openAnother())
  const sender = await startSender(withEvents, url)
  const contenders = [1, BATCH].flatMap((batch) =>
    (['one of many customers', 'the only customer'] as const).flatMap((who): Contender[] => {
      const how = `${engine}: ${batch === 1 ? 'one by one' : `in batches of ${batch}`}, endpoint of ${who}`
      const rate = ({ service, addresses }: Stand) => {
        const [only] = addresses as [string]
        const any = () => addresses[Math.floor(Math.random() * addresses.length)] as string
        return depositsPerSecond(service, milliseconds, batch, who === 'the only customer' ? () => only : any)
      }
      return [
        { name: `${how}, without events`, unit: '/s', run: () => rate(plain) },
        { name: `${how}, with events`, unit: '/s', run: () => rate(withEvents) },
      ]
    }),
  )
  const results = await interleaved(contenders, rounds)
  await sender.stop()
  for (const { service } of [plain, withEvents]) await service.stop()
  return [...results, await sentEvents(engine, withEvents)]
}

interface Stand {
  readonly db: Db
  readonly service: OrchestrationService
  readonly addresses: readonly string[]
}

async function startStand(db: Db): Promise<Stand> {
  await migrate(db, log)
  return { db, service: startOrchestrationService(db), addresses: await createReceivers(db, CUSTOMERS) }
}

/** Gives the first address's customer an endpoint, and starts what sends to it. */
async function startSender({ db, addresses }: Stand, url: string): Promise<WebhookSender> {
  const { rows } = await sql<{ customer_id: string }>`
    select customer_id from deposit_addresses where address = ${addresses[0]}
  `.execute(db.tables())
  const [{ customer_id: customerId }] = rows as [{ customer_id: string }]
  const client = { id: newId(), customerId, enabled: true, scopes: new Set(Object.keys(SCOPES)) }
  await db.transaction(async (transaction: Transaction<never>) => {
    await sql`
      insert into clients (id, customer_id, name, scopes) values (${client.id}, ${customerId}, 'events', '{}')
    `.execute(transaction)
    const maker = { encryptionKey: ENCRYPTION_KEY, settings: () => ({ allowPrivate: true, endpointsMax: 10 }) }
    await createEndpoint(transaction, maker, { actor: 'bench', customerId }, { clientId: client.id, url })
  })
  const sender = new WebhookSender({
    db,
    clock,
    log,
    random: Math.random,
    encryptionKey: ENCRYPTION_KEY,
    allowPrivate: () => true,
    requests: createWebhookMetrics(createMetricsRegistry(), db),
    directory: { client: () => client as never, customer: () => ({ enabled: true }) as never },
  })
  await sender.start()
  return sender
}

/** How many events were sent while deposits were measured, and how many were left. */
async function sentEvents(engine: string, { db }: Stand): Promise<BenchResult> {
  const { rows } = await sql<{ sent: string; last: string }>`
    select passed_sequence as sent, last_sequence as last from webhook_endpoints join event_counters using (customer_id)
  `.execute(db.tables())
  const [{ sent, last }] = rows as [{ sent: string; last: string }]
  return {
    name: `${engine}: share of the endpoint’s events that were sent by then`,
    unit: '%',
    runs: [(Number(sent) / Number(last)) * 100],
  }
}

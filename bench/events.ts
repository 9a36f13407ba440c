/**
 * Deposits per second over HTTP without events and with them, alternately: two built programs. In one's store the triggers
 * that write events are off. In the other's they are on, and one of twenty customers has a webhook endpoint, whose
 * receiver answers at once.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSystemClock } from '../src/platform/base/clock.ts'
import { createLog } from '../src/platform/base/log.ts'
import type { Db } from '../src/platform/store/db.ts'
import { openEmbedded } from '../src/platform/store/embedded.ts'
import { migrate } from '../src/platform/store/migrate.ts'
import { openPostgres } from '../src/platform/store/postgres.ts'
import { sql } from '../src/platform/store/sql.ts'
import { hasPostgres, PostgresServer } from '../test/support/postgres.ts'
import { ClaimingExecutor } from './claiming-executor.ts'
import { type Contender, interleaved } from './interleaved.ts'
import { depositsPerSecond } from './orchestration.ts'
import { PAYMENT_FLAGS, ReportedPayments, type Way } from './reported-payments.ts'
import type { BenchResult } from './result.ts'
import { newMachine, type Program, withProgram } from './served-program.ts'

const BATCH = 50
const MEASURED: readonly (readonly [way: Way, batch: number])[] = [
  ['at par, by address', 1],
  ['at par, by address', BATCH],
  ['at par and paid out, by memo', BATCH],
]
const TABLES_WITH_EVENTS = ['accounts', 'deposit_addresses', 'rules', 'transfers', 'orchestrations', 'client_secrets']
const log = createLog('error')
const clock = createSystemClock()

interface Size {
  readonly rounds: number
  readonly milliseconds: number
}

type Flags = Readonly<Record<string, string>>

export async function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  const size = quick ? { rounds: 3, milliseconds: 400 } : { rounds: 8, milliseconds: 1_000 }
  const receiver = spawn(process.execPath, [join(import.meta.dirname, 'event-receiver.mjs')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [line] = (await once(receiver.stdout, 'data')) as [Buffer]
    const url = `${line}`.trim()
    return [...(hasPostgres ? await onPostgres(size, url) : []), ...(await onEmbedded(size, url))]
  } finally {
    receiver.kill()
  }
}

async function onPostgres(size: Size, url: string): Promise<BenchResult[]> {
  const server = PostgresServer.create({ settings: { fsync: 'on', full_page_writes: 'on', shared_buffers: '128MB' } })
  await server.start()
  const store = async (hasEvents: boolean) => {
    const address = await server.createDatabase()
    await prepare(openPostgres({ connectionsMax: 1, log, clock, random: Math.random, url: address }), hasEvents)
    return { 'store.url': address, 'keys.encryption_key': Buffer.alloc(32, 7).toString('base64') }
  }
  const results = await both('PostgreSQL', await store(false), await store(true), size, url)
  await server.remove()
  return results
}

async function onEmbedded(size: Size, url: string): Promise<BenchResult[]> {
  const folders = [false, true].map((hasEvents) => ({
    hasEvents,
    folder: mkdtempSync(join(tmpdir(), 'tidegate-bench-')),
  }))
  for (const { folder, hasEvents } of folders) {
    await prepare(await openEmbedded({ folder: join(folder, 'store'), log, clock }), hasEvents)
  }
  const [off, on] = folders.map(({ folder }): Flags => ({ data_dir: folder })) as [Flags, Flags]
  const results = await both('embedded', off, on, size, url)
  for (const { folder } of folders) rmSync(folder, { recursive: true, force: true })
  return results
}

async function prepare(db: Db, hasEvents: boolean): Promise<void> {
  await migrate(db, log)
  if (!hasEvents) {
    for (const table of TABLES_WITH_EVENTS)
      await sql.raw(`alter table ${table} disable trigger user`).execute(db.tables())
  }
  await db.close()
}

function both(engine: string, offStore: Flags, onStore: Flags, size: Size, url: string): Promise<BenchResult[]> {
  const common = { ...PAYMENT_FLAGS, 'webhooks.allow_private': 'true' }
  return withProgram({ ...common, ...offStore }, (off) =>
    withProgram({ ...common, ...onStore }, async (on) => {
      const [plain, withEvents] = [await stand(off), await stand(on)]
      const endpoint = await createEndpoint(on, url)
      const contenders = MEASURED.flatMap(([way, batch]): Contender[] => {
        const how = `${engine}: ${way}, ${batch === 1 ? 'one by one' : `in batches of ${batch}`}`
        const rate = ({ program, payments }: Stand) =>
          depositsPerSecond(program, payments, way, batch, size.milliseconds)
        return [
          { name: `${how}, without events`, unit: '/s', pid: off.pid, run: () => rate(plain) },
          { name: `${how}, with events`, unit: '/s', pid: on.pid, run: () => rate(withEvents) },
        ]
      })
      const results = await interleaved(contenders, size.rounds)
      const sent = await sentShare(on, endpoint)
      for (const { executor, program } of [plain, withEvents]) {
        await executor.stop()
        await program.stop()
      }
      return [...results, { name: `${engine}: the endpoint’s events that were sent by then`, unit: '%', runs: [sent] }]
    }),
  )
}

interface Stand {
  readonly program: Program
  readonly payments: ReportedPayments
  readonly executor: ClaimingExecutor
}

async function stand(program: Program): Promise<Stand> {
  const reporter = await newMachine(program, 'deposit_reporter')
  const payments = await ReportedPayments.create(program, reporter, {
    ways: [...new Set(MEASURED.map(([way]) => way))],
  })
  const executor = new ClaimingExecutor(await newMachine(program, 'executor'), 'executor')
  executor.start()
  return { program, payments, executor }
}

interface Endpoint {
  readonly id: string
  readonly customer_id: string
  readonly last_sequence: number
}

interface Client {
  readonly client_id: string
  readonly customer_id: string
}

/** An endpoint for the newest customer. */
async function createEndpoint({ operator }: Program, url: string): Promise<Endpoint> {
  const { items } = await operator.call<{ items: Client[] }>('GET', '/clients?limit=1')
  const [{ client_id, customer_id }] = items as [Client]
  return await operator.call('POST', `/customers/${customer_id}/webhook-endpoints`, { client_id, url })
}

async function sentShare({ operator }: Program, { id, customer_id }: Endpoint): Promise<number> {
  const { items } = await operator.call<{ items: Endpoint[] }>('GET', `/customers/${customer_id}/webhook-endpoints`)
  const last = items.find((endpoint) => endpoint.id === id)?.last_sequence ?? 0
  const events = await operator.call<{ items: { sequence: number }[] }>(
    'GET',
    `/customers/${customer_id}/events?order=DESC&limit=1`,
  )
  return (last / (events.items[0]?.sequence ?? 1)) * 100
}

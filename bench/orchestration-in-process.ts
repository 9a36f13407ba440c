/**
 * Deposits COMPLETED per second in process: reports handed to the module, without HTTP, JSON and authorisation. They
 * are compared with the transfers per second in a ledger in the manner of pgledger on the same server with as many
 * connections, batches with batches, alternating. `orchestration` measures what users see. PostgreSQL runs on this
 * machine with its default settings and syncs to the disk.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSystemClock } from '../src/platform/base/clock.ts'
import { createLog } from '../src/platform/base/log.ts'
import { openEmbedded } from '../src/platform/store/embedded.ts'
import { migrate } from '../src/platform/store/migrate.ts'
import { openPostgres } from '../src/platform/store/postgres.ts'
import { sql } from '../src/platform/store/sql.ts'
import { hasPostgres, PostgresServer } from '../test/support/postgres.ts'
import { createReceivers } from '../test/support/receivers.ts'
import { interleaved, perSecond } from './interleaved.ts'
import { anchorContenders, anchorName, createLedgerAnchor } from './ledger-anchor.ts'
import { measureClaims, measureClaimsBesideOldTransaction } from './orchestration-claim.ts'
import { newReport, type OrchestrationService, startOrchestrationService } from './orchestration-service.ts'
import type { BenchResult } from './result.ts'

/** The default for `store.connections_max`. */
const CONNECTIONS = 10
/** Concurrent callers of `select 1`: enough to keep every connection busy. */
const CALLERS = 20
/** Customers in the runs with many. */
const RECEIVERS = 1_000
/** Concurrent report sources, with one deposit each, or fifty each. */
const REPORTERS = 100
/** Deposits per second in the latency measurement. */
const PACE = 100
const BATCH = 50
/** Sources that report batches: enough for as many full groups as the service commits at the same time. */
const BATCH_REPORTERS = 8
const log = createLog('error')
const clock = createSystemClock()

interface Size {
  readonly rounds: number
  readonly milliseconds: number
  /** For deposits at a constant rate. */
  readonly pacedSeconds: number
  /** How many finished orchestrations the claims are measured with. */
  readonly finished: readonly number[]
  /** How many finished orchestrations have rows that an old transaction keeps from being removed. */
  readonly kept: number
}

const QUICK: Size = { rounds: 3, milliseconds: 1_000, pacedSeconds: 5, finished: [0, 100_000], kept: 100_000 }
const ORDINARY: Size = {
  rounds: 7,
  milliseconds: 5_000,
  pacedSeconds: 30,
  finished: [0, 500_000, finishedMax()],
  kept: 500_000,
}

/** `BENCH_FINISHED_MILLIONS`: millions of finished orchestrations, 1 by default, because more take many minutes. */
function finishedMax(): number {
  return Number(process.env.BENCH_FINISHED_MILLIONS ?? 1) * 1_000_000
}

export async function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  const size = quick ? QUICK : ORDINARY
  return [...(hasPostgres ? await onPostgres(size) : []), ...(await onEmbedded(size))]
}

/** The embedded store, empty and on this machine's disk. It is removed afterwards. */
async function onEmbedded(size: Size): Promise<BenchResult[]> {
  const { rounds, milliseconds, pacedSeconds } = size
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-bench-'))
  const db = await openEmbedded({ folder: join(folder, 'store'), log, clock })
  await migrate(db, log)
  const service = startOrchestrationService(db)
  const many = await createReceivers(db, RECEIVERS)
  const next = () => many[Math.floor(Math.random() * many.length)] as string
  const deposits = (what: string, batch: number) => ({
    name: `embedded, in process: deposits to COMPLETED: ${what}`,
    unit: '/s',
    run: () => depositsPerSecond(service, milliseconds, batch, next),
  })
  const results = await interleaved([deposits('many customers', 1), deposits(`in batches of ${BATCH}`, BATCH)], rounds)
  results.push(...(await paced(service, 'embedded, in process: ', pacedSeconds, next)))
  await service.stop()
  await db.close()
  rmSync(folder, { recursive: true })
  return results
}

async function onPostgres({ rounds, milliseconds, pacedSeconds, finished, kept }: Size): Promise<BenchResult[]> {
  const server = PostgresServer.create({ settings: { fsync: 'on', full_page_writes: 'on', shared_buffers: '128MB' } })
  await server.start()
  const openAt = (url: string) => openPostgres({ url, connectionsMax: CONNECTIONS, log, clock, random: Math.random })
  const open = async () => openAt(await server.createDatabase())
  const db = await open()
  const anchor = await createLedgerAnchor(db)
  const ours = await open()
  await migrate(ours, log)
  const service = startOrchestrationService(ours)
  const many = await createReceivers(ours, RECEIVERS)
  const [one] = many as [string]
  const deposits = (what: string, batch: number, next: () => string, how?: 'forWorker') => ({
    name: `in process: deposits to COMPLETED: ${what}`,
    unit: '/s',
    reference: anchorName(batch),
    run: () => depositsPerSecond(service, milliseconds, batch, next, how),
  })
  const contenders = [
    {
      name: 'driver: `select 1`',
      unit: '/s',
      run: () => perSecond(() => sql`select 1`.execute(db.tables()), CALLERS, milliseconds),
    },
    ...anchorContenders(anchor, BATCH, milliseconds),
    deposits('many customers', 1, () => many[Math.floor(Math.random() * many.length)] as string),
    deposits('one customer with one profile', 1, () => one),
    deposits(`one customer, in batches of ${BATCH}`, BATCH, () => one),
    deposits(`one customer, in batches of ${BATCH}, all by the worker`, BATCH, () => one, 'forWorker'),
  ]
  const results = await interleaved(contenders, rounds)
  await anchor.verify()
  results.push(
    ...(await paced(
      service,
      'in process: ',
      pacedSeconds,
      () => many[Math.floor(Math.random() * many.length)] as string,
    )),
  )
  await service.stop()
  results.push(...(await measureClaims(ours, finished)), makingReports(one))
  await ours.close()
  await db.close()
  const address = await server.createDatabase()
  const other = openAt(address)
  await migrate(other, log)
  results.push(...(await measureClaimsBesideOldTransaction(other, address, kept)))
  await other.close()
  await server.remove()
  return results
}

/** Deposits at a constant rate: the time from the report to COMPLETED, on the store's clock. */
async function paced(
  service: OrchestrationService,
  engine: string,
  seconds: number,
  next: () => string,
): Promise<BenchResult[]> {
  await service.delays()
  const start = performance.now()
  const reports: Promise<void>[] = []
  for (let number = 0; number < seconds * PACE; number++) {
    const wait = start + (number * 1_000) / PACE - performance.now()
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
    reports.push(service.report([next()]))
  }
  await Promise.all(reports)
  await service.settled()
  const delays = [...(await service.delays())].sort((left, right) => left - right)
  if (delays.length !== seconds * PACE) throw new Error(`${delays.length} deposits of ${seconds * PACE} are COMPLETED`)
  const part = (share: number) => delays[Math.ceil(delays.length * share) - 1] as number
  return [0.5, 0.99].map((share) => ({
    name: `${engine}${PACE} deposits/s: accepted to COMPLETED, p${share * 100}`,
    unit: 'ms',
    runs: [part(share)],
  }))
}

/** The cost of generating the reports alone. */
function makingReports(address: string): BenchResult {
  const count = 20_000
  const start = performance.now()
  for (let index = 0; index < count; index++) newReport(address)
  return {
    name: 'making reports, without a service',
    unit: '/s',
    runs: [(count * 1_000) / (performance.now() - start)],
  }
}

/**
 * Reports for some time with concurrent callers, waits until all deposits are COMPLETED, and divides by the whole time.
 * The backlog is as large after a run as before it.
 */
export async function depositsPerSecond(
  service: OrchestrationService,
  milliseconds: number,
  batch: number,
  next: () => string,
  how?: 'forWorker',
): Promise<number> {
  const start = performance.now()
  let reported = 0
  const caller = async () => {
    while (performance.now() - start < milliseconds) {
      await service.report(Array.from({ length: batch }, next), how)
      reported += batch
    }
  }
  await Promise.all(Array.from({ length: batch === 1 ? REPORTERS : BATCH_REPORTERS }, caller))
  await service.settled()
  const rate = (reported / (performance.now() - start)) * 1_000
  const completed = (await service.delays()).length
  if (completed !== reported) throw new Error(`${completed} deposits of ${reported} are COMPLETED`)
  return rate
}

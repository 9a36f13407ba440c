/**
 * Real processes under load that are killed with SIGKILL, and others that start in their place: several on PostgreSQL, and
 * one after the other on the data folder of the embedded store. What must hold then is in `kills/violations`.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { reportSettled } from '../../../src/money/deliveries/reports.ts'
import { createLog } from '../../../src/platform/base/log.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { openEmbedded } from '../../../src/platform/store/embedded.ts'
import { migrate } from '../../../src/platform/store/migrate.ts'
import { openPostgres } from '../../../src/platform/store/postgres.ts'
import { PAYEE, rowsOf } from '../../support/deliveries.ts'
import { DELIVERY_OWNERS } from '../../support/delivery-owners.ts'
import { sharedDatabase } from '../../support/postgres.ts'
import { propertySettings } from '../../support/property.ts'
import { Random } from '../../support/random.ts'
import { createReceivers } from '../../support/receivers.ts'
import { createSlowClock } from '../../support/slow-clock.ts'
import { Campaign } from './kills/campaign.ts'
import { Executor, type Manner } from './kills/executor.ts'
import { bundleProgram, type WorkerProcess } from './kills/processes.ts'
import { findViolations } from './kills/violations.ts'

const { seed = 1 } = propertySettings(1)
const isLong = process.env.TIDEGATE_LONG === '1'
const engine = inject('engine')
const LONG_KILLS = { postgres: 80, embedded: 10 }
const ORDINARY_KILLS = { postgres: 8, embedded: 2 }
const KILLS = isLong ? Number(process.env.TIDEGATE_KILLS ?? LONG_KILLS[engine]) : ORDINARY_KILLS[engine]
/** Each is reported by three sources in an order of its own. */
const PAYMENTS = isLong ? 50 : 20
const RECEIVERS = 4
const OUTSIDE = { crypto: { address: PAYEE, network: 'ETHEREUM' } } as const
const DAY_SECONDS = 86_400

let program: string
let folder: string
let store: string
const executor = new Executor(new Random(seed))

beforeAll(async () => {
  program = await bundleProgram()
  folder = mkdtempSync(join(tmpdir(), 'tidegate-kills-'))
  store = engine === 'embedded' ? join(folder, 'store') : await sharedDatabase()
  await executor.open()
})
afterAll(() => {
  executor.close()
  for (const path of [program, folder]) rmSync(path, { recursive: true, force: true })
})

/** The store in this process, while no other one owns it. */
async function withStore<Result>(work: (db: Db) => Promise<Result>): Promise<Result> {
  const [log, clock] = [createLog('error'), createSlowClock()]
  const db =
    engine === 'embedded'
      ? await openEmbedded({ folder: store, log, clock })
      : openPostgres({ url: store, connectionsMax: 2, random: Math.random, log, clock })
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

/** No process is killed any more, and time passes: all work that is possible gets done. */
async function finish(workers: readonly WorkerProcess[]): Promise<void> {
  const [worker] = workers as [WorkerProcess]
  const isSilent = ({ manner }: { readonly manner: Manner }) => manner === 'is silent'
  const leftAfter = async (seconds: number) => {
    await worker.passTime(seconds)
    return await worker.remaining()
  }
  const isOnlySilenceLeft = async () =>
    (await leftAfter(0)) === [...executor.deliveries.values()].filter(isSilent).length
  await expect.poll(isOnlySilenceLeft, { interval: 200 }).toBe(true)
  // What the executor never answers clearly waits for the operator after a day.
  await expect.poll(() => leftAfter(DAY_SECONDS), { interval: 200 }).toBe(0)
  await Promise.all(workers.map((each) => each.stop()))
}

/** The executor reports what it accepted, as its operator does. */
async function settleAccepted(db: Db): Promise<void> {
  const accepted = [...executor.deliveries].flatMap(([id, { manner }]) => (manner === 'accepts' ? [id] : []))
  if (accepted.length === 0) return
  for (const [id, { attempt }] of await rowsOf(db, accepted)) {
    const report = { reference: executor.pay(id), attempt }
    await db.transaction((transaction) => reportSettled(transaction, DELIVERY_OWNERS, 'operator', id, report))
  }
}

it(`${KILLS} killed processes cause one credit per payment, while three reporters report each in an order of its own`, async () => {
  const addresses = await withStore(async (db) => {
    await migrate(db, createLog('error'))
    return [...(await createReceivers(db, RECEIVERS)), ...(await createReceivers(db, RECEIVERS, OUTSIDE))]
  })
  const campaign = new Campaign({
    random: new Random(seed),
    executor,
    folder: program,
    store: { engine, store },
    workers: engine === 'postgres' ? 3 : 1,
    kills: KILLS,
    payments: PAYMENTS,
    addresses,
  })
  await finish(await campaign.run())
  const violations = await withStore(async (db) => {
    await settleAccepted(db)
    return await findViolations(db, campaign, executor)
  })
  expect(violations).toEqual([])
  expect(campaign.kills).toBe(KILLS)
  expect(campaign.payments.length).toBeGreaterThanOrEqual(PAYMENTS)
  // Processes died in the middle of reports, and of requests that were sent again.
  expect(campaign.unanswered).toBeGreaterThan(0)
  expect([...executor.deliveries.values()].some(({ requests }) => requests > 1)).toBe(true)
})

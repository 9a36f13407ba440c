/**
 * Random concurrent movements with two workers and kills at named points: there, an actor's transaction is rolled back,
 * or what follows it never happens. On PostgreSQL, two worker processes beside them are killed with SIGKILL. After each
 * round nothing is killed any more and all due work is done. Then every movement's closed gates, whether it proceeded,
 * and its use of the limits equal an independent oracle.
 */
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { depositReturns } from '../../../src/money/deposits/returns.ts'
import { ORCHESTRATION_DELIVERIES } from '../../../src/money/orchestrations/delivery-results.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { openPostgres } from '../../../src/platform/store/postgres.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { captureLog } from '../../support/captured-log.ts'
import { addAssets } from '../../support/ledger.ts'
import { note } from '../../support/note.ts'
import { ORCHESTRATED_ASSETS, violationsOf } from '../../support/orchestrations.ts'
import { migratedDatabase } from '../../support/postgres.ts'
import { seedOf } from '../../support/property.ts'
import { Random } from '../../support/random.ts'
import { createSlowClock } from '../../support/slow-clock.ts'
import { openTwoTestStores } from '../../support/test-store.ts'
import { closeAndOpen, openAll } from './movements/flips.ts'
import { KilledWorkers } from './movements/killed-workers.ts'
import { checkMovements, settleDown } from './movements/quiet.ts'
import { limitsOf, movementSettings, REVIEW_ABOVE } from './movements/settings.ts'
import { POINTS, World } from './movements/world.ts'

const seed = seedOf(7)
const isLong = process.env.TIDEGATE_LONG === '1'
const MOVEMENTS = isLong ? Number(process.env.TIDEGATE_MOVEMENTS ?? 2_000) : 80
/** Enough movements each for some to reach the limits of a day. */
const PARTIES = isLong ? Math.ceil(MOVEMENTS / 250) : 4
const ACTIONS = isLong ? 2_000 : 80
/** Processes killed with SIGKILL, on PostgreSQL. */
const PROCESSES = isLong ? 100 : 4

let dbs: readonly [Db, Db]
let killed: KilledWorkers | undefined
beforeAll(async () => {
  const { log } = captureLog()
  if (inject('engine') === 'embedded') dbs = await openTwoTestStores({ log })
  else {
    const url = await migratedDatabase()
    const open = () => openPostgres({ url, connectionsMax: 5, log, clock: createSlowClock(), random: Math.random })
    dbs = [open(), open()]
    killed = await KilledWorkers.create({ url, isLong, killsMax: PROCESSES, random: new Random(seed) })
  }
  await addAssets(dbs[0], ORCHESTRATED_ASSETS)
})
afterAll(async () => {
  killed?.remove()
  for (const db of new Set(dbs)) await db.close()
})

it(`gates and limits equal the oracle for ${MOVEMENTS} random movements with two workers and kills at named points`, async () => {
  const { settings, limits, payments } = movementSettings(isLong)
  const owners = { orchestrations: ORCHESTRATION_DELIVERIES, deposits: depositReturns, gates: () => settings }
  const circumstances = {
    pausedAssets: [],
    areDeliveriesPaused: false,
    reviewAbove: REVIEW_ABOVE,
    limits: limitsOf(isLong),
  }
  const random = new Random(seed)
  const world = new World({ dbs, random, settings, owners, circumstances })
  for (let count = 0; count < PARTIES; count++) await world.addParty()
  while (world.movements.size < MOVEMENTS && world.violations.length === 0) {
    await closeAndOpen(world, dbs[0], random)
    const act = () => world.act(ACTIONS)
    await (killed === undefined ? act() : killed.during(act))
    await settleDown(world, dbs[0])
    await checkMovements(world, dbs[0])
  }
  payments.clear()
  const raised = { day: 1n << 62n, movement: 1n << 62n }
  limits.splice(0, limits.length, ...limits.map((limit) => ({ ...limit, amount: raised[limit.window] })))
  Object.assign(circumstances, { limits: raised })
  await openAll(world, dbs[0])
  await settleDown(world, dbs[0])
  await world.allowAll()
  await settleDown(world, dbs[0])
  await checkMovements(world, dbs[0])
  await world.reportAll()
  const { rows } = await sql<{ id: string }>`
    select id from orchestrations where status = 'PROCESSING' and waiting_for is distinct from 'OPERATOR'
  `.execute(dbs[0].tables())
  expect({ seed, violations: world.violations, unfinished: rows }).toEqual({ seed, violations: [], unfinished: [] })
  expect(await violationsOf(dbs[0])).toEqual([])
  if (killed !== undefined) expect(killed.kills).toBeGreaterThan(0)
  const kills = [...world.kills].map(([point, count]) => `${count} ${point}`).join(', ')
  note(`${world.movements.size} movements, killed: ${kills}, and ${killed?.kills ?? 0} processes with SIGKILL`)
  // Few movements may not meet every point.
  if (isLong) expect([...world.kills.keys()].sort()).toEqual([...POINTS].sort())
})

/**
 * Random concurrent movements with two workers and kills at named points. After each round nothing is killed any more and
 * all due work is done: then the closed gates of every movement, whether it proceeded, and its use of the limits equal an independent
 * oracle.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { GateSettings } from '../../../src/money/controls/gates.ts'
import { depositReturns } from '../../../src/money/deposits/returns.ts'
import { ORCHESTRATION_DELIVERIES } from '../../../src/money/orchestrations/delivery-results.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { captureLog } from '../../support/captured-log.ts'
import { OPEN_GATES } from '../../support/gates.ts'
import { addAssets } from '../../support/ledger.ts'
import { ORCHESTRATED_ASSETS, violationsOf } from '../../support/orchestrations.ts'
import { seedOf } from '../../support/property.ts'
import { Random } from '../../support/random.ts'
import { openTwoTestStores } from '../../support/test-store.ts'
import { closeAndOpen, openAll } from './movements/flips.ts'
import { checkMovements, settleDown } from './movements/quiet.ts'
import { POINTS, World } from './movements/world.ts'

const seed = seedOf(7)
const isLong = process.env.TIDEGATE_LONG === '1'
const MOVEMENTS = isLong ? 10_000 : 80
const PARTIES = isLong ? 40 : 4
const ACTIONS = isLong ? 2_000 : 80
const REVIEW_ABOVE = 6_000_000n
const LIMITS = { day: isLong ? 300_000_000n : 25_000_000n, movement: 8_500_000n }

let dbs: readonly [Db, Db]
beforeAll(async () => {
  dbs = await openTwoTestStores({ log: captureLog().log })
  await addAssets(dbs[0], ORCHESTRATED_ASSETS)
})
afterAll(async () => {
  for (const db of new Set(dbs)) await db.close()
})

it(`gates and limits equal the oracle for ${MOVEMENTS} random movements with two workers and kills at named points`, async () => {
  const limits = (['USDC', 'USDG'] as const).flatMap((asset) =>
    (['day', 'movement'] as const).map((window) => ({
      scope: 'customer' as const,
      asset,
      window,
      amount: LIMITS[window],
    })),
  )
  const payments = new Map([
    ['USDC', REVIEW_ABOVE],
    ['USDG', REVIEW_ABOVE],
  ])
  const settings: GateSettings = {
    ...OPEN_GATES,
    reviewAbove: { deposits: new Map(), payments },
    needsAccountApproval: true,
    destinations: { isRequired: true, isSandbox: false },
    screening: { validHours: 24 },
    limits,
  }
  const owners = { orchestrations: ORCHESTRATION_DELIVERIES, deposits: depositReturns, gates: () => settings }
  const circumstances = { pausedAssets: [], areDeliveriesPaused: false, reviewAbove: REVIEW_ABOVE, limits: LIMITS }
  const random = new Random(seed)
  const world = new World({ dbs, random, settings, owners, circumstances })
  for (let count = 0; count < PARTIES; count++) await world.addParty()
  while (world.movements.size < MOVEMENTS && world.violations.length === 0) {
    await closeAndOpen(world, dbs[0], random)
    await world.act(ACTIONS)
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
  // Few movements may not meet every point.
  if (isLong) expect([...world.kills.keys()].sort()).toEqual([...POINTS].sort())
})

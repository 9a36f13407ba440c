/**
 * Runs a simulated world: random actions, some of them at once, some in processes that die; then calm, and the check of
 * the rules.
 */
import { sql } from '../../../../src/platform/store/sql.ts'
import { ledgerDifferences } from '../../../support/ledger.ts'
import { moneyViolations, unexplained } from '../../../support/money-oracles.ts'
import type { FaultyStore } from '../../../support/store-faults.ts'
import { calm, createFirstRules, pickAction } from './actions.ts'
import { finishDeliveries } from './delivery-actions.ts'
import { deliveryViolations, unfinishedDeliveries } from './delivery-oracles.ts'
import { DESK_LIMITS } from './settings.ts'
import type { World } from './world.ts'

/** Points that a process passes in a few actions. */
const CRASH_POINTS_MAX = 60
/** Rounds of calm: what waits the longest between two attempts waits half a minute. */
const CALM_ROUNDS = 12
const CALM_STEP_MILLISECONDS = 40_000
/**
 * Rounds of payments: what waits the longest between two requests waits 22 minutes. One that failed repays what a profile
 * owes, and what waited for that makes further payments.
 */
const PAYMENT_ROUNDS = 3
const PAYMENT_ROUNDS_MAX = 9
const PAYMENT_STEP_MILLISECONDS = 1_400_000

/** The violations after a number of actions; empty when there are none. Ends early at the first violation. */
export async function runWorld(world: World, rounds: number): Promise<readonly string[]> {
  if (world.rules.length === 0) await createFirstRules(world)
  world.useWebhook(world.random.chance(0.5))
  for (let round = 0; round < rounds; round++) {
    mayCrash(world)
    const together = world.random.chance(0.3) ? 1 + world.random.integer(4) : 1
    await Promise.all(Array.from({ length: together }, () => pickAction(world)(world)))
    for (const { diedAt } of storesOf(world)) if (diedAt !== undefined) world.crashes++
    if (world.api.diedAt !== undefined) world.api.restart()
    if (round % 20 === 19) {
      const violations = await findViolations(world)
      if (violations.length > 0) return violations
    }
  }
  return await settle(world)
}

function mayCrash(world: World): void {
  if (!world.random.chance(0.3)) return
  world.random.pick(storesOf(world)).crash({ after: world.random.integer(CRASH_POINTS_MAX) })
}

/** Of every process of the world. */
function storesOf({ api, workers, senders }: World): readonly FaultyStore[] {
  return [api, ...[...workers, ...senders].map(({ store }) => store)]
}

/** No more faults: what can be done gets done, and the rest says why not. */
async function settle(world: World): Promise<readonly string[]> {
  for (const store of storesOf(world)) store.restart()
  await calm(world)
  for (let round = 0; round < CALM_ROUNDS; round++) {
    for (const worker of world.workers) await worker.step()
    await world.advance(CALM_STEP_MILLISECONDS)
  }
  let open: readonly string[] = []
  for (let round = 1; round <= PAYMENT_ROUNDS_MAX; round++) {
    await finishDeliveries(world)
    await world.advance(PAYMENT_STEP_MILLISECONDS)
    for (const worker of world.workers) await worker.step()
    open = [...(await unexplained(world.db)), ...(await unfinishedDeliveries(world.db))]
    if (round >= PAYMENT_ROUNDS && open.length === 0) break
  }
  return [...(await findViolations(world)), ...open]
}

async function findViolations(world: World): Promise<readonly string[]> {
  const deadlocks =
    world.deadlocks === 0 ? [] : [`transactions never wait for each other in a circle: ${world.deadlocks} did`]
  return [
    ...(await moneyViolations(world.db, DESK_LIMITS)),
    ...(await ledgerDifferences(world.db)),
    ...(await deliveryViolations(world)),
    ...deadlocks,
    ...(await lost(world)),
  ]
}

/** Payments that were reported to their source as COMPLETED, and are not. */
async function lost({ db, payments }: World): Promise<readonly string[]> {
  const { rows } = await sql<{ key: string }>`
    select coalesce(tx_hash || ' ' || tx_index, bank_reference) as key from deposits where status = 'COMPLETED'
  `.execute(db.tables())
  const credited = new Set(rows.map(({ key }) => key))
  return payments
    .filter((payment) => payment.isCredited && !credited.has(payment.key))
    .map(({ key }) => `what was reported COMPLETED stays credited: ${key}`)
}

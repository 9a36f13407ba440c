/** The end of a round: all due work is done without a kill, and every movement is compared with the oracle. */
import type { Db } from '../../../../src/platform/store/db.ts'
import { sql } from '../../../../src/platform/store/sql.ts'
import { type Gate, type Movement, mustBeClosed } from './model.ts'
import { limitFaults } from './used.ts'
import type { World } from './world.ts'

/** In the order in which operators see them. */
const GATES: readonly Gate[] = [
  'CUSTOMER_DISABLED',
  'ACCOUNT_BLOCKED',
  'ACCOUNT_NOT_APPROVED',
  'RECEIVABLE',
  'DESTINATION',
  'LIMIT',
  'REVIEW',
  'SCREENING',
  'PAUSED',
]
const inOrder = (gates: readonly Gate[]) => GATES.filter((gate) => gates.includes(gate))

const WAITS: readonly (readonly [wait: string, gates: readonly Gate[]])[] = [
  ['HOLD', ['CUSTOMER_DISABLED', 'ACCOUNT_BLOCKED', 'RECEIVABLE', 'REVIEW']],
  ['APPROVAL', ['ACCOUNT_NOT_APPROVED']],
  ['DESTINATION', ['DESTINATION']],
  ['LIMIT', ['LIMIT']],
  ['SCREENING', ['SCREENING']],
  ['PAUSED', ['PAUSED']],
]

/** Work done together at the end of a round. */
const BATCH = 100

export interface Row {
  readonly id: string
  readonly status: string
  readonly step: 'convert' | 'deliver' | null
  readonly waiting_for: string | null
  readonly gates: readonly { readonly code: Gate }[] | null
  readonly fail_code: string | null
  readonly delivery: string | null
  readonly is_running: boolean
  /** The amount counted in the limits. */
  readonly used: string | null
}

/** All claims end, and workers and executors do what can be done. */
export async function settleDown(world: World, db: Db): Promise<void> {
  world.isDeadly = false
  await sql`update orchestration_queue set next_attempt_at = clock_timestamp()`.execute(db.tables())
  while (await isDue(db, sql`orchestration_queue`)) await world.convert(0, BATCH)
  await sql`
    update deliveries set next_attempt_at = clock_timestamp() where next_attempt_at is not null
  `.execute(db.tables())
  while (await isDue(db, sql`deliveries`)) await world.handOut(1, BATCH)
  world.isDeadly = true
}

async function isDue(db: Db, table: ReturnType<typeof sql>): Promise<boolean> {
  const { rows } = await sql`
    select from ${table} where next_attempt_at <= statement_timestamp() limit 1
  `.execute(db.tables())
  return rows.length > 0
}

/** Adds a violation for each difference from the oracle. */
export async function checkMovements(world: World, db: Db): Promise<void> {
  const { violations, circumstances } = world
  for (const before of world.handedOut.splice(0)) {
    const { opened, isAllowed } = world.movements.get(before.id) as Movement
    const closed = mustBeClosed({ ...before, opened, isAllowed }, 'deliver', circumstances)
    if (closed.length > 0) violations.push(`${before.id} was handed out while ${closed.join()} were closed`)
  }
  const { rows } = await sql<Row>`
    select orchestrations.id, orchestrations.status, step, orchestrations.waiting_for, orchestrations.gates,
      orchestrations.fail_code, deliveries.status as delivery,
      coalesce(deliveries.status = 'CLAIMED' and deliveries.waiting_for is null, false) as is_running,
      (select limit_uses.amount from limit_uses where movement_id = orchestrations.id and not returned) as used
    from orchestrations left join deliveries on orchestration_id = orchestrations.id
    where orchestrations.id = any(${[...world.movements.keys()]}::uuid[])
  `.execute(db.tables())
  if (rows.length !== world.movements.size) violations.push('a movement is missing')
  for (const row of rows) {
    const fault = faultOf(row, world.movements.get(row.id) as Movement, world)
    if (fault !== undefined) violations.push(`${row.id}: ${fault}`)
  }
  violations.push(...limitFaults(rows, world))
}

function faultOf(row: Row, movement: Movement, { circumstances }: World): string | undefined {
  const { status, step, waiting_for, gates, fail_code, is_running } = row
  if (status === 'COMPLETED')
    return movement.isPayment && !movement.isPaid ? 'it is COMPLETED and was not paid' : undefined
  if (status === 'FAILED') {
    if (fail_code === 'CANCELLED') return movement.isCancelled ? undefined : 'it is CANCELLED without a cancellation'
    return fail_code === 'OPERATOR_FAILED' && !movement.isPaid ? undefined : `it failed with ${fail_code}`
  }
  const found = (gates ?? []).map(({ code }) => code)
  const others = mustBeClosed(movement, step ?? 'convert', circumstances)
  // LIMIT is compared with the sums of all movements.
  const closed = found.includes('LIMIT') ? inOrder([...others, 'LIMIT']) : others
  if (found.join() !== closed.join() && !is_running) return `its gates are ${found.join()}, not ${closed.join()}`
  const wait = WAITS.find(([, codes]) => codes.some((code) => closed.includes(code)))?.[0] ?? null
  if (waiting_for !== wait && !is_running) return `it waits for ${waiting_for}, not for ${wait}`
  if (closed.length === 0 && !is_running) return `nothing is closed, and it stays at step ${step}`
  return undefined
}

/**
 * Plans in the store. Writes run in the caller's transaction, write one audit row each, and are idempotent by state. A
 * plan's name never changes. `unlimited` is built in: it is never changed or deleted.
 */
import { invalidRequest, Problem } from '../../../platform/http/problem.ts'
import type { Db, Kysely, Transaction } from '../../../platform/store/db.ts'
import { recordChange } from '../changes.ts'
import type { AuthTables } from '../tables.ts'
import { type Plan, UNLIMITED } from './plan.ts'

/** A plan in the operator API. An absent bound: there is none. */
export interface PlanDocument extends PlanBounds {
  readonly name: string
  readonly markets: readonly string[]
  readonly created_at: string
}

interface PlanBounds {
  /** Symbols, or `*` alone for all. */
  readonly markets?: readonly string[]
  readonly channels?: readonly string[]
  readonly depth_max?: number
  readonly interval_ms_min?: number
  readonly connections_max?: number
  readonly subscriptions_max?: number
  readonly rest_rate_per_second?: number
}

/** Bounds to set. Null removes one. */
export type PlanChange = { readonly [Name in keyof PlanBounds]?: PlanBounds[Name] | null }

const ALL_MARKETS = '*'

const BOUNDS = [
  'markets',
  'channels',
  'depth_max',
  'interval_ms_min',
  'connections_max',
  'subscriptions_max',
  'rest_rate_per_second',
] as const
const COLUMNS = ['name', ...BOUNDS, 'created_at'] as const

type BoundColumns = Pick<AuthTables['plans'], (typeof BOUNDS)[number]>
type PlanRow = BoundColumns & { readonly name: string; readonly created_at: string }

export async function createPlan(
  transaction: Transaction<AuthTables>,
  actor: string,
  name: string,
  bounds: PlanChange,
): Promise<PlanDocument> {
  const columns = columnsOf(bounds)
  const made = await transaction
    .insertInto('plans')
    .values({ ...NO_BOUNDS, ...columns, name })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .returning(COLUMNS)
    .executeTakeFirst()
  if (made === undefined) {
    const existing = await getPlan(transaction, name)
    throw new Problem('already_exists', 'name: a plan with this name exists', { meta: { existing } })
  }
  const entry = { actor, action: 'plan.create', subject: name, detail: columns }
  await recordChange(transaction, entry, { kind: 'plan', id: name })
  return documentOf(made)
}

export async function changePlan(
  transaction: Transaction<AuthTables>,
  actor: string,
  name: string,
  bounds: PlanChange,
): Promise<PlanDocument> {
  const plan = await lockPlan(transaction, name)
  const columns = columnsOf(bounds)
  const changed = BOUNDS.filter((bound) => bound in columns && !isSame(columns[bound], plan[bound]))
  if (changed.length === 0) return documentOf(plan)
  await transaction.updateTable('plans').set(columns).where('name', '=', name).execute()
  const detail = Object.fromEntries(changed.map((bound) => [bound, columns[bound]]))
  await recordChange(transaction, { actor, action: 'plan.update', subject: name, detail }, { kind: 'plan', id: name })
  return documentOf({ ...plan, ...columns })
}

/** Deletes a plan that no customer and no client has, and returns it. */
export async function deletePlan(
  transaction: Transaction<AuthTables>,
  actor: string,
  name: string,
): Promise<PlanDocument> {
  // The lock keeps further customers and clients from getting the plan.
  const plan = await lockPlan(transaction, name)
  const customers = await transaction.selectFrom('customers').select('id').where('plan', '=', name).limit(1).execute()
  const clients = await transaction.selectFrom('clients').select('id').where('plan', '=', name).limit(1).execute()
  if (customers.length + clients.length > 0) {
    const user = customers.length > 0 ? `the customer ${customers[0]?.id}` : `the client ${clients[0]?.id}`
    const detail = `the plan is in use, for example by ${user}: give its users another plan first`
    throw new Problem('invalid_state', detail, { meta: { current: 'in_use' } })
  }
  await transaction.deleteFrom('plans').where('name', '=', name).execute()
  await recordChange(
    transaction,
    { actor, action: 'plan.delete', subject: name, detail: {} },
    { kind: 'plan', id: name },
  )
  return documentOf(plan)
}

/** @param lock `locked`: until the transaction ends */
export async function getPlan(tables: Kysely<AuthTables>, name: string, lock?: 'locked'): Promise<PlanDocument> {
  const query = tables.selectFrom('plans').select(COLUMNS).where('name', '=', name)
  const row = await (lock === undefined ? query : query.forUpdate()).executeTakeFirst()
  return documentOf(row ?? noPlan())
}

export async function listPlans(db: Db): Promise<readonly PlanDocument[]> {
  const rows = await db.tables<AuthTables>().selectFrom('plans').select(COLUMNS).orderBy('name').execute()
  return rows.map(documentOf)
}

/** The plans with bounds, for the directory: all, or those with these names. */
export async function readPlans(db: Db, names?: readonly string[]): Promise<readonly Plan[]> {
  const query = db.tables<AuthTables>().selectFrom('plans').select(COLUMNS)
  const rows = await (names === undefined ? query : query.where('name', 'in', names)).execute()
  return rows.filter(({ name }) => name !== UNLIMITED).map(planOf)
}

/** Keeps a plan that is assigned from being deleted. 400 when there is none. */
export async function requirePlan(transaction: Transaction<AuthTables>, name: string): Promise<void> {
  const query = transaction.selectFrom('plans').select('name').where('name', '=', name).forKeyShare()
  if ((await query.executeTakeFirst()) !== undefined) return
  throw invalidRequest([{ pointer: '/plan', detail: 'names no plan' }])
}

/** For a change: 409 for the built-in plan. */
async function lockPlan(transaction: Transaction<AuthTables>, name: string): Promise<PlanRow> {
  const query = transaction.selectFrom('plans').select(COLUMNS).where('name', '=', name)
  const row = (await query.forUpdate().executeTakeFirst()) ?? noPlan()
  if (name !== UNLIMITED) return row
  throw new Problem('invalid_state', `the plan ${UNLIMITED} is built in`, { meta: { current: 'built_in' } })
}

const NO_BOUNDS: BoundColumns = {
  markets: null,
  channels: null,
  depth_max: null,
  interval_ms_min: null,
  connections_max: null,
  subscriptions_max: null,
  rest_rate_per_second: null,
}

function columnsOf({ markets, channels, ...numbers }: PlanChange): Partial<BoundColumns> {
  const isAll = markets?.includes(ALL_MARKETS) === true
  return {
    ...numbers,
    ...(markets === undefined ? {} : { markets: markets === null || isAll ? null : [...markets].sort() }),
    ...(channels === undefined ? {} : { channels: channels === null ? null : [...channels].sort() }),
  }
}

function documentOf({ name, markets, created_at, ...bounds }: PlanRow): PlanDocument {
  const set = Object.entries(bounds).filter(([, bound]) => bound !== null)
  return { name, markets: markets ?? [ALL_MARKETS], ...Object.fromEntries(set), created_at }
}

function planOf(row: PlanRow): Plan {
  const { name, markets, channels } = row
  return {
    name,
    ...(markets === null ? {} : { markets: new Set(markets) }),
    ...(channels === null ? {} : { channels: new Set(channels) }),
    ...(row.depth_max === null ? {} : { depthMax: row.depth_max }),
    ...(row.interval_ms_min === null ? {} : { intervalMillisecondsMin: row.interval_ms_min }),
    ...(row.connections_max === null ? {} : { connectionsMax: row.connections_max }),
    ...(row.subscriptions_max === null ? {} : { subscriptionsMax: row.subscriptions_max }),
    ...(row.rest_rate_per_second === null ? {} : { restRatePerSecond: row.rest_rate_per_second }),
  }
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

function noPlan(): never {
  throw new Problem('not_found', 'there is no plan with this name')
}

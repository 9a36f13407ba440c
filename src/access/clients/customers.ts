/**
 * Customers in the store. Writes run in the caller's transaction, write one audit row each, and are idempotent by state:
 * requesting the current state changes nothing and writes no row. A name is never used twice.
 */
import { newId } from '../../platform/base/ids.ts'
import { Problem } from '../../platform/http/problem.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { type Page, readPage } from '../../platform/store/page.ts'
import { sql } from '../../platform/store/sql.ts'
import { recordChange } from './changes.ts'
import { requirePlan } from './plans/store.ts'
import type { AuthTables } from './tables.ts'

/** A customer in the operator API. */
export interface CustomerDocument {
  readonly id: string
  readonly name: string
  readonly enabled: boolean
  readonly streaming: boolean
  /** Mail addresses to which notices about its security are sent. */
  readonly security_contacts: readonly string[]
  readonly plan: string
  readonly created_at: string
}

/** A list's page parameters, as in the public API. */
export interface ListRequest {
  readonly limit: number
  readonly order: 'ASC' | 'DESC'
  readonly pageCursor?: string
}

const COLUMNS = ['id', 'name', 'enabled', 'streaming', 'security_contacts', 'plan', 'created_at'] as const

/** The customer with this name, created when there is none. */
export async function ensureCustomer(
  transaction: Transaction<AuthTables>,
  actor: string,
  { name, streaming }: { readonly name: string; readonly streaming: boolean },
): Promise<{ readonly customer: CustomerDocument; readonly isNew: boolean }> {
  const made = await transaction
    .insertInto('customers')
    .values({ id: newId(), name, enabled: true, streaming })
    .onConflict((conflict) => conflict.constraint('customers_name').doNothing())
    .returning(COLUMNS)
    .executeTakeFirst()
  if (made !== undefined) {
    const entry = { actor, action: 'customer.create', subject: made.id, detail: { name, streaming } }
    await recordChange(transaction, entry, { kind: 'customer', id: made.id })
    return { customer: made, isNew: true }
  }
  const customer = await transaction
    .selectFrom('customers')
    .select(COLUMNS)
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
  return { customer, isNew: false }
}

export async function changeCustomer(
  transaction: Transaction<AuthTables>,
  actor: string,
  id: string,
  wanted: { readonly enabled?: boolean; readonly streaming?: boolean; readonly plan?: string },
): Promise<CustomerDocument> {
  const customer = await lockCustomer(transaction, id)
  const { enabled = customer.enabled, streaming = customer.streaming, plan = customer.plan } = wanted
  if (enabled === customer.enabled && streaming === customer.streaming && plan === customer.plan) return customer
  if (plan !== customer.plan) await requirePlan(transaction, plan)
  await transaction.updateTable('customers').set({ enabled, streaming, plan }).where('id', '=', id).execute()
  const entry = { actor, action: 'customer.update', subject: id, detail: { ...wanted } }
  await recordChange(transaction, entry, { kind: 'customer', id })
  return { ...customer, enabled, streaming, plan }
}

/** The customer, locked until the transaction ends. */
export async function lockCustomer(transaction: Transaction<AuthTables>, id: string): Promise<CustomerDocument> {
  const query = transaction.selectFrom('customers').select(COLUMNS).where('id', '=', id)
  return (await query.forUpdate().executeTakeFirst()) ?? noCustomer()
}

export async function getCustomer(db: Db, id: string): Promise<CustomerDocument> {
  const query = db.tables<AuthTables>().selectFrom('customers').select(COLUMNS).where('id', '=', id)
  return (await query.executeTakeFirst()) ?? noCustomer()
}

/** Customers that match every given filter. */
interface CustomerFilters {
  readonly name?: string | undefined
  /** The name's beginning, in upper or lower case. */
  readonly search?: string | undefined
  readonly ids?: readonly string[] | undefined
}

export async function listCustomers(
  db: Db,
  request: ListRequest,
  { name, search, ids }: CustomerFilters = {},
): Promise<Page<CustomerDocument>> {
  const tables = db.tables<AuthTables>()
  const filters = { name, search, ids }
  const binding = { operation: 'customers', owner: 'operator', filters, idType: 'uuid' } as const
  let query = tables.selectFrom('customers').select(COLUMNS)
  if (name !== undefined) query = query.where('name', '=', name)
  // When the planner sees a value, it chooses between the index on beginnings and the list's order.
  if (search !== undefined) query = query.where(sql<boolean>`lower(name) like lower(${beginning(search)})`)
  if (ids !== undefined) query = query.where('id', 'in', ids)
  return await readPage(tables, query, { ...request, ...binding })
}

/** The pattern for texts with this beginning. */
function beginning(text: string): string {
  return `${text.replaceAll(/[\\%_]/g, '\\$&')}%`
}

export function noCustomer(): never {
  throw new Problem('not_found', 'there is no customer with this id')
}

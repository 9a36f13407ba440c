/** Reads and writes endpoints' rows. `service` decides what may change, `claims` has the sender's own columns. */
import { isUuid } from '../../platform/base/ids.ts'
import { Problem } from '../../platform/http/problem.ts'
import type { Db, Kysely, Transaction } from '../../platform/store/db.ts'
import {
  isAfterCursor,
  isMadeWithin,
  isOwnedBy,
  type Page,
  type PageRequest,
  type Range,
  readPage,
} from '../../platform/store/page.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import type { StoredSecret } from './secrets.ts'
import type { EndpointStatus, EndpointTables } from './tables.ts'
import { watchEvents } from './watched-customers.ts'

export interface EndpointRow {
  readonly id: string
  readonly customer_id: string
  readonly client_id: string
  readonly url: string
  readonly types: readonly string[]
  readonly status: EndpointStatus
  readonly disabled_reason: string | null
  readonly secrets: readonly StoredSecret[]
  /** Everything up to it was answered with 2xx, or is not for the endpoint. */
  readonly last_sequence: string
  readonly created_at: string
}

const COLUMNS = [
  'id',
  'customer_id',
  'client_id',
  'url',
  'types',
  'status',
  'disabled_reason',
  'secrets',
  'created_at',
] as const

const LAST_SEQUENCE = sql<string>`(
  case when replay_after is null
    then least(passed_sequence,
      (select min(sequences[1]) - 1 from webhook_backlogs where endpoint_id = webhook_endpoints.id))
    else replay_after end
)`

function endpointsOf(tables: Pick<Kysely<EndpointTables>, 'selectFrom'>) {
  return tables.selectFrom('webhook_endpoints').select([...COLUMNS, LAST_SEQUENCE.as('last_sequence')])
}

/** Inserts an endpoint that receives the customer's next events. The customer is locked. */
export async function insertEndpoint(
  transaction: Transaction<EndpointTables>,
  endpoint: Pick<EndpointRow, 'id' | 'customer_id' | 'client_id' | 'url' | 'types'>,
  secretText: string,
): Promise<EndpointRow> {
  const { id, customer_id, client_id, url, types } = endpoint
  await sql`
    insert into webhook_endpoints (id, customer_id, client_id, url, types, secrets, passed_sequence, created_at)
    select ${id}, ${customer_id}, ${client_id}, ${url}, ${[...types]}::text[], ${newSecretJson(secretText)},
      coalesce((select last_sequence from event_counters where customer_id = ${customer_id}), 0),
      greatest(
        date_trunc('milliseconds', clock_timestamp()),
        (select max(created_at) from webhook_endpoints where customer_id = ${customer_id})
      )
  `.execute(transaction)
  await watchEvents(sql`id = ${id}`).execute(transaction)
  return (await endpointsOf(transaction).where('id', '=', id).executeTakeFirst()) ?? noEndpoint()
}

/** The number of a customer's endpoints, without and with the deleted ones. */
export async function countEndpoints(
  transaction: Transaction<EndpointTables>,
  customerId: string,
): Promise<{ readonly used: number; readonly made: number }> {
  const { rows } = await sql<{ readonly used: number; readonly made: number }>`
    select (count(*) filter (where status <> 'DELETED'))::integer as used, count(*)::integer as made
    from webhook_endpoints where customer_id = ${customerId}
  `.execute(transaction)
  return rows[0] ?? { used: 0, made: 0 }
}

/** @param customerId the only customer whose endpoints may be read. Absent: any */
export async function getEndpoint(db: Db, id: string, customerId?: string): Promise<EndpointRow> {
  const found = await ofOwner(endpointsOf(db.tables()), id, customerId).executeTakeFirst()
  return found ?? noEndpoint()
}

/** Locks an endpoint until the transaction ends. */
export async function lockEndpoint(
  transaction: Transaction<EndpointTables>,
  id: string,
  customerId?: string,
): Promise<EndpointRow> {
  const found = await ofOwner(endpointsOf(transaction), id, customerId).forUpdate().executeTakeFirst()
  return found ?? noEndpoint()
}

function ofOwner(query: ReturnType<typeof endpointsOf>, id: string, customerId: string | undefined) {
  const own = query.where('id', '=', isUuid(id) ? id.toLowerCase() : noEndpoint())
  return customerId === undefined ? own : own.where('customer_id', '=', customerId)
}

export interface EndpointChanges {
  readonly url?: string
  readonly types?: readonly string[]
  readonly status?: EndpointStatus
  readonly secrets?: RawBuilder<unknown>
}

/** Stores a locked endpoint's changes. One that becomes ACTIVE, or gets another URL, is tried at once. */
export async function changeEndpoint(
  transaction: Transaction<EndpointTables>,
  id: string,
  { url, types, status, secrets }: EndpointChanges,
): Promise<EndpointRow> {
  await sql`
    update webhook_endpoints set
      url = coalesce(${url ?? null}, url),
      types = coalesce(${types === undefined ? null : [...types]}::text[], types),
      secrets = ${secrets ?? sql`secrets`},
      status = coalesce(${status ?? null}, status),
      disabled_reason = case when ${status ?? null}::text is null then disabled_reason end
    where id = ${id}
  `.execute(transaction)
  if (status === 'DELETED') await forgetWork(transaction, id)
  else if (status === 'ACTIVE' || url !== undefined) await restart(transaction, id)
  return (await endpointsOf(transaction).where('id', '=', id).executeTakeFirst()) ?? noEndpoint()
}

/** Nothing waits for a deleted endpoint, not even a test. */
async function forgetWork(transaction: Transaction<EndpointTables>, id: string): Promise<void> {
  await sql`
    with endpoint as (
      update webhook_endpoints set test_id = null, next_attempt_at = null where id = ${id}
    )
    delete from webhook_backlogs where endpoint_id = ${id}
  `.execute(transaction)
}

/** Forgets earlier failures. */
async function restart(transaction: Transaction<EndpointTables>, id: string): Promise<void> {
  await sql`
    with endpoint as (
      update webhook_endpoints set failures = 0, waits = false, restarted_at = clock_timestamp(), next_attempt_at = clock_timestamp()
      where id = ${id}
    )
    update webhook_backlogs set attempts = 0, first_failed_at = null, next_attempt_at = clock_timestamp()
    where endpoint_id = ${id}
  `.execute(transaction)
  await wakeSender(transaction)
}

/** The stored secrets after another one was added. */
export function withSecret(text: string): RawBuilder<unknown> {
  return sql`secrets || ${newSecretJson(text)}`
}

/** The newest secret alone. */
export const newestSecret: RawBuilder<unknown> = sql`jsonb_build_array(secrets -> -1)`

function newSecretJson(text: string): RawBuilder<unknown> {
  return sql`jsonb_build_array(jsonb_build_object(
    'created_at', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'text', ${text}::text
  ))`
}

/** Requests a test event with this id. It replaces one that was not sent yet. */
export async function requestTest(transaction: Transaction<EndpointTables>, id: string, testId: string): Promise<void> {
  await sql`
    update webhook_endpoints set test_id = ${testId}, next_attempt_at = clock_timestamp() where id = ${id}
  `.execute(transaction)
  await wakeSender(transaction)
}

export async function requestReplay(
  transaction: Transaction<EndpointTables>,
  id: string,
  after: number,
): Promise<void> {
  await sql`
    update webhook_endpoints set replay_after = ${after}::bigint where id = ${id}
  `.execute(transaction)
  await restart(transaction, id)
}

/** The store's notification channel for work apart from new events. */
export const ENDPOINTS_CHANNEL = 'tidegate_webhooks'

async function wakeSender(transaction: Transaction<EndpointTables>): Promise<void> {
  await sql`select pg_notify(${ENDPOINTS_CHANNEL}, '')`.execute(transaction)
}

export type RequestRow = Omit<EndpointTables['webhook_requests'], 'endpoint_id'>

type Paging = Pick<PageRequest, 'limit' | 'order' | 'pageCursor' | 'filters'>

/** A page of a customer's endpoints. */
export async function listEndpoints(
  db: Db,
  { owner, customerId }: { readonly owner: 'customer' | 'operator'; readonly customerId: string },
  { status, created_at }: { readonly status?: readonly string[]; readonly created_at?: Range },
  paging: Paging,
): Promise<Page<EndpointRow>> {
  const tables = db.tables<EndpointTables>()
  let query = endpointsOf(tables).where(isOwnedBy(customerId)).where('status', '<>', 'DELETED')
  if (created_at !== undefined) query = query.where(isMadeWithin(created_at))
  if (status !== undefined) query = query.where(sql<boolean>`status = any(${[...status]}::text[])`)
  const binding = { operation: `webhook endpoints of ${customerId}`, idType: 'uuid' } as const
  return await readPage(tables, query, { ...paging, ...binding, owner: owner === 'operator' ? owner : customerId })
}

/**
 * Whether the endpoint's requests, the newest first by default, were answered with 2xx.
 * @param customerId absent: any customer's endpoint, for the operator
 */
export async function listRequests(
  db: Db,
  { endpointId, customerId }: { readonly endpointId: string; readonly customerId?: string },
  paging: Paging,
): Promise<Page<RequestRow>> {
  const operation = `webhook requests to ${endpointId}`
  const request = { ...paging, operation, owner: customerId ?? 'operator', idType: 'uuid' } as const
  // An invalid cursor is answered before an unknown endpoint.
  isAfterCursor(request)
  await getEndpoint(db, endpointId, customerId)
  const tables = db.tables<EndpointTables>()
  const query = tables
    .selectFrom('webhook_requests')
    .select(['id', 'event_id', 'sequence', 'attempt', 'status', 'error', 'milliseconds', 'created_at'])
    .where(sql<boolean>`endpoint_id = (select ${endpointId}::uuid)`)
  return await readPage(tables, query, request)
}

function noEndpoint(): never {
  throw new Problem('not_found', 'there is no webhook endpoint with this id')
}

/**
 * Creates and changes webhook endpoints, for customers and for the operator. Every write runs in the caller's
 * transaction and writes one audit row, without secrets. A request for the current state changes nothing and writes no
 * row.
 */
import { EVENT_OBJECTS, type EventType, readableObjects } from '../../contract/event-types.ts'
import { newId } from '../../platform/base/ids.ts'
import { insufficientScope } from '../../platform/http/bearer.ts'
import { invalidRequest, Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { lockCustomer } from '../clients/customers.ts'
import type { EncryptionKey } from '../clients/encryption-key.ts'
import type { AuthTables } from '../clients/tables.ts'
import { encryptSecret, newSecret, SECRETS_PER_ENDPOINT_MAX } from './secrets.ts'
import {
  changeEndpoint,
  countEndpoints,
  type EndpointChanges,
  type EndpointRow,
  insertEndpoint,
  lockEndpoint,
  newestSecret,
  requestReplay,
  requestTest,
  withSecret,
} from './store.ts'
import type { EndpointTables } from './tables.ts'
import { urlFault } from './url.ts'

/** How endpoints are made. */
export interface EndpointSettings {
  /** The setting `webhooks.allow_private`. */
  readonly allowPrivate: boolean
  /** The setting `webhooks.endpoints_max`. */
  readonly endpointsMax: number
}

export interface EndpointMaker {
  readonly encryptionKey: EncryptionKey | undefined
  /** The current settings. */
  settings(): EndpointSettings
}

export interface Writer {
  readonly actor: string
  /** The customer whose endpoints may be changed. Absent: the operator changes any. */
  readonly customerId?: string
  /** The calling client's. Absent: the operator calls. */
  readonly scopes?: ReadonlySet<string>
}

interface NewEndpoint {
  readonly clientId: string
  readonly url: string
  readonly types?: readonly EventType[]
}

/** A changed endpoint, with its new secret when it got one. */
export interface ChangedEndpoint {
  readonly row: EndpointRow
  readonly secret?: string
}

type Tables = EndpointTables & AuthTables

/** Endpoints that one customer may ever create: deleted ones stay in the store. */
const MADE_MAX = 1_000

/** @throws {Problem} 503 without an encryption key */
export async function createEndpoint(
  transaction: Transaction<Tables>,
  maker: EndpointMaker,
  { actor, customerId }: Writer & Required<Pick<Writer, 'customerId'>>,
  { clientId, url, types = [] }: NewEndpoint,
): Promise<Required<ChangedEndpoint>> {
  const { allowPrivate, endpointsMax } = maker.settings()
  requireUrl(url, allowPrivate)
  // The customer's other creations wait here, so they count this one.
  await lockCustomer(transaction, customerId)
  await requireClient(transaction, customerId, clientId)
  const { used, made } = await countEndpoints(transaction, customerId)
  if (used >= endpointsMax) throw quotaExceeded('webhook endpoints', used, endpointsMax)
  if (made >= MADE_MAX) throw quotaExceeded('webhook endpoints, also deleted ones', made, MADE_MAX)
  const id = newId()
  const secret = newSecret()
  const endpoint = { id, customer_id: customerId, client_id: clientId, url, types }
  const text = encryptSecret(maker.encryptionKey, id, secret)
  const row = await insertEndpoint(transaction, endpoint, text)
  const detail = { customer_id: customerId, client_id: clientId, url: withoutQuery(url), types }
  await writeAudit(transaction, { actor, action: 'webhook_endpoint.create', subject: id, detail })
  return { row, secret }
}

export interface WantedEndpoint {
  readonly url?: string
  readonly types?: readonly EventType[]
  readonly status?: 'ACTIVE' | 'PAUSED'
  readonly rotate_secret?: boolean
  readonly end_rotation?: boolean
}

export async function updateEndpoint(
  transaction: Transaction<Tables>,
  maker: EndpointMaker,
  { actor, customerId, scopes }: Writer,
  id: string,
  wanted: WantedEndpoint,
): Promise<ChangedEndpoint> {
  const row = await lockEndpoint(transaction, id, customerId)
  if (row.status === 'DELETED') throw isDeleted()
  const { url, types, status } = wanted
  if (url !== undefined) requireUrl(url, maker.settings().allowPrivate)
  if (url !== undefined && url !== row.url && scopes !== undefined) await requireReader(transaction, row, scopes)
  const { secrets, secret } = secretChange(maker, row, wanted)
  const changes: EndpointChanges = {
    ...(url === undefined || url === row.url ? {} : { url }),
    ...(types === undefined || haveSameEntries(types, row.types) ? {} : { types }),
    ...(status === undefined || status === row.status ? {} : { status }),
    ...(secrets === undefined ? {} : { secrets }),
  }
  if (Object.keys(changes).length === 0) return { row }
  const detail = { ...wanted, ...(url === undefined ? {} : { url: withoutQuery(url) }) }
  await writeAudit(transaction, { actor, action: 'webhook_endpoint.update', subject: row.id, detail })
  const changed = await changeEndpoint(transaction, row.id, changes)
  return { row: changed, ...(secret === undefined ? {} : { secret }) }
}

/** The secrets after a rotation's begin or end. */
function secretChange(
  { encryptionKey }: EndpointMaker,
  { id, secrets }: EndpointRow,
  { rotate_secret, end_rotation }: WantedEndpoint,
): Pick<EndpointChanges, 'secrets'> & { readonly secret?: string } {
  if (rotate_secret === true && end_rotation === true) {
    throw invalidRequest([{ pointer: '/end_rotation', detail: 'is not allowed with rotate_secret' }])
  }
  if (end_rotation === true) return secrets.length < SECRETS_PER_ENDPOINT_MAX ? {} : { secrets: newestSecret }
  if (rotate_secret !== true) return {}
  if (secrets.length >= SECRETS_PER_ENDPOINT_MAX) {
    const detail = `the endpoint has ${SECRETS_PER_ENDPOINT_MAX} valid secrets. End the rotation with end_rotation first`
    throw new Problem('invalid_state', detail, { meta: { current: 'two_secrets' } })
  }
  const secret = newSecret()
  return { secrets: withSecret(encryptSecret(encryptionKey, id, secret)), secret }
}

/** Deletes an endpoint. Nothing more is sent to it, apart from requests that are on their way. */
export async function deleteEndpoint(
  transaction: Transaction<Tables>,
  { actor, customerId }: Writer,
  id: string,
): Promise<EndpointRow> {
  const row = await lockEndpoint(transaction, id, customerId)
  if (row.status === 'DELETED') return row
  const detail = { from: row.status }
  await writeAudit(transaction, { actor, action: 'webhook_endpoint.delete', subject: row.id, detail })
  return await changeEndpoint(transaction, row.id, { status: 'DELETED', secrets: sql`'[]'::jsonb` })
}

/** Sends a test event, in any status, and returns its id. */
export async function testEndpoint(
  transaction: Transaction<Tables>,
  { actor, customerId }: Writer,
  id: string,
): Promise<string> {
  const row = await lockEndpoint(transaction, id, customerId)
  if (row.status === 'DELETED') throw isDeleted()
  const testId = newId()
  await requestTest(transaction, row.id, testId)
  const detail = { event_id: testId }
  await writeAudit(transaction, { actor, action: 'webhook_endpoint.test', subject: row.id, detail })
  return testId
}

/** Sends the events after a sequence again, in order. What waits for the endpoint is among them. */
export async function replayEndpoint(
  transaction: Transaction<Tables>,
  { actor, customerId }: Writer,
  id: string,
  after: number,
): Promise<EndpointRow> {
  const row = await lockEndpoint(transaction, id, customerId)
  if (row.status === 'DELETED') throw isDeleted()
  const { rows } = await sql<{ readonly last: string }>`
    select last_sequence as last from event_counters where customer_id = ${row.customer_id}
  `.execute(transaction)
  const last = Number(rows[0]?.last ?? 0)
  if (after > last) throw invalidRequest([{ pointer: '/after', detail: `must be at most ${last}, the last sequence` }])
  await requestReplay(transaction, row.id, after)
  await writeAudit(transaction, { actor, action: 'webhook_endpoint.replay', subject: row.id, detail: { after } })
  return { ...row, last_sequence: String(after) }
}

function requireUrl(url: string, allowPrivate: boolean): void {
  const fault = urlFault(url, allowPrivate)
  if (fault !== undefined) throw invalidRequest([{ pointer: '/url', detail: fault }])
}

async function requireClient(transaction: Transaction<Tables>, customerId: string, clientId: string): Promise<void> {
  const query = transaction.selectFrom('clients').select('id').where('id', '=', clientId)
  if ((await query.where('customer_id', '=', customerId).executeTakeFirst()) !== undefined) return
  const detail = 'the customer has no client with this id'
  throw new Problem('not_found', `client_id: ${detail}`, { errors: [{ pointer: '/client_id', detail }] })
}

/** 403 for a client that may not read what the endpoint receives: at an address of its own it would. */
async function requireReader(
  transaction: Transaction<Tables>,
  { client_id }: EndpointRow,
  scopes: ReadonlySet<string>,
): Promise<void> {
  const query = transaction.selectFrom('clients').select('scopes').where('id', '=', client_id)
  const received = readableObjects(new Set((await query.executeTakeFirstOrThrow()).scopes))
  const readable = readableObjects(scopes)
  const needed = received.flatMap((object) => (readable.includes(object) ? [] : (EVENT_OBJECTS[object] ?? [])))[0]
  if (needed === undefined) return
  throw insufficientScope(`url: the endpoint receives what another client may read, which needs ${needed}`, needed)
}

function quotaExceeded(what: string, used: number, limit: number): Problem {
  return new Problem('quota_exceeded', `the customer has ${used} of at most ${limit} ${what}`, {
    meta: { limit, used },
  })
}

/** A query may contain a credential. */
function withoutQuery(url: string): string {
  return url.replace(/\?.*$/, '')
}

function haveSameEntries(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((entry) => right.includes(entry))
}

function isDeleted(): Problem {
  return new Problem('invalid_state', 'the webhook endpoint is deleted', { meta: { current: 'DELETED' } })
}

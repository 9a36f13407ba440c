/**
 * Changes under four eyes in the store: requested by one operator, and carried out when a second one confirms. A
 * request keeps its record as the first operator saw it, is pending for 24 hours, and is the only pending one for its
 * call and record. A confirmed change is carried out after the confirmation is stored, so a crash in between leaves a
 * request that can be confirmed again within these hours: every call is idempotent by state. Each step writes its audit
 * row in the same transaction.
 */
import { isDeepStrictEqual } from 'node:util'
import { callRowOf, type FourEyesKind, type OperatorCallId, recordCallOf } from '../../contract/operator-calls.ts'
import { millisecondText } from '../../platform/base/clock.ts'
import { newId } from '../../platform/base/ids.ts'
import type { PageParameters } from '../../platform/http/page-query.ts'
import { Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { type Page, readPage } from '../../platform/store/page.ts'
import type { EncryptionKey } from '../clients/encryption-key.ts'
import type { CallingOperator } from '../clients/operator-calls.ts'
import type { OwnCall } from './own-calls.ts'
import { openedBody, readableBody, sealedBody, withoutParties } from './requested-parties.ts'
import { refuseOwn, refuseRole, requireRequester } from './requesters.ts'
import type { SeenRecord } from './seen-records.ts'
import type { ChangeRequestStatus, OperatorTables } from './tables.ts'

/** The call that an operator makes. */
export interface RequestedCall extends OwnCall {
  readonly kind: FourEyesKind
  readonly body: Readonly<Record<string, unknown>>
  /** The changed record's id, or another name for it. */
  readonly subject: string
  /** Why, for the second operator. */
  readonly comment: string
}

/** A request in the operator API. */
export interface ChangeRequestDocument extends RequestedCall {
  readonly id: string
  readonly summary: string
  readonly status: ChangeRequestStatus
  readonly requested_by: string
  readonly decided_by?: string
  readonly decided_at?: string
  readonly detail?: string
  readonly expires_at: string
  readonly created_at: string
}

/** A request waiting for its confirmation, as shown in its record. */
type PendingRequest = Pick<ChangeRequestDocument, 'id' | 'summary' | 'requested_by' | 'comment' | 'created_at'>

/** Who requests a change, or decides on a request. */
export interface Decider extends Pick<CallingOperator, 'name' | 'role' | 'issuers'> {
  readonly actor: string
  /** The API token in use. */
  readonly tokenId?: string | undefined
}

/** A request with the record as the first operator saw it. */
export interface SeenRequest {
  /** Without the body's parties. */
  readonly document: ChangeRequestDocument
  readonly storedBody: RequestedCall['body']
  readonly record: SeenRecord | undefined
  /** Whether it can be confirmed. */
  readonly isOpen: boolean
}

/** A confirmed request. */
export interface Confirmed {
  /** All operators who may have requested it. */
  readonly requesters: readonly string[]
  /** For the credential that it issues. */
  readonly credentialHash?: Buffer
}

const PENDING_MILLISECONDS = 24 * 3_600_000

const COLUMNS = [
  'id',
  'kind',
  'call',
  'params',
  'body',
  'subject',
  'comment',
  'requested_by',
  'status',
  'decided_by',
  'decided_at',
  'carried_out_at',
  'detail',
  'expires_at',
  'created_at',
] as const

/** The record as the operator sees it now, and the hash of the credential that the call issues. */
interface KeptWithRequest extends Pick<OperatorTables['change_requests'], 'record' | 'credential_hash'> {
  /** Encrypts the body's parties. */
  readonly encryptionKey: EncryptionKey | undefined
}

/** Records a request. The same one again is the pending one. */
export async function requestChange(
  transaction: Transaction<OperatorTables>,
  { name, actor, issuers, tokenId }: Decider,
  requested: RequestedCall,
  { encryptionKey, ...kept }: KeptWithRequest,
  nowMilliseconds: number,
): Promise<{ readonly document: ChangeRequestDocument; readonly isNew: boolean }> {
  await expire(transaction, nowMilliseconds)
  const id = newId()
  const { kind, call, subject, body, comment } = requested
  const made = await transaction
    .insertInto('change_requests')
    .values({
      id,
      ...requested,
      body: sealedBody(body, id, encryptionKey),
      ...kept,
      issuers: [...issuers],
      requested_by: name,
      token_id: tokenId ?? null,
      status: 'PENDING',
      decided_by: null,
      decided_at: null,
      carried_out_at: null,
      detail: null,
      expires_at: millisecondText(nowMilliseconds + PENDING_MILLISECONDS),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning(COLUMNS)
    .executeTakeFirst()
  if (made !== undefined) {
    const detail = { request_id: id, kind, call, body: withoutParties(body), comment }
    await writeAudit(transaction, { actor, action: 'change_request.create', subject, detail })
    return { document: { ...documentOf(made, nowMilliseconds), body }, isNew: true }
  }
  const pending = transaction.selectFrom('change_requests').select(COLUMNS).where('status', '=', 'PENDING')
  const present = await pending.where('call', '=', call).where('subject', '=', subject).executeTakeFirstOrThrow()
  const document = documentOf(present, nowMilliseconds)
  const isOwn = present.requested_by === name
  if (isOwn && isDeepStrictEqual(readableBody(present.body, present.id, encryptionKey), body))
    return { document: { ...document, body }, isNew: false }
  throw new Problem('already_exists', 'a request for this call waits for its confirmation', {
    meta: { existing: document },
  })
}

/**
 * Confirms a request, or a confirmed one that may not have been carried out. 403 `own_request` for an operator who may
 * have made it, 409 when it was decided, its 24 hours are over, or its requester may no longer make the call.
 */
export async function confirmRequest(
  transaction: Transaction<OperatorTables>,
  decider: Decider,
  id: string,
  nowMilliseconds: number,
): Promise<Confirmed> {
  const row = await lockFor(transaction, decider, id, nowMilliseconds)
  refuseOwn(row, decider)
  if (!isOpen(row)) throw decided(row.status)
  await requireRequester(transaction, row)
  await decide(transaction, decider, row, 'CONFIRMED', nowMilliseconds)
  const { requested_by, issuers, credential_hash } = row
  const credential = credential_hash === null ? {} : { credentialHash: credential_hash }
  return { requesters: [requested_by, ...issuers], ...credential }
}

/** The call that an operator is about to confirm. Throws as `confirmRequest` does, and changes nothing. */
export async function readForConfirmation(
  db: Db,
  decider: Decider,
  id: string,
  encryptionKey: EncryptionKey | undefined,
  nowMilliseconds: number,
): Promise<OwnCall> {
  const tables = db.tables<OperatorTables>()
  const row = await rowOf(tables, id, nowMilliseconds)
  refuseRole(row, decider)
  refuseOwn(row, decider)
  if (!isOpen(row)) throw decided(row.status)
  await requireRequester(tables, row)
  const { call, params, body } = row
  return { call, params, body: openedBody(body, id, encryptionKey) }
}

/** Declines a request, or withdraws an own one. Repeating it changes nothing. */
export async function declineRequest(
  transaction: Transaction<OperatorTables>,
  decider: Decider,
  id: string,
  nowMilliseconds: number,
): Promise<ChangeRequestDocument> {
  const row = await lockFor(transaction, decider, id, nowMilliseconds)
  if (row.status !== 'PENDING' && row.status !== 'DECLINED') throw decided(row.status)
  if (row.status === 'PENDING') await decide(transaction, decider, row, 'DECLINED', nowMilliseconds)
  return documentOf(await rowOf(transaction, id, nowMilliseconds), nowMilliseconds)
}

/**
 * Notes a confirmed change's result. When two confirmations come at the same moment, one may be refused because the
 * other was carried out: a completed change has not failed.
 * @param problem why it failed. Undefined when it was carried out
 */
export async function noteResult(
  transaction: Transaction<OperatorTables>,
  id: string,
  problem: string | undefined,
  nowMilliseconds: number,
): Promise<void> {
  const result =
    problem === undefined
      ? { status: 'CONFIRMED' as const, detail: null }
      : { status: 'FAILED' as const, detail: problem }
  let change = transaction
    .updateTable('change_requests')
    .set({ carried_out_at: millisecondText(nowMilliseconds), ...result })
    .where('id', '=', id)
  if (problem !== undefined) change = change.where('carried_out_at', 'is', null)
  await change.execute()
}

export async function getRequest(db: Db, id: string, nowMilliseconds: number): Promise<SeenRequest> {
  const row = await rowOf(db.tables<OperatorTables>(), id, nowMilliseconds)
  const document = documentOf(row, nowMilliseconds)
  return { document, storedBody: row.body, record: row.record ?? undefined, isOpen: isOpen(row) }
}

/**
 * The requests about a record that wait for their confirmation, the oldest first.
 * @param shown the call that shows the record
 */
export async function pendingRequests(
  db: Db,
  shown: OperatorCallId,
  subject: string,
  nowMilliseconds: number,
): Promise<readonly PendingRequest[]> {
  const rows = await db
    .tables<OperatorTables>()
    .selectFrom('change_requests')
    .select(COLUMNS)
    .where('subject', '=', subject)
    .where('status', '=', 'PENDING')
    .where('expires_at', '>', millisecondText(nowMilliseconds))
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  const about = rows.filter(({ call }) => recordCallOf(call) === shown)
  return about.map(({ id, call, requested_by, comment, created_at }) => {
    return { id, summary: callRowOf(call)?.summary ?? call, requested_by, comment, created_at }
  })
}

export async function listRequests(
  db: Db,
  request: PageParameters,
  { status, subject }: { readonly status?: ChangeRequestStatus; readonly subject?: string },
  nowMilliseconds: number,
): Promise<Page<ChangeRequestDocument>> {
  const tables = db.tables<OperatorTables>()
  const now = millisecondText(nowMilliseconds)
  let query = tables.selectFrom('change_requests').select(COLUMNS)
  if (subject !== undefined) query = query.where('subject', '=', subject)
  // An expired request is stored as pending until the next one for its record.
  if (status === 'EXPIRED') {
    query = query.where('status', 'in', ['PENDING', 'EXPIRED']).where('expires_at', '<=', now)
  } else if (status !== undefined) {
    query = query.where('status', '=', status)
    if (status === 'PENDING') query = query.where('expires_at', '>', now)
  }
  const binding = {
    operation: 'change-requests',
    owner: 'operator',
    filters: { status, subject },
    idType: 'uuid',
  } as const
  const page = await readPage(tables, query, { ...request, ...binding })
  return { ...page, items: page.items.map((row) => documentOf(row, nowMilliseconds)) }
}

type Queries = Pick<Transaction<OperatorTables>, 'selectFrom'>

const byId = (queries: Queries, id: string) =>
  queries
    .selectFrom('change_requests')
    .select(COLUMNS)
    .select(['record', 'issuers', 'token_id', 'credential_hash'])
    .where('id', '=', id)

async function rowOf(queries: Queries, id: string, nowMilliseconds: number) {
  const row = (await byId(queries, id).executeTakeFirst()) ?? noRequest()
  return { ...row, status: statusOf(row, nowMilliseconds), isExpired: isExpired(row, nowMilliseconds) }
}

/** The request, locked. 403 unless the decider may make the call. */
async function lockFor(
  transaction: Transaction<OperatorTables>,
  decider: Decider,
  id: string,
  nowMilliseconds: number,
) {
  const row = (await byId(transaction, id).forUpdate().executeTakeFirst()) ?? noRequest()
  refuseRole(row, decider)
  return { ...row, status: statusOf(row, nowMilliseconds), isExpired: isExpired(row, nowMilliseconds) }
}

/** Whether it waits for its confirmation, or was confirmed and may not have been carried out. */
function isOpen({
  status,
  carried_out_at,
  isExpired: isOver,
}: Pick<Row, 'status'> & { readonly carried_out_at: string | null; readonly isExpired: boolean }): boolean {
  return status === 'PENDING' || (status === 'CONFIRMED' && carried_out_at === null && !isOver)
}

async function decide(
  transaction: Transaction<OperatorTables>,
  { name, actor }: Decider,
  { id, kind, call, subject, requested_by }: Pick<Row, 'id' | 'kind' | 'call' | 'subject' | 'requested_by'>,
  status: 'CONFIRMED' | 'DECLINED',
  nowMilliseconds: number,
): Promise<void> {
  const change = { status, decided_by: name, decided_at: millisecondText(nowMilliseconds) }
  await transaction.updateTable('change_requests').set(change).where('id', '=', id).execute()
  const action = status === 'CONFIRMED' ? 'change_request.confirm' : 'change_request.decline'
  const detail = { request_id: id, kind, call, requested_by }
  await writeAudit(transaction, { actor, action, subject, detail })
}

/** Marks requests as expired, so the same calls can be requested again. */
async function expire(transaction: Transaction<OperatorTables>, nowMilliseconds: number): Promise<void> {
  const pending = transaction.selectFrom('change_requests').select('id').where('status', '=', 'PENDING')
  const expired = pending.where('expires_at', '<=', millisecondText(nowMilliseconds)).orderBy('id').forUpdate()
  await transaction.updateTable('change_requests').set({ status: 'EXPIRED' }).where('id', 'in', expired).execute()
}

interface Row extends RequestedCall {
  readonly id: string
  readonly requested_by: string
  readonly status: ChangeRequestStatus
  readonly decided_by: string | null
  readonly decided_at: string | null
  readonly detail: string | null
  readonly expires_at: string
  readonly created_at: string
}

function documentOf(row: Row, nowMilliseconds: number): ChangeRequestDocument {
  const { id, kind, call, params, body, subject, comment, requested_by, decided_by, decided_at, detail } = row
  return {
    id,
    kind,
    call,
    summary: callRowOf(call)?.summary ?? call,
    params,
    body: withoutParties(body),
    subject,
    comment,
    status: statusOf(row, nowMilliseconds),
    requested_by,
    ...(decided_by === null ? {} : { decided_by }),
    ...(decided_at === null ? {} : { decided_at }),
    ...(detail === null ? {} : { detail }),
    expires_at: row.expires_at,
    created_at: row.created_at,
  }
}

function statusOf({ status, expires_at }: Pick<Row, 'status' | 'expires_at'>, now: number): ChangeRequestStatus {
  return status === 'PENDING' && isExpired({ expires_at }, now) ? 'EXPIRED' : status
}

function isExpired({ expires_at }: Pick<Row, 'expires_at'>, now: number): boolean {
  return Date.parse(expires_at) <= now
}

function decided(current: ChangeRequestStatus): Problem {
  return new Problem('invalid_state', `the request is ${current}`, { meta: { current } })
}

function noRequest(): never {
  throw new Problem('not_found', 'there is no request with this id')
}

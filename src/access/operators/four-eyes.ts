/**
 * Four eyes: with the setting `operator.four_eyes`, a call of a listed kind is recorded as a request (202), with a
 * comment and the record as the operator saw it. It is carried out when a second operator confirms it and names the
 * version that was seen. The confirmed call passes every check of the call itself.
 */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import {
  COMMENT_CHARACTERS_MAX,
  FOUR_EYES_KINDS,
  type FourEyesKind,
  isMachineRole,
  mayCall,
  OPERATOR_CALLS,
  type OperatorCallId,
  type OperatorCallRow,
  RECORD_CALLS,
  recordIdIn,
} from '../../contract/operator-calls.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { isObject, membersOf } from '../../platform/base/json-value.ts'
import { PageQuery, pageOf, readPageQuery } from '../../platform/http/page-query.ts'
import { invalidRequest, Problem } from '../../platform/http/problem.ts'
import { answered, withMember, writeJson } from '../../platform/http/raw-json.ts'
import { textChoice } from '../../platform/http/text-choice.ts'
import type { Db } from '../../platform/store/db.ts'
import type { EncryptionKey } from '../clients/encryption-key.ts'
import { type CallingOperator, idOf, operatorActor, operatorOf } from '../clients/operator-calls.ts'
import {
  type ChangeRequestDocument,
  type Confirmed,
  confirmRequest,
  type Decider,
  declineRequest,
  getRequest,
  listRequests,
  noteResult,
  pendingRequests,
  readForConfirmation,
  requestChange,
} from './change-requests.ts'
import type { OwnCall, OwnCalls } from './own-calls.ts'
import { issueOf, newCredential } from './requested-credentials.ts'
import { readableBody, withoutParties } from './requested-parties.ts'
import { changesBetween, type SeenRecord, versionOf } from './seen-records.ts'
import { CHANGE_REQUEST_STATUSES, type OperatorTables } from './tables.ts'

export interface FourEyesOptions {
  readonly db: Db
  readonly clock: Clock
  /** The current value of `operator.four_eyes`. */
  fourEyes(): readonly string[]
  /** A setup link's address. */
  linkAddress(token: string): string
  /** Encrypts the parties in requested calls. Absent: none can be stored or read. */
  readonly encryptionKey?: EncryptionKey | undefined
}

/** 128 bits from a digest. */
const DIGEST_CHARACTERS = 22

/** A call recorded as a request instead of being carried out. */
export interface CallToConfirm {
  readonly kind: FourEyesKind
  /** Why, for the second operator. */
  readonly comment: string
}

/**
 * Takes the comment out of the body when a call is under four eyes, so the call's own schema does not see it. Undefined
 * for a call that is carried out at once.
 */
export function readCallToConfirm(
  request: FastifyRequest,
  call: OperatorCallId,
  { fourEyes }: FourEyesOptions,
): CallToConfirm | undefined {
  const { fourEyes: kind, alwaysWith, onlyWith }: OperatorCallRow = OPERATOR_CALLS[call]
  if (kind === undefined || isMachineRole(operatorOf(request).role)) return undefined
  const { comment, ...body } = membersOf(request.body)
  if (onlyWith !== undefined && !Object.hasOwn(body, onlyWith)) return undefined
  const isAlways = alwaysWith !== undefined && Object.hasOwn(body, alwaysWith)
  const isOn = fourEyes().includes(kind)
  if (!isOn && !isAlways) return undefined
  if (isObject(request.body)) request.body = body
  // Who finds a stolen login or token ends it alone.
  if (call === 'PATCH /operators/:name' && isDeepStrictEqual(body, { enabled: false })) return undefined
  // Its reason explains a call that needs the second person whatever the setting.
  return { kind, comment: readComment(isOn ? comment : (comment ?? body.reason)) }
}

function readComment(comment: unknown): string {
  const refuse = (detail: string) => invalidRequest([{ pointer: '/comment', detail }])
  if (comment === undefined) throw refuse('is required: the reason for the operator who confirms')
  if (typeof comment !== 'string') throw refuse('must be of type string')
  if (comment.trim() === '') throw refuse('must not be blank')
  // Code points, as in every other text.
  if ([...comment].length > COMMENT_CHARACTERS_MAX)
    throw refuse(`must have at most ${COMMENT_CHARACTERS_MAX} characters`)
  return comment
}

/**
 * Records the call as a request, with its record as the operator sees it. The answer is the request, and any issued
 * credential.
 */
export async function answerWithRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  { call, kind, comment }: CallToConfirm & { readonly call: OperatorCallId },
  seen: (requested: OwnCall) => Promise<SeenRecord | undefined>,
  { db, clock, linkAddress, encryptionKey }: FourEyesOptions,
): Promise<FastifyReply> {
  // Copies with the ordinary object prototype: only such objects are stored as JSON.
  const params = structuredClone(request.params) as Readonly<Record<string, string>>
  const body = structuredClone(request.body ?? {}) as Readonly<Record<string, unknown>>
  const requested = { kind, call, params, body, subject: subjectOf(call, params, withoutParties(body)), comment }
  const record = await seen(requested)
  const issue = issueOf(requested)
  const credential = issue === undefined ? undefined : newCredential(issue)
  const kept = { record: record ?? null, credential_hash: credential?.hash ?? null, encryptionKey }
  const now = clock.wallInstant().milliseconds
  const { document, isNew } = await db.transaction<OperatorTables, Awaited<ReturnType<typeof requestChange>>>(
    (transaction) => requestChange(transaction, deciderOf(request), requested, kept, now),
  )
  // A request recorded before keeps the credential from its first answer.
  const secret = isNew ? credential?.secret : undefined
  const issued = secret === undefined ? {} : { [issue as string]: issue === 'token' ? secret : linkAddress(secret) }
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  return reply
    .status(202)
    .headers(headers)
    .send({ request: document, ...issued })
}

/** The record shown by a call, with the waiting requests about it. Unchanged when there are none. */
export async function withPendingRequests(
  {
    params,
    query,
    operator,
  }: { readonly params: unknown; readonly query: unknown; readonly operator: CallingOperator },
  call: OperatorCallId,
  record: unknown,
  { db, clock }: FourEyesOptions,
): Promise<unknown> {
  if (!RECORD_CALLS.has(call) || !isObject(record) || isMachineRole(operator.role)) return record
  const given = isObject(query) ? query : {}
  const subject = subjectOf(call, params as Readonly<Record<string, string>>, given)
  const pending = await pendingRequests(db, call, subject, clock.wallInstant().milliseconds)
  return pending.length === 0 ? record : withMember(record, 'pending_requests', pending)
}

/**
 * The changed record: its id or name, or the only one's name. A record that does not exist yet is named by the members
 * that distinguish it. A record has one pending request per call.
 */
function subjectOf(
  call: OperatorCallId,
  { id, name }: Readonly<Record<string, string>>,
  body: Readonly<Record<string, unknown>>,
): string {
  if (id !== undefined) return idOf(id)
  if (name !== undefined) return name
  const named = recordIdIn(call, body)
  if (named !== undefined) return named.toLowerCase()
  const noun = call.split('/')[1] as string
  if (!call.startsWith('POST ')) return noun
  const own = [body.name, body.reference, body.external_id].find((value) => typeof value === 'string')
  if (own !== undefined) return own
  const digest = createHash('sha256').update(JSON.stringify(body)).digest('base64url')
  return `${noun} ${digest.slice(0, DIGEST_CHARACTERS)}`
}

const Nothing = Type.Object({}, { additionalProperties: false })
const RequestsQuery = Type.Object({
  ...PageQuery.properties,
  status: Type.Optional(textChoice(CHANGE_REQUEST_STATUSES)),
  subject: Type.Optional(Type.String({ maxLength: 200, pattern: '^[^\\0]*$' })),
})

const time = Type.String({ format: 'date-time' })
const requestMembers = {
  id: Type.String({ format: 'uuid' }),
  kind: textChoice(FOUR_EYES_KINDS),
  call: Type.String({ description: 'Method and path below `/admin/v1`' }),
  summary: Type.String(),
  params: Type.Record(Type.String(), Type.String(), { description: 'The parameters in the path' }),
  body: Type.Record(Type.String(), Type.Unknown()),
  subject: Type.String({ description: 'The changed record’s id, or another name for it' }),
  comment: Type.String({ description: 'Why, for the confirming operator. Empty: requested by an earlier version' }),
  status: textChoice(CHANGE_REQUEST_STATUSES),
  requested_by: Type.String(),
  decided_by: Type.Optional(Type.String()),
  decided_at: Type.Optional(time),
  detail: Type.Optional(Type.String({ description: 'Only for FAILED: why the confirmed call was refused' })),
  expires_at: time,
  created_at: time,
}
const ChangeRequest = Type.Object(requestMembers, { title: 'ChangeRequest' })
const ChangeRequestWithRecord = Type.Object(
  {
    ...requestMembers,
    record: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description:
          'The record as the first operator saw it, in its GET call’s form. Only for roles that may confirm. Absent where the call creates a record',
      }),
    ),
    changes: Type.Optional(
      Type.Array(
        Type.Object(
          {
            field: Type.String({ description: 'Its path, such as `destination.crypto.address`' }),
            before: Type.Optional(Type.Unknown({ description: 'The value in `record`. Absent: it was not there' })),
            now: Type.Optional(Type.Unknown({ description: 'Absent: it is no longer there' })),
          },
          { title: 'FieldChange' },
        ),
        { description: 'The record’s fields that have changed since. Only while it can be confirmed' },
      ),
    ),
    version: Type.Optional(
      Type.String({
        description: 'The record’s current version, for `confirm`. Only while it can be confirmed',
      }),
    ),
  },
  { title: 'ChangeRequestWithRecord' },
)
const Confirmation = Type.Object(
  {
    version: Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'The version of the record that was seen: the request’s `version`',
    }),
  },
  { additionalProperties: false },
)

interface ById {
  readonly Params: { readonly id: string }
}

/** Declares the calls for requests, relative to the prefix in `app`. */
export function registerChangeRequestRoutes(app: FastifyInstance, options: FourEyesOptions, ownCalls: OwnCalls): void {
  const { db, clock, encryptionKey } = options
  const now = () => clock.wallInstant().milliseconds
  app.get<{ Querystring: Static<typeof RequestsQuery> }>(
    '/change-requests',
    answered(pageOf(ChangeRequest), { querystring: RequestsQuery }),
    ({ query }) => listRequests(db, readPageQuery(query), query, now()),
  )
  app.get<ById>('/change-requests/:id', answered(ChangeRequestWithRecord), async (request) => {
    const { document, storedBody, record, isOpen } = await getRequest(db, idOf(request.params.id), now())
    // Only the deciding roles may see some of the record's and the body's members.
    if (!mayCall(operatorOf(request).role, document.call)) return document
    const body = readableBody(storedBody, document.id, encryptionKey)
    const seen = { ...(body === undefined ? {} : { body }), ...(record === undefined ? {} : { record }) }
    // Without the version it cannot be confirmed: the parties were not seen.
    if (!isOpen || body === undefined) return { ...document, ...seen }
    const current = await ownCalls.readRecord(app, operatorOf(request), document)
    const changes = record === undefined || current === undefined ? [] : changesBetween(record, current)
    return { ...document, ...seen, changes, version: versionOf(current) }
  })
  app.post<ById & { Body: Static<typeof Confirmation> }>(
    '/change-requests/:id/confirm',
    { schema: { body: Confirmation } },
    (request, reply) => confirm(app, request, reply, ownCalls, options),
  )
  app.post<ById>('/change-requests/:id/decline', answered(ChangeRequest, { body: Nothing }), (request) =>
    db.transaction<OperatorTables, ChangeRequestDocument>((transaction) =>
      declineRequest(transaction, deciderOf(request), idOf(request.params.id), now()),
    ),
  )
}

/**
 * Confirms a request and carries it out. The version is compared twice: before the confirmation, so a request with a
 * changed record stays open, and in the call's transaction, whose locks let nothing change between comparison and call.
 */
async function confirm(
  app: FastifyInstance,
  request: FastifyRequest<ById & { Body: Static<typeof Confirmation> }>,
  reply: FastifyReply,
  ownCalls: OwnCalls,
  { db, clock, encryptionKey }: FourEyesOptions,
): Promise<FastifyReply> {
  const now = () => clock.wallInstant().milliseconds
  const id = idOf(request.params.id)
  const operator = operatorOf(request)
  const decider = deciderOf(request)
  const requested = await readForConfirmation(db, decider, id, encryptionKey, now())
  const compare = (record: unknown, next: string) => {
    const seen = record === undefined ? undefined : (JSON.parse(writeJson(record)) as SeenRecord)
    if (versionOf(seen) === request.body.version) return
    throw new Problem('record_changed', `version: the record has changed: ${next}`)
  }
  compare(await ownCalls.readRecord(app, operator, requested), 'read the request again')
  const { requesters, ...credential } = await db.transaction<OperatorTables, Confirmed>((transaction) =>
    confirmRequest(transaction, decider, id, now()),
  )
  const confirmation = { ...credential, compare: (record: unknown) => compare(record, 'request the change again') }
  // Credentials issued by the call belong to both.
  const both = { ...operator, issuers: [...operator.issuers, ...requesters], confirmation }
  const answer = await ownCalls.send(app, both, requested)
  // After our own error the change may not have been made: the request can be confirmed again.
  if (answer.statusCode < 500) {
    const problem = answer.statusCode < 400 ? undefined : (answer.json() as { detail: string }).detail
    await db.transaction<OperatorTables, void>((transaction) => noteResult(transaction, id, problem, now()))
  }
  return reply.status(answer.statusCode).header('content-type', answer.headers['content-type']).send(answer.rawPayload)
}

function deciderOf(request: FastifyRequest): Decider {
  const { name, role, issuers, token } = operatorOf(request)
  return { name, role, issuers, tokenId: token?.id, actor: operatorActor(request) }
}

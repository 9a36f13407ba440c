/**
 * Four eyes: with the setting `operator.four_eyes`, a call of a listed kind is not carried out but recorded as a request (202),
 * and carried out when a second operator confirms it. Confirming sends the recorded call through the listener again, in the
 * name of the confirming operator, so that it passes every check of the call itself.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { type CallingOperator, idOf, operatorActor, operatorOf } from '../auth/operator-calls.ts'
import type { Clock } from '../base/clock.ts'
import {
  FOUR_EYES_KINDS,
  type FourEyesKind,
  OPERATOR_CALLS,
  type OperatorCallId,
  type OperatorCallRow,
} from '../contract/operator-calls.ts'
import { PageQuery, pageOf, readPageQuery } from '../http/page-query.ts'
import { answered } from '../http/raw-json.ts'
import { textChoice } from '../http/text-choice.ts'
import type { Db } from '../store/db.ts'
import {
  type ChangeRequestDocument,
  confirmRequest,
  type Decider,
  declineRequest,
  getRequest,
  listRequests,
  noteResult,
  type RequestedCall,
  requestChange,
} from './change-requests.ts'
import { CHANGE_REQUEST_STATUSES, type OperatorTables } from './tables.ts'

export interface FourEyesOptions {
  readonly db: Db
  readonly clock: Clock
  /** The current value of `operator.four_eyes`. */
  fourEyes(): readonly string[]
}

/** Names the confirmation that a call of this process belongs to. */
const CONFIRMATION_HEADER = 'tidegate-confirmation'
const CONFIRMATION_BYTES = 32
/** 128 bits of a digest. */
const DIGEST_CHARACTERS = 22

/** Calls that are being carried out because they were confirmed. */
export class Confirmations {
  readonly #operators = new Map<string, CallingOperator>()

  /** The operator who confirmed the call; undefined for a call of a client. Found once. */
  take({ headers }: Pick<FastifyRequest, 'headers'>): CallingOperator | undefined {
    const key = headers[CONFIRMATION_HEADER]
    if (typeof key !== 'string') return undefined
    const operator = this.#operators.get(key)
    this.#operators.delete(key)
    return operator
  }

  /** Sends the call to the routes of `app`, in the name of the operator. */
  async carryOut(app: FastifyInstance, operator: CallingOperator, { call, params, body }: RequestedCall) {
    const [method = '', pattern = ''] = call.split(' ')
    const path = pattern.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
    // A client cannot guess it, and it is valid for one call.
    const key = randomBytes(CONFIRMATION_BYTES).toString('base64url')
    this.#operators.set(key, operator)
    try {
      return await app.inject({
        method: method as 'POST' | 'PATCH',
        url: `${app.prefix}${path}`,
        headers: { host: 'localhost', [CONFIRMATION_HEADER]: key, 'content-type': 'application/json' },
        payload: JSON.stringify(body),
      })
    } finally {
      this.#operators.delete(key)
    }
  }
}

/** The kind of a call under four eyes; undefined when it is carried out at once. */
export function fourEyesKindOf(call: OperatorCallId, { fourEyes }: FourEyesOptions): FourEyesKind | undefined {
  const { fourEyes: kind }: OperatorCallRow = OPERATOR_CALLS[call]
  return kind !== undefined && fourEyes().includes(kind) ? kind : undefined
}

/** Records the call as a request, which is its answer. */
export async function answerWithRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  call: OperatorCallId,
  kind: FourEyesKind,
  { db, clock }: FourEyesOptions,
): Promise<FastifyReply> {
  // Copies with the prototype of ordinary objects, which alone are stored as JSON.
  const params = structuredClone(request.params) as Readonly<Record<string, string>>
  const body = structuredClone(request.body ?? {}) as Readonly<Record<string, unknown>>
  const requested = { kind, call, params, body, subject: subjectOf(call, params, body) }
  const recorded = await db.transaction<OperatorTables, ChangeRequestDocument>((transaction) =>
    requestChange(transaction, deciderOf(request), requested, clock.wallInstant().milliseconds),
  )
  return reply.status(202).header('content-type', 'application/json; charset=utf-8').send({ request: recorded })
}

/**
 * The record that is changed: its id or name, the name of the only one, or, for one that does not exist yet, what tells it
 * from others. A record has one pending request per call.
 */
function subjectOf(
  call: OperatorCallId,
  { id, name }: Readonly<Record<string, string>>,
  body: Readonly<Record<string, unknown>>,
): string {
  if (id !== undefined) return idOf(id)
  if (name !== undefined) return name
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
const ChangeRequest = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    kind: textChoice(FOUR_EYES_KINDS),
    call: Type.String({ description: 'Method and path below `/admin/v1`' }),
    summary: Type.String(),
    params: Type.Record(Type.String(), Type.String(), { description: 'The parameters in the path' }),
    body: Type.Record(Type.String(), Type.Unknown()),
    subject: Type.String({ description: 'The id of the record that is changed, or what names it' }),
    status: textChoice(CHANGE_REQUEST_STATUSES),
    requested_by: Type.String(),
    decided_by: Type.Optional(Type.String()),
    decided_at: Type.Optional(time),
    detail: Type.Optional(Type.String({ description: 'Of FAILED: why the confirmed call was refused' })),
    expires_at: time,
    created_at: time,
  },
  { title: 'ChangeRequest' },
)

interface ById {
  readonly Params: { readonly id: string }
}

/** Declares the calls for requests, relative to the prefix of `app`. */
export function registerChangeRequestRoutes(
  app: FastifyInstance,
  { db, clock }: FourEyesOptions,
  confirmations: Confirmations,
): void {
  const now = () => clock.wallInstant().milliseconds
  app.get<{ Querystring: Static<typeof RequestsQuery> }>(
    '/change-requests',
    answered(pageOf(ChangeRequest), { querystring: RequestsQuery }),
    ({ query }) => listRequests(db, readPageQuery(query), query, now()),
  )
  app.get<ById>('/change-requests/:id', answered(ChangeRequest), ({ params }) => getRequest(db, idOf(params.id), now()))
  app.post<ById>('/change-requests/:id/confirm', { schema: { body: Nothing } }, async (request, reply) => {
    const id = idOf(request.params.id)
    const requested = await db.transaction<OperatorTables, RequestedCall>((transaction) =>
      confirmRequest(transaction, deciderOf(request), id, now()),
    )
    const answer = await confirmations.carryOut(app, operatorOf(request), requested)
    // After an error of ours the change may not have been made: the request can be confirmed again.
    if (answer.statusCode < 500) {
      const problem = answer.statusCode < 400 ? undefined : (answer.json() as { detail: string }).detail
      await db.transaction<OperatorTables, void>((transaction) => noteResult(transaction, id, problem, now()))
    }
    return reply
      .status(answer.statusCode)
      .header('content-type', answer.headers['content-type'])
      .send(answer.rawPayload)
  })
  app.post<ById>('/change-requests/:id/decline', answered(ChangeRequest, { body: Nothing }), (request) =>
    db.transaction<OperatorTables, ChangeRequestDocument>((transaction) =>
      declineRequest(transaction, deciderOf(request), idOf(request.params.id), now()),
    ),
  )
}

function deciderOf(request: FastifyRequest): Decider {
  const { name, role } = operatorOf(request)
  return { name, role, actor: operatorActor(request) }
}

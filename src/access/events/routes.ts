/** Customers' events: the list and one event, for customers and for the operator. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isUuid } from '../../platform/base/ids.ts'
import { type ListQuery, listQuerySchema, readsListQuery } from '../../platform/http/list-query.ts'
import { pageDocument } from '../../platform/http/page-query.ts'
import { invalidRequest, Problem } from '../../platform/http/problem.ts'
import { answered, RawJson, WRITES_RAW_JSON } from '../../platform/http/raw-json.ts'
import type { Db } from '../../platform/store/db.ts'
import { callerOf, type Guard } from '../clients/guard.ts'
import { idOf } from '../clients/operator-calls.ts'
import { type EventReader, EventsExpired, getEvent, listEvents } from './read.ts'
import { CustomerEventDocument, EVENT_FILTERS, EventPage } from './schemas.ts'

export interface EventRoutesOptions {
  readonly db: Db
  readonly guard: Guard
  /** With an external issuer, a client's scopes are its token's. */
  readonly issuesTokens: boolean
}

type Query = ListQuery<typeof EVENT_FILTERS>

/** Declares the routes, with the paths from the operation table. */
export function registerEventRoutes(app: FastifyInstance, { db, guard, issuesTokens }: EventRoutesOptions): void {
  // A token may have one scope. What its client may read decides.
  const readerOf = (request: FastifyRequest): EventReader => {
    const { customerId, client, scopes } = callerOf(request)
    return { customerId, scopes: issuesTokens && client !== undefined ? client.scopes : new Set(scopes) }
  }
  app.route<{ Querystring: Query }>({
    ...guard('listEvents'),
    ...readsListQuery(EVENT_FILTERS, 'ASC'),
    schema: { querystring: listQuerySchema(EVENT_FILTERS, 'ASC'), response: { 200: EventPage } },
    ...WRITES_RAW_JSON,
    handler: (request) => page(db, readerOf(request), request.query),
  })
  app.route<{ Params: { id: string } }>({
    ...guard('getEvent'),
    schema: { response: { 200: CustomerEventDocument } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const id = request.params.id.toLowerCase()
      const text = isUuid(id) ? await getEvent(db, readerOf(request), id) : undefined
      if (text === undefined) throw new Problem('not_found', 'there is no event with this id')
      return new RawJson(text)
    },
  })
}

/** Declares the operator's route, relative to the prefix in `app`. */
export function registerEventOperatorRoutes(app: FastifyInstance, db: Db): void {
  app.get<{ Params: { id: string }; Querystring: Query }>(
    '/customers/:id/events',
    {
      ...readsListQuery(EVENT_FILTERS, 'ASC'),
      ...answered(EventPage, { querystring: listQuerySchema(EVENT_FILTERS, 'ASC') }),
    },
    ({ params, query }) => page(db, { customerId: idOf(params.id), scopes: undefined }, query),
  )
}

async function page(db: Db, reader: EventReader, query: Query) {
  try {
    return pageDocument(await listEvents(db, reader, query, readAfter(query.filters.after)))
  } catch (error) {
    if (!(error instanceof EventsExpired)) throw error
    const meta = { oldest_sequence: Number(error.oldestSequence) }
    throw new Problem('events_expired', error.message, { meta })
  }
}

function readAfter(text: string | undefined): bigint | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text)) return BigInt(text)
  throw invalidRequest([{ parameter: 'after', detail: 'must be a sequence: a whole number of at most 15 digits' }])
}

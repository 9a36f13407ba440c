/**
 * The customer's operations on its webhook endpoints. The guard authenticates the caller and checks its scopes. No
 * filter can match another customer's endpoint.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { type ListQuery, listQuerySchema, readsListQuery } from '../../platform/http/list-query.ts'
import { Problem } from '../../platform/http/problem.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { actorOf, callerOf, type Guard } from '../clients/guard.ts'
import type { AuthTables } from '../clients/tables.ts'
import { deliveryDocument, endpointDocument } from './documents.ts'
import {
  DELIVERY_FILTERS,
  ENDPOINT_FILTERS,
  Endpoint,
  EndpointChange,
  EndpointDeliveryPage,
  EndpointPage,
  EndpointTest,
  NewEndpoint,
  Replay,
} from './schemas.ts'
import {
  createEndpoint,
  deleteEndpoint,
  type EndpointMaker,
  replayEndpoint,
  testEndpoint,
  updateEndpoint,
} from './service.ts'
import { getEndpoint, listEndpoints, listRequests } from './store.ts'
import type { EndpointTables } from './tables.ts'

export interface EndpointRoutesOptions {
  readonly db: Db
  readonly guard: Guard
  readonly maker: EndpointMaker
}

interface ById {
  readonly Params: { readonly id: string }
}

type Work<Result> = (transaction: Transaction<EndpointTables & AuthTables>) => Promise<Result>

/** Declares the routes, with the paths from the operation table. */
export function registerEndpointRoutes(app: FastifyInstance, options: EndpointRoutesOptions): void {
  const { db, guard, maker } = options
  app.route<{ Body: Static<typeof NewEndpoint> }>({
    ...guard('createWebhookEndpoint'),
    schema: { body: NewEndpoint, response: { 200: Endpoint } },
    async handler(request) {
      const work: Work<object> = async (transaction) =>
        endpointDocument(
          await createEndpoint(transaction, maker, writerOf(request), { ...request.body, clientId: clientOf(request) }),
        )
      return await db.transaction(work)
    },
  })
  app.route<ById & { Body: Static<typeof EndpointChange> }>({
    ...guard('updateWebhookEndpoint'),
    schema: { body: EndpointChange, response: { 200: Endpoint } },
    async handler(request) {
      const work: Work<object> = async (transaction) =>
        endpointDocument(await updateEndpoint(transaction, maker, writerOf(request), request.params.id, request.body))
      return await db.transaction(work)
    },
  })
  app.route<ById>({
    ...guard('deleteWebhookEndpoint'),
    schema: { response: { 200: Endpoint } },
    async handler(request) {
      const work: Work<object> = async (transaction) =>
        endpointDocument({ row: await deleteEndpoint(transaction, writerOf(request), request.params.id) })
      return await db.transaction(work)
    },
  })
  registerActions(app, options)
  registerReading(app, options)
}

function registerActions(app: FastifyInstance, { db, guard }: EndpointRoutesOptions): void {
  app.route<ById>({
    ...guard('testWebhookEndpoint'),
    schema: { response: { 200: EndpointTest } },
    async handler(request) {
      const work: Work<string> = (transaction) => testEndpoint(transaction, writerOf(request), request.params.id)
      return { event_id: await db.transaction(work) }
    },
  })
  app.route<ById & { Body: Static<typeof Replay> }>({
    ...guard('replayWebhookEndpoint'),
    schema: { body: Replay, response: { 200: Endpoint } },
    async handler(request) {
      const { after } = request.body
      const work: Work<object> = async (transaction) =>
        endpointDocument({ row: await replayEndpoint(transaction, writerOf(request), request.params.id, after) })
      return await db.transaction(work)
    },
  })
}

function registerReading(app: FastifyInstance, { db, guard }: EndpointRoutesOptions): void {
  app.route<{ Querystring: ListQuery<typeof ENDPOINT_FILTERS> }>({
    ...guard('listWebhookEndpoints'),
    ...readsListQuery(ENDPOINT_FILTERS),
    schema: { querystring: listQuerySchema(ENDPOINT_FILTERS), response: { 200: EndpointPage } },
    async handler(request) {
      const { filters, binding, ...paging } = request.query
      const { customerId } = callerOf(request)
      const wanted = { ...paging, filters: binding }
      const { items, ...page } = await listEndpoints(db, { owner: 'customer', customerId }, filters, wanted)
      return { items: items.map((row) => endpointDocument({ row })), ...page }
    },
  })
  app.route<ById>({
    ...guard('getWebhookEndpoint'),
    schema: { response: { 200: Endpoint } },
    handler: async (request) =>
      endpointDocument({ row: await getEndpoint(db, request.params.id, callerOf(request).customerId) }),
  })
  app.route<ById & { Querystring: ListQuery<typeof DELIVERY_FILTERS> }>({
    ...guard('listWebhookDeliveries'),
    ...readsListQuery(DELIVERY_FILTERS),
    schema: { querystring: listQuerySchema(DELIVERY_FILTERS), response: { 200: EndpointDeliveryPage } },
    async handler(request) {
      const { binding, limit, order, pageCursor } = request.query
      const { customerId } = callerOf(request)
      const paging = { limit, order, pageCursor, filters: binding }
      const { items, ...page } = await listRequests(db, { endpointId: request.params.id, customerId }, paging)
      return { items: items.map(deliveryDocument), ...page }
    },
  })
}

function writerOf(request: FastifyRequest) {
  const caller = callerOf(request)
  const { customerId, client, scopes } = caller
  // A token may have one scope. What its client may read decides.
  return { customerId, actor: actorOf(caller), scopes: client?.scopes ?? new Set(scopes) }
}

function clientOf(request: FastifyRequest): string {
  const { client } = callerOf(request)
  if (client !== undefined) return client.clientId
  const detail =
    'an endpoint receives what its client may read, and the operator has not created the token’s client here'
  throw new Problem('invalid_state', detail, { meta: { current: 'unknown_client' } })
}

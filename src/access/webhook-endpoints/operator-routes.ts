/** The operator's calls about customers' webhook endpoints. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { PageQuery, readPageQuery } from '../../platform/http/page-query.ts'
import { answered } from '../../platform/http/raw-json.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { getCustomer } from '../clients/customers.ts'
import { idOf, operatorActor } from '../clients/operator-calls.ts'
import type { AuthTables } from '../clients/tables.ts'
import { deliveryDocument, operatorDocument } from './documents.ts'
import {
  CustomerEndpoint,
  CustomerEndpointPage,
  EndpointChange,
  EndpointDeliveryPage,
  EndpointTest,
  NewCustomerEndpoint,
  Replay,
} from './schemas.ts'
import {
  type ChangedEndpoint,
  createEndpoint,
  deleteEndpoint,
  type EndpointMaker,
  replayEndpoint,
  testEndpoint,
  updateEndpoint,
} from './service.ts'
import { getEndpoint, listEndpoints, listRequests } from './store.ts'
import type { EndpointTables } from './tables.ts'

interface ById {
  readonly Params: { readonly id: string }
}

type Work<Result> = (transaction: Transaction<EndpointTables & AuthTables>) => Promise<Result>

const Nothing = Type.Object({}, { additionalProperties: false })

/** Declares the routes, relative to the prefix of `app`. */
export function registerEndpointOperatorRoutes(app: FastifyInstance, db: Db, maker: EndpointMaker): void {
  const write = async (work: Work<ChangedEndpoint>) => operatorDocument(await db.transaction(work))
  app.post<ById & { Body: Static<typeof NewCustomerEndpoint> }>(
    '/customers/:id/webhook-endpoints',
    answered(CustomerEndpoint, { body: NewCustomerEndpoint }),
    (request) =>
      write((transaction) => {
        const { client_id: clientId, ...wanted } = request.body
        const writer = { ...writerOf(request), customerId: idOf(request.params.id) }
        return createEndpoint(transaction, maker, writer, { clientId, ...wanted })
      }),
  )
  app.patch<ById & { Body: Static<typeof EndpointChange> }>(
    '/webhook-endpoints/:id',
    answered(CustomerEndpoint, { body: EndpointChange }),
    (request) =>
      write((transaction) => updateEndpoint(transaction, maker, writerOf(request), request.params.id, request.body)),
  )
  app.delete<ById>('/webhook-endpoints/:id', answered(CustomerEndpoint), (request) =>
    write(async (transaction) => ({ row: await deleteEndpoint(transaction, writerOf(request), request.params.id) })),
  )
  app.post<ById>('/webhook-endpoints/:id/test', answered(EndpointTest, { body: Nothing }), async (request) => {
    const work: Work<string> = (transaction) => testEndpoint(transaction, writerOf(request), request.params.id)
    return { event_id: await db.transaction(work) }
  })
  app.post<ById & { Body: Static<typeof Replay> }>(
    '/webhook-endpoints/:id/replay',
    answered(CustomerEndpoint, { body: Replay }),
    (request) =>
      write(async (transaction) => {
        const { params, body } = request
        return { row: await replayEndpoint(transaction, writerOf(request), params.id, body.after) }
      }),
  )
  registerReading(app, db)
}

function registerReading(app: FastifyInstance, db: Db): void {
  app.get<ById & { Querystring: Static<typeof PageQuery> }>(
    '/customers/:id/webhook-endpoints',
    answered(CustomerEndpointPage, { querystring: PageQuery }),
    async ({ params, query }) => {
      const { id: customerId } = await getCustomer(db, idOf(params.id))
      const paging = { ...readPageQuery(query), filters: {} }
      const { items, ...page } = await listEndpoints(db, { owner: 'operator', customerId }, {}, paging)
      return { items: items.map((row) => operatorDocument({ row })), ...page }
    },
  )
  app.get<ById>('/webhook-endpoints/:id', answered(CustomerEndpoint), async ({ params }) =>
    operatorDocument({ row: await getEndpoint(db, params.id) }),
  )
  app.get<ById & { Querystring: Static<typeof PageQuery> }>(
    '/webhook-endpoints/:id/deliveries',
    answered(EndpointDeliveryPage, { querystring: PageQuery }),
    async ({ params, query }) => {
      const paging = { ...readPageQuery(query), filters: {} }
      const { items, ...page } = await listRequests(db, { endpointId: params.id }, paging)
      return { items: items.map(deliveryDocument), ...page }
    },
  )
}

function writerOf(request: FastifyRequest) {
  return { actor: operatorActor(request) }
}

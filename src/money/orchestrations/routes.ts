/** The customer's operations on orchestrations. The guard authenticates the caller and checks its scopes. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { EncryptionKey } from '../../access/clients/encryption-key.ts'
import { actorOf, callerOf, type Guard } from '../../access/clients/guard.ts'
import { isUuid } from '../../platform/base/ids.ts'
import { type ListQuery, listQuerySchema, readsListQuery } from '../../platform/http/list-query.ts'
import { pageDocument } from '../../platform/http/page-query.ts'
import { RawJson, WRITES_RAW_JSON } from '../../platform/http/raw-json.ts'
import type { Db } from '../../platform/store/db.ts'
import { transactionWithRetries } from '../../platform/store/retry.ts'
import type { DeliveryOwners } from '../deliveries/owner.ts'
import { cancelOrchestration } from './cancel.ts'
import { getOrchestration, listOrchestrations, textWithParties } from './lists.ts'
import { noOrchestration } from './operator-actions.ts'
import { Price } from './pricing/schemas.ts'
import { readPrice } from './pricing/stored-price.ts'
import { type RequestSettings, readRequest, requestOrchestration } from './request.ts'
import {
  NewOrchestrationBody,
  ORCHESTRATION_FILTERS,
  Orchestration,
  OrchestrationList,
  type RequestedOrchestration,
} from './schemas.ts'
import type { OrchestrationTables } from './tables.ts'

export interface OrchestrationRoutesOptions {
  readonly db: Db
  readonly guard: Guard
  readonly deliveryOwners: DeliveryOwners
  /** Encrypts the orchestrations’ parties. Undefined: none can be stored or read. */
  readonly encryptionKey: EncryptionKey | undefined
  /** The current settings. */
  settings(): RequestSettings
}

const Nothing = Type.Object({}, { additionalProperties: false })

/** Declares the routes, with the paths from the operation table. */
export function registerOrchestrationRoutes(app: FastifyInstance, options: OrchestrationRoutesOptions): void {
  const { db, guard } = options
  app.route<{ Body: RequestedOrchestration }>({
    ...guard('createOrchestration'),
    schema: { body: NewOrchestrationBody, response: { 200: Orchestration } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const settings = options.settings()
      const read = readRequest(request.body, settings, options.encryptionKey)
      const caller = callerOf(request)
      const writer = { customerId: caller.customerId, actor: actorOf(caller) }
      const text = await transactionWithRetries(db, (transaction) =>
        requestOrchestration(transaction, writer, read, settings),
      )
      const { id } = JSON.parse(text) as { readonly id: string }
      return new RawJson(await textWithParties(db.tables<OrchestrationTables>(), id, text, options.encryptionKey))
    },
  })
  app.route<{ Params: { id: string } }>({
    ...guard('getOrchestration'),
    schema: { response: { 200: Orchestration } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const id = orchestrationId(request.params.id)
      const tables = db.tables<OrchestrationTables>()
      const text = (await getOrchestration(tables, callerOf(request).customerId, { id })) ?? noOrchestration()
      return new RawJson(await textWithParties(tables, id, text, options.encryptionKey))
    },
  })
  app.route<{ Params: { id: string } }>({
    ...guard('getOrchestrationPrice'),
    schema: { response: { 200: Price } },
    ...WRITES_RAW_JSON,
    handler(request) {
      return readPrice(db.tables(), orchestrationId(request.params.id), callerOf(request).customerId)
    },
  })
  app.route<{ Params: { id: string } }>({
    ...guard('cancelOrchestration'),
    schema: { body: Nothing, response: { 200: Orchestration } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const id = orchestrationId(request.params.id)
      const caller = callerOf(request)
      const writer = { customerId: caller.customerId, actor: actorOf(caller) }
      const text = await transactionWithRetries(db, (transaction) =>
        cancelOrchestration(transaction, options.deliveryOwners, writer, id),
      )
      return new RawJson(text)
    },
  })
  app.route<{ Querystring: ListQuery<typeof ORCHESTRATION_FILTERS> }>({
    ...guard('listOrchestrations'),
    ...readsListQuery(ORCHESTRATION_FILTERS),
    schema: { querystring: listQuerySchema(ORCHESTRATION_FILTERS), response: { 200: OrchestrationList } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const page = pageDocument(await listOrchestrations(db, callerOf(request).customerId, request.query))
      return { orchestrations: page.items, ...page }
    },
  })
}

/** The id in lower case. Throws 404 for a text that is not an id. */
function orchestrationId(text: string): string {
  const id = text.toLowerCase()
  return isUuid(id) ? id : noOrchestration()
}

/** The customer's operations on orchestrations. The guard authenticates the caller and checks its scopes. */
import type { FastifyInstance } from 'fastify'
import { actorOf, callerOf, type Guard } from '../auth/guard.ts'
import { isUuid } from '../base/ids.ts'
import { type ListQuery, listQuerySchema, readsListQuery } from '../http/list-query.ts'
import { pageDocument } from '../http/page-query.ts'
import { Problem } from '../http/problem.ts'
import { RawJson, WRITES_RAW_JSON } from '../http/raw-json.ts'
import type { Db } from '../store/db.ts'
import { transactionWithRetries } from '../store/retry.ts'
import { getOrchestration, listOrchestrations } from './lists.ts'
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
  /** The current settings. */
  settings(): RequestSettings
}

/** Declares the routes, with the paths from the table of operations. */
export function registerOrchestrationRoutes(app: FastifyInstance, options: OrchestrationRoutesOptions): void {
  const { db, guard } = options
  app.route<{ Body: RequestedOrchestration }>({
    ...guard('createOrchestration'),
    schema: { body: NewOrchestrationBody, response: { 200: Orchestration } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const settings = options.settings()
      const read = readRequest(request.body, settings)
      const caller = callerOf(request)
      const writer = { customerId: caller.customerId, actor: actorOf(caller) }
      const text = await transactionWithRetries(db, (transaction) =>
        requestOrchestration(transaction, writer, read, settings),
      )
      return new RawJson(text)
    },
  })
  app.route<{ Params: { id: string } }>({
    ...guard('getOrchestration'),
    schema: { response: { 200: Orchestration } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const id = request.params.id.toLowerCase()
      const tables = db.tables<OrchestrationTables>()
      const text = isUuid(id) ? await getOrchestration(tables, callerOf(request).customerId, { id }) : undefined
      if (text === undefined) throw new Problem('not_found', 'there is no orchestration with this id')
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

/**
 * The customers' operations for transfers and balances. The guard has authenticated the caller and checked its scope.
 */
import type { FastifyInstance } from 'fastify'
import { callerOf, type Guard } from '../../access/clients/guard.ts'
import { isUuid } from '../../platform/base/ids.ts'
import { IGNORES_PARAMETERS, type ListQuery, listQuerySchema, readsListQuery } from '../../platform/http/list-query.ts'
import { pageDocument } from '../../platform/http/page-query.ts'
import { Problem } from '../../platform/http/problem.ts'
import { RawJson, WRITES_RAW_JSON } from '../../platform/http/raw-json.ts'
import type { Db } from '../../platform/store/db.ts'
import { readBalances } from './balances.ts'
import { getTransfer, listTransfers } from './lists.ts'
import { Balances, TRANSFER_FILTERS, Transfer, TransferPage } from './schemas.ts'

export interface TransferRoutesOptions {
  readonly db: Db
  readonly guard: Guard
}

/** Declares the routes, with the paths from the operation table. */
export function registerTransferRoutes(app: FastifyInstance, { db, guard }: TransferRoutesOptions): void {
  app.route<{ Querystring: ListQuery<typeof TRANSFER_FILTERS> }>({
    ...guard('listTransfers'),
    ...readsListQuery(TRANSFER_FILTERS),
    schema: { querystring: listQuerySchema(TRANSFER_FILTERS), response: { 200: TransferPage } },
    ...WRITES_RAW_JSON,
    handler: async (request) => pageDocument(await listTransfers(db, callerOf(request).customerId, request.query)),
  })
  app.route<{ Params: { id: string } }>({
    ...guard('getTransfer'),
    schema: { response: { 200: Transfer } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const id = request.params.id.toLowerCase()
      const text = isUuid(id) ? await getTransfer(db, callerOf(request).customerId, id) : undefined
      if (text === undefined) throw new Problem('not_found', 'there is no transfer with this id')
      return new RawJson(text)
    },
  })
  app.route<{ Params: { id: string } }>({
    ...guard('listBalances'),
    ...IGNORES_PARAMETERS,
    schema: { response: { 200: Balances } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const id = request.params.id.toLowerCase()
      const items = isUuid(id) ? await readBalances(db, id, callerOf(request).customerId) : undefined
      if (items === undefined) throw new Problem('not_found', 'there is no profile with this id')
      return { items: items.map(({ receivable: _, ...shown }) => shown) }
    },
  })
}

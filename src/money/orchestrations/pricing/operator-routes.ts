/** The operator's calls for prices and the desk. The operator guard runs first. */
import type { FastifyInstance } from 'fastify'
import { idOf } from '../../../access/clients/operator-calls.ts'
import { answered } from '../../../platform/http/raw-json.ts'
import type { Db } from '../../../platform/store/db.ts'
import type { MinorUnits } from '../../ledger/posting.ts'
import { readDesk } from './desk.ts'
import { Desk, Price } from './schemas.ts'
import { readPrice } from './stored-price.ts'

export interface PricingOperatorRoutesOptions {
  readonly db: Db
  /** The setting `conversion.desk_limits`, in minor units. */
  deskLimits(): ReadonlyMap<string, MinorUnits>
}

/** Declares the routes, relative to the prefix of `app`. */
export function registerPricingOperatorRoutes(app: FastifyInstance, options: PricingOperatorRoutesOptions): void {
  const { db, deskLimits } = options
  app.get<{ Params: { readonly id: string } }>('/orchestrations/:id/price', answered(Price), ({ params }) =>
    readPrice(db.tables(), idOf(params.id)),
  )
  app.get('/desk', answered(Desk), async () => ({ items: await readDesk(db.tables(), deskLimits()) }))
}

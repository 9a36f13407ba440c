/** The customer's operation for creating a sandbox deposit. It is registered only with the setting `rest.sandbox`. */
import type { FastifyInstance } from 'fastify'
import { callerOf, type Guard } from '../../access/clients/guard.ts'
import { isUuid } from '../../platform/base/ids.ts'
import { Problem } from '../../platform/http/problem.ts'
import { RawJson, WRITES_RAW_JSON } from '../../platform/http/raw-json.ts'
import type { Db } from '../../platform/store/db.ts'
import { getTransfer } from '../transfers/lists.ts'
import { Transfer } from '../transfers/schemas.ts'
import type { DepositSettings } from './record.ts'
import { makeSandboxDeposit } from './sandbox.ts'
import { SandboxDeposit, type SandboxDepositBody } from './schemas.ts'

export interface SandboxRoutesOptions {
  readonly db: Db
  readonly guard: Guard
  /** The current settings. */
  settings(): DepositSettings
}

/** Declares the route, with the path from the operations table. */
export function registerSandboxRoutes(app: FastifyInstance, { db, guard, settings }: SandboxRoutesOptions): void {
  app.route<{ Params: { profile_id: string }; Body: SandboxDepositBody }>({
    ...guard('createSandboxDeposit'),
    schema: { body: SandboxDeposit, response: { 200: Transfer } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const { customerId } = callerOf(request)
      const profileId = request.params.profile_id.toLowerCase()
      if (!isUuid(profileId)) throw new Problem('not_found', 'there is no profile with this id')
      const id = await makeSandboxDeposit(db, customerId, profileId, request.body, settings())
      return new RawJson((await getTransfer(db, customerId, id)) as string)
    },
  })
}

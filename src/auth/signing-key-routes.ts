/**
 * The operator's calls about signing keys: list them, rotate now, revoke a compromised one. Each write is one
 * transaction, answered when it is in force on this node. A service that trusts an outside issuer has none of them.
 */
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Clock } from '../base/clock.ts'
import { PageQuery, readPageQuery } from '../http/page-query.ts'
import type { Db } from '../store/db.ts'
import { readStoreTime } from '../store/store-clock.ts'
import { ACTOR, idOf, type Write } from './operator-calls.ts'
import { listSigningKeys, revokeSigningKey, rotateSigningKeys } from './signing-keys.ts'

const Nothing = Type.Object({}, { additionalProperties: false })

export function registerSigningKeyRoutes(app: FastifyInstance, db: Db, clock: Clock, write: Write): void {
  app.get<{ Querystring: Static<typeof PageQuery> }>(
    '/signing-keys',
    { schema: { querystring: PageQuery } },
    (request) => listSigningKeys(db, clock.wallInstant().milliseconds, readPageQuery(request.query)),
  )
  app.post('/signing-keys', { schema: { body: Nothing } }, () =>
    write(async (transaction) => rotateSigningKeys(transaction, ACTOR, await readStoreTime(transaction))),
  )
  app.delete<{ Params: { id: string } }>('/signing-keys/:id', ({ params }) =>
    write(async (transaction) =>
      revokeSigningKey(transaction, ACTOR, idOf(params.id), await readStoreTime(transaction)),
    ),
  )
}

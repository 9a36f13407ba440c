/**
 * The operator's calls about signing keys: list them, rotate now, revoke a compromised one. Each write is one
 * transaction, answered when it is in force on this node. A service that trusts an outside issuer has none of them.
 */
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Clock } from '../base/clock.ts'
import { PageQuery, readPageQuery } from '../http/page-query.ts'
import type { Db } from '../store/db.ts'
import { ACTOR, idOf, type Write } from './operator-calls.ts'
import { listSigningKeys, revokeSigningKey, rotateSigningKeys } from './signing-keys.ts'

const Nothing = Type.Object({}, { additionalProperties: false })

export function registerSigningKeyRoutes(app: FastifyInstance, db: Db, clock: Clock, write: Write): void {
  const now = () => clock.wallInstant().milliseconds
  app.get<{ Querystring: Static<typeof PageQuery> }>(
    '/signing-keys',
    { schema: { querystring: PageQuery } },
    (request) => listSigningKeys(db, now(), readPageQuery(request.query)),
  )
  app.post('/signing-keys', { schema: { body: Nothing } }, () =>
    write((transaction) => rotateSigningKeys(transaction, ACTOR, now())),
  )
  app.delete<{ Params: { id: string } }>('/signing-keys/:id', ({ params }) =>
    write((transaction) => revokeSigningKey(transaction, ACTOR, idOf(params.id), now())),
  )
}

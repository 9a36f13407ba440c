/**
 * The operator's calls for signing keys: list them, rotate now, revoke a compromised one, encrypt the stored ones. Each
 * write is one transaction, and is answered when it is effective on this node. A service that trusts an external issuer
 * has none of these calls.
 */
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Clock } from '../../platform/base/clock.ts'
import { PageQuery, readPageQuery } from '../../platform/http/page-query.ts'
import { Problem } from '../../platform/http/problem.ts'
import { answered } from '../../platform/http/raw-json.ts'
import type { Db } from '../../platform/store/db.ts'
import { readStoreTime } from '../../platform/store/store-clock.ts'
import type { EncryptionKey } from './encryption-key.ts'
import { encryptKeys } from './key-encryption.ts'
import { Encryption, SigningKey, SigningKeyPage } from './operator-answers.ts'
import { idOf, operatorActor, type Write } from './operator-calls.ts'
import { listSigningKeys, revokeSigningKey, rotateSigningKeys } from './signing-keys.ts'

const Nothing = Type.Object({}, { additionalProperties: false })

interface SigningKeyRoutesOptions {
  readonly db: Db
  readonly clock: Clock
  readonly encryptionKey: EncryptionKey | undefined
}

export function registerSigningKeyRoutes(app: FastifyInstance, options: SigningKeyRoutesOptions, write: Write): void {
  const { db, clock, encryptionKey } = options
  app.get<{ Querystring: Static<typeof PageQuery> }>(
    '/signing-keys',
    answered(SigningKeyPage, { querystring: PageQuery }),
    (request) => listSigningKeys(db, clock.wallInstant().milliseconds, readPageQuery(request.query)),
  )
  app.post('/signing-keys', answered(SigningKey, { body: Nothing }), (request) =>
    write(async (transaction) =>
      rotateSigningKeys(transaction, operatorActor(request), await readStoreTime(transaction), encryptionKey),
    ),
  )
  app.delete<{ Params: { id: string } }>('/signing-keys/:id', answered(SigningKey), (request) =>
    write(async (transaction) =>
      revokeSigningKey(
        transaction,
        operatorActor(request),
        idOf(request.params.id),
        await readStoreTime(transaction),
        encryptionKey,
      ),
    ),
  )
  app.post('/signing-keys/encrypt', answered(Encryption, { body: Nothing }), (request) => {
    if (encryptionKey === undefined) {
      throw new Problem('invalid_state', 'keys.encryption_key is not set. Set it on every node first', {
        meta: { current: 'no_encryption_key' },
      })
    }
    return write((transaction) => encryptKeys(transaction, operatorActor(request), encryptionKey))
  })
}

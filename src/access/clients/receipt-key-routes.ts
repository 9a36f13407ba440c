/**
 * The keys that sign receipts: their public JWK Set, with every key there ever was, and the operator's calls, list and
 * rotate. No answer has a private part. The set is 404 in a service that has never signed a receipt.
 */
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { RECEIPT_KEYS_PATH } from '../../contract/receipt.ts'
import { PageQuery, readPageQuery } from '../../platform/http/page-query.ts'
import { Problem } from '../../platform/http/problem.ts'
import { answered } from '../../platform/http/raw-json.ts'
import type { Db } from '../../platform/store/db.ts'
import type { Directory } from './directory.ts'
import type { EncryptionKey } from './encryption-key.ts'
import { ReceiptKey, ReceiptKeyPage } from './operator-answers.ts'
import { operatorActor, type Write } from './operator-calls.ts'
import { listReceiptKeys, rotateReceiptKey } from './receipt-keys.ts'
import { sendKeySet } from './well-known-routes.ts'

const Nothing = Type.Object({}, { additionalProperties: false })

/** `signsReceipts`: the setting `receipts.enabled`. */
export function registerReceiptKeySet(app: FastifyInstance, directory: Directory, signsReceipts: boolean): void {
  app.get(RECEIPT_KEYS_PATH, async (_request, reply) => {
    const isServed = signsReceipts || directory.receiptKeys.length > 0
    if (directory.loaded && !isServed) throw new Problem('not_found', 'this service has not signed any receipts')
    return sendKeySet(reply, directory, directory.receiptKeys)
  })
}

export function registerReceiptKeyRoutes(
  app: FastifyInstance,
  { db, encryptionKey }: { readonly db: Db; readonly encryptionKey: EncryptionKey | undefined },
  write: Write,
): void {
  app.get<{ Querystring: Static<typeof PageQuery> }>(
    '/receipt-keys',
    answered(ReceiptKeyPage, { querystring: PageQuery }),
    (request) => listReceiptKeys(db, readPageQuery(request.query)),
  )
  app.post('/receipt-keys', answered(ReceiptKey, { body: Nothing }), (request) =>
    write((transaction) => rotateReceiptKey(transaction, operatorActor(request), encryptionKey)),
  )
}

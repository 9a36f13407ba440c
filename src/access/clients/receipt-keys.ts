/**
 * The keys in the store that sign book receipts (docs/explanation/receipts.md). They are not token keys: they have
 * their own table and JWK Set, and no token is verified with them. One key signs at a time. Public parts are never
 * deleted, so old receipts stay provable. A key's private part is deleted as soon as another one signs. Every change
 * runs in the caller's transaction, locks the authority's row so two nodes never change keys at once, and writes an
 * audit row and a numbered change. In an encrypted store the private part is encrypted.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type JsonWebKey } from 'node:crypto'
import { newId } from '../../platform/base/ids.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { type Page, readPage } from '../../platform/store/page.ts'
import { ALGORITHM } from './access-token.ts'
import { recordChange } from './changes.ts'
import type { ListRequest } from './customers.ts'
import type { ReceiptKey } from './directory-records.ts'
import type { EncryptionKey } from './encryption-key.ts'
import { keyForWriting, RECEIPT_KEYS, readJwk, storedJwk } from './key-encryption.ts'
import type { AuthTables } from './tables.ts'

/** A key in the operator API. */
export interface ReceiptKeyDocument {
  readonly id: string
  readonly state: 'signing' | 'ended'
  readonly algorithm: string
  readonly created_at: string
}

interface KeyRow {
  readonly id: string
  readonly private_jwk: unknown
  readonly created_at: string
}

const COLUMNS = ['id', 'private_jwk', 'created_at'] as const
/** The first key's actor in the audit trail, as no operator requested it. */
const SERVICE = 'service'

/** All keys, the oldest first. The signing one has its private part. */
export async function readReceiptKeys(db: Db, encryptionKey?: EncryptionKey): Promise<readonly ReceiptKey[]> {
  const query = db.tables<AuthTables>().selectFrom('receipt_keys').select(['id', 'public_jwk', 'private_jwk'])
  const rows = await query.orderBy('created_at').orderBy('id').execute()
  return rows.map(({ id, public_jwk, private_jwk: stored }) => {
    const publicKey = createPublicKey({ key: public_jwk as JsonWebKey, format: 'jwk' })
    if (stored === null) return { keyId: id, publicKey }
    const jwk = readJwk(RECEIPT_KEYS, id, stored, encryptionKey)
    return { keyId: id, publicKey, privateKey: createPrivateKey({ key: jwk, format: 'jwk' }) }
  })
}

export async function listReceiptKeys(db: Db, request: ListRequest): Promise<Page<ReceiptKeyDocument>> {
  const tables = db.tables<AuthTables>()
  const query = tables.selectFrom('receipt_keys').select(COLUMNS)
  const binding = { operation: 'receipt-keys', owner: 'operator', filters: {}, idType: 'uuid' } as const
  const page = await readPage(tables, query, { ...request, ...binding })
  return { ...page, items: page.items.map(documentOf) }
}

/** Creates a key unless one signs. The authority must have been created before. */
export async function ensureReceiptKey(
  transaction: Transaction<AuthTables>,
  encryptionKey: EncryptionKey | undefined,
): Promise<void> {
  if ((await lockSigningKey(transaction)) === undefined) await addKey(transaction, SERVICE, undefined, encryptionKey)
}

/** Creates the next key, which signs on each node as soon as that node has read it. */
export async function rotateReceiptKey(
  transaction: Transaction<AuthTables>,
  actor: string,
  encryptionKey: EncryptionKey | undefined,
): Promise<ReceiptKeyDocument> {
  const present = await lockSigningKey(transaction)
  return documentOf(await addKey(transaction, actor, present, encryptionKey))
}

async function lockSigningKey(transaction: Transaction<AuthTables>): Promise<string | undefined> {
  await transaction.selectFrom('authority').select('single').forUpdate().executeTakeFirstOrThrow()
  const query = transaction.selectFrom('receipt_keys').select('id').where('private_jwk', 'is not', null)
  return (await query.executeTakeFirst())?.id
}

async function addKey(
  transaction: Transaction<AuthTables>,
  actor: string,
  present: string | undefined,
  encryptionKey: EncryptionKey | undefined,
): Promise<KeyRow> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const id = newId()
  const key = await keyForWriting(transaction, encryptionKey)
  if (present !== undefined) {
    await transaction.updateTable('receipt_keys').set({ private_jwk: null }).where('id', '=', present).execute()
  }
  const row = await transaction
    .insertInto('receipt_keys')
    .values({
      id,
      public_jwk: publicKey.export({ format: 'jwk' }) as Record<string, string>,
      private_jwk: storedJwk(RECEIPT_KEYS, id, privateKey.export({ format: 'jwk' }), key),
    })
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
  const detail = present === undefined ? {} : { replaces: present }
  await recordChange(transaction, { actor, action: 'receipt_key.create', subject: id, detail }, { kind: 'keys' })
  return row
}

function documentOf({ id, private_jwk, created_at }: KeyRow): ReceiptKeyDocument {
  return { id, state: private_jwk === null ? 'ended' : 'signing', algorithm: ALGORITHM, created_at }
}

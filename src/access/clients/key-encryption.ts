/**
 * Encryption for values in the store: the private parts of token and receipt keys, and the pepper for client secrets.
 * Each can be read encrypted and unencrypted. A new store is encrypted when its first node has a key. An existing one
 * is encrypted only when the operator requests it, because nodes without the key, or with an earlier version, could no
 * longer read it.
 */
import type { JsonWebKey } from 'node:crypto'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { recordChange } from './changes.ts'
import { type EncryptionKey, requireKey } from './encryption-key.ts'
import type { AuthTables } from './tables.ts'

/** The numbers of encrypted token keys and receipt keys, and whether the pepper was encrypted. */
export interface EncryptionDocument {
  readonly encryption_key_id: string
  readonly signing_keys: number
  readonly receipt_keys: number
  readonly pepper: boolean
}

/** The key tables. An encrypted key is bound to its table's name too. */
export const SIGNING_KEYS = 'signing_keys'
export const RECEIPT_KEYS = 'receipt_keys'
type KeyTable = typeof SIGNING_KEYS | typeof RECEIPT_KEYS

const PEPPER_ROW = 'authority.pepper'
/** For an unencrypted pepper. */
const PEPPER_BYTES = 32

/** The id of the store's encryption key. Null when it is not encrypted, undefined before it has any keys. */
export async function readEncryptionKeyId(db: Db): Promise<string | null | undefined> {
  const query = db.tables<AuthTables>().selectFrom('authority').select('encryption_key_id')
  return (await query.executeTakeFirst())?.encryption_key_id
}

/** The key to encrypt new values with. Undefined when the store is not encrypted. */
export async function keyForWriting(
  transaction: Transaction<AuthTables>,
  key: EncryptionKey | undefined,
): Promise<EncryptionKey | undefined> {
  const query = transaction.selectFrom('authority').select('encryption_key_id')
  const { encryption_key_id: id } = await query.executeTakeFirstOrThrow()
  return id === null ? undefined : requireKey(key, id)
}

/** @param key encrypts it. Undefined: it is stored unencrypted */
export function storedPepper(pepper: Buffer, key: EncryptionKey | undefined): Buffer {
  return key === undefined ? pepper : Buffer.from(key.encrypt(pepper, PEPPER_ROW))
}

export function readPepper(stored: Uint8Array, key: EncryptionKey | undefined): Uint8Array {
  if (stored.length === PEPPER_BYTES) return stored
  return decrypt(Buffer.from(stored).toString(), PEPPER_ROW, key)
}

/** @param key encrypts it. Undefined: it is stored unencrypted */
export function storedJwk(
  table: KeyTable,
  id: string,
  jwk: JsonWebKey,
  key: EncryptionKey | undefined,
): Record<string, string> {
  if (key === undefined) return jwk as Record<string, string>
  return { encrypted: key.encrypt(Buffer.from(JSON.stringify(jwk)), keyRow(table, id)) }
}

export function readJwk(
  table: KeyTable,
  id: string,
  stored: Record<string, string>,
  key: EncryptionKey | undefined,
): JsonWebKey {
  if (stored.encrypted === undefined) return stored
  return JSON.parse(decrypt(stored.encrypted, keyRow(table, id), key).toString()) as JsonWebKey
}

/**
 * Encrypts the unencrypted secrets, and from now on every new key. Writes an audit row, in the caller's transaction,
 * when it has changed anything.
 */
export async function encryptKeys(
  transaction: Transaction<AuthTables>,
  actor: string,
  key: EncryptionKey,
): Promise<EncryptionDocument> {
  // Creating a key locks this row too.
  const authority = transaction.selectFrom('authority').select(['pepper', 'encryption_key_id']).forUpdate()
  const { pepper, encryption_key_id: presentId } = await authority.executeTakeFirstOrThrow()
  if (presentId !== null) requireKey(key, presentId)
  const signing_keys = await encryptTable(transaction, SIGNING_KEYS, key)
  const receipt_keys = await encryptTable(transaction, RECEIPT_KEYS, key)
  const isPepperPlain = pepper.length === PEPPER_BYTES
  const done = { encryption_key_id: key.id, signing_keys, receipt_keys, pepper: isPepperPlain }
  if (presentId !== null && signing_keys + receipt_keys === 0 && !isPepperPlain) return done
  const stored = isPepperPlain ? storedPepper(Buffer.from(pepper), key) : pepper
  await transaction.updateTable('authority').set({ pepper: stored, encryption_key_id: key.id }).execute()
  const entry = { actor, action: 'signing_key.encrypt', subject: key.id, detail: { ...done } }
  await recordChange(transaction, entry, { kind: 'everything' })
  return done
}

/** Encrypts a table's unencrypted keys. Returns how many there were. */
async function encryptTable(
  transaction: Transaction<AuthTables>,
  table: KeyTable,
  key: EncryptionKey,
): Promise<number> {
  const rows = await transaction.selectFrom(table).select(['id', 'private_jwk']).execute()
  const plain = rows.flatMap(({ id, private_jwk: jwk }) =>
    jwk === null || jwk.encrypted !== undefined ? [] : [{ id, private_jwk: storedJwk(table, id, jwk, key) }],
  )
  for (const { id, private_jwk } of plain) {
    await transaction.updateTable(table).set({ private_jwk }).where('id', '=', id).execute()
  }
  return plain.length
}

function keyRow(table: KeyTable, id: string): string {
  return `${table}.private_jwk.${id}`
}

function decrypt(text: string, row: string, key: EncryptionKey | undefined): Buffer {
  // The form's second part is the key's id.
  return (key ?? requireKey(undefined, text.split('.')[1] ?? '')).decrypt(text, row)
}

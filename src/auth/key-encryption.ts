/**
 * Encryption of values in the store: the private parts of signing keys and the pepper of client secrets. Each can be
 * read encrypted and unencrypted. A new store is encrypted when its first node has a key; an existing one is encrypted
 * only when the operator requests it, because nodes without the key, and of earlier versions, could no longer read it.
 */
import type { JsonWebKey } from 'node:crypto'
import type { Db, Transaction } from '../store/db.ts'
import { recordChange } from './changes.ts'
import { type EncryptionKey, requireKey } from './encryption-key.ts'
import type { AuthTables } from './tables.ts'

/** What was encrypted: the number of signing keys, and whether the pepper was. */
export interface EncryptionDocument {
  readonly encryption_key_id: string
  readonly signing_keys: number
  readonly pepper: boolean
}

const PEPPER_ROW = 'authority.pepper'
/** Of a pepper that is not encrypted. */
const PEPPER_BYTES = 32

/**
 * The id of the key that the store is encrypted with; null when it is not encrypted, undefined before it has any keys.
 */
export async function readEncryptionKeyId(db: Db): Promise<string | null | undefined> {
  const query = db.tables<AuthTables>().selectFrom('authority').select('encryption_key_id')
  return (await query.executeTakeFirst())?.encryption_key_id
}

/** The key to encrypt new values with; undefined when the store is not encrypted. */
export async function keyForWriting(
  transaction: Transaction<AuthTables>,
  key: EncryptionKey | undefined,
): Promise<EncryptionKey | undefined> {
  const query = transaction.selectFrom('authority').select('encryption_key_id')
  const { encryption_key_id: id } = await query.executeTakeFirstOrThrow()
  return id === null ? undefined : requireKey(key, id)
}

/** @param key encrypts it; undefined: it is stored unencrypted */
export function storedPepper(pepper: Buffer, key: EncryptionKey | undefined): Buffer {
  return key === undefined ? pepper : Buffer.from(key.encrypt(pepper, PEPPER_ROW))
}

export function readPepper(stored: Uint8Array, key: EncryptionKey | undefined): Uint8Array {
  if (stored.length === PEPPER_BYTES) return stored
  return decrypt(Buffer.from(stored).toString(), PEPPER_ROW, key)
}

/** @param key encrypts it; undefined: it is stored unencrypted */
export function storedJwk(id: string, jwk: JsonWebKey, key: EncryptionKey | undefined): Record<string, string> {
  if (key === undefined) return jwk as Record<string, string>
  return { encrypted: key.encrypt(Buffer.from(JSON.stringify(jwk)), signingKeyRow(id)) }
}

export function readJwk(id: string, stored: Record<string, string>, key: EncryptionKey | undefined): JsonWebKey {
  if (stored.encrypted === undefined) return stored
  return JSON.parse(decrypt(stored.encrypted, signingKeyRow(id), key).toString()) as JsonWebKey
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
  const rows = await transaction.selectFrom('signing_keys').select(['id', 'private_jwk']).execute()
  const plain = rows.flatMap(({ id, private_jwk: jwk }) =>
    jwk === null || jwk.encrypted !== undefined ? [] : [{ id, private_jwk: storedJwk(id, jwk, key) }],
  )
  for (const { id, private_jwk } of plain) {
    await transaction.updateTable('signing_keys').set({ private_jwk }).where('id', '=', id).execute()
  }
  const isPepperPlain = pepper.length === PEPPER_BYTES
  const done = { encryption_key_id: key.id, signing_keys: plain.length, pepper: isPepperPlain }
  if (presentId !== null && plain.length === 0 && !isPepperPlain) return done
  const stored = isPepperPlain ? storedPepper(Buffer.from(pepper), key) : pepper
  await transaction.updateTable('authority').set({ pepper: stored, encryption_key_id: key.id }).execute()
  const entry = { actor, action: 'signing_key.encrypt', subject: key.id, detail: { ...done } }
  await recordChange(transaction, entry, { kind: 'everything' })
  return done
}

function signingKeyRow(id: string): string {
  return `signing_keys.private_jwk.${id}`
}

function decrypt(text: string, row: string, key: EncryptionKey | undefined): Buffer {
  // The second part of the form is the id of the key.
  return (key ?? requireKey(undefined, text.split('.')[1] ?? '')).decrypt(text, row)
}

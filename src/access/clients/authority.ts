/**
 * The token issuer: its name, the pepper for client secrets and the first signing key, created once per store. Nodes
 * that start at the same moment agree: the one that inserts the single `authority` row creates the key in the same
 * transaction, and the others wait for it.
 */
import { randomUUID } from 'node:crypto'
import { millisecondText } from '../../platform/base/clock.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { readStoreTime } from '../../platform/store/store-clock.ts'
import { recordChange } from './changes.ts'
import type { Authority } from './directory-records.ts'
import { type EncryptionKey, requireKey } from './encryption-key.ts'
import { readPepper, storedPepper } from './key-encryption.ts'
import { newPepper } from './secrets.ts'
import { createFirstKey } from './signing-keys.ts'
import type { AuthTables } from './tables.ts'

/**
 * Reads the authority. Creates it and the first key when the store has none.
 * @param publicUrl the public address, which becomes the issuer when the authority is created. Empty: the issuer is a
 *   random name, because a listener's address may change and the issuer may not.
 * @param encryptionKey decrypts the secrets in an encrypted store. A new store is encrypted with it. Throws
 *   `EncryptionKeyProblem` when it is not the key that the store needs.
 */
export async function readAuthority(db: Db, publicUrl: string, encryptionKey?: EncryptionKey): Promise<Authority> {
  const tables = db.tables<AuthTables>()
  const read = () => tables.selectFrom('authority').select(['issuer', 'pepper', 'encryption_key_id']).executeTakeFirst()
  let row = await read()
  if (row === undefined) {
    await db.transaction<AuthTables, void>((transaction) => createAuthority(transaction, publicUrl, encryptionKey))
    row = await read()
  }
  if (row === undefined) throw new Error('the authority was created but cannot be read')
  if (row.encryption_key_id !== null) requireKey(encryptionKey, row.encryption_key_id)
  // All resources in this service are one audience, with the issuer's name.
  return { issuer: row.issuer, audience: row.issuer, pepper: readPepper(row.pepper, encryptionKey) }
}

/** The pepper for hashing secrets. The authority must have been created before. */
export async function pepperOf(
  transaction: Transaction<AuthTables>,
  encryptionKey: EncryptionKey | undefined,
): Promise<Uint8Array> {
  const { pepper } = await transaction.selectFrom('authority').select('pepper').executeTakeFirstOrThrow()
  return readPepper(pepper, encryptionKey)
}

/** The numbers of keys and secrets revoked by `replaceKeys`. */
export interface ReplacedKeys {
  readonly signingKeys: number
  readonly secrets: number
}

/**
 * For a store whose encryption key is lost or leaked: revokes every signing key, ends the receipt key, deletes every
 * client secret (without the pepper none can be verified), and creates a new key and a new pepper. All tokens become
 * invalid, and every client needs a new secret.
 */
export async function replaceKeys(
  transaction: Transaction<AuthTables>,
  actor: string,
  nowMilliseconds: number,
  encryptionKey: EncryptionKey | undefined,
): Promise<ReplacedKeys> {
  const authority = transaction.selectFrom('authority').select('single').forUpdate()
  // A store not yet used by a node gets its keys from the first one.
  if ((await authority.executeTakeFirst()) === undefined) return { signingKeys: 0, secrets: 0 }
  const keys = await transaction
    .updateTable('signing_keys')
    .set({ private_jwk: null, revoked_at: millisecondText(nowMilliseconds) })
    .where('private_jwk', 'is not', null)
    .executeTakeFirst()
  // Their public parts stay. The next start of a service that signs receipts makes another key.
  await transaction.updateTable('receipt_keys').set({ private_jwk: null }).execute()
  const secrets = transaction.updateTable('client_secrets').set({ hash: null }).where('hash', 'is not', null)
  const deleted = await secrets.executeTakeFirst()
  const pepper = storedPepper(newPepper(), encryptionKey)
  const encryption_key_id = encryptionKey?.id ?? null
  await transaction.updateTable('authority').set({ pepper, encryption_key_id }).execute()
  await createFirstKey(transaction, nowMilliseconds, encryptionKey)
  const done = { signingKeys: Number(keys.numUpdatedRows), secrets: Number(deleted.numUpdatedRows) }
  const detail = { signing_keys: done.signingKeys, secrets: done.secrets }
  const entry = { actor, action: 'signing_key.replace', subject: encryption_key_id ?? '', detail }
  // The authority itself is new.
  await recordChange(transaction, entry, { kind: 'everything' })
  return done
}

async function createAuthority(
  transaction: Transaction<AuthTables>,
  publicUrl: string,
  encryptionKey: EncryptionKey | undefined,
): Promise<void> {
  const made = await transaction
    .insertInto('authority')
    .values({
      single: true,
      issuer: publicUrl === '' ? `urn:uuid:${randomUUID()}` : publicUrl,
      pepper: storedPepper(newPepper(), encryptionKey),
      encryption_key_id: encryptionKey?.id ?? null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('single')
    .executeTakeFirst()
  if (made === undefined) return
  await createFirstKey(transaction, await readStoreTime(transaction), encryptionKey)
}

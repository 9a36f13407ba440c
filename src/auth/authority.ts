/**
 * Who issues tokens: the issuer's name, the pepper of the secrets and the first signing key, made once in the life of a
 * store. Nodes that start at the same moment agree, because whoever inserts the one row of `authority` makes the key in
 * the same transaction and everybody else waits for it.
 */
import { randomUUID } from 'node:crypto'
import type { Db, Transaction } from '../store/db.ts'
import { readStoreTime } from '../store/store-clock.ts'
import type { Authority } from './directory.ts'
import { newPepper } from './secrets.ts'
import { createFirstKey } from './signing-keys.ts'
import type { AuthTables } from './tables.ts'

/**
 * Reads the authority; makes it, and the first key with it, when the store has none.
 * @param publicUrl the address that customers use, which becomes the issuer when it is made now. Empty: the issuer is a
 *   random name, because a listener's address may change and the issuer may not.
 */
export async function readAuthority(db: Db, publicUrl: string): Promise<Authority> {
  const tables = db.tables<AuthTables>()
  const read = () => tables.selectFrom('authority').select(['issuer', 'pepper']).executeTakeFirst()
  let row = await read()
  if (row === undefined) {
    await db.transaction<AuthTables, void>((transaction) => createAuthority(transaction, publicUrl))
    row = await read()
  }
  if (row === undefined) throw new Error('the authority was made and is not there')
  // The resources behind this service are one audience, named like their issuer.
  return { issuer: row.issuer, audience: row.issuer, pepper: row.pepper }
}

/** The pepper that secrets are hashed with. The authority must have been read once, by whoever loads the directory. */
export async function pepperOf(transaction: Transaction<AuthTables>): Promise<Uint8Array> {
  const { pepper } = await transaction.selectFrom('authority').select('pepper').executeTakeFirstOrThrow()
  return pepper
}

async function createAuthority(transaction: Transaction<AuthTables>, publicUrl: string): Promise<void> {
  const made = await transaction
    .insertInto('authority')
    .values({
      single: true,
      issuer: publicUrl === '' ? `urn:uuid:${randomUUID()}` : publicUrl,
      pepper: newPepper(),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('single')
    .executeTakeFirst()
  if (made === undefined) return
  await createFirstKey(transaction, await readStoreTime(transaction))
}

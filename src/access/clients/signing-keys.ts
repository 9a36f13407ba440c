/**
 * Signing keys in the store. A successor is published before it signs, and its predecessor verifies until every token
 * that it signed has expired. Every change runs in the caller's transaction, locks the authority's row so two nodes
 * never change keys at once, and writes an audit row and a numbered change, except creating the first key, which
 * belongs to its caller's change. No operator API document has a private part. Only the directory gets them. In an
 * encrypted store the private parts are encrypted with each call's `encryptionKey`.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type JsonWebKey } from 'node:crypto'
import { millisecondText } from '../../platform/base/clock.ts'
import { newId } from '../../platform/base/ids.ts'
import { Problem } from '../../platform/http/problem.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { type Page, readPage } from '../../platform/store/page.ts'
import { ALGORITHM, TOKEN_SECONDS_MAX } from './access-token.ts'
import { recordChange } from './changes.ts'
import type { ListRequest } from './customers.ts'
import type { SigningKey } from './directory-records.ts'
import type { EncryptionKey } from './encryption-key.ts'
import { keyForWriting, readJwk, SIGNING_KEYS, storedJwk } from './key-encryption.ts'
import type { AuthTables } from './tables.ts'

/**
 * The states of a key, derived from its row and the time:
 *
 *     coming -> signing -> verifying -> retired       by time; `revoked` from any of the first three, by the operator
 *
 * - `coming`: made, in the JWKS, known to every node; verifies, does not sign. Until `signs_from`.
 * - `signing`: signs and verifies. Until its successor's `signs_from`, which is its own `signs_until`.
 * - `verifying`: verifies only. Until the longest-lived token it may have signed has expired.
 * - `retired`: its private part is gone; nothing that it signed is valid any more.
 * - `revoked`: its private part is gone; everything that it signed became invalid at that moment.
 *
 * There is always one key without `signs_until`, the newest, and at most one is `coming`: rotating while one is coming has no
 * effect. Revoking the signing key makes the coming one, or a new one, sign at once. Revoking the coming key lets its
 * predecessor continue. `retired` and `revoked` are final.
 */
export const KEY_STATES = ['coming', 'signing', 'verifying', 'retired', 'revoked'] as const

type KeyState = (typeof KEY_STATES)[number]

/** A key in the operator API. */
export interface SigningKeyDocument {
  readonly id: string
  readonly state: KeyState
  readonly algorithm: string
  readonly signs_from: string
  readonly signs_until?: string
  readonly retired_at?: string
  readonly revoked_at?: string
  readonly created_at: string
}

interface KeyRow {
  readonly id: string
  readonly signs_from: string
  readonly signs_until: string | null
  readonly retired_at: string | null
  readonly revoked_at: string | null
  readonly created_at: string
}

/**
 * How long a key is published before it signs. Nodes read it within a second, resource servers that cache our JWKS
 * within the cache's lifetime. With an hour, a node can also be disconnected from the store for an hour without
 * rejecting valid tokens.
 */
const PUBLICATION_MILLISECONDS = 3_600_000
/** How far two nodes' clocks may differ. */
const CLOCK_DIFFERENCE_MILLISECONDS_MAX = 300_000
const VERIFIES_MILLISECONDS = TOKEN_SECONDS_MAX * 1000 + CLOCK_DIFFERENCE_MILLISECONDS_MAX

const COLUMNS = ['id', 'signs_from', 'signs_until', 'retired_at', 'revoked_at', 'created_at'] as const
/** The audit trail's actor for scheduled changes. */
const SERVICE = 'service'
/** The change that makes nodes reload the keys. */
const KEYS = { kind: 'keys' } as const

/** The due changes. */
export interface KeyWork {
  readonly isSuccessorDue: boolean
  readonly retirable: readonly string[]
}

/** @param keys valid ones, in the order in which they sign */
export function keyWorkDue(
  keys: readonly Pick<SigningKey, 'keyId' | 'signsFromMilliseconds' | 'signsUntilMilliseconds'>[],
  nowMilliseconds: number,
  rotationMilliseconds: number,
): KeyWork {
  const newest = keys.at(-1)
  const isSuccessorDue =
    newest !== undefined &&
    newest.signsFromMilliseconds + rotationMilliseconds - PUBLICATION_MILLISECONDS <= nowMilliseconds
  const retirable = keys.filter(
    ({ signsUntilMilliseconds: until }) => until !== undefined && until + VERIFIES_MILLISECONDS <= nowMilliseconds,
  )
  return { isSuccessorDue, retirable: retirable.map(({ keyId }) => keyId) }
}

/** Keys that sign or verify, with their private parts, in signing order. Also the revoked ones' ids. */
export async function readSigningKeys(
  db: Db,
  encryptionKey?: EncryptionKey,
): Promise<{ readonly keys: readonly SigningKey[]; readonly revokedKeyIds: readonly string[] }> {
  const rows = await db
    .tables<AuthTables>()
    .selectFrom('signing_keys')
    .select(['id', 'private_jwk', 'signs_from', 'signs_until', 'revoked_at'])
    .where('retired_at', 'is', null)
    .orderBy('signs_from')
    .execute()
  return {
    keys: rows.flatMap((row) =>
      row.private_jwk === null ? [] : [signingKey(row, readJwk(SIGNING_KEYS, row.id, row.private_jwk, encryptionKey))],
    ),
    revokedKeyIds: rows.flatMap(({ id, revoked_at }) => (revoked_at === null ? [] : [id])),
  }
}

export async function listSigningKeys(
  db: Db,
  nowMilliseconds: number,
  request: ListRequest,
): Promise<Page<SigningKeyDocument>> {
  const tables = db.tables<AuthTables>()
  const query = tables.selectFrom('signing_keys').select(COLUMNS)
  const binding = { operation: 'signing-keys', owner: 'operator', filters: {}, idType: 'uuid' } as const
  const page = await readPage(tables, query, { ...request, ...binding })
  return { ...page, items: page.items.map((row) => documentOf(row, nowMilliseconds)) }
}

/**
 * Creates the key for a new store, or for one without a key, which signs at once. The authority's row must be locked.
 */
export async function createFirstKey(
  transaction: Transaction<AuthTables>,
  nowMilliseconds: number,
  encryptionKey: EncryptionKey | undefined,
): Promise<void> {
  await insertKey(transaction, nowMilliseconds, encryptionKey)
}

/** Creates a successor, which signs after its publication time. Returns the coming key when there is one. */
export async function rotateSigningKeys(
  transaction: Transaction<AuthTables>,
  actor: string,
  nowMilliseconds: number,
  encryptionKey?: EncryptionKey,
): Promise<SigningKeyDocument> {
  const keys = await lockUsableKeys(transaction)
  const newest = keys.at(-1)
  if (newest !== undefined && stateOf(newest, nowMilliseconds) === 'coming') return documentOf(newest, nowMilliseconds)
  return documentOf(await addSuccessor(transaction, actor, newest, nowMilliseconds, encryptionKey), nowMilliseconds)
}

/** Revokes a compromised key at once. Another one signs from the same moment. */
export async function revokeSigningKey(
  transaction: Transaction<AuthTables>,
  actor: string,
  id: string,
  nowMilliseconds: number,
  encryptionKey?: EncryptionKey,
): Promise<SigningKeyDocument> {
  const keys = await lockUsableKeys(transaction)
  const index = keys.findIndex((key) => key.id === id)
  const key = keys[index]
  if (key === undefined) return documentOf(await endedKey(transaction, id), nowMilliseconds)
  const state = stateOf(key, nowMilliseconds)
  const now = millisecondText(nowMilliseconds)
  await endKey(transaction, id, { revoked_at: now })
  const [predecessor, successor] = [keys[index - 1], keys[index + 1]]
  if (state === 'coming' && predecessor !== undefined) {
    await transaction.updateTable('signing_keys').set({ signs_until: null }).where('id', '=', predecessor.id).execute()
  } else if (state !== 'verifying' && successor !== undefined) {
    await transaction.updateTable('signing_keys').set({ signs_from: now }).where('id', '=', successor.id).execute()
  } else if (state !== 'verifying') {
    await insertKey(transaction, nowMilliseconds, encryptionKey)
  }
  await recordChange(transaction, { actor, action: 'signing_key.revoke', subject: id, detail: { state } }, KEYS)
  return documentOf({ ...key, revoked_at: now }, nowMilliseconds)
}

/** Makes the due changes, determined again under the lock because another node may have made them meanwhile. */
export async function keepSigningKeys(
  transaction: Transaction<AuthTables>,
  nowMilliseconds: number,
  rotationMilliseconds: number,
  encryptionKey?: EncryptionKey,
): Promise<KeyWork> {
  const keys = await lockUsableKeys(transaction)
  const work = keyWorkDue(keys.map(timesOf), nowMilliseconds, rotationMilliseconds)
  for (const id of work.retirable) {
    await endKey(transaction, id, { retired_at: millisecondText(nowMilliseconds) })
    await recordChange(transaction, { actor: SERVICE, action: 'signing_key.retire', subject: id, detail: {} }, KEYS)
  }
  if (work.isSuccessorDue) await addSuccessor(transaction, SERVICE, keys.at(-1), nowMilliseconds, encryptionKey)
  return work
}

/** Keys that sign or verify, in signing order. No other transaction changes keys until this one ends. */
async function lockUsableKeys(transaction: Transaction<AuthTables>): Promise<KeyRow[]> {
  await transaction.selectFrom('authority').select('single').forUpdate().executeTakeFirstOrThrow()
  const query = transaction.selectFrom('signing_keys').select(COLUMNS).where('private_jwk', 'is not', null)
  return await query.orderBy('signs_from').execute()
}

async function addSuccessor(
  transaction: Transaction<AuthTables>,
  actor: string,
  newest: KeyRow | undefined,
  nowMilliseconds: number,
  encryptionKey: EncryptionKey | undefined,
): Promise<KeyRow> {
  const signsFromMilliseconds = nowMilliseconds + PUBLICATION_MILLISECONDS
  const made = await insertKey(transaction, signsFromMilliseconds, encryptionKey)
  const signs_until = millisecondText(signsFromMilliseconds)
  if (newest !== undefined) {
    await transaction.updateTable('signing_keys').set({ signs_until }).where('id', '=', newest.id).execute()
  }
  const detail = { signs_from: signs_until }
  await recordChange(transaction, { actor, action: 'signing_key.create', subject: made.id, detail }, KEYS)
  return made
}

async function insertKey(
  transaction: Transaction<AuthTables>,
  signsFromMilliseconds: number,
  encryptionKey: EncryptionKey | undefined,
): Promise<KeyRow> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const id = newId()
  const key = await keyForWriting(transaction, encryptionKey)
  return await transaction
    .insertInto('signing_keys')
    .values({
      id,
      private_jwk: storedJwk(SIGNING_KEYS, id, privateKey.export({ format: 'jwk' }), key),
      signs_from: millisecondText(signsFromMilliseconds),
    })
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
}

async function endKey(
  transaction: Transaction<AuthTables>,
  id: string,
  end: { readonly retired_at: string } | { readonly revoked_at: string },
): Promise<void> {
  await transaction
    .updateTable('signing_keys')
    .set({ ...end, private_jwk: null })
    .where('id', '=', id)
    .execute()
}

async function endedKey(transaction: Transaction<AuthTables>, id: string): Promise<KeyRow> {
  const row = await transaction.selectFrom('signing_keys').select(COLUMNS).where('id', '=', id).executeTakeFirst()
  if (row === undefined) throw new Problem('not_found', 'there is no signing key with this id')
  return row
}

function stateOf(key: KeyRow, nowMilliseconds: number): KeyState {
  if (key.revoked_at !== null) return 'revoked'
  if (key.retired_at !== null) return 'retired'
  if (Date.parse(key.signs_from) > nowMilliseconds) return 'coming'
  return key.signs_until === null || Date.parse(key.signs_until) > nowMilliseconds ? 'signing' : 'verifying'
}

function documentOf(key: KeyRow, nowMilliseconds: number): SigningKeyDocument {
  const { id, signs_from, signs_until, retired_at, revoked_at, created_at } = key
  return {
    id,
    state: stateOf(key, nowMilliseconds),
    algorithm: ALGORITHM,
    signs_from,
    ...(signs_until === null ? {} : { signs_until }),
    ...(retired_at === null ? {} : { retired_at }),
    ...(revoked_at === null ? {} : { revoked_at }),
    created_at,
  }
}

function timesOf({ id, signs_from, signs_until }: Pick<KeyRow, 'id' | 'signs_from' | 'signs_until'>) {
  return {
    keyId: id,
    signsFromMilliseconds: Date.parse(signs_from),
    signsUntilMilliseconds: signs_until === null ? undefined : Date.parse(signs_until),
  }
}

function signingKey(row: Pick<KeyRow, 'id' | 'signs_from' | 'signs_until'>, jwk: JsonWebKey): SigningKey {
  const privateKey = createPrivateKey({ key: jwk, format: 'jwk' })
  return { ...timesOf(row), privateKey, publicKey: createPublicKey(privateKey) }
}

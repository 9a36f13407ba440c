/**
 * One-time links with which people set up their password and one-time codes: for the first admin, and for operators
 * whom an admin created or reset. A link is valid for 24 hours and until it is used. An operator has one at most, and a
 * new one replaces it. Data entered with a link is kept beside it until a code has been confirmed.
 */
import { randomBytes } from 'node:crypto'
import type { OperatorRole } from '../../contract/operator-calls.ts'
import { millisecondText } from '../../platform/base/clock.ts'
import { newId } from '../../platform/base/ids.ts'
import { Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Kysely, Transaction } from '../../platform/store/db.ts'
import type { EncryptionKey } from '../clients/encryption-key.ts'
import type { PasswordHolder } from './known-browsers.ts'
import { hashRandomSecret } from './random-secrets.ts'
import { newCredential } from './requested-credentials.ts'
import { endSessions } from './sessions.ts'
import { deleteLink } from './store.ts'
import type { OperatorTables } from './tables.ts'
import { matchingStep, TOTP_SECRET_BYTES } from './totp.ts'
import { readTotpSecret, storedTotpSecret } from './totp-secrets.ts'

const LINK_MILLISECONDS = 24 * 3_600_000

export interface NewLink {
  readonly token: string
  readonly expiresAt: string
}

/** What a link is for. */
export interface LinkPurpose {
  /** Undefined for the first admin, who chooses it. */
  readonly name: string | undefined
  readonly role: OperatorRole
  readonly expiresAt: string
}

/**
 * @param operatorId null: the first admin's link
 * @param issuers for the first admin's link: all operators who may have requested it
 */
export async function createLink(
  transaction: Transaction<OperatorTables>,
  operatorId: string | null,
  nowMilliseconds: number,
  issuers: readonly string[] = [],
): Promise<NewLink> {
  const { secret: token, hash } = newCredential('setup_link')
  return { token, expiresAt: await storeLink(transaction, operatorId, hash, nowMilliseconds, issuers) }
}

/** Stores a link whose token was handed out before. It is valid from now on. Returns when it expires. */
export async function storeLink(
  transaction: Transaction<OperatorTables>,
  operatorId: string | null,
  hash: Buffer,
  nowMilliseconds: number,
  issuers: readonly string[] = [],
): Promise<string> {
  const expiresAt = millisecondText(nowMilliseconds + LINK_MILLISECONDS)
  await deleteLink(transaction, operatorId)
  const nothing = { name: null, password: null, totp_secret: null, issuers: [...issuers] }
  const row = { hash, operator_id: operatorId, expires_at: expiresAt, ...nothing }
  await transaction.insertInto('operator_setup_links').values(row).execute()
  return expiresAt
}

/**
 * Creates a link with which operators replace their authenticator: the password stays, and the secret for the new codes
 * is kept with the link until a code has confirmed it. It replaces an earlier link.
 */
export async function createAuthenticatorLink(
  transaction: Transaction<OperatorTables>,
  operator: { readonly id: string; readonly name: string; readonly password: string },
  key: EncryptionKey | undefined,
  nowMilliseconds: number,
): Promise<NewLink & { readonly secret: Buffer }> {
  const { id, name, password } = operator
  const link = await createLink(transaction, id, nowMilliseconds)
  const secret = randomBytes(TOTP_SECRET_BYTES)
  await enter(transaction, link.token, { name, password, totp_secret: storedTotpSecret(secret, key) })
  return { ...link, secret }
}

async function enter(
  transaction: Transaction<OperatorTables>,
  token: string,
  entered: { readonly name: string; readonly password: string; readonly totp_secret: string },
): Promise<void> {
  const links = transaction.updateTable('operator_setup_links').set(entered)
  await links.where('hash', '=', hashRandomSecret(token)).execute()
}

/**
 * Whether there is an admin who can sign in, or has signed in once. Ending that login later brings no first link back.
 */
export async function hasAdmin(queries: Kysely<OperatorTables>): Promise<boolean> {
  const row = await queries
    .selectFrom('operators')
    .select('id')
    .where('role', '=', 'admin')
    .where('is_person', '=', true)
    .where((where) =>
      where.or([
        where('last_login_at', 'is not', null),
        where.and([
          where('enabled', '=', true),
          where.or([where('password', 'is not', null), where('issuer_subject', 'is not', null)]),
        ]),
      ]),
    )
    .executeTakeFirst()
  return row !== undefined
}

/** Lets one transaction at a time, across all nodes, decide about the first admin's link. */
export async function lockFirstLink(transaction: Transaction<OperatorTables>): Promise<void> {
  const builtIn = transaction.selectFrom('operators').select('id').where('is_person', '=', false)
  await builtIn.forUpdate().execute()
}

/** Whether the first admin has a valid link. With a token, whether it is that link's. */
export async function hasFirstLink(
  queries: Kysely<OperatorTables>,
  nowMilliseconds: number,
  token?: string,
): Promise<boolean> {
  let query = queries.selectFrom('operator_setup_links').select('expires_at').where('operator_id', 'is', null)
  if (token !== undefined) query = query.where('hash', '=', hashRandomSecret(token))
  const row = await query.executeTakeFirst()
  return row !== undefined && Date.parse(row.expires_at) > nowMilliseconds
}

/** The link's purpose. Throws 401 when it is not valid. */
export async function purposeOf(
  queries: Kysely<OperatorTables>,
  token: string,
  nowMilliseconds: number,
): Promise<LinkPurpose> {
  const link = await findLink(queries, token, nowMilliseconds)
  return { name: link.operator?.name, role: link.operator?.role ?? 'admin', expiresAt: link.expires_at }
}

/** Keeps the entered password, and returns the secret for the one-time codes. */
export async function enterPassword(
  transaction: Transaction<OperatorTables>,
  token: string,
  entered: { readonly name: string | undefined; readonly password: string },
  key: EncryptionKey | undefined,
  nowMilliseconds: number,
): Promise<{ readonly name: string; readonly role: OperatorRole; readonly secret: Buffer }> {
  const link = await lockLink(transaction, token, nowMilliseconds)
  const name = await nameFor(transaction, link, entered.name)
  const secret = randomBytes(TOTP_SECRET_BYTES)
  await enter(transaction, token, { name, password: entered.password, totp_secret: storedTotpSecret(secret, key) })
  return { name, role: link.operator?.role ?? 'admin', secret }
}

/**
 * Uses the link up, once the code fits the secret: the operator can sign in with the password from now on.
 * Undefined when the code is wrong.
 */
export async function confirmLink(
  transaction: Transaction<OperatorTables>,
  token: string,
  code: string,
  key: EncryptionKey | undefined,
  nowMilliseconds: number,
): Promise<
  (PasswordHolder & { readonly name: string; readonly role: OperatorRole; readonly isFirst: boolean }) | undefined
> {
  const link = await lockLink(transaction, token, nowMilliseconds)
  const { name, password, totp_secret } = link
  if (name === null || password === null || totp_secret === null) {
    throw new Problem('invalid_state', 'choose a password first', { meta: { current: 'no_password' } })
  }
  const step = matchingStep(readTotpSecret(totp_secret, key), code, nowMilliseconds)
  if (step === undefined) return undefined
  await nameFor(transaction, link, name)
  await deleteLink(transaction, link.operator_id)
  const now = millisecondText(nowMilliseconds)
  const ready = { password, totp_secret, totp_step: String(step), last_login_at: now }
  const id = link.operator_id ?? newId()
  const role = link.operator?.role ?? 'admin'
  if (link.operator_id === null) {
    await transaction
      .insertInto('operators')
      .values({ id, name, role, issuer: null, issuer_subject: null, issuers: link.issuers, ...ready })
      .execute()
  } else {
    await transaction.updateTable('operators').set(ready).where('id', '=', id).execute()
    await endSessions(transaction, id)
  }
  const detail = link.operator_id === null ? { role, first: true } : {}
  await writeAudit(transaction, { actor: `operator:${name}`, action: 'operator.setup', subject: name, detail })
  return { id, name, role, password, isFirst: link.operator_id === null }
}

/** The link, with whom it is for: until the transaction ends, no other one uses, replaces or removes it. */
async function lockLink(transaction: Transaction<OperatorTables>, token: string, nowMilliseconds: number) {
  const { operator_id } = await findLink(transaction, token, nowMilliseconds)
  if (operator_id === null) {
    await lockFirstLink(transaction)
  } else {
    const operator = transaction.selectFrom('operators').select('id').where('id', '=', operator_id)
    await operator.forUpdate().execute()
  }
  // While the lock was waited for, the link may have been used or replaced.
  return await findLink(transaction, token, nowMilliseconds)
}

async function findLink(queries: Kysely<OperatorTables>, token: string, nowMilliseconds: number) {
  const link = await queries
    .selectFrom('operator_setup_links')
    .selectAll()
    .where('hash', '=', hashRandomSecret(token))
    .executeTakeFirst()
  if (link === undefined || Date.parse(link.expires_at) <= nowMilliseconds) throw invalidLink()
  if (link.operator_id === null) {
    // The single token's holder may have created an admin.
    if (await hasAdmin(queries)) throw invalidLink()
    return { ...link, operator: undefined }
  }
  const query = queries.selectFrom('operators').select(['name', 'role', 'enabled']).where('id', '=', link.operator_id)
  const operator = await query.executeTakeFirstOrThrow()
  if (!operator.enabled) throw invalidLink()
  return { ...link, operator }
}

/** The operator's name. For the first admin the chosen one, which must be free. */
async function nameFor(
  queries: Kysely<OperatorTables>,
  { operator }: Awaited<ReturnType<typeof findLink>>,
  chosen: string | undefined,
): Promise<string> {
  if (operator !== undefined) return operator.name
  if (chosen === undefined) throw nameNeeded()
  const taken = await queries
    .selectFrom('operators')
    .select(['name', 'role'])
    .where('name', '=', chosen)
    .executeTakeFirst()
  if (taken === undefined) return chosen
  throw new Problem('already_exists', 'name: an operator with this name exists', { meta: { existing: taken } })
}

function nameNeeded(): Problem {
  const errors = [{ pointer: '/name', detail: 'is required for the first admin' }]
  return new Problem('invalid_request', '/name: is required for the first admin', { errors })
}

function invalidLink(): Problem {
  return new Problem('setup_link_invalid', 'this link was used, has expired, or was replaced by a newer one')
}

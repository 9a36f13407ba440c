/**
 * Operators' sessions in the store: found by a random secret's hash, which only the cookie has. A second secret is kept
 * by the page alone: browsers send a host's cookie to every port, so the cookie proves nothing by itself. A session
 * ends `SESSION_MILLISECONDS` after the login, `IDLE_MILLISECONDS` after the last request, and when its operator signs
 * out, is disabled, gets another role or another password. The number of sessions per operator is bounded.
 */
import { timingSafeEqual } from 'node:crypto'
import type { OperatorRole } from '../../contract/operator-calls.ts'
import { millisecondText } from '../../platform/base/clock.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Db, Kysely, Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { hashRandomSecret, newRandomSecret } from './random-secrets.ts'
import type { FailedLogins, OperatorTables } from './tables.ts'

/** For the audit rows about failed attempts, which have their number as `count`. */
export const FAILED_LOGIN_ACTION = 'operator_login.reject'
const SESSION_MILLISECONDS = 12 * 3_600_000
export const IDLE_MILLISECONDS = 30 * 60_000
/** The last-request time is written at most this often. */
const USE_NOTED_MILLISECONDS = 60_000
/** Per operator. A further login ends the least recently used one. */
const SESSIONS_MAX = 10

export interface OperatorSession {
  readonly name: string
  readonly role: OperatorRole
  /** The issuers of the operator's setup link or subject. */
  readonly issuers: readonly string[]
  readonly expiresAt: string
  /** When it ends unless a request is made meanwhile, by the wall clock. */
  readonly endsMilliseconds: number
  /** Whether the operator signs in with a password. */
  readonly hasPassword: boolean
  /** Since the login before. Undefined when none has failed. */
  readonly failedLogins: FailedLogins | undefined
}

/** A session's two secrets. */
export interface SessionSecrets {
  /** In the cookie. */
  readonly secret: string
  /** The page's token, sent with every call. Undefined: it sent none. */
  readonly csrfToken: string | undefined
}

export interface NewSession extends Required<SessionSecrets> {
  readonly operator: { readonly name: string; readonly role: OperatorRole }
  readonly csrfToken: string
  readonly expiresAt: string
  readonly failedLogins: FailedLogins | undefined
}

/** Where and how an operator signed in, for the audit trail. */
export interface LoginOrigin {
  readonly clientAddress: string
  readonly way: 'password' | 'setup_link' | 'openid'
}

/** Opens a session for an operator who has proved the identity, with its row in the audit trail. */
export async function openSession(
  transaction: Transaction<OperatorTables>,
  operator: { readonly id: string; readonly name: string; readonly role: OperatorRole },
  { clientAddress, way }: LoginOrigin,
  nowMilliseconds: number,
): Promise<NewSession> {
  const { id, name, role } = operator
  const failed = await failedLoginsOf(transaction, name)
  const session = await createSession(transaction, id, failed, nowMilliseconds)
  const detail = { client_address: clientAddress, way }
  await writeAudit(transaction, { actor: `operator:${name}`, action: 'operator.login', subject: name, detail })
  return { operator: { name, role }, ...session }
}

/** Failed attempts with this name since its last login, as the audit trail has them. */
async function failedLoginsOf(
  transaction: Transaction<OperatorTables>,
  name: string,
): Promise<FailedLogins | undefined> {
  const { rows } = await sql<FailedLogins>`
    select sum((detail->>'count')::bigint)::integer as count, max(created_at) as last_at from audit
    where subject = ${name} and action = ${FAILED_LOGIN_ACTION} and created_at > coalesce(
      (select max(created_at) from audit where subject = ${name} and action = 'operator.login'), '-infinity'
    )
    having count(*) > 0
  `.execute(transaction)
  return rows[0]
}

/** Creates a session, and deletes ended ones. Returns its secret. */
async function createSession(
  transaction: Transaction<OperatorTables>,
  operatorId: string,
  failedLogins: FailedLogins | undefined,
  nowMilliseconds: number,
): Promise<Omit<NewSession, 'operator'>> {
  const now = millisecondText(nowMilliseconds)
  const idleSince = millisecondText(nowMilliseconds - IDLE_MILLISECONDS)
  const { rows: surplus } = await sql`
    delete from operator_sessions where hash in (
      select hash from operator_sessions where operator_id = ${operatorId}
      order by used_at desc offset ${SESSIONS_MAX - 1}
    ) returning hash
  `.execute(transaction)
  if (surplus.length > 0) await announceEndedAccess(transaction)
  // Other operators' sessions too, which this transaction has not locked: it waits for none of their rows.
  await sql`
    delete from operator_sessions where hash in (
      select hash from operator_sessions
      where expires_at <= ${now}::timestamptz or used_at <= ${idleSince}::timestamptz
      for update skip locked
    )
  `.execute(transaction)
  const secret = newRandomSecret('tgs_')
  const csrfToken = newRandomSecret('tgp_')
  const expiresAt = millisecondText(nowMilliseconds + SESSION_MILLISECONDS)
  const row = { hash: hashRandomSecret(secret), operator_id: operatorId, used_at: now, expires_at: expiresAt }
  await transaction
    .insertInto('operator_sessions')
    .values({ ...row, page_hash: hashRandomSecret(csrfToken), failed_logins: failedLogins ?? null })
    .execute()
  return { secret, csrfToken, expiresAt, failedLogins }
}

/**
 * The session with these secrets. Undefined when it has ended, `foreign_page` when the page's is another or missing.
 * @param countsAsUse whether the session is idle from now on, at the earliest
 */
export async function findSession(
  db: Db,
  { secret, csrfToken = '' }: SessionSecrets,
  nowMilliseconds: number,
  countsAsUse: boolean,
): Promise<OperatorSession | 'foreign_page' | undefined> {
  const tables = db.tables<OperatorTables>()
  const hash = hashRandomSecret(secret)
  const row = await tables
    .selectFrom('operator_sessions')
    .innerJoin('operators', 'operators.id', 'operator_sessions.operator_id')
    .select(['operators.name', 'operators.role', 'operators.issuers', 'operators.enabled', 'operators.password'])
    .select(['operator_sessions.used_at', 'operator_sessions.expires_at', 'operator_sessions.failed_logins'])
    .select('operator_sessions.page_hash')
    .where('operator_sessions.hash', '=', hash)
    .executeTakeFirst()
  if (row === undefined || !row.enabled || row.page_hash === null) return undefined
  const usedAt = Date.parse(row.used_at)
  const endOf = (usedMilliseconds: number) => Math.min(Date.parse(row.expires_at), usedMilliseconds + IDLE_MILLISECONDS)
  if (endOf(usedAt) <= nowMilliseconds) return undefined
  if (!timingSafeEqual(hashRandomSecret(csrfToken), row.page_hash)) return 'foreign_page'
  const isNoted = countsAsUse && usedAt + USE_NOTED_MILLISECONDS <= nowMilliseconds
  if (isNoted) {
    const change = tables.updateTable('operator_sessions').set({ used_at: millisecondText(nowMilliseconds) })
    await change.where('hash', '=', hash).execute()
  }
  const endsMilliseconds = endOf(isNoted ? nowMilliseconds : usedAt)
  const { name, role, issuers, expires_at: expiresAt, failed_logins } = row
  const failedLogins = failed_logins ?? undefined
  return { name, role, issuers, expiresAt, endsMilliseconds, hasPassword: row.password !== null, failedLogins }
}

/**
 * The notification channel that announces ended sessions and tokens to every node, which then closes the streams opened
 * with them. The payload is empty: streams are few.
 */
export const ENDED_ACCESS_CHANNEL = 'tidegate_operator_access'

export async function announceEndedAccess(queries: Kysely<OperatorTables>): Promise<void> {
  await sql`select pg_notify(${ENDED_ACCESS_CHANNEL}, '')`.execute(queries)
}

export async function endSession(db: Db, secret: string): Promise<void> {
  await db.transaction<OperatorTables, void>(async (transaction) => {
    await transaction.deleteFrom('operator_sessions').where('hash', '=', hashRandomSecret(secret)).execute()
    await announceEndedAccess(transaction)
  })
}

/**
 * Ends an operator's sessions. Returns their number.
 * @param keptSecret for a session that stays open
 */
export async function endSessions(
  transaction: Transaction<OperatorTables>,
  operatorId: string,
  keptSecret?: string,
): Promise<number> {
  let sessions = transaction.deleteFrom('operator_sessions').where('operator_id', '=', operatorId)
  if (keptSecret !== undefined) sessions = sessions.where('hash', '!=', hashRandomSecret(keptSecret))
  const ended = await sessions.returning('hash').execute()
  await announceEndedAccess(transaction)
  return ended.length
}

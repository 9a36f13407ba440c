/**
 * Operators and their API tokens in the store. Writes run in the caller's transaction, write one audit row each, and are
 * idempotent by state, except the creation of a token. A token is returned once, when it is created; the store has only
 * its hash. The built-in operator `token` cannot be changed.
 */
import { newId } from '../base/ids.ts'
import { includesRole, type OperatorRole } from '../contract/operator-calls.ts'
import type { PageParameters } from '../http/page-query.ts'
import { Problem } from '../http/problem.ts'
import { writeAudit } from '../store/audit.ts'
import type { Db, Kysely, Transaction } from '../store/db.ts'
import { type Page, readPage } from '../store/page.ts'
import { API_TOKEN_PREFIX } from './api-tokens.ts'
import { hashRandomSecret, newRandomSecret } from './random-secrets.ts'
import type { OperatorTables } from './tables.ts'

/** An operator in the operator API. */
interface OperatorDocument {
  readonly name: string
  readonly role: OperatorRole
  readonly enabled: boolean
  readonly kind: 'person' | 'built_in'
  /** Whether password and one-time codes are set up. */
  readonly has_password: boolean
  readonly last_login_at?: string
  readonly created_at: string
  /** Without their values. */
  readonly tokens: readonly ApiTokenDocument[]
}

interface ApiTokenDocument {
  readonly id: string
  readonly name: string
  readonly role: OperatorRole
  readonly created_at: string
  readonly last_used_at?: string
}

/** The document of a new token; no other one has its value. */
interface NewApiToken extends ApiTokenDocument {
  readonly token: string
}

type OperatorRow = Awaited<ReturnType<typeof lockOperator>>

/** Tokens of one operator. */
const TOKENS_MAX = 10

const COLUMNS = ['id', 'name', 'role', 'is_person', 'enabled', 'password', 'last_login_at', 'created_at'] as const

export async function listOperators(db: Db, request: PageParameters): Promise<Page<OperatorDocument>> {
  const tables = db.tables<OperatorTables>()
  const binding = { operation: 'operators', owner: 'operator', filters: {}, idType: 'uuid' } as const
  const page = await readPage(tables, tables.selectFrom('operators').select(COLUMNS), { ...request, ...binding })
  return { ...page, items: await documentsOf(tables, page.items) }
}

export async function getOperator(queries: Kysely<OperatorTables>, name: string): Promise<OperatorDocument> {
  const row = await queries.selectFrom('operators').select(COLUMNS).where('name', '=', name).executeTakeFirst()
  const [document] = await documentsOf(queries, [row ?? noOperator()])
  return document as OperatorDocument
}

/** The operator with this name; created when there is none. */
export async function ensureOperator(
  transaction: Transaction<OperatorTables>,
  actor: string,
  { name, role }: { readonly name: string; readonly role: OperatorRole },
): Promise<{ readonly operator: OperatorDocument; readonly isNew: boolean }> {
  const made = await transaction
    .insertInto('operators')
    .values({
      id: newId(),
      name,
      role,
      password: null,
      totp_secret: null,
      totp_step: null,
      issuer_subject: null,
      last_login_at: null,
    })
    .onConflict((conflict) => conflict.constraint('operators_name').doNothing())
    .returning('id')
    .executeTakeFirst()
  if (made !== undefined) {
    await writeAudit(transaction, { actor, action: 'operator.create', subject: name, detail: { role } })
  }
  return { operator: await getOperator(transaction, name), isNew: made !== undefined }
}

/** Changes role and whether the operator is enabled; a change ends the sessions of the operator. */
export async function changeOperator(
  transaction: Transaction<OperatorTables>,
  actor: string,
  name: string,
  wanted: { readonly role?: OperatorRole; readonly enabled?: boolean },
): Promise<OperatorDocument> {
  const row = await lockPerson(transaction, name)
  const { role = row.role, enabled = row.enabled } = wanted
  if (role !== row.role || enabled !== row.enabled) {
    await transaction.updateTable('operators').set({ role, enabled }).where('id', '=', row.id).execute()
    await endSessions(transaction, row.id)
    await writeAudit(transaction, { actor, action: 'operator.update', subject: name, detail: { ...wanted } })
  }
  return await getOperator(transaction, name)
}

/** Removes password and one-time codes, and ends the sessions; the operator needs a setup link from now on. */
export async function resetOperator(
  transaction: Transaction<OperatorTables>,
  actor: string,
  name: string,
): Promise<OperatorDocument> {
  const { id } = await lockPerson(transaction, name)
  const nothing = { password: null, totp_secret: null, totp_step: null, issuer_subject: null }
  await transaction.updateTable('operators').set(nothing).where('id', '=', id).execute()
  await endSessions(transaction, id)
  await writeAudit(transaction, { actor, action: 'operator.reset', subject: name, detail: {} })
  return await getOperator(transaction, name)
}

/**
 * Creates an API token.
 * @param role absent: that of the operator, now; a later change of the operator's role lowers it
 */
export async function createApiToken(
  transaction: Transaction<OperatorTables>,
  actor: string,
  operatorName: string,
  { name, role: wanted }: { readonly name: string; readonly role?: OperatorRole },
): Promise<NewApiToken> {
  const operator = await lockPerson(transaction, operatorName)
  const role = wanted ?? operator.role
  if (!includesRole(operator.role, role)) {
    throw new Problem('invalid_state', `role: the operator is ${operator.role}, which does not include ${role}`, {
      meta: { current: operator.role },
    })
  }
  const present = await tokensOf(transaction, [operator.id])
  const existing = present.find((token) => token.name === name)
  if (existing !== undefined) {
    const meta = { existing: tokenDocument(existing) }
    throw new Problem('already_exists', 'name: the operator has a token with this name', { meta })
  }
  if (present.length >= TOKENS_MAX) {
    const meta = { current: present.length }
    throw new Problem('invalid_state', `the operator has ${TOKENS_MAX} tokens, which is the limit: revoke one`, {
      meta,
    })
  }
  const token = newRandomSecret(API_TOKEN_PREFIX)
  const row = await transaction
    .insertInto('operator_tokens')
    .values({ id: newId(), operator_id: operator.id, name, role, hash: hashRandomSecret(token), last_used_at: null })
    .returning(TOKEN_COLUMNS)
    .executeTakeFirstOrThrow()
  const detail = { token_id: row.id, name, role }
  await writeAudit(transaction, { actor, action: 'operator_token.create', subject: operatorName, detail })
  return { ...tokenDocument(row), token }
}

/** Revokes a token; a token that does not exist any more is no error. */
export async function deleteApiToken(
  transaction: Transaction<OperatorTables>,
  actor: string,
  operatorName: string,
  tokenId: string,
): Promise<OperatorDocument> {
  const { id } = await lockPerson(transaction, operatorName)
  const query = transaction.deleteFrom('operator_tokens').where('operator_id', '=', id).where('id', '=', tokenId)
  const deleted = await query.returning('name').executeTakeFirst()
  if (deleted !== undefined) {
    const detail = { token_id: tokenId, name: deleted.name }
    await writeAudit(transaction, { actor, action: 'operator_token.delete', subject: operatorName, detail })
  }
  return await getOperator(transaction, operatorName)
}

export async function endSessions(transaction: Transaction<OperatorTables>, operatorId: string): Promise<void> {
  await transaction.deleteFrom('operator_sessions').where('operator_id', '=', operatorId).execute()
}

/** The row of a person, locked until the transaction ends; 409 for the built-in operator. */
export async function lockPerson(transaction: Transaction<OperatorTables>, name: string): Promise<OperatorRow> {
  const row = await lockOperator(transaction, name)
  if (row.is_person) return row
  throw new Problem(
    'invalid_state',
    'this operator has the token of the setting operator.token, and cannot be changed',
    {
      meta: { current: 'built_in' },
    },
  )
}

async function lockOperator(transaction: Transaction<OperatorTables>, name: string) {
  const query = transaction.selectFrom('operators').selectAll().where('name', '=', name)
  return (await query.forUpdate().executeTakeFirst()) ?? noOperator()
}

const TOKEN_COLUMNS = ['id', 'operator_id', 'name', 'role', 'created_at', 'last_used_at'] as const

interface TokenRow {
  readonly id: string
  readonly operator_id: string
  readonly name: string
  readonly role: OperatorRole
  readonly created_at: string
  readonly last_used_at: string | null
}

async function tokensOf(queries: Kysely<OperatorTables>, ids: readonly string[]): Promise<readonly TokenRow[]> {
  if (ids.length === 0) return []
  const query = queries.selectFrom('operator_tokens').select(TOKEN_COLUMNS).where('operator_id', 'in', ids)
  return await query.orderBy('created_at').orderBy('id').execute()
}

type ListedRow = Pick<OperatorRow, (typeof COLUMNS)[number]>

async function documentsOf(queries: Kysely<OperatorTables>, rows: readonly ListedRow[]): Promise<OperatorDocument[]> {
  const ids = rows.map(({ id }) => id)
  const tokens = await tokensOf(queries, ids)
  return rows.map(({ id, name, role, enabled, is_person, password, last_login_at, created_at }) => ({
    name,
    role,
    enabled,
    kind: is_person ? 'person' : 'built_in',
    has_password: password !== null,
    ...(last_login_at === null ? {} : { last_login_at }),
    created_at,
    tokens: tokens.filter((token) => token.operator_id === id).map(tokenDocument),
  }))
}

function tokenDocument({ id, name, role, created_at, last_used_at }: TokenRow): ApiTokenDocument {
  return { id, name, role, created_at, ...(last_used_at === null ? {} : { last_used_at }) }
}

function noOperator(): never {
  throw new Problem('not_found', 'there is no operator with this name')
}

/**
 * Operators and their API tokens in the store. Writes run in the caller's transaction, write one audit row each, and
 * are idempotent by state, except creating a token. A token is returned once, when it is created or requested. The
 * store has only its hash. The built-in operator `token` cannot be changed.
 */
import { includesRole, isMachineRole, type MachineRole, type OperatorRole } from '../../contract/operator-calls.ts'
import { newId } from '../../platform/base/ids.ts'
import type { PageParameters } from '../../platform/http/page-query.ts'
import { Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import { type Db, type Kysely, StatementFailed, type Transaction } from '../../platform/store/db.ts'
import { type Page, readPage } from '../../platform/store/page.ts'
import type { Confirmation } from '../clients/operator-calls.ts'
import { issuedCredential } from './requested-credentials.ts'
import { announceEndedAccess, endSessions } from './sessions.ts'
import type { OperatorTables } from './tables.ts'

/** An operator in the operator API. */
interface OperatorDocument {
  readonly name: string
  readonly role: OperatorRole
  readonly enabled: boolean
  readonly kind: 'person' | 'built_in'
  /** Whether password and one-time codes are set up. */
  readonly has_password: boolean
  /** The identity at the outside issuer, with which the operator signs in instead of a password. */
  readonly openid?: OpenidIdentity
  readonly last_login_at?: string
  readonly created_at: string
  /** Without their values. */
  readonly tokens: readonly ApiTokenDocument[]
}

/** The operator who makes a change. */
export interface Changer {
  /** In the audit trail. */
  readonly actor: string
  /** All operators who may be that one (see `issuersBy`). */
  readonly issuers: readonly string[]
  readonly confirmation?: Confirmation | undefined
}

/** A person at an outside issuer. */
export interface OpenidIdentity {
  /** As `issuerAddress` writes it. */
  readonly issuer: string
  /** The claim `sub`, which the issuer never gives to another person. */
  readonly subject: string
}

interface ApiTokenDocument {
  readonly id: string
  readonly name: string
  readonly role: OperatorRole
  /** The sources that a machine's token is bound to. Absent: none. */
  readonly sources?: readonly string[]
  readonly assets?: readonly string[]
  readonly created_at: string
  readonly last_used_at?: string
}

/** A new token's document. No other one has its value. */
interface NewApiToken extends ApiTokenDocument {
  /** Absent for a confirmed call, whose requester has it. */
  readonly token?: string
}

type OperatorRow = Awaited<ReturnType<typeof lockOperator>>

/** Tokens per operator. */
const TOKENS_MAX = 10

const COLUMNS = [
  ...(['id', 'name', 'role', 'is_person', 'enabled', 'password', 'issuer', 'issuer_subject'] as const),
  ...(['last_login_at', 'created_at'] as const),
] as const

/** No way to sign in. */
const NO_LOGIN = { password: null, totp_secret: null, totp_step: null, issuer: null, issuer_subject: null }

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

/**
 * The operator with this name, created when there is none.
 * @param openid absent: a person signs in with a password, for which a setup link is needed
 */
export async function ensureOperator(
  transaction: Transaction<OperatorTables>,
  { actor, issuers }: Changer,
  { name, role, openid }: { readonly name: string; readonly role: OperatorRole; readonly openid?: OpenidIdentity },
): Promise<{ readonly operator: OperatorDocument; readonly isNew: boolean }> {
  if (isMachineRole(role) && openid !== undefined) throw noLoginOf(role)
  const login = openid === undefined ? NO_LOGIN : { ...NO_LOGIN, ...columnsOf(openid) }
  const insert = transaction
    .insertInto('operators')
    .values({ id: newId(), name, role, last_login_at: null, issuers: [...issuers], ...login })
    .onConflict((conflict) => conflict.constraint('operators_name').doNothing())
  const made = await withFreeIdentity(insert.returning('id').executeTakeFirst())
  if (made !== undefined) {
    const detail = { role, ...(openid === undefined ? {} : { openid }) }
    await writeAudit(transaction, { actor, action: 'operator.create', subject: name, detail })
  }
  return { operator: await getOperator(transaction, name), isNew: made !== undefined }
}

/**
 * Changes role, whether the operator is enabled, and the identity at the outside issuer. A change ends the operator's
 * sessions. An operator signs in in one way: one who gets an identity loses password, one-time codes and setup link.
 * @param wanted `openid` null: the operator no longer signs in at an issuer
 */
export async function changeOperator(
  transaction: Transaction<OperatorTables>,
  { actor, issuers, confirmation }: Changer,
  name: string,
  wanted: { readonly role?: OperatorRole; readonly enabled?: boolean; readonly openid?: OpenidIdentity | null },
): Promise<OperatorDocument> {
  if (wanted.openid) await lockHolders(transaction, name, wanted.openid)
  const row = await lockPerson(transaction, name)
  confirmation?.compare(await getOperator(transaction, name))
  const { role = row.role, enabled = row.enabled, openid } = wanted
  if (role !== row.role && (isMachineRole(role) || isMachineRole(row.role))) {
    const detail = `role: a machine’s role never changes. Create another operator instead of ${name}`
    throw new Problem('invalid_state', detail, { meta: { current: row.role } })
  }
  if (isMachineRole(role) && openid) throw noLoginOf(role)
  const hasOtherLogin =
    openid !== undefined &&
    (openid?.subject !== (row.issuer_subject ?? undefined) || openid?.issuer !== (row.issuer ?? undefined))
  if (role !== row.role || enabled !== row.enabled || hasOtherLogin) {
    const bound = { ...NO_LOGIN, ...columnsOf(openid ?? null), issuers: [...issuers] }
    const login = !hasOtherLogin ? {} : openid === null ? columnsOf(null) : bound
    const change = transaction
      .updateTable('operators')
      .set({ role, enabled, ...login })
      .where('id', '=', row.id)
    await withFreeIdentity(change.execute())
    if (hasOtherLogin && openid !== null) await deleteLink(transaction, row.id)
    await endSessions(transaction, row.id)
    await writeAudit(transaction, { actor, action: 'operator.update', subject: name, detail: { ...wanted } })
  }
  return await getOperator(transaction, name)
}

/** Removes every way to sign in, and ends the sessions. The operator needs a setup link from now on. */
export async function resetOperator(
  transaction: Transaction<OperatorTables>,
  { actor, issuers, confirmation }: Changer,
  name: string,
): Promise<OperatorDocument> {
  const { id, role } = await lockPerson(transaction, name)
  confirmation?.compare(await getOperator(transaction, name))
  if (isMachineRole(role)) throw noLoginOf(role)
  const change = transaction.updateTable('operators').set({ ...NO_LOGIN, issuers: [...issuers] })
  await change.where('id', '=', id).execute()
  await endSessions(transaction, id)
  await writeAudit(transaction, { actor, action: 'operator.reset', subject: name, detail: {} })
  return await getOperator(transaction, name)
}

function noLoginOf(role: MachineRole): Problem {
  const meta = { current: role }
  return new Problem('invalid_state', `an operator with the role ${role} has API tokens only, and never signs in`, {
    meta,
  })
}

function columnsOf(openid: OpenidIdentity | null) {
  return { issuer: openid?.issuer ?? null, issuer_subject: openid?.subject ?? null }
}

/** Reports an identity that another operator has. */
async function withFreeIdentity<Result>(write: Promise<Result>): Promise<Result> {
  try {
    return await write
  } catch (error) {
    if (!(error instanceof StatementFailed) || error.constraint !== 'operators_identity') throw error
    throw new Problem('already_exists', 'subject: another operator has it')
  }
}

/** @param operatorId null: the first admin's link */
export async function deleteLink(transaction: Transaction<OperatorTables>, operatorId: string | null): Promise<void> {
  const links = transaction.deleteFrom('operator_setup_links')
  await (operatorId === null
    ? links.where('operator_id', 'is', null)
    : links.where('operator_id', '=', operatorId)
  ).execute()
}

/**
 * Creates an API token.
 * @param role absent: the operator's current one. A later change to the operator's role can lower it, and never raises it
 * @param sources for a `deposit_reporter`: the only sources that it may name. `assets` likewise, for each machine
 */
export async function createApiToken(
  transaction: Transaction<OperatorTables>,
  { actor, issuers, confirmation }: Changer,
  operatorName: string,
  {
    name,
    role: wanted,
    ...bounds
  }: { name: string; role?: OperatorRole; sources?: readonly string[]; assets?: readonly string[] },
): Promise<NewApiToken> {
  const operator = await lockPerson(transaction, operatorName)
  confirmation?.compare(await getOperator(transaction, operatorName))
  const role = wanted ?? operator.role
  if (!includesRole(operator.role, role)) {
    throw new Problem('invalid_state', `role: the operator is ${operator.role}, which does not include ${role}`, {
      meta: { current: operator.role },
    })
  }
  refuseBounds(role, bounds)
  const present = await tokensOf(transaction, [operator.id])
  const existing = present.find((token) => token.name === name)
  if (existing !== undefined) {
    const meta = { existing: tokenDocument(existing) }
    throw new Problem('already_exists', 'name: the operator has a token with this name', { meta })
  }
  if (present.length >= TOKENS_MAX) {
    const meta = { current: 'all_tokens' }
    throw new Problem('invalid_state', `the operator has ${TOKENS_MAX} tokens, which is the limit: revoke one`, {
      meta,
    })
  }
  const { secret: token, hash } = issuedCredential('token', confirmation)
  const { sources, assets } = bounds
  const columns = {
    sources: sources === undefined ? null : [...sources],
    assets: assets === undefined ? null : [...assets],
  }
  const row = await transaction
    .insertInto('operator_tokens')
    .values({
      id: newId(),
      operator_id: operator.id,
      name,
      role,
      hash,
      issuers: [...issuers],
      ...columns,
      last_used_at: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning(TOKEN_COLUMNS)
    .executeTakeFirst()
  if (row === undefined) {
    throw new Problem(
      'already_exists',
      'name: another executor has a token with this name, which its claims are known by',
    )
  }
  const detail = { token_id: row.id, name, role, ...bounds }
  await writeAudit(transaction, { actor, action: 'operator_token.create', subject: operatorName, detail })
  return { ...tokenDocument(row), ...(token === undefined ? {} : { token }) }
}

/** 400 for a bound that the role does not have. */
function refuseBounds(
  role: OperatorRole,
  { sources, assets }: { readonly sources?: readonly string[]; readonly assets?: readonly string[] },
): void {
  const refuse = (pointer: string, detail: string) =>
    new Problem('invalid_request', `${pointer}: ${detail}`, { errors: [{ pointer, detail }] })
  if (sources !== undefined && role !== 'deposit_reporter')
    throw refuse('/sources', 'only a deposit_reporter is bound to sources')
  if (assets !== undefined && !isMachineRole(role))
    throw refuse('/assets', 'only a machine’s token can be bound to assets')
}

/** Revokes a token. A missing token is no error. */
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
    await announceEndedAccess(transaction)
    const detail = { token_id: tokenId, name: deleted.name }
    await writeAudit(transaction, { actor, action: 'operator_token.delete', subject: operatorName, detail })
  }
  return await getOperator(transaction, operatorName)
}

/**
 * Locks the operator together with the identity's current holder, in order: two operators who get each other's identity
 * would wait for each other.
 */
async function lockHolders(
  transaction: Transaction<OperatorTables>,
  name: string,
  { issuer, subject }: OpenidIdentity,
): Promise<void> {
  const holders = transaction
    .selectFrom('operators')
    .select('id')
    .where((where) => where.or([where('name', '=', name), where.and({ issuer, issuer_subject: subject })]))
  await holders.orderBy('id').forUpdate().execute()
}

/** A person's row, locked until the transaction ends. 409 for the built-in operator. */
export async function lockPerson(transaction: Transaction<OperatorTables>, name: string): Promise<OperatorRow> {
  const row = await lockOperator(transaction, name)
  if (row.is_person) return row
  throw new Problem(
    'invalid_state',
    'this operator has the token from the setting operator.token, and cannot be changed',
    {
      meta: { current: 'built_in' },
    },
  )
}

async function lockOperator(transaction: Transaction<OperatorTables>, name: string) {
  const query = transaction.selectFrom('operators').selectAll().where('name', '=', name)
  return (await query.forUpdate().executeTakeFirst()) ?? noOperator()
}

const TOKEN_COLUMNS = [
  ...(['id', 'operator_id', 'name', 'role', 'sources', 'assets', 'created_at', 'last_used_at'] as const),
] as const

interface TokenRow {
  readonly id: string
  readonly operator_id: string
  readonly name: string
  readonly role: OperatorRole
  readonly sources: readonly string[] | null
  readonly assets: readonly string[] | null
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
  return rows.map(({ id, name, role, enabled, is_person, password, issuer, ...row }) => ({
    name,
    role,
    enabled,
    kind: is_person ? 'person' : 'built_in',
    has_password: password !== null,
    ...(issuer === null || row.issuer_subject === null ? {} : { openid: { issuer, subject: row.issuer_subject } }),
    ...(row.last_login_at === null ? {} : { last_login_at: row.last_login_at }),
    created_at: row.created_at,
    tokens: tokens.filter((token) => token.operator_id === id).map(tokenDocument),
  }))
}

function tokenDocument({ id, name, role, sources, assets, created_at, last_used_at }: TokenRow): ApiTokenDocument {
  return {
    id,
    name,
    role,
    ...(sources === null ? {} : { sources }),
    ...(assets === null ? {} : { assets }),
    created_at,
    ...(last_used_at === null ? {} : { last_used_at }),
  }
}

function noOperator(): never {
  throw new Problem('not_found', 'there is no operator with this name')
}

/**
 * OAuth clients and their secrets in the store. Writes run in the caller's transaction and write one audit row each.
 * All are idempotent by state, except creating a secret and revoking all tokens: requesting the current state changes
 * nothing and writes no row. A secret is returned once, when it is created. The store has only its hash.
 */
import type { Scope } from '../../contract/scopes.ts'
import { newId } from '../../platform/base/ids.ts'
import { Problem } from '../../platform/http/problem.ts'
import type { Db, Kysely, Transaction } from '../../platform/store/db.ts'
import { type Page, readPage } from '../../platform/store/page.ts'
import { type Notice, queueNotice } from '../notices/queue.ts'
import { pepperOf } from './authority.ts'
import { recordChange } from './changes.ts'
import { getCustomer, type ListRequest, noCustomer } from './customers.ts'
import type { EncryptionKey } from './encryption-key.ts'
import { requirePlan } from './plans/store.ts'
import { revokeAllTokens } from './revoked-tokens.ts'
import { hashSecret, newSecret, SECRETS_PER_CLIENT_MAX } from './secrets.ts'
import type { AuthTables } from './tables.ts'

/** A client in the operator API. */
export interface ClientDocument {
  readonly client_id: string
  readonly customer_id: string
  readonly name: string
  readonly scopes: readonly string[]
  /** Symbols of the markets it may publish, with the scope for publishing. */
  readonly publish_markets: readonly string[]
  readonly enabled: boolean
  /** Valid secrets, without their values. */
  readonly secrets: readonly SecretDocument[]
  /** The plan of its own, which narrows its customer's. Absent: none. */
  readonly plan?: string
  /** Tokens issued before this whole second are revoked. Absent: none. */
  readonly tokens_valid_from?: string
  readonly created_at: string
}

export interface SecretDocument {
  readonly id: string
  readonly created_at: string
  /** Up to a minute late. */
  readonly last_used_at?: string
}

/** A new secret's document. No other document has its value, except the answer that creates a client. */
export interface NewSecret {
  readonly secret_id: string
  readonly client_id: string
  readonly client_secret: string
  readonly created_at: string
}

type ClientRow = Omit<ClientDocument, 'client_id' | 'secrets' | 'plan' | 'tokens_valid_from'> & {
  readonly id: string
  readonly plan: string | null
  readonly tokens_valid_from: string | null
}

const COLUMNS = [
  'id',
  'customer_id',
  'name',
  'scopes',
  'publish_markets',
  'enabled',
  'plan',
  'tokens_valid_from',
  'created_at',
] as const

/** The members chosen by a new client's creator. */
export interface NewClient {
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly publish_markets?: readonly string[]
}

/** The client with this name. Creates it with its first `secret` when there is none. */
export async function ensureClient(
  transaction: Transaction<AuthTables>,
  actor: string,
  customerId: string,
  { name, scopes, publish_markets = [] }: NewClient,
  encryptionKey?: EncryptionKey,
): Promise<{ readonly client: ClientDocument; readonly secret?: NewSecret }> {
  const customer = transaction.selectFrom('customers').select('id').where('id', '=', customerId)
  if ((await customer.executeTakeFirst()) === undefined) noCustomer()
  const made = await transaction
    .insertInto('clients')
    .values({
      id: newId(),
      customer_id: customerId,
      name,
      scopes: [...scopes],
      publish_markets: [...publish_markets],
      enabled: true,
    })
    .onConflict((conflict) => conflict.constraint('clients_name').doNothing())
    .returning(COLUMNS)
    .executeTakeFirst()
  if (made !== undefined) {
    const secret = await insertSecret(transaction, made.id, encryptionKey)
    const { secret_id, created_at } = secret
    await queueNotice(transaction, newSecretNotice(made, secret))
    const published = publish_markets.length === 0 ? {} : { publish_markets }
    const detail = { customer_id: customerId, name, scopes, ...published, secret_id }
    const entry = { actor, action: 'client.create', subject: made.id, detail }
    await recordChange(transaction, entry, { kind: 'client', id: made.id })
    return { client: documentOf(made, [{ id: secret_id, created_at }]), secret }
  }
  const row = await transaction
    .selectFrom('clients')
    .select(COLUMNS)
    .where('customer_id', '=', customerId)
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
  return { client: await withSecrets(transaction, row) }
}

export async function changeClient(
  transaction: Transaction<AuthTables>,
  actor: string,
  id: string,
  wanted: {
    readonly enabled?: boolean
    readonly scopes?: readonly Scope[]
    readonly publish_markets?: readonly string[]
    /** Null: none of its own. */
    readonly plan?: string | null
  },
): Promise<ClientDocument> {
  const client = await lockClient(transaction, id)
  const { enabled = client.enabled, scopes = client.scopes, publish_markets = client.publish_markets } = wanted
  const plan = wanted.plan === undefined ? (client.plan ?? null) : wanted.plan
  const isSamePlan = plan === (client.plan ?? null)
  const isSame = haveSameEntries(scopes, client.scopes) && haveSameEntries(publish_markets, client.publish_markets)
  if (enabled === client.enabled && isSame && isSamePlan) return client
  if (plan !== null && !isSamePlan) await requirePlan(transaction, plan)
  await transaction
    .updateTable('clients')
    .set({ enabled, scopes: [...scopes], publish_markets: [...publish_markets], plan })
    .where('id', '=', id)
    .execute()
  const entry = { actor, action: 'client.update', subject: id, detail: { ...wanted } }
  await recordChange(transaction, entry, { kind: 'client', id })
  const { plan: _, ...others } = client
  return { ...others, enabled, scopes, publish_markets, ...(plan === null ? {} : { plan }) }
}

/** Revokes all the client's tokens, whichever secret they were issued for. Its secrets stay valid. */
export async function revokeClientTokens(
  transaction: Transaction<AuthTables>,
  actor: string,
  id: string,
): Promise<ClientDocument> {
  const client = await lockClient(transaction, id)
  const validFromSeconds = client.tokens_valid_from === undefined ? 0 : Date.parse(client.tokens_valid_from) / 1000
  const tokens_valid_from = await revokeAllTokens(transaction, actor, { id, validFromSeconds })
  return { ...client, tokens_valid_from }
}

/** Creates a secret. 409 for a client with two valid ones. */
export async function createSecret(
  transaction: Transaction<AuthTables>,
  actor: string,
  clientId: string,
  encryptionKey?: EncryptionKey,
): Promise<NewSecret & Pick<ClientDocument, 'scopes'>> {
  const client = await lockClient(transaction, clientId)
  const { secrets, scopes } = client
  if (secrets.length >= SECRETS_PER_CLIENT_MAX) {
    throw new Problem('invalid_state', `the client has ${SECRETS_PER_CLIENT_MAX} valid secrets. Delete one first`, {
      meta: { current: 'two_secrets', secrets },
    })
  }
  const secret = await insertSecret(transaction, clientId, encryptionKey)
  await queueNotice(transaction, newSecretNotice(client, secret))
  const entry = { actor, action: 'secret.create', subject: secret.secret_id, detail: { client_id: clientId } }
  await recordChange(transaction, entry, { kind: 'client', id: clientId })
  return { ...secret, scopes }
}

/** Deletes a secret and returns the client. Deleting a deleted secret changes nothing. */
export async function deleteSecret(
  transaction: Transaction<AuthTables>,
  actor: string,
  clientId: string,
  secretId: string,
): Promise<ClientDocument> {
  const client = await lockClient(transaction, clientId)
  const ofClient = transaction.selectFrom('client_secrets').select('id').where('client_id', '=', clientId)
  if ((await ofClient.where('id', '=', secretId).executeTakeFirst()) === undefined) {
    throw new Problem('not_found', 'the client has no secret with this id')
  }
  if (!client.secrets.some(({ id }) => id === secretId)) return client
  await transaction.updateTable('client_secrets').set({ hash: null }).where('id', '=', secretId).execute()
  const entry = { actor, action: 'secret.delete', subject: secretId, detail: { client_id: clientId } }
  await recordChange(transaction, entry, { kind: 'client', id: clientId })
  return { ...client, secrets: client.secrets.filter(({ id }) => id !== secretId) }
}

export async function getClient(db: Db, id: string): Promise<ClientDocument> {
  const tables = db.tables<AuthTables>()
  const row = await tables.selectFrom('clients').select(COLUMNS).where('id', '=', id).executeTakeFirst()
  return withSecrets(tables, row ?? noClient())
}

/** @param wanted filters by customer and name */
export async function listClients(
  db: Db,
  { customerId, name }: { readonly customerId?: string; readonly name?: string | undefined },
  request: ListRequest,
): Promise<Page<ClientDocument>> {
  if (customerId !== undefined) await getCustomer(db, customerId)
  const tables = db.tables<AuthTables>()
  let query = tables.selectFrom('clients').select(COLUMNS)
  if (customerId !== undefined) query = query.where('customer_id', '=', customerId)
  if (name !== undefined) query = query.where('name', '=', name)
  const filters = {
    ...(customerId === undefined ? {} : { customer_id: customerId }),
    ...(name === undefined ? {} : { name }),
  }
  const binding = { operation: 'clients', owner: 'operator', filters, idType: 'uuid' } as const
  const page = await readPage(tables, query, { ...request, ...binding })
  const secrets = await secretsOf(
    tables,
    page.items.map(({ id }) => id),
  )
  return { ...page, items: page.items.map((row) => documentOf(row, secrets.get(row.id) ?? [])) }
}

async function insertSecret(
  transaction: Transaction<AuthTables>,
  clientId: string,
  encryptionKey: EncryptionKey | undefined,
): Promise<NewSecret> {
  const secret = newSecret()
  const hash = hashSecret(await pepperOf(transaction, encryptionKey), secret)
  const made = await transaction
    .insertInto('client_secrets')
    .values({ id: newId(), client_id: clientId, hash })
    .returning(['id', 'created_at'])
    .executeTakeFirstOrThrow()
  return { secret_id: made.id, client_id: clientId, client_secret: secret, created_at: made.created_at }
}

function newSecretNotice(
  { customer_id: customerId, name }: Pick<ClientDocument, 'customer_id' | 'name'>,
  { secret_id, client_id, created_at }: NewSecret,
): Notice {
  const facts = { client: name, client_id, secret_id, created_at }
  return { customerId, type: 'secret.created', subject: secret_id, facts }
}

/** Locks the client until the transaction ends. */
export async function lockClient(transaction: Transaction<AuthTables>, id: string): Promise<ClientDocument> {
  const query = transaction.selectFrom('clients').select(COLUMNS).where('id', '=', id)
  return withSecrets(transaction, (await query.forUpdate().executeTakeFirst()) ?? noClient())
}

async function withSecrets(tables: Kysely<AuthTables>, row: ClientRow): Promise<ClientDocument> {
  return documentOf(row, (await secretsOf(tables, [row.id])).get(row.id) ?? [])
}

/** The valid secrets of each client, the oldest first. */
export async function secretsOf(
  tables: Kysely<AuthTables>,
  clientIds: readonly string[],
): Promise<Map<string, SecretDocument[]>> {
  const secrets = new Map<string, SecretDocument[]>(clientIds.map((id) => [id, []]))
  if (clientIds.length === 0) return secrets
  const rows = await tables
    .selectFrom('client_secrets')
    .select(['id', 'client_id', 'created_at', 'last_used_at'])
    .where('client_id', 'in', clientIds)
    .where('hash', 'is not', null)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  for (const { id, client_id, created_at, last_used_at } of rows) {
    secrets.get(client_id)?.push({ id, created_at, ...(last_used_at === null ? {} : { last_used_at }) })
  }
  return secrets
}

function documentOf(row: ClientRow, secrets: readonly SecretDocument[]): ClientDocument {
  const { id, plan, tokens_valid_from, created_at, ...members } = row
  const revocation = tokens_valid_from === null ? {} : { tokens_valid_from }
  return { client_id: id, ...members, secrets, ...(plan === null ? {} : { plan }), ...revocation, created_at }
}

function haveSameEntries(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((entry) => right.includes(entry))
}

function noClient(): never {
  throw new Problem('not_found', 'there is no client with this id')
}

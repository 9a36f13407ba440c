/**
 * The demo's clients. The first one is the client `demo` of the customer `demo`, which may stream and has every scope.
 * Its credentials are in a file. When that is lost or out of date, a new secret replaces the old ones.
 */
import { type Scope, STREAM_SCOPE } from '../../contract/scopes.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { pepperOf } from './authority.ts'
import { changeClient, createSecret, deleteSecret, ensureClient } from './clients.ts'
import { ensureCustomer } from './customers.ts'
import type { EncryptionKey } from './encryption-key.ts'
import { matchesSecret } from './secrets.ts'
import type { AuthTables } from './tables.ts'

export interface ClientCredentials {
  readonly clientId: string
  readonly clientSecret: string
}

export interface DemoClient extends ClientCredentials {
  readonly scopes: readonly Scope[]
}

const ACTOR = 'demo'
const NAME = 'demo'
const PAGE_CLIENT_NAME = 'demo page'

/**
 * Ensures that the demo client exists and has valid credentials: `existing`, or new ones. The directory must have been
 * loaded before. Reload it afterwards to use the client.
 */
export function ensureDemoClient(
  db: Db,
  scopes: readonly Scope[],
  existing: ClientCredentials | undefined,
  encryptionKey?: EncryptionKey,
): Promise<DemoClient> {
  return db.transaction<AuthTables, DemoClient>(async (transaction) => {
    const { customer } = await ensureCustomer(transaction, ACTOR, { name: NAME, streaming: true })
    const wanted = { name: NAME, scopes }
    const { client, secret } = await ensureClient(transaction, ACTOR, customer.id, wanted, encryptionKey)
    const clientId = client.client_id
    if (secret !== undefined) return { clientId, clientSecret: secret.client_secret, scopes }
    await changeClient(transaction, ACTOR, clientId, { scopes })
    const isInForce = existing?.clientId === clientId && (await isValidSecret(transaction, existing, encryptionKey))
    if (isInForce) return { ...existing, scopes }
    for (const { id } of client.secrets) await deleteSecret(transaction, ACTOR, clientId, id)
    const { client_secret: clientSecret } = await createSecret(transaction, ACTOR, clientId, encryptionKey)
    return { clientId, clientSecret, scopes }
  })
}

/**
 * Ensures that the demo page's client exists: the same customer's second one, which has only the streaming scope and no
 * secret, so only this service issues its tokens. Returns its id.
 */
export function ensureDemoPageClient(db: Db, encryptionKey?: EncryptionKey): Promise<string> {
  return db.transaction<AuthTables, string>(async (transaction) => {
    const { customer } = await ensureCustomer(transaction, ACTOR, { name: NAME, streaming: true })
    const wanted = { name: PAGE_CLIENT_NAME, scopes: [STREAM_SCOPE] as const }
    const { client } = await ensureClient(transaction, ACTOR, customer.id, wanted, encryptionKey)
    await changeClient(transaction, ACTOR, client.client_id, { scopes: [STREAM_SCOPE] })
    for (const { id } of client.secrets) await deleteSecret(transaction, ACTOR, client.client_id, id)
    return client.client_id
  })
}

async function isValidSecret(
  transaction: Transaction<AuthTables>,
  credentials: ClientCredentials,
  encryptionKey: EncryptionKey | undefined,
): Promise<boolean> {
  const rows = await transaction
    .selectFrom('client_secrets')
    .select('hash')
    .where('client_id', '=', credentials.clientId)
    .where('hash', 'is not', null)
    .$narrowType<{ hash: Uint8Array }>()
    .execute()
  const hashes = rows.map(({ hash }) => hash)
  return matchesSecret(await pepperOf(transaction, encryptionKey), credentials.clientSecret, hashes)
}

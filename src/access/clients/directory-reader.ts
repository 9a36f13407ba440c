/**
 * Reads the directory's content from the store: everything, or the records named by a list of changes. One statement
 * per table, or per thousand rows. A change between two statements has a later version and is read again with that
 * version. Until then a client without its customer is treated as disabled.
 */
import { isScope } from '../../contract/scopes.ts'
import type { Db } from '../../platform/store/db.ts'
import { readAuthority } from './authority.ts'
import { type DirectoryChange, readDirectoryVersion } from './changes.ts'
import type {
  ClientRecord,
  CustomerRecord,
  DirectoryContent,
  DirectoryUpdate,
  SecretRecord,
} from './directory-records.ts'
import type { EncryptionKey } from './encryption-key.ts'
import { UNLIMITED } from './plans/plan.ts'
import { readPlans } from './plans/store.ts'
import { readReceiptKeys } from './receipt-keys.ts'
import { readRevokedTokens } from './revoked-tokens.ts'
import { readSigningKeys } from './signing-keys.ts'
import type { AuthTables } from './tables.ts'

const CUSTOMER_COLUMNS = ['id', 'name', 'enabled', 'streaming', 'plan'] as const
const CLIENT_COLUMNS = [
  'id',
  'customer_id',
  'name',
  'scopes',
  'publish_markets',
  'enabled',
  'tokens_valid_from',
  'plan',
] as const

/** The whole content with its version. It may include later changes. */
export async function readContent(
  db: Db,
  publicUrl: string,
  encryptionKey: EncryptionKey | undefined,
): Promise<{ readonly version: number; readonly content: DirectoryContent }> {
  const version = await readDirectoryVersion(db)
  const authority = await readAuthority(db, publicUrl, encryptionKey)
  const { keys, revokedKeyIds } = await readSigningKeys(db, encryptionKey)
  const receiptKeys = await readReceiptKeys(db, encryptionKey)
  const plansBefore = await readPlans(db)
  // Before the clients: revoking all a client's tokens deletes the single revocations that this covers.
  const revokedTokens = await readRevokedTokens(db)
  const tables = db.tables<AuthTables>()
  const secrets = await readPages(
    (after) => {
      const query = tables
        .selectFrom('client_secrets')
        .select(['id', 'client_id', 'hash'])
        .where('hash', 'is not', null)
      return query.where('id', '>', after).orderBy('id').limit(PAGE_ROWS).execute()
    },
    (rows) => secretRecords(rows),
  )
  const clients = await readPages(
    (after) => {
      const query = tables.selectFrom('clients').select(CLIENT_COLUMNS).where('id', '>', after)
      return query.orderBy('id').limit(PAGE_ROWS).execute()
    },
    (rows) => rows.map(clientRecord),
  )
  const customers = await readPages(
    (after) => {
      const query = tables.selectFrom('customers').select(CUSTOMER_COLUMNS).where('id', '>', after)
      return query.orderBy('id').limit(PAGE_ROWS).execute()
    },
    (rows) => rows.map(customerRecord),
  )
  // A customer or client read in between may have a plan that was made, or deleted, in between.
  const plans = new Map([...plansBefore, ...(await readPlans(db))].map((plan) => [plan.name, plan]))
  return {
    version,
    content: {
      authority,
      keys,
      revokedKeyIds,
      receiptKeys,
      revokedTokens,
      customers,
      clients,
      plans: [...plans.values()],
      secrets,
    },
  }
}

/**
 * Rows per statement. Decoding them occupies the event loop for a millisecond or two, and not as long as the whole
 * table.
 */
const PAGE_ROWS = 1_000
/** Sorts before every record's id. */
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

/** All rows in a table as records, page after page in id order. */
async function readPages<Row extends { readonly id: string }, Record>(
  readPage: (after: string) => Promise<readonly Row[]>,
  recordsOf: (rows: readonly Row[]) => readonly Record[],
): Promise<readonly Record[]> {
  const all: Record[] = []
  let last = FIRST_ID
  for (;;) {
    const page = await readPage(last)
    all.push(...recordsOf(page))
    if (page.length < PAGE_ROWS) return all
    last = page.at(-1)?.id ?? last
  }
}

/** The current state of the records named by `changes`. */
export async function readUpdate(
  db: Db,
  changes: readonly DirectoryChange[],
  encryptionKey: EncryptionKey | undefined,
): Promise<DirectoryUpdate> {
  const customerIds = idsOf(changes, 'customer')
  const clientIds = idsOf(changes, 'client')
  const tokenIds = idsOf(changes, 'token')
  const customers = customerIds.length > 0 ? await readCustomers(db, customerIds) : undefined
  const clients = clientIds.length > 0 ? await readClients(db, clientIds) : undefined
  const plans = await readNamedPlans(db, idsOf(changes, 'plan'), [
    ...(customers?.records ?? []),
    ...(clients?.records ?? []),
  ])
  return {
    ...(customers !== undefined && { customers }),
    ...(clients !== undefined && { clients }),
    ...(plans !== undefined && { plans }),
    ...(tokenIds.length > 0 && {
      revokedTokens: { ids: tokenIds, records: await readRevokedTokens(db, tokenIds) },
    }),
    ...(changes.some(({ kind }) => kind === 'keys') && { keys: await readKeys(db, encryptionKey) }),
  }
}

/** The changed plans, and those of the records, which may have been made later than the changes. */
async function readNamedPlans(
  db: Db,
  changed: readonly string[],
  holders: readonly { readonly plan?: string }[],
): Promise<DirectoryUpdate['plans']> {
  const names = [...new Set([...changed, ...holders.flatMap(({ plan }) => plan ?? [])])]
  if (names.length === 0) return undefined
  const records = await readPlans(db, names)
  const found = new Set(records.map(({ name }) => name))
  // A holder's plan that is gone was deleted after the holder got another one, which is a later change.
  return { ids: names.filter((name) => found.has(name) || changed.includes(name)), records }
}

async function readKeys(db: Db, encryptionKey: EncryptionKey | undefined) {
  const { keys, revokedKeyIds } = await readSigningKeys(db, encryptionKey)
  return { keys, revokedKeyIds, receiptKeys: await readReceiptKeys(db, encryptionKey) }
}

function idsOf(changes: readonly DirectoryChange[], kind: DirectoryChange['kind']): readonly string[] {
  return [...new Set(changes.flatMap((change) => (change.kind === kind && 'id' in change ? [change.id] : [])))]
}

async function readCustomers(db: Db, ids: readonly string[]) {
  const query = db.tables<AuthTables>().selectFrom('customers').select(CUSTOMER_COLUMNS).where('id', 'in', ids)
  return { ids, records: (await query.execute()).map(customerRecord) }
}

async function readClients(db: Db, ids: readonly string[]) {
  const tables = db.tables<AuthTables>()
  const ofClients = tables.selectFrom('client_secrets').select(['client_id', 'hash']).where('client_id', 'in', ids)
  const secrets = secretRecords(await ofClients.execute())
  const clients = await tables.selectFrom('clients').select(CLIENT_COLUMNS).where('id', 'in', ids).execute()
  return { ids, records: clients.map(clientRecord), secrets }
}

function customerRecord({ plan, ...customer }: CustomerRecord & { readonly plan: string }): CustomerRecord {
  return plan === UNLIMITED ? customer : { ...customer, plan }
}

function clientRecord(row: {
  readonly id: string
  readonly customer_id: string
  readonly name: string
  readonly scopes: readonly string[]
  readonly publish_markets: readonly string[]
  readonly enabled: boolean
  readonly tokens_valid_from: string | null
  readonly plan: string | null
}): ClientRecord {
  const { id, customer_id, name, scopes, publish_markets, enabled, tokens_valid_from, plan } = row
  return {
    clientId: id,
    customerId: customer_id,
    name,
    // A scope unknown to this version grants nothing here.
    scopes: new Set(scopes.filter(isScope)),
    ...(publish_markets.length === 0 ? {} : { publishMarkets: new Set(publish_markets) }),
    enabled,
    ...(tokens_valid_from === null ? {} : { tokensValidFromSeconds: Date.parse(tokens_valid_from) / 1000 }),
    ...(plan === null || plan === UNLIMITED ? {} : { plan }),
  }
}

/** Valid secrets: a deleted secret has no hash. */
function secretRecords(
  rows: readonly { readonly client_id: string; readonly hash: Uint8Array | null }[],
): SecretRecord[] {
  return rows.flatMap(({ client_id, hash }) => (hash === null ? [] : [{ clientId: client_id, hash }]))
}

/**
 * The part of the process that knows who may do what: the directory of customers and clients, the keys, and the
 * service's operators. Every process has it.
 */
import {
  type ClientCredentials,
  type DemoClient,
  ensureDemoClient,
  ensureDemoPageClient,
} from '../../../access/clients/demo-client.ts'
import type { DirectoryLoader } from '../../../access/clients/directory-loader.ts'
import type { EncryptionKey } from '../../../access/clients/encryption-key.ts'
import { servedScopes } from '../../../contract/scopes.ts'
import type { Db } from '../../../platform/store/db.ts'
import { issuesTokens } from '../../config/token-issuer.ts'
import { loadEncryptionKey } from '../../keys/encryption-key.ts'
import { readFromStore } from '../../process/store-wait.ts'
import type { Parts } from '../parts.ts'
import { prepareReceipts } from './receipts.ts'
import { createDirectoryLoader, loadDirectory, startUpkeep } from './start-directory.ts'
import { type Operators, startOperators } from './start-operators.ts'

export interface Access {
  readonly encryptionKey: EncryptionKey | undefined
  readonly loader: DirectoryLoader
  readonly operators: Operators
}

/** Needs the store's connection, not its schema. */
export async function createAccess(parts: Parts, db: Db): Promise<Access> {
  const encryptionKey = await readFromStore(parts, 'encryption key', () => loadEncryptionKey(parts.config, db))
  const loader = createDirectoryLoader(parts, db, encryptionKey)
  return { encryptionKey, loader, operators: startOperators(parts, db, encryptionKey) }
}

/** Resolves when this node knows customers, clients and keys. The store must have its schema. */
export async function startAccess(parts: Parts, db: Db, { encryptionKey, loader, operators }: Access): Promise<void> {
  await loadDirectory(parts, loader)
  await readFromStore(parts, 'operators', () => operators.setup.prepare())
  await readFromStore(parts, 'receipt key', () => prepareReceipts(parts, db, loader, encryptionKey))
  if (issuesTokens(parts.config)) startUpkeep(parts, db, encryptionKey)
}

/** Creates the demo's clients. `existing` credentials are kept while they are valid. */
export async function startDemoClient(
  parts: Parts,
  db: Db,
  { encryptionKey, loader }: Access,
  existing: ClientCredentials | undefined,
): Promise<DemoClient> {
  const scopes = servedScopes(parts.config['rest.sandbox'])
  const ensureClient = () => ensureDemoClient(db, scopes, existing, encryptionKey)
  const client = await readFromStore(parts, 'demo client', ensureClient)
  const page = await readFromStore(parts, 'demo page', () => ensureDemoPageClient(db, encryptionKey))
  parts.demoPage?.openFor(page)
  await loader.refresh()
  return client
}

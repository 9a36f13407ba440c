/** Opens this process's store, and waits until it has its schema and this node's key is confirmed to be the store's. */
import type { EncryptionKey } from '../access/clients/encryption-key.ts'
import type { Db } from '../platform/store/db.ts'
import { readSchemaState } from '../platform/store/migrate.ts'
import { patiently } from '../platform/store/sql.ts'
import { StoreClockWatch } from '../platform/store/store-clock.ts'
import { describeProblem } from './config/problem-list.ts'
import { earlierKeys, newStoreDefaults, withStoreDefaults } from './config/store-defaults.ts'
import { unnoticedDestinations } from './config/unapproved-destinations.ts'
import { checkEncryptionKey } from './keys/encryption-key.ts'
import type { Parts } from './parts/parts.ts'
import { openStore } from './process/open-store.ts'
import { keepStoreDefaults } from './process/setting-defaults.ts'
import { StoreIdentityWatch } from './process/store-identity-watch.ts'
import { readFromStore, type SchemaState, waitFor, waitForSchema } from './process/store-wait.ts'

export interface Store {
  readonly db: Db
  readonly storeClock: StoreClockWatch
  readonly identity: StoreIdentityWatch
}

/**
 * An embedded store is examined before a listener hands out deliveries. A server may be unreachable then: the gates
 * compare it with this process's note.
 */
export async function openWatchedStore(parts: Parts): Promise<Store> {
  const { signal, lifecycle, config } = parts
  const { db } = await openStore(parts)
  lifecycle.keepForWorkers()
  const identity = new StoreIdentityWatch({ ...parts, db, dataFolder: config.data_dir })
  lifecycle.started('store identity', () => identity.stop())
  await identity.prepare()
  if (db.engine === 'embedded') {
    await waitFor(
      parts,
      'store identity',
      patiently(() => identity.start()),
    )
  }
  signal.throwIfAborted()
  const storeClock = new StoreClockWatch({ ...parts, db })
  lifecycle.started('store clock', () => storeClock.stop())
  return { db, storeClock, identity }
}

const EARLIER_DEFAULTS = 'the store is older than these settings, which keep its behaviour: set each of them'

export async function startStore(
  parts: Parts,
  { db, identity }: Store,
  encryptionKey: EncryptionKey | undefined,
): Promise<void> {
  const noteSchema = (schema: SchemaState): void => void Object.assign(parts.state, { schema })
  await waitForSchema(parts, () => readSchemaState(db), noteSchema)
  await readFromStore(parts, 'encryption key', () => checkEncryptionKey({ ...parts, db, key: encryptionKey }))
  await applyStoreDefaults(parts, db)
  if (db.engine === 'postgres') await readFromStore(parts, 'store identity', () => identity.start())
}

async function applyStoreDefaults(parts: Parts, db: Db): Promise<void> {
  const { current, state, log, hasTestSeed: isDemo = false } = parts
  const defaults = await readFromStore(parts, 'setting defaults', () => keepStoreDefaults(db, newStoreDefaults(isDemo)))
  state.storeDefaults = defaults
  Object.assign(current, withStoreDefaults(current, defaults))
  const problems = unnoticedDestinations(current.config, current.origins)
  if (problems.length > 0) throw new Error(problems.map(describeProblem).join('; '))
  const keys = earlierKeys(current.origins, defaults)
  if (keys.length > 0) log.warn({ keys }, EARLIER_DEFAULTS)
}

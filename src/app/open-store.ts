/**
 * Opens the store that the configuration names. Either way the data folder's lock is taken first: one process holds a
 * folder, whatever it keeps there. The embedded store is handed out with its schema current; a PostgreSQL server need
 * not be there yet and is never migrated by a node, for it may serve others of another version.
 */
import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Config } from '../config/settings.ts'
import { acquireDataLock } from '../store/data-lock.ts'
import type { Db } from '../store/db.ts'
import { openEmbedded } from '../store/embedded.ts'
import { migrate } from '../store/migrate.ts'
import { openPostgres } from '../store/postgres.ts'
import type { Lifecycle } from './lifecycle.ts'

export interface StoreOptions {
  readonly config: Config
  readonly log: Log
  readonly clock: Clock
  /** A number in [0, 1), to spread what should not happen at once. */
  readonly random: () => number
  /** Is told how to give back what was taken. */
  readonly lifecycle: Lifecycle
}

/** The store of a node. */
export async function openStore(options: StoreOptions): Promise<{ readonly db: Db }> {
  const { config, log, lifecycle } = options
  const lock = await acquireDataLock(config.data_dir)
  lifecycle.started('data folder lock', () => lock.release())
  if (config['store.url'] !== '') return { db: openServer(options) }
  const db = await openFolder(options)
  await migrate(db, log)
  return { db }
}

/**
 * Brings the schema of that store up to this version, and names what was missing. An embedded one must be free; on a
 * PostgreSQL server nodes may be at work, or be waiting for this, so it holds no folder.
 */
export async function migrateStore(options: StoreOptions): Promise<readonly string[]> {
  const { config, log, lifecycle } = options
  if (config['store.url'] !== '') return (await migrate(openServer(options), log)).applied
  const lock = await acquireDataLock(config.data_dir)
  lifecycle.started('data folder lock', () => lock.release())
  return (await migrate(await openFolder(options), log)).applied
}

/** Opens that store as it is, to look at: nothing is migrated. An embedded one must be free. */
export async function openStoreAsItIs(options: StoreOptions): Promise<Db> {
  const { config, lifecycle } = options
  if (config['store.url'] !== '') return openServer(options)
  const lock = await acquireDataLock(config.data_dir)
  lifecycle.started('data folder lock', () => lock.release())
  return openFolder(options)
}

function openServer({ config, log, clock, random, lifecycle }: StoreOptions): Db {
  const db = openPostgres({
    url: config['store.url'],
    connectionsMax: config['store.connections_max'],
    log,
    clock,
    random,
  })
  lifecycle.started('store', () => db.close())
  return db
}

async function openFolder({ config, log, clock, lifecycle }: StoreOptions): Promise<Db> {
  const db = await openEmbedded({ folder: join(config.data_dir, 'store'), log, clock })
  lifecycle.started('store', () => db.close())
  return db
}

/**
 * Opens the store that the configuration names. Either way the data folder's lock is taken first: one process holds a
 * folder, whatever it keeps there. The embedded store is handed out with its schema current; a PostgreSQL server need
 * not be there yet and is never migrated by a node, for it may serve others of another version.
 */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Config } from '../config/settings.ts'
import { acquireDataLock } from '../store/data-lock.ts'
import type { Db } from '../store/db.ts'
import { openEmbedded } from '../store/embedded.ts'
import { migrate } from '../store/migrate.ts'
import { openPostgres } from '../store/postgres.ts'
import { transportProblem } from '../store/transport-security.ts'
import { closeStoreFolder, prepareDataFolder, storeFolder } from './data-folder.ts'
import type { Lifecycle } from './lifecycle.ts'

export interface StoreOptions {
  readonly config: Config
  readonly log: Log
  readonly clock: Clock
  /** A number in [0, 1), to spread what should not happen at once. */
  readonly random: () => number
  /** Learns how to give back what was taken. */
  readonly lifecycle: Lifecycle
  /** `--take-over`: replaces a holder of the data folder on another machine that cannot be asked. */
  readonly takeOver?: boolean
}

/** The store of a node. */
export async function openStore(options: StoreOptions): Promise<{ readonly db: Db }> {
  const { config, log } = options
  await holdDataFolder(options)
  if (config['store.url'] !== '') return { db: openServer(options) }
  closeStoreFolder(config.data_dir, log)
  const db = await openFolder(options)
  await migrate(db, log)
  return { db }
}

/**
 * Opens that store, brings its schema up to this version, and names what was missing. An embedded one must be free; on a
 * PostgreSQL server nodes may be at work, or be waiting for this, so it holds no folder.
 */
export async function migrateStore(
  options: StoreOptions,
): Promise<{ readonly db: Db; readonly applied: readonly string[] }> {
  const { config, log } = options
  if (config['store.url'] === '') {
    await holdDataFolder(options)
    closeStoreFolder(config.data_dir, log)
  }
  const db = config['store.url'] === '' ? await openFolder(options) : openServer(options)
  return { db, applied: (await migrate(db, log)).applied }
}

/** Opens that store as it is, to look at: nothing is migrated. An embedded one must be free. */
export async function openStoreAsItIs(options: StoreOptions): Promise<Db> {
  if (options.config['store.url'] !== '') return openServer(options)
  await holdDataFolder(options)
  return openFolder(options)
}

async function holdDataFolder({ config, log, lifecycle, takeOver = false }: StoreOptions): Promise<void> {
  prepareDataFolder(config.data_dir)
  const lock = await acquireDataLock(config.data_dir, { log, takeOver })
  lifecycle.started('data folder lock', () => lock.release())
}

function openServer({ config, log, clock, random, lifecycle }: StoreOptions): Db {
  const problem = transportProblem(config['store.url'])
  if (problem !== undefined) log.warn({}, problem)
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
  const db = await openEmbedded({ folder: storeFolder(config.data_dir), log, clock })
  lifecycle.started('store', () => db.close())
  return db
}

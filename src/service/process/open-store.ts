/**
 * Opens the configured store. A service first takes the data folder's lock, with either store: one process holds a
 * folder. The embedded store is migrated when it is opened. A PostgreSQL server may still be unreachable, and a node
 * never migrates it, because nodes with another version may be using it.
 */
import { checkDepositMode } from '../../money/controls/deposit-mode.ts'
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { acquireDataLock } from '../../platform/store/data-lock.ts'
import type { Db } from '../../platform/store/db.ts'
import { openEmbedded } from '../../platform/store/embedded.ts'
import { migrate } from '../../platform/store/migrate.ts'
import { openPostgres } from '../../platform/store/postgres.ts'
import { transportProblem } from '../../platform/store/transport-security.ts'
import type { Config } from '../config/settings.ts'
import { closeStoreFolder, prepareDataFolder, storeFolder } from './data-folder.ts'
import type { Lifecycle } from './lifecycle.ts'
import { noticeOlderStore } from './store-identity-watch.ts'
import { type Waiting, waitFor } from './store-wait.ts'

export interface StoreOptions {
  readonly config: Config
  readonly log: Log
  readonly clock: Clock
  /** Returns a number in [0, 1), for jitter. */
  readonly random: () => number
  /** Gets a stop for everything opened or locked here. */
  readonly lifecycle: Lifecycle
  /** Aborts opening an embedded store. */
  readonly signal?: AbortSignal
  /** `--take-over`: takes the data folder from a holder on another machine, which cannot be asked whether it runs. */
  readonly takeOver?: boolean
}

/**
 * Opens a node's store, and holds its data folder. The wait for an embedded store is logged, and can be aborted. One
 * with the other kind of deposits fails the start here, before any listener opens. A server may still be unreachable.
 */
export async function openStore(options: StoreOptions & Waiting): Promise<{ readonly db: Db }> {
  const { config, log } = options
  await holdDataFolder(options)
  if (config['store.url'] !== '') return { db: openServer(options) }
  closeStoreFolder(config.data_dir, log)
  const db = await waitFor(options, 'embedded store', openFolder(options))
  await waitFor(options, 'migrations', examineAndMigrate(db, options))
  await waitFor(options, 'deposit mode', checkDepositMode(db.tables(), config['rest.sandbox']))
  return { db }
}

/**
 * Opens the store, migrates it to this version's schema, and returns the applied migrations' names. No other process
 * may have an embedded store open. With a PostgreSQL server nodes may be running or waiting for this migration, so the
 * data folder is not locked.
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
  return { db, applied: (await examineAndMigrate(db, options)).applied }
}

async function examineAndMigrate(db: Db, { config, log }: StoreOptions): Promise<{ readonly applied: string[] }> {
  await noticeOlderStore(db, config.data_dir)
  return await migrate(db, log)
}

/** Opens the store for reading, without migrating it. No other process may have an embedded store open. */
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

async function openFolder({ config, log, clock, lifecycle, signal }: StoreOptions): Promise<Db> {
  const opening = openEmbedded({ folder: storeFolder(config.data_dir), log, clock, signal })
  // Also for a start aborted meanwhile: the folder is released after the store's thread has ended.
  const opened = opening.catch(() => undefined)
  lifecycle.started('store', async () => (await opened)?.close())
  return opening
}

/**
 * Opens the embedded store of a data folder: takes the folder's lock first, so that nobody else has it open, and gives
 * both back together. The schema is current when it hands the store out.
 */
import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { acquireDataLock } from '../store/data-lock.ts'
import type { Db } from '../store/db.ts'
import { openEmbedded } from '../store/embedded.ts'
import { migrate } from '../store/migrate.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { Config } from './settings.ts'

export interface StoreOptions {
  readonly config: Config
  readonly log: Log
  readonly clock: Clock
  /** Is told how to give back what was taken. */
  readonly lifecycle: Lifecycle
}

export interface OpenedStore {
  readonly db: Db
  /** Names of the migrations that were missing. */
  readonly applied: readonly string[]
}

export async function openStore({ config, log, clock, lifecycle }: StoreOptions): Promise<OpenedStore> {
  const folder = config.data_dir
  const lock = await acquireDataLock(folder)
  lifecycle.started('data folder lock', () => lock.release())
  const db = await openEmbedded({ folder: join(folder, 'store'), log, clock })
  lifecycle.started('store', () => db.close())
  const { applied } = await migrate(db, log)
  return { db, applied }
}

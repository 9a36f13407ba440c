/**
 * Reads a PostgreSQL store for `check-config`. An embedded store is opened by its service, `migrate` and `doctor` alone.
 */
import type { Clock } from '../../platform/base/clock.ts'
import { createLog } from '../../platform/base/log.ts'
import { type Db, StoreUnavailable } from '../../platform/store/db.ts'
import { readSchemaState, SchemaProblem } from '../../platform/store/migrate.ts'
import type { Config } from '../config/settings.ts'
import { Lifecycle } from '../process/lifecycle.ts'
import { openStoreAsItIs } from '../process/open-store.ts'

/** Resolves to undefined for an embedded store and for another version's schema. */
export async function readServerStore<Value>(
  config: Config,
  clock: Clock,
  read: (db: Db) => Promise<Value>,
): Promise<Value | 'unreachable' | undefined> {
  if (config['store.url'] === '') return undefined
  const log = createLog('silent')
  const lifecycle = new Lifecycle(log)
  try {
    const db = await openStoreAsItIs({ config, log, clock, random: Math.random, lifecycle })
    return (await readSchemaState(db)) === 'current' ? await read(db) : undefined
  } catch (error) {
    if (error instanceof SchemaProblem) return undefined
    if (!(error instanceof StoreUnavailable)) throw error
    return 'unreachable'
  } finally {
    await lifecycle.stop()
  }
}

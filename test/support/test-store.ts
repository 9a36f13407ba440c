/**
 * A suite's store: the test project's, so that the same file tests each engine. On PostgreSQL every suite has its own
 * database, on the server shared by the run.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import type { Clock } from '../../src/platform/base/clock.ts'
import type { Log } from '../../src/platform/base/log.ts'
import type { Db } from '../../src/platform/store/db.ts'
import { openEmbedded } from '../../src/platform/store/embedded.ts'
import { migrate } from '../../src/platform/store/migrate.ts'
import { openPostgres } from '../../src/platform/store/postgres.ts'
import { sql } from '../../src/platform/store/sql.ts'
import { migratedDatabase, sharedDatabase } from './postgres.ts'
import { createSlowClock } from './slow-clock.ts'

declare module 'vitest' {
  interface ProvidedContext {
    engine: 'embedded' | 'postgres'
  }
}

const CONNECTIONS_MAX = 5

/** Opens a new store, empty or with this version's schema. */
export async function openTestStore({
  log,
  isMigrated = true,
}: {
  readonly log: Log
  readonly isMigrated?: boolean
}): Promise<Db> {
  const clock = createSlowClock()
  if (inject('engine') === 'postgres')
    return openServer(await (isMigrated ? migratedDatabase() : sharedDatabase()), log, clock)
  const db = await openTemporaryStore(log, clock)
  if (isMigrated) await migrate(db, log)
  else await dropSchema(db)
  return db
}

/** Opens a new store with this version's schema twice, as two processes would. The embedded one only once. */
export async function openTwoTestStores({ log }: { readonly log: Log }): Promise<readonly [Db, Db]> {
  const clock = createSlowClock()
  if (inject('engine') === 'embedded') {
    const db = await openTestStore({ log })
    return [db, db]
  }
  const address = await migratedDatabase()
  return [openServer(address, log, clock), openServer(address, log, clock)]
}

/** Removes everything from a new embedded store, which has this version's schema from the start. */
export async function dropSchema(db: Db): Promise<void> {
  await sql`drop schema public cascade; create schema public`.execute(db.tables())
}

/** Opens a new embedded store in a folder that is removed with it. */
export async function openTemporaryStore(log: Log, clock: Clock): Promise<Db> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-store-'))
  const db = await openEmbedded({ folder: join(folder, 'store'), log, clock })
  const close = db.close
  return Object.assign(db, {
    close: async () => {
      await close()
      rmSync(folder, { recursive: true, force: true })
    },
  })
}

const databases = new Map<string, Promise<string>>()

/** Settings for a service with this data folder that select the engine, with a current schema. */
export async function storeFlags(folder: string): Promise<Readonly<Record<string, string>>> {
  if (inject('engine') === 'embedded') return {}
  const address = databases.get(folder) ?? migratedDatabase()
  databases.set(folder, address)
  return { 'store.url': await address }
}

function openServer(url: string, log: Log, clock: Clock): Db {
  return openPostgres({ url, connectionsMax: CONNECTIONS_MAX, log, clock, random: Math.random })
}

/** Starts the PostgreSQL server shared by one test run, with a database that has this version's schema. */
import { readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLog } from '../../src/platform/base/log.ts'
import { migrate } from '../../src/platform/store/migrate.ts'
import { openPostgres } from '../../src/platform/store/postgres.ts'
import { PostgresServer } from './postgres.ts'
import { createSlowClock } from './slow-clock.ts'

export async function startSharedServer(): Promise<PostgresServer> {
  removeLeftovers()
  const server = PostgresServer.create()
  await server.start()
  const url = await server.createSchemaTemplate()
  const log = createLog('error')
  const db = openPostgres({ url, connectionsMax: 1, log, clock: createSlowClock(), random: Math.random })
  await migrate(db, log)
  // A database with connections cannot be copied.
  await db.close()
  return server
}

/** Removes killed runs' folders. Their servers have ended with them. */
function removeLeftovers(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = /^tidegate-postgres-(\d+)-/.exec(name)?.[1]
    if (pid === undefined || isAlive(Number(pid))) continue
    try {
      rmSync(join(tmpdir(), name), { recursive: true, force: true })
    } catch {
      // It belongs to another user, or another run removes it at the same time.
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

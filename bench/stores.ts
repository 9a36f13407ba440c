/** Both store engines, empty and on this machine's disk, one after the other. They are removed afterwards. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSystemClock } from '../src/platform/base/clock.ts'
import { createLog } from '../src/platform/base/log.ts'
import type { Db } from '../src/platform/store/db.ts'
import { openEmbedded } from '../src/platform/store/embedded.ts'
import { openPostgres } from '../src/platform/store/postgres.ts'
import { hasPostgres, PostgresServer } from '../test/support/postgres.ts'
import type { BenchResult } from './result.ts'

const log = createLog('error')
const clock = createSystemClock()

/** Runs `measure` on each engine. PostgreSQL, with its default settings, is omitted where it is not installed. */
export async function measureStores(
  measure: (engine: 'embedded' | 'postgres', db: Db) => Promise<BenchResult[]>,
): Promise<BenchResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-bench-'))
  const embedded = await openEmbedded({ folder: join(folder, 'store'), log, clock })
  const results = await measure('embedded', embedded)
  await embedded.close()
  rmSync(folder, { recursive: true })
  if (!hasPostgres) return results
  const server = PostgresServer.create({ settings: { fsync: 'on', full_page_writes: 'on', shared_buffers: '128MB' } })
  await server.start()
  const url = await server.createDatabase()
  const postgres = openPostgres({ url, connectionsMax: 10, log, clock, random: Math.random })
  results.push(...(await measure('postgres', postgres)))
  await postgres.close()
  await server.remove()
  return results
}

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

/**
 * Runs `measure` on each engine. PostgreSQL, with its default settings, is omitted where it is not installed.
 * `openAnother` opens one more empty store of the same kind.
 */
export async function measureStores(
  measure: (engine: 'embedded' | 'postgres', db: Db, openAnother: () => Promise<Db>) => Promise<BenchResult[]>,
): Promise<BenchResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-bench-'))
  let count = 0
  const results = await onEngine('embedded', measure, () =>
    openEmbedded({ folder: join(folder, `store-${++count}`), log, clock }),
  )
  rmSync(folder, { recursive: true })
  if (!hasPostgres) return results
  const server = PostgresServer.create({ settings: { fsync: 'on', full_page_writes: 'on', shared_buffers: '128MB' } })
  await server.start()
  results.push(
    ...(await onEngine('postgres', measure, async () =>
      openPostgres({ url: await server.createDatabase(), connectionsMax: 10, log, clock, random: Math.random }),
    )),
  )
  await server.remove()
  return results
}

async function onEngine(
  engine: 'embedded' | 'postgres',
  measure: Parameters<typeof measureStores>[0],
  open: () => Promise<Db>,
): Promise<BenchResult[]> {
  const opened: Db[] = []
  const openNext = async () => {
    const db = await open()
    opened.push(db)
    return db
  }
  const results = await measure(engine, await openNext(), openNext)
  for (const db of opened) await db.close()
  return results
}

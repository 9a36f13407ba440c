/**
 * A process whose store runs out of a resource for a while. TIDEGATE_TEST_OUTAGE names it: disk space for a `table` or
 * for the `log` on a file system that it mounts, or `descriptors`. TIDEGATE_TEST_STORE names the engine, `embedded` or
 * `postgres`. The process reports the failures, and the number of acknowledged and of kept rows.
 */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLog } from '../../src/platform/base/log.ts'
import type { Db } from '../../src/platform/store/db.ts'
import { openEmbedded } from '../../src/platform/store/embedded.ts'
import { openPostgres } from '../../src/platform/store/postgres.ts'
import { sql } from '../../src/platform/store/sql.ts'
import { PostgresServer } from './postgres.ts'
import { createSlowClock } from './slow-clock.ts'

const SLOWNESS = 10
const outage = process.env.TIDEGATE_TEST_OUTAGE
const isPostgres = process.env.TIDEGATE_TEST_STORE === 'postgres'
/** A new PostgreSQL cluster takes 40 MB, and its log 80 MB before the oldest segment is reused. */
const sizeOfDisk = isPostgres ? '240m' : '160m'
const folder = mkdtempSync(join(tmpdir(), 'tidegate-no-space-'))
// A waiting store does not keep the process alive.
const alive = setInterval(() => undefined, 60_000)
if (outage !== 'descriptors') execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeOfDisk}`, 'none', folder])
const log = createLog('silent')
// Slow enough for a busy machine, and fast enough that the pauses between attempts remain short.
const clock = createSlowClock(SLOWNESS)
const { db, close } = isPostgres ? await openServer() : await openFolder()
await sql`create table survivor (n int primary key, x text)`.execute(db.tables())

const failures: { name: string; sqlState?: string; problem?: string }[] = []
let acknowledged = 0

/** Large rows fill the log before the table. Small ones only need the table's blocks. */
async function write(): Promise<boolean> {
  const hashes = outage === 'log' ? 30_000 : 200
  try {
    await sql`insert into survivor select ${acknowledged}, string_agg(md5(random()::text), '')
      from generate_series(1, ${hashes}::int)`.execute(db.tables())
    acknowledged++
    return true
  } catch (error) {
    const { name, sqlState } = error as Error & { sqlState?: string }
    failures.push({ name, ...(sqlState === undefined ? {} : { sqlState }), ...problemOf() })
    return false
  }
}

function problemOf(): { problem?: string } {
  return db.problem === undefined ? {} : { problem: db.problem }
}

for (let row = 0; row < 10; row++) await write()
const giveBack = takeAway()
for (let calls = 0; calls < 500 && failures.length < 3; calls++) await attempt()
giveBack()
for (let served = false; !served; ) {
  served = await write()
  if (!served) await new Promise((resolve) => setTimeout(resolve, 50))
}
const { rows } = await sql<{ n: number }>`select count(*)::int as n from survivor`.execute(db.tables())
process.stdout.write(`${JSON.stringify({ failures, acknowledged, kept: rows[0]?.n })}\n`)
await close()
clearInterval(alive)
if (outage !== 'descriptors') execFileSync('umount', [folder])
rmSync(folder, { recursive: true })

async function openFolder(): Promise<{ db: Db; close: () => Promise<void> }> {
  const db = await openEmbedded({ folder: join(folder, 'store'), log, clock })
  return { db, close: () => db.close() }
}

/** The server's folder lies on the mounted file system. */
async function openServer(): Promise<{ db: Db; close: () => Promise<void> }> {
  process.env.TMPDIR = folder
  const server = PostgresServer.create()
  await server.start()
  const url = await server.createDatabase()
  const db = openPostgres({ url, connectionsMax: 2, log, clock, random: Math.random })
  const close = async () => {
    await db.close()
    await server.remove()
  }
  return { db, close }
}

/** An operation that needs the missing resource. */
async function attempt(): Promise<void> {
  if (outage !== 'descriptors') {
    await write()
    return
  }
  try {
    await sql.raw(`create table other_${failures.length}_${acknowledged} (n int primary key)`).execute(db.tables())
    await write()
  } catch (error) {
    const { name, sqlState } = error as Error & { sqlState?: string }
    failures.push({ name, ...(sqlState === undefined ? {} : { sqlState }), ...problemOf() })
  }
}

/** Exhausts the resource. @returns a function that releases it */
function takeAway(): () => void {
  if (outage !== 'descriptors') {
    const filler = join(folder, 'filler')
    const descriptor = openSync(filler, 'w')
    const block = Buffer.alloc(4_096)
    untilRefused(() => writeSync(descriptor, block))
    closeSync(descriptor)
    return () => rmSync(filler)
  }
  const held: number[] = []
  untilRefused(() => held.push(openSync('/dev/null', 'r')))
  return () => {
    for (const descriptor of held.splice(0)) closeSync(descriptor)
  }
}

function untilRefused(take: () => void): void {
  for (;;) {
    try {
      take()
    } catch {
      return
    }
  }
}

/**
 * The size of the embedded store's log under steady writes, compared with an unmodified PGlite. Each has four callers
 * that insert 1 KB rows, delete nine in ten again and then pause. Runs five minutes, or `TIDEGATE_BENCH_MINUTES`.
 * Samples the log folder twelve times, and reports its largest size.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createSystemClock } from '../src/platform/base/clock.ts'

import { hasCode } from '../src/platform/base/error-code.ts'
import { createLog } from '../src/platform/base/log.ts'
import { StoreUnavailable } from '../src/platform/store/db.ts'
import { openEmbedded } from '../src/platform/store/embedded.ts'
import { type Queries, sql } from '../src/platform/store/sql.ts'
import { openReference } from './embedded-reference.ts'
import type { BenchResult } from './result.ts'

const LOOKS = 12
const CALLERS = 4
const ROWS = 10
const PAUSE_MILLISECONDS = 80
const LOOK_MILLISECONDS = 1_000
const MEGABYTE = 1_000_000

interface Subject {
  readonly name: string
  readonly folder: string
  readonly store: Queries
  rows: number
  /** Statements that timed out. */
  refused: number
  largestBytes: number
  readonly looks: number[]
}

export async function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  const minutes = quick ? 1 : Number(process.env.TIDEGATE_BENCH_MINUTES ?? 5)
  const root = mkdtempSync(join(tmpdir(), 'tidegate-bench-'))
  const clock = createSystemClock()
  const [own, plainFolder] = [join(root, 'own'), join(root, 'by-itself')]
  const embedded = await openEmbedded({ folder: own, log: createLog('error'), clock })
  const reference = await openReference(plainFolder, clock)
  const fresh = { rows: 0, refused: 0, largestBytes: 0 }
  const subjects: Subject[] = [
    { name: 'embedded', folder: own, store: embedded, looks: [], ...fresh },
    { name: 'plain PGlite', folder: plainFolder, store: reference, looks: [], ...fresh },
  ]
  await Promise.all(subjects.map((subject) => write(subject, minutes * 60_000)))
  await embedded.close()
  await reference.close()
  rmSync(root, { recursive: true })
  return subjects.flatMap((subject) => resultsOf(subject, minutes))
}

/** Writes for this time, and samples the log meanwhile. */
async function write(subject: Subject, milliseconds: number): Promise<void> {
  const { store, folder, looks, name } = subject
  await sql`create table row (id bigserial primary key, text text not null)`.execute(store.tables())
  const start = performance.now()
  const isOver = () => performance.now() - start >= milliseconds
  async function call(): Promise<void> {
    while (!isOver()) {
      try {
        await sql`insert into row (text) select repeat(md5(i::text), 32) from generate_series(1, ${ROWS}) i`.execute(
          store.tables(),
        )
        subject.rows += ROWS
        await sql`delete from row where id % 10 <> 0 and id > (select max(id) from row) - 100`.execute(store.tables())
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        subject.refused++
      }
      await pause(PAUSE_MILLISECONDS)
    }
  }
  async function look(): Promise<void> {
    while (looks.length < LOOKS) {
      await pause(LOOK_MILLISECONDS)
      const bytes = logBytes(folder)
      subject.largestBytes = Math.max(subject.largestBytes, bytes)
      if (performance.now() - start < ((looks.length + 1) * milliseconds) / LOOKS) continue
      looks.push(bytes / MEGABYTE)
      process.stderr.write(`${name}: ${subject.rows} rows, ${Math.round(bytes / MEGABYTE)} MB of log\n`)
    }
  }
  await Promise.all([look(), ...Array.from({ length: CALLERS }, call)])
}

/** The log folder's size on the disk. */
function logBytes(folder: string): number {
  const log = join(folder, 'pg_wal')
  let bytes = 0
  for (const name of readdirSync(log)) {
    try {
      bytes += statSync(join(log, name)).size
    } catch (error) {
      // A checkpoint has removed it.
      if (!hasCode(error, 'ENOENT')) throw error
    }
  }
  return bytes
}

function resultsOf({ name, looks, rows, refused, largestBytes }: Subject, minutes: number): BenchResult[] {
  const results = looks.map((megabytes, index) => ({
    name: `${name}: log after ${Number((((index + 1) * minutes) / LOOKS).toPrecision(3))} min`,
    unit: 'MB',
    runs: [megabytes],
  }))
  return [
    ...results,
    { name: `${name}: largest log`, unit: 'MB', runs: [largestBytes / MEGABYTE] },
    { name: `${name}: rows inserted`, unit: '', runs: [rows] },
    { name: `${name}: statements refused`, unit: '', runs: [refused] },
  ]
}

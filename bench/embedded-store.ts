/**
 * The cost of a store that survives a power loss: start, memory, and commits per second for 1, 16 and 64 clients,
 * compared with an unmodified PGlite (no syncs, 128 MB of shared buffers, no upkeep) in the same interleaved run. Also
 * the start and memory of the whole program, which has no reference. A transaction inserts one row and updates another.
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { createSystemClock } from '../src/platform/base/clock.ts'
import { createLog } from '../src/platform/base/log.ts'
import { openEmbedded } from '../src/platform/store/embedded.ts'
import { type Queries, sql } from '../src/platform/store/sql.ts'
import { openReference } from './embedded-reference.ts'
import type { BenchResult } from './result.ts'

const CLIENTS = [1, 16, 64]
const SETTLE_MILLISECONDS = 2_000
/** A busy machine increases the figures, but must not end the benchmark. */
const STATEMENT_MILLISECONDS_MAX = 60_000
const MEGABYTE = 1_000_000
/** Set-ups by their names in results, and in the arguments of `embedded-start.mjs`. */
const SET_UPS = { embedded: 'embedded', 'plain PGlite': 'reference' } as const

export async function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  const results = new Map<string, BenchResult>()
  const note = (name: string, unit: string, value: number): void => {
    const result = results.get(name) ?? { name, unit, runs: [] }
    result.runs.push(value)
    results.set(name, result)
  }
  const root = mkdtempSync(join(tmpdir(), 'tidegate-bench-'))
  const rounds = quick ? 1 : 5
  for (let round = 0; round < rounds; round++) {
    for (const [name, setUp] of Object.entries(SET_UPS))
      measureStarts(name, setUp, join(root, `${setUp}-${round}`), note)
    await measureProgram(join(root, `program-${round}`), note)
  }
  await measureCommits(root, rounds, quick ? 500 : 3_000, note)
  rmSync(root, { recursive: true })
  return [...results.values()]
}

type Note = (name: string, unit: string, value: number) => void

/** A first start, a start on a closed folder, and a start on a folder that was not closed. */
function measureStarts(name: string, setUp: string, folder: string, note: Note): void {
  for (const [what, end] of [
    ['first start', 'close'],
    ['start', 'leave'],
    ['start after a kill', 'close'],
  ]) {
    const program = [join(import.meta.dirname, 'embedded-start.mjs'), setUp, folder, end as string]
    const { status, stdout } = spawnSync(process.execPath, program, { encoding: 'utf8', stdio: ['ignore', 'pipe', 2] })
    if (status !== 0) throw new Error(`${what} of ${name} ended with ${status}`)
    const { milliseconds, processorMilliseconds, memoryBytes } = JSON.parse(stdout)
    note(`${name}: ${what}`, 'ms', milliseconds)
    note(`${name}: ${what}, processor time`, 'ms', processorMilliseconds)
    note(`${name}: memory after ${what}`, 'MB', memoryBytes / MEGABYTE)
  }
  rmSync(folder, { recursive: true })
}

/** The demo on an empty folder until it is ready, and its memory two seconds later. */
async function measureProgram(folder: string, note: Note): Promise<void> {
  const ports = ['--http.port', '0', '--operator.port', '0']
  const options = ['dist/main.js', 'demo', '--data_dir', folder, '--log.level', 'error', ...ports]
  const start = performance.now()
  const child = spawn(process.execPath, options, {
    cwd: join(import.meta.dirname, '..'),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.includes('ready')) continue
    note('demo: first start', 'ms', performance.now() - start)
    await pause(SETTLE_MILLISECONDS)
    const bytes = residentBytes(child.pid as number)
    if (bytes !== undefined) note('demo: memory after first start', 'MB', bytes / MEGABYTE)
    child.kill('SIGTERM')
  }
  rmSync(folder, { recursive: true })
}

/** Undefined where the system has no /proc. */
function residentBytes(process: number): number | undefined {
  try {
    const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${process}/status`, 'utf8')) ?? []
    return Number(kilobytes) * 1_024
  } catch {
    return undefined
  }
}

async function measureCommits(root: string, rounds: number, milliseconds: number, note: Note): Promise<void> {
  const clock = createSystemClock()
  const embedded = await openEmbedded({ folder: join(root, 'own'), log: createLog('error'), clock })
  const reference = await openReference(join(root, 'by-itself'), clock)
  const stores: Record<keyof typeof SET_UPS, Queries> = { embedded, 'plain PGlite': reference }
  for (const store of Object.values(stores)) {
    await sql`create table entry (id bigserial primary key, name text not null)`.execute(store.tables())
    await sql`create table total (id int primary key, entries int not null)`.execute(store.tables())
    await sql`insert into total select i, 0 from generate_series(1, 100) i`.execute(store.tables())
  }
  for (let round = 0; round < rounds; round++) {
    for (const clients of CLIENTS) {
      for (const [name, store] of Object.entries(stores)) {
        note(`${name}: commits, ${clients} at once`, '/s', await commitsPerSecond(store, clients, milliseconds))
      }
    }
  }
  await embedded.close()
  await reference.close()
}

async function commitsPerSecond(store: Queries, clients: number, milliseconds: number): Promise<number> {
  const start = performance.now()
  let commits = 0
  async function call(): Promise<void> {
    while (performance.now() - start < milliseconds) {
      const id = 1 + (commits % 100)
      await store.transaction(
        async (transaction) => {
          await sql`insert into entry (name) values (${'a name'})`.execute(transaction)
          await sql`update total set entries = entries + 1 where id = ${id}`.execute(transaction)
        },
        { statementMillisecondsMax: STATEMENT_MILLISECONDS_MAX },
      )
      commits++
    }
  }
  await Promise.all(Array.from({ length: clients }, call))
  return (commits / (performance.now() - start)) * 1_000
}

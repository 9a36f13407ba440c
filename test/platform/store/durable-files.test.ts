/** The files of the embedded store: every sync of the host is recorded, and one fails. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { DurableFiles, openDurably, requireDurability } from '../../../src/platform/store/durable-files.ts'
import { copyTemplate } from '../../../src/platform/store/store-template.ts'
import { FAST_STORE_STARTS } from '../../support/command-line.ts'
import { scriptArguments } from '../../support/test-scripts.ts'

const BROKEN_SYNC = join(import.meta.dirname, '../../support/store-broken-sync.ts')

const { syncs } = vi.hoisted(() => ({ syncs: [] as string[] }))

vi.mock('node:fs', async (original) => {
  const real = await original<typeof import('node:fs')>()
  const fsyncSync = (descriptor: number): void => {
    syncs.push(readlinkSync(`/proc/self/fd/${descriptor}`))
    real.fsyncSync(descriptor)
  }
  return { ...real, fsyncSync }
})

let root: string
let folder: string
let failures: unknown[]
let files: DurableFiles
let opened: PGlite | undefined

beforeEach(async () => {
  failures = []
  root = mkdtempSync(join(tmpdir(), 'tidegate-durable-'))
  folder = join(root, 'store')
  await copyTemplate(folder)
  files = new DurableFiles(folder, (error) => failures.push(error))
})
afterEach(async () => {
  await opened?.close()
  opened = undefined
  rmSync(root, { recursive: true })
})

async function open(): Promise<PGlite> {
  opened = await openDurably(files)
  return opened
}

/** The paths below the store folder that the work synced. */
async function syncedBy(work: () => Promise<unknown>): Promise<string[]> {
  syncs.length = 0
  await work()
  return syncs.map((path) => path.slice(folder.length + 1))
}

describe('the files of the embedded store', () => {
  it('the embedded store syncs the log once per commit, and not for a statement that only reads', async () => {
    const db = await open()
    await db.exec('create table mark (n int)')
    await db.exec('insert into mark values (1)')
    const one = await syncedBy(() => db.exec('insert into mark values (2)'))
    expect(one).toEqual([expect.stringMatching(/^pg_wal\/[0-9A-F]{24}$/)])
    expect(await syncedBy(() => db.exec('begin; insert into mark values (3); insert into mark values (4)'))).toEqual([])
    expect(await syncedBy(() => db.exec('commit'))).toHaveLength(1)
    expect(await syncedBy(() => db.exec('select * from mark'))).toEqual([])
    expect(failures).toEqual([])
  })

  it("the embedded store syncs a new table's folder before its commit is acknowledged, and changed tables at a checkpoint", async () => {
    const db = await open()
    const made = await syncedBy(() => db.exec('create table mark (n int)'))
    expect(made.some((path) => /^base\/\d+$/.test(path))).toBe(true)
    await db.exec('insert into mark select generate_series(1, 1000)')
    const { rows } = await db.query<{ path: string }>(`select pg_relation_filepath('mark') as path`)
    const synced = await syncedBy(() => db.exec('checkpoint'))
    expect(synced).toContain(rows[0]?.path)
    // The control file last: what it points to is on the disk by then.
    expect(synced.lastIndexOf('global/pg_control')).toBeGreaterThan(synced.indexOf(rows[0]?.path as string))
  })

  it('the embedded store counts the log segments in use, including those that a checkpoint kept for reuse', async () => {
    const db = await open()
    await db.exec('create table mark (t text)')
    expect(files.newLogSegments).toBe(1)
    for (let round = 0; round < 2; round++) {
      for (let batch = 0; batch < 4; batch++) {
        await db.exec(`insert into mark select repeat('x', 1000) from generate_series(1, 10000)`)
      }
      expect(files.newLogSegments).toBeGreaterThan(1)
      await db.exec('checkpoint')
      files.checkpointed()
      expect(files.newLogSegments).toBe(0)
    }
  })

  it("the embedded store's files pass the self-test, which a start without syncs fails", async () => {
    await requireDurability(await open(), files)
    const { rows } = await (opened as PGlite).query(
      `select current_setting('shared_buffers') as shared, current_setting('max_wal_size') as log`,
    )
    expect(rows, 'what bounds the memory and the log').toEqual([{ shared: '16MB', log: '256MB' }])
    await opened?.close()
    files = new DurableFiles(folder, (error) => failures.push(error))
    opened = await PGlite.create({ fs: files })
    await expect(requireDurability(opened, files)).rejects.toThrow('fsync = off')
  })

  it("the embedded store's files end the thread with the first failed sync, before the statement is answered", async () => {
    const program = [...FAST_STORE_STARTS, ...scriptArguments(BROKEN_SYNC), folder]
    const { status, stdout } = spawnSync(process.execPath, program, { encoding: 'utf8', timeout: 60_000 })
    expect(stdout).toBe('Error: EIO: i/o error, fsync\n')
    expect(status).toBe(70)
  })

  it('the embedded store reports an exception that is not an error of PostgreSQL, which PGlite swallows', async () => {
    const db = await open()
    // It refuses every change from then on, so it cannot be closed cleanly.
    opened = undefined
    const deep = '['.repeat(60_000) + ']'.repeat(60_000)
    const [outcome] = await Promise.allSettled([db.query('select $1::jsonb', [deep])])
    expect(failures, outcome.status).toEqual([expect.any(RangeError)])
  })

  it('the embedded store opens a folder whose postmaster.pid was left empty by a crash', async () => {
    writeFileSync(join(folder, 'postmaster.pid'), '')
    const { rows } = await (await open()).query<{ one: number }>('select 1 as one')
    expect(rows).toEqual([{ one: 1 }])
  })
})

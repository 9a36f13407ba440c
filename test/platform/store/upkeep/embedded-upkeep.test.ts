/** Checkpoints, vacuum and analyze of the embedded store: when each is due, and their effects. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { createLog } from '../../../../src/platform/base/log.ts'
import { openEmbedded } from '../../../../src/platform/store/embedded.ts'
import { UPKEEP_MILLISECONDS } from '../../../../src/platform/store/limits.ts'
import { sql } from '../../../../src/platform/store/sql.ts'
import { EmbeddedUpkeep } from '../../../../src/platform/store/upkeep/embedded-upkeep.ts'
import { captureLog } from '../../../support/captured-log.ts'
import { VirtualClock } from '../../../support/virtual-clock.ts'

const log = createLog('silent')

describe('the upkeep that is due', () => {
  function started() {
    const clock = new VirtualClock()
    const store = { isIdle: true, segments: 0, looks: 0, tables: [] as { name: string; is_vacuum_due: boolean }[] }
    const statements: string[] = []
    const upkeep = new EmbeddedUpkeep({
      clock,
      log,
      isIdle: () => store.isIdle,
      newLogSegments: () => store.segments,
      async execute(text) {
        if (text.includes('pg_stat_user_tables')) {
          store.looks++
          return store.tables
        }
        statements.push(text)
        return []
      },
    })
    const done = async () => {
      statements.length = 0
      await upkeep.run()
      return [...statements]
    }
    return { clock, store, done }
  }

  it('the upkeep is a checkpoint after four segments of an idle store, sixteen of a busy one, and each hour', async () => {
    const { clock, store, done } = started()
    store.segments = 3
    expect(await done()).toEqual([])
    store.segments = 4
    expect(await done()).toEqual(['checkpoint'])
    Object.assign(store, { isIdle: false, segments: 15 })
    expect(await done()).toEqual([])
    store.segments = 16
    expect(await done()).toEqual(['checkpoint'])
    Object.assign(store, { isIdle: true, segments: 0 })
    clock.advance(3_599_999)
    expect(await done()).toEqual([])
    clock.advance(1)
    expect(await done()).toEqual(['checkpoint'])
    expect(await done()).toEqual([])
  })

  it('the upkeep takes one table at a time while no caller waits: vacuum for deleted rows, analyze for new ones', async () => {
    const { store, done } = started()
    store.tables = [{ name: 'public.accounts', is_vacuum_due: true }]
    expect(await done()).toEqual(['vacuum (analyze) public.accounts'])
    store.tables = [{ name: 'public.accounts', is_vacuum_due: false }]
    expect(await done()).toEqual(['analyze public.accounts'])
    store.isIdle = false
    expect(await done()).toEqual([])
  })

  it('the upkeep looks for due tables again a minute after it found none, and at once after it found one', async () => {
    const { clock, store, done } = started()
    const looksAfter = async (milliseconds: number) => {
      clock.advance(milliseconds)
      await done()
      return store.looks
    }
    expect(await looksAfter(0)).toBe(1)
    expect(await looksAfter(59_999)).toBe(1)
    store.tables = [{ name: 'public.accounts', is_vacuum_due: false }]
    expect(await looksAfter(1)).toBe(2)
    expect(await looksAfter(0)).toBe(3)
  })
})

it('the log of a store under writes stays short, and the space of deleted rows is reused', async () => {
  const root = mkdtempSync(join(tmpdir(), 'tidegate-upkeep-'))
  const folder = join(root, 'store')
  const clock = new VirtualClock()
  const { log: heardLog, lines } = captureLog()
  const db = await openEmbedded({ folder, log: heardLog, clock })
  const segments = () => readdirSync(join(folder, 'pg_wal')).filter((name) => /^[0-9A-F]{24}$/.test(name)).length
  const figures = async () => {
    const { rows } = await sql<{ vacuums: string; pages: number; checkpoint: string }>`
      select vacuum_count as vacuums, (pg_relation_size('mark') / 8192)::int as pages,
        (select redo_lsn::text from pg_control_checkpoint()) as checkpoint
      from pg_stat_user_tables where relname = 'mark'`.execute(db.tables())
    return rows[0]!
  }
  await sql`create table mark (n int, t text)`.execute(db.tables())
  const { checkpoint } = await figures()
  // Far more log than a checkpoint keeps: 80 MB (min_wal_size) are kept for reuse.
  for (let batch = 0; batch < 6; batch++) {
    await sql`insert into mark select i, repeat('x', 1500) from generate_series(1, 10000) i`.execute(db.tables())
    await sql`delete from mark`.execute(db.tables())
  }
  const before = await figures()
  // A query to the store itself would keep it from being idle. One that has just ended delays the upkeep to its next time,
  // which is set when the upkeep before has ended: time that passes meanwhile would count for its statement.
  await vi.waitUntil(
    () => {
      if (clock.isDueIn(UPKEEP_MILLISECONDS)) clock.advance(UPKEEP_MILLISECONDS)
      return lines.some((line) => line.includes('vacuum (analyze) public.mark'))
    },
    { timeout: 60_000, interval: 50 },
  )
  const after = await figures()
  expect(after.vacuums).toBe('1')
  expect(after.checkpoint).not.toBe(checkpoint)
  expect(after.pages).toBeLessThan(before.pages / 10)
  expect(segments()).toBeLessThan(16)
  await db.close()
  rmSync(root, { recursive: true })
})

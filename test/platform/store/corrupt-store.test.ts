/**
 * A store with 64 bytes of a table overwritten: statements that read them fail as unavailable and name the page of the
 * manual, the others are executed, and the store reports itself corrupt until the process ends.
 */
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { type Db, StoreCorrupt, StoreUnavailable } from '../../../src/platform/store/db.ts'
import { openEmbedded } from '../../../src/platform/store/embedded.ts'
import { openPostgres } from '../../../src/platform/store/postgres.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { captureLog } from '../../support/captured-log.ts'
import { hasPostgres, PostgresServer } from '../../support/postgres.ts'
import { createSlowClock } from '../../support/slow-clock.ts'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const { log, lines } = captureLog()
const clock = createSlowClock()

/** Fills a table of one page. @returns its file, relative to the data folder */
async function fill(db: Db): Promise<string> {
  await sql`create table damaged (n int, x text)`.execute(db.tables())
  await sql`insert into damaged select n, md5(n::text) from generate_series(1, 50) as n`.execute(db.tables())
  await sql`checkpoint`.execute(db.tables())
  const { rows } = await sql<{ path: string }>`select pg_relation_filepath('damaged') as path`.execute(db.tables())
  return (rows[0] as { path: string }).path
}

function overwrite(file: string, position: number): void {
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, Buffer.alloc(64, 0xa5), 0, 64, position)
  closeSync(descriptor)
}

async function expectCorrupt(db: Db): Promise<void> {
  expect(db.corruption).toBeUndefined()
  lines.length = 0
  for (let call = 0; call < 3; call++) {
    const error = await sql`select count(*) from damaged`.execute(db.tables()).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(StoreCorrupt)
    // Callers that know no corruption treat it as a store that cannot be used now.
    expect(error).toBeInstanceOf(StoreUnavailable)
  }
  await expect(
    db.transaction((transaction) => sql`update damaged set n = n + 1`.execute(transaction)),
  ).rejects.toBeInstanceOf(StoreCorrupt)
  expect(db.corruption).toMatch(/^invalid page in block 0 of relation .+ \(XX001\)$/)
  expect((await sql<{ n: number }>`select 1 as n`.execute(db.tables())).rows).toEqual([{ n: 1 }])
  expect([db.available, db.problem]).toEqual([true, undefined])
  const errors = lines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 50)
  expect(errors).toMatchObject([
    { msg: 'store is corrupt', reason: db.corruption, page: 'docs/how-to/backup.md#a-corrupt-store' },
  ])
}

describe('a corrupt store', () => {
  it('a corrupt store is reported by the embedded engine, which verifies the checksum of each page', async () => {
    const root = mkdtempSync(join(tmpdir(), 'tidegate-corrupt-'))
    cleanups.push(() => rmSync(root, { recursive: true }))
    const folder = join(root, 'store')
    const first = await openEmbedded({ folder, log, clock })
    const file = await fill(first)
    await first.close()
    overwrite(join(folder, file), 6_000)
    const db = await openEmbedded({ folder, log, clock })
    cleanups.push(() => db.close())
    await expectCorrupt(db)
  })

  it.skipIf(!hasPostgres)(
    'a corrupt store is reported by the engine on a PostgreSQL server (needs PostgreSQL)',
    async () => {
      const server = PostgresServer.create()
      cleanups.push(() => server.remove())
      await server.start()
      const url = await server.createDatabase()
      const open = () => openPostgres({ url, connectionsMax: 2, log, clock, random: Math.random })
      const first = open()
      const file = await fill(first)
      await first.close()
      await server.stop('fast')
      // The header: without checksums, which this server has not, nothing else of a page is verified.
      overwrite(join(server.folder, 'data', file), 0)
      await server.start()
      const db = open()
      cleanups.push(() => db.close())
      await expectCorrupt(db)
      const indexCorrupt = sql.raw(`do $$ begin raise exception 'index' using errcode = 'XX002'; end $$`)
      await expect(indexCorrupt.execute(db.tables())).rejects.toBeInstanceOf(StoreCorrupt)
    },
  )
})

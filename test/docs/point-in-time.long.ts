/**
 * Point-in-time recovery of PostgreSQL, as docs/how-to/backup.md describes it: a base backup and the archived write-ahead
 * log restore the store to a moment between two writes of the operator, on another server.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { createLog } from '../../src/platform/base/log.ts'
import { migrate } from '../../src/platform/store/migrate.ts'
import { openPostgres } from '../../src/platform/store/postgres.ts'
import { hasPostgres, PostgresServer, withClient } from '../support/postgres.ts'
import { startServiceInside } from '../support/running-service.ts'
import { createSlowClock } from '../support/slow-clock.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/how-to/backup.md'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'tidegate-recovery-'))
const servers: PostgresServer[] = []

afterAll(async () => {
  for (const server of servers) await server.remove()
  rmSync(folder, { recursive: true, force: true })
})

function newServer(): PostgresServer {
  const server = PostgresServer.create()
  servers.push(server)
  return server
}

/** The same database on the socket of another server. */
const at = (url: string, server: PostgresServer): string =>
  url.replace(/host=[^&]+/, `host=${encodeURIComponent(server.folder)}`)

async function startService(url: string, data: string) {
  mkdirSync(data, { recursive: true, mode: 0o700 })
  const key = { 'keys.encryption_key': Buffer.alloc(32, 5).toString('base64') }
  return await startServiceInside(data, [], { 'store.url': url, ...key })
}

async function customers(url: string, data: string, added: readonly string[]): Promise<string[]> {
  const service = await startService(url, data)
  for (const name of added) await service.operator.call('POST', '/customers', { name })
  const { items } = await service.operator.call<{ items: { name: string }[] }>('GET', '/customers')
  await service.stop()
  return items.map(({ name }) => name).sort()
}

it.skipIf(!hasPostgres)(
  'a base backup and the archived log restore the store to a moment (needs PostgreSQL)',
  async () => {
    const first = newServer()
    const archive = join(first.folder, 'archive')
    await first.start({
      archive_mode: 'on',
      archive_command: `mkdir -p ${archive} && cp %p ${archive}/%f`,
      wal_level: 'replica',
    })
    const url = await first.createDatabase()
    const log = createLog('error')
    const db = openPostgres({ url, connectionsMax: 2, log, clock: createSlowClock(), random: Math.random })
    await migrate(db, log)
    await db.close()
    expect(await customers(url, join(folder, 'first'), ['before the backup'])).toEqual(['before the backup'])

    const command = /^ {8}(pg_basebackup .+)$/m.exec(page)?.[1] as string
    const base = join(folder, 'base')
    execFileSync('/bin/sh', ['-c', command.replace('/backup/base', base)], {
      env: { PATH: process.env.PATH, DATABASE: url },
    })
    await customers(url, join(folder, 'first'), ['since the backup'])
    const moment = await withClient(
      url,
      async (client) => (await client.query('select now()::text as now')).rows[0].now,
    )
    expect(await customers(url, join(folder, 'first'), ['after the moment'])).toHaveLength(3)
    await withClient(url, (client) => client.query('select pg_switch_wal()'))
    await expect
      .poll(() =>
        withClient(
          url,
          async (client) =>
            (await client.query('select archived_count::int as count from pg_stat_archiver')).rows[0].count,
        ),
      )
      .toBeGreaterThan(1)
    await first.stop('fast')

    const second = newServer()
    const data = join(second.folder, 'data')
    rmSync(data, { recursive: true })
    cpSync(base, data, { recursive: true })
    writeFileSync(join(data, 'recovery.signal'), '')
    const owner = execFileSync('stat', ['--format=%u:%g', second.folder], { encoding: 'utf8' }).trim()
    execFileSync('chown', ['-R', owner, data])
    execFileSync('chmod', ['700', data])
    await second.start({
      restore_command: `cp ${archive}/%f %p`,
      recovery_target_time: moment,
      recovery_target_action: 'promote',
    })
    const restored = at(url, second)
    await expect
      .poll(
        () =>
          withClient(
            restored,
            async (client) => (await client.query('select pg_is_in_recovery() as recovering')).rows[0].recovering,
          ),
        { timeout: 60_000 },
      )
      .toBe(false)
    expect(existsSync(join(data, 'recovery.signal'))).toBe(false)
    expect(await customers(restored, join(folder, 'second'), [])).toEqual(['before the backup', 'since the backup'])
    // A promoted server is on another timeline: deliveries wait for a person, also after another start.
    const restoredService = () => startService(restored, join(folder, 'second'))
    const before = await restoredService()
    expect(await before.operator.call('GET', '/controls')).toMatchObject({
      paused: { deliveries: true },
      deliveries_paused_because: 'store_restored',
    })
    expect(JSON.stringify(await before.operator.call('GET', '/doctor'))).toContain('the store was restored or promoted')
    const resumed = await before.operator.call<object>('PATCH', '/controls', { paused: { deliveries: false } })
    expect(resumed).toMatchObject({ paused: { deliveries: false } })
    await before.stop()
    const after = await restoredService()
    expect(await after.operator.call('GET', '/controls')).not.toHaveProperty('deliveries_paused_because')
    await after.stop()
  },
)

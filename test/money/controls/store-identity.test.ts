/**
 * A store that was restored or promoted: no delivery is handed out, whatever noticed it, until a person resumes.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, inject, it } from 'vitest'
import {
  examineStoreIdentity,
  isOtherStore,
  type SeenPosition,
  unknownParts,
} from '../../../src/money/controls/store-identity.ts'
import { claimDeliveries } from '../../../src/money/deliveries/reports.ts'
import { screenedPayments } from '../../../src/money/deliveries/screened.ts'
import type { Clock } from '../../../src/platform/base/clock.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { openEmbedded } from '../../../src/platform/store/embedded.ts'
import { migrate } from '../../../src/platform/store/migrate.ts'
import { openPostgres } from '../../../src/platform/store/postgres.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import type { Config } from '../../../src/service/config/settings.ts'
import { Lifecycle } from '../../../src/service/process/lifecycle.ts'
import { migrateStore } from '../../../src/service/process/open-store.ts'
import { StoreIdentityWatch } from '../../../src/service/process/store-identity-watch.ts'
import { ALL_DUE } from '../../support/all-due.ts'
import { captureLog } from '../../support/captured-log.ts'
import { addDeliveries, recordingOwners } from '../../support/deliveries.ts'
import { OPEN_GATES } from '../../support/gates.ts'
import { addAssets, addOwner } from '../../support/ledger.ts'
import { migratedDatabase, withClient } from '../../support/postgres.ts'
import { RestNode } from '../../support/rest.ts'
import { createSlowClock } from '../../support/slow-clock.ts'
import { openTestStore } from '../../support/test-store.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const clock = createSlowClock()
const { log } = captureLog()

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-identity-'))
  cleanups.push(() => rmSync(folder, { recursive: true }))
  return folder
}

/** A process on a store, as far as it watches the identity. */
async function watchOf(db: Db, dataFolder: string, time: Clock = clock) {
  const captured = captureLog()
  const metrics = createMetricsRegistry()
  const watch = new StoreIdentityWatch({ db, clock: time, log: captured.log, metrics, dataFolder })
  await watch.start()
  return {
    watch,
    errors: () => captured.lines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 50),
    isRestored: async () => / 1$/m.test(await metrics.getSingleMetricAsString('tidegate_store_restored')),
  }
}

/** Adds one delivery that is due. */
async function addDelivery(db: Db): Promise<void> {
  await addAssets(db, { USDC: 6 })
  await addDeliveries(db, await addOwner(db), 1)
}

const claim = (db: Db, seenStore?: SeenPosition) =>
  db.transaction((transaction) => {
    const request = { executor: 'treasury', limit: 10, lease_seconds: 60 }
    const owners = recordingOwners({ ...OPEN_GATES, seenStore })
    return claimDeliveries(transaction, owners, 'operator', request, false, ALL_DUE)
  })

async function waitingDetails(db: Db) {
  const { rows } = await sql<{ detail: string }>`select waiting_detail as detail from deliveries`.execute(db.tables())
  return rows.map(({ detail }) => detail)
}

const DETAIL = 'deliveries are paused since the store was restored or promoted'

describe.runIf(inject('engine') === 'embedded')('an embedded store', () => {
  it('an embedded store hands out nothing after an older copy of its folder was put back', async () => {
    const data = temporaryFolder()
    const folder = join(data, 'store')
    const open = async () => {
      const db = await openEmbedded({ folder, log, clock })
      await migrate(db, log)
      return db
    }
    const first = await open()
    const before = await watchOf(first, data)
    await addDelivery(first)
    await before.watch.stop()
    await first.close()
    const copy = join(data, 'copy')
    cpSync(folder, copy, { recursive: true })
    const second = await open()
    const running = await watchOf(second, data)
    expect([await running.isRestored(), running.errors()]).toEqual([false, []])
    // It is paid, which the copy does not know.
    expect(await claim(second)).toHaveLength(1)
    await running.watch.stop()
    // The position is written every 5 s.
    await (await watchOf(second, data)).watch.stop()
    await second.close()
    rmSync(folder, { recursive: true })
    cpSync(copy, folder, { recursive: true })
    const restored = await open()
    cleanups.push(() => restored.close())
    const after = await watchOf(restored, data)
    expect([await after.isRestored(), after.errors()]).toMatchObject([
      true,
      [
        {
          msg: 'deliveries are paused: the store was restored or promoted',
          page: 'docs/how-to/backup.md#after-a-restore',
        },
      ],
    ])
    expect([await claim(restored), await waitingDetails(restored)]).toEqual([[], [DETAIL]])
    await after.watch.stop()
    // Its own writes do not make it the newer one.
    const again = await watchOf(restored, data)
    expect(await again.isRestored()).toBe(true)
    await again.watch.stop()
  })

  it('an embedded store hands out nothing after an older copy was migrated, also when that wrote more than was lost', async () => {
    const data = temporaryFolder()
    const [folder, copy] = [join(data, 'store'), join(data, 'copy')]
    const first = await openEmbedded({ folder, log, clock })
    await migrate(first, log)
    await (await watchOf(first, data)).watch.stop()
    await addDelivery(first)
    await first.close()
    cpSync(folder, copy, { recursive: true })
    const second = await openEmbedded({ folder, log, clock })
    expect(await claim(second)).toHaveLength(1)
    await (await watchOf(second, data)).watch.stop()
    await second.close()
    rmSync(folder, { recursive: true })
    cpSync(copy, folder, { recursive: true })
    const umask = process.umask()
    cleanups.push(() => process.umask(umask))
    const lifecycle = new Lifecycle(log)
    const config = { 'store.url': '', data_dir: data } as Config
    const { db } = await migrateStore({ config, log, clock, random: Math.random, lifecycle })
    // As a migration of a large table.
    await sql`create table filler (content text)`.execute(db.tables())
    await sql`insert into filler select repeat('-', 500) from generate_series(1, 20000)`.execute(db.tables())
    await lifecycle.stop()
    const restored = await openEmbedded({ folder, log, clock })
    cleanups.push(() => restored.close())
    const after = await watchOf(restored, data)
    expect([await after.isRestored(), await claim(restored)]).toEqual([true, []])
    await after.watch.stop()
  })

  it('an embedded store hands out nothing in another data folder, where it was brought', async () => {
    const db = await openEmbedded({ folder: join(temporaryFolder(), 'store'), log, clock })
    cleanups.push(() => db.close())
    await migrate(db, log)
    const here = temporaryFolder()
    const first = await watchOf(db, here)
    expect(await first.isRestored()).toBe(false)
    expect(readFileSync(join(here, 'store-position'), 'utf8')).toMatch(/^\d+\/0{7}1\/\d+\/\d+ [0-9A-F]+\/[0-9A-F]+\n$/)
    await first.watch.stop()
    const elsewhere = await watchOf(db, temporaryFolder())
    expect(await elsewhere.isRestored()).toBe(true)
    await elsewhere.watch.stop()
  })
})

describe.runIf(inject('engine') === 'postgres')('a store on PostgreSQL', () => {
  const openServer = (url: string) => {
    const db = openPostgres({ url, connectionsMax: 3, log, clock, random: Math.random })
    cleanups.push(() => db.close())
    return db
  }

  it('a store on PostgreSQL hands out nothing in a copy of its database, before anything has looked at the copy', async () => {
    const url = await migratedDatabase()
    const db = openPostgres({ url, connectionsMax: 3, log, clock, random: Math.random })
    const { watch } = await watchOf(db, temporaryFolder())
    await addDelivery(db)
    await watch.stop()
    await db.close()
    const [, name = ''] = /@\/(\w+)\?/.exec(url) ?? []
    const inDatabase = (database: string) => url.replace(`@/${name}?`, `@/${database}?`)
    await withClient(inDatabase('postgres'), (client) => client.query(`create database ${name}_copy template ${name}`))
    const copy = openServer(inDatabase(`${name}_copy`))
    expect([await claim(copy), await waitingDetails(copy)]).toEqual([[], [DETAIL]])
    const node = await watchOf(copy, temporaryFolder())
    expect([await node.isRestored(), node.errors().length]).toEqual([true, 1])
    await node.watch.stop()
  })

  it('a store on PostgreSQL hands out nothing on another timeline, nor behind the log position that a process has seen', async () => {
    const db = openServer(await migratedDatabase())
    const data = temporaryFolder()
    await (await watchOf(db, data)).watch.stop()
    await addDelivery(db)
    const { present } = await examineStoreIdentity(db, { identity: 'another server', position: 'FFFFFFFF/0' })
    const [server, timeline, ...rest] = present.split('/')
    expect(timeline).toBe('00000001')
    await sql`update store_origin set identity = ${[server, '00000002', ...rest].join('/')}`.execute(db.tables())
    expect([await claim(db), await waitingDetails(db)]).toEqual([[], [DETAIL]])
    await sql`update store_origin set identity = ${present}`.execute(db.tables())
    expect(isOtherStore(await examineStoreIdentity(db, { identity: present, position: '0/1' }))).toBe(false)
    expect(isOtherStore(await examineStoreIdentity(db, { identity: present, position: 'FFFFFFFF/0' }))).toBe(true)
    expect(isOtherStore(await examineStoreIdentity(db, { identity: present, position: '0/1' }))).toBe(true)
  })

  it('a store on PostgreSQL names the values that a managed server hides, and is watched by the rest', async () => {
    const url = await migratedDatabase()
    const role = `managed_${Date.now()}`
    await withClient(url, async (client) => {
      await client.query(`revoke execute on function pg_control_system() from public;
        revoke execute on function pg_walfile_name(pg_lsn) from public;
        revoke execute on function pg_current_wal_flush_lsn() from public;
        create role ${role} login; grant all on all tables in schema public to ${role}`)
    })
    const db = openServer(url.replace('//tidegate@', `//${role}@`))
    const identity = await examineStoreIdentity(db, undefined)
    expect(identity.present).toMatch(/^-\/-\/\d+\/\d+$/)
    expect(unknownParts(identity)).toEqual(['system identifier', 'timeline', 'log position'])
    expect(isOtherStore(identity)).toBe(false)
    await (await watchOf(db, temporaryFolder())).watch.stop()
  })
})

it('a log that went back is noticed by the next look too, where no look followed the reconnection', async () => {
  const db = await openTestStore({ log })
  cleanups.push(() => db.close())
  const time = new VirtualClock()
  const running = await watchOf(db, temporaryFolder(), time)
  cleanups.push(() => running.watch.stop())
  await addDelivery(db)
  // As after the server's disk was put back.
  await sql`
    create or replace function store_position() returns pg_lsn language sql stable as $$ select '0/1'::pg_lsn $$
  `.execute(db.tables())
  time.advance(5_000)
  await expect.poll(() => running.isRestored()).toBe(true)
  expect([await claim(db), await waitingDetails(db)]).toEqual([[], [DETAIL]])
})

it('a process whose note is ahead of the store hands out nothing, before anything has examined the store', async () => {
  const db = await openTestStore({ log })
  cleanups.push(() => db.close())
  const data = temporaryFolder()
  await (await watchOf(db, data)).watch.stop()
  const state: { seenStore?: SeenPosition | undefined } = {}
  const metrics = createMetricsRegistry()
  const started = new StoreIdentityWatch({ db, clock, log, metrics, dataFolder: data, state })
  await started.prepare()
  const noted = state.seenStore as SeenPosition
  await addDelivery(db)
  expect(await claim(db, noted)).toHaveLength(1)
  await addDeliveries(db, await addOwner(db), 1)
  expect(await claim(db, { ...noted, position: 'FFFFFFFF/0' })).toEqual([])
  expect(await waitingDetails(db)).toContain(DETAIL)
  await started.start()
  expect(state.seenStore).not.toEqual(noted)
  await started.stop()
})

it('a payment that its screening rejects is left to a person where the note of the process is ahead of the store', async () => {
  const db = await openTestStore({ log })
  cleanups.push(() => db.close())
  const { present } = await examineStoreIdentity(db, { identity: '', position: '0/0' })
  await addDelivery(db)
  const { rows } = await sql<{ id: string }>`select orchestration_id as id from deliveries`.execute(db.tables())
  const seenStore = { identity: present, position: 'FFFFFFFF/0' }
  const payments = screenedPayments(recordingOwners({ ...OPEN_GATES, seenStore }))
  await db.transaction((transaction) => payments.reject(transaction, rows[0]?.id as string))
  expect((await sql`select status from deliveries`.execute(db.tables())).rows).toEqual([{ status: 'NEEDS_OPERATOR' }])
})

it('a payment to what is an own address now is left to a person where the note of the process is ahead of the store', async () => {
  const db = await openTestStore({ log })
  cleanups.push(() => db.close())
  const { present } = await examineStoreIdentity(db, { identity: '', position: '0/0' })
  await addDelivery(db)
  await sql`
    insert into address_pool (family, address) select 'evm', destination -> 'crypto' ->> 'address' from deliveries
  `.execute(db.tables())
  expect(await claim(db, { identity: present, position: 'FFFFFFFF/0' })).toEqual([])
  expect((await sql`select status from deliveries`.execute(db.tables())).rows).toEqual([{ status: 'NEEDS_OPERATOR' }])
})

describe('the controls', () => {
  it('the controls show that deliveries are paused by a restore, and a person resumes them, with an audit row', async () => {
    const node = await RestNode.open()
    cleanups.push(() => node.close())
    await sql`update store_origin set identity = 'before the restore'`.execute(node.db.tables())
    const paused = { assets: [], networks: [], pairs: [], deliveries: true }
    const shown = await node.operator('GET', '/controls')
    expect(shown.body).toMatchObject({ paused, deliveries_paused_because: 'store_restored' })
    // Another change does not resume, and does not make the pause one of a person.
    const other = await node.operator('PATCH', '/controls', { paused: { assets: ['USDC'] } })
    expect(other.body).toMatchObject({
      paused: { ...paused, assets: ['USDC'] },
      deliveries_paused_because: 'store_restored',
    })
    await addDelivery(node.db)
    const claimed = () =>
      node.operator('POST', '/deliveries/claim', { executor: 'treasury', limit: 1, lease_seconds: 60 })
    expect((await claimed()).body.items).toEqual([])
    await node.operator('PATCH', '/controls', { paused: { assets: [] } })
    const resumed = await node.operator('PATCH', '/controls', { paused: { deliveries: false } })
    expect(resumed.body.paused).toEqual({ ...paused, deliveries: false })
    expect(resumed.body).not.toHaveProperty('deliveries_paused_because')
    await expect.poll(async () => (await claimed()).body.items.length).toBe(1)
    const { body: audit } = await node.operator('GET', '/audit?subject=controls&order=DESC&limit=1')
    expect(audit.items[0].detail).toMatchObject({ paused: { deliveries: false }, confirmed_store: expect.any(String) })
  })

  it('a person’s pause of deliveries in a restored store is stored, and a resumption requested before it is not confirmed', async () => {
    const node = await RestNode.open()
    cleanups.push(() => node.close())
    await sql`update store_origin set identity = 'another store'`.execute(node.db.tables())
    const fourEyes = (...kinds: string[]) => {
      node.live.config = { ...node.live.config, 'operator.four_eyes': kinds } as typeof node.live.config
    }
    const [ada, tom] = [await node.newOperator('ada', 'admin'), await node.newOperator('tom', 'admin')]
    fourEyes('controls')
    const resume = { paused: { deliveries: false }, comment: 'all records were compared' }
    const asked = await ada('PATCH', '/controls', resume)
    expect(asked.status, asked.text).toBe(202)
    const path = `/change-requests/${asked.body.request.id}`
    const { version } = (await tom('GET', path)).body
    fourEyes()
    const paused = await node.operator('PATCH', '/controls', { paused: { deliveries: true } })
    expect(paused.body).toMatchObject({ paused: { deliveries: true }, updated_at: expect.any(String) })
    expect((await node.operator('PATCH', '/controls', { paused: { deliveries: true } })).body).toEqual(paused.body)
    const { body: audit } = await node.operator('GET', '/audit?subject=controls')
    const changes = audit.items.filter(({ action }: { action: string }) => action === 'controls.change')
    expect(changes).toMatchObject([{ detail: { paused: { deliveries: true } } }])
    fourEyes('controls')
    expect(await tom('POST', `${path}/confirm`, { version })).toMatchObject({ status: 409 })
    expect((await node.operator('GET', '/controls')).body.paused.deliveries).toBe(true)
  })
})

/**
 * Workers on a PostgreSQL server that stops at once in the middle of a batch, and on one on which another client keeps an old
 * transaction open.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimDeliveries } from '../../../src/money/deliveries/reports.ts'
import { claimWork } from '../../../src/money/orchestrations/queue.ts'
import { CONVERT_KIND } from '../../../src/money/orchestrations/start.ts'
import { createLog } from '../../../src/platform/base/log.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { DueSearch } from '../../../src/platform/store/due-search.ts'
import { migrate } from '../../../src/platform/store/migrate.ts'
import { openPostgres } from '../../../src/platform/store/postgres.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { addDeliveries } from '../../support/deliveries.ts'
import { DELIVERY_OWNERS } from '../../support/delivery-owners.ts'
import { addAssets, addOwner, type Owner } from '../../support/ledger.ts'
import {
  createRunner,
  newOrchestration,
  ORCHESTRATED_ASSETS,
  startAll,
  statusesOf,
  violationsOf,
} from '../../support/orchestrations.ts'
import { hasPostgres, PostgresServer, withClient } from '../../support/postgres.ts'
import { createSlowClock } from '../../support/slow-clock.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const FINISHED = 20_000
/** Assets of one batch each. */
const DESTINATIONS = ['USDG', 'USD', 'USDC'] as const
const BATCH = 8
/** So much slower passes the time of the store that reconnects: a busy machine is no outage, and pauses stay short. */
const SLOWNESS = 5

describe.skipIf(!hasPostgres)('with a PostgreSQL server (needs PostgreSQL)', () => {
  let server: PostgresServer
  beforeAll(async () => {
    // What autovacuum reads would count as read by claims.
    server = PostgresServer.create({ settings: { autovacuum: 'off' } })
    await server.start()
  })
  afterAll(() => server?.remove())

  /** A store of one connection, whose time is not that of the machine. */
  async function newStore(): Promise<{ readonly address: string; readonly db: Db }> {
    const address = await server.createDatabase()
    const db = openStore(address)
    await migrate(db, createLog('error'))
    await addAssets(db, ORCHESTRATED_ASSETS)
    return { address, db }
  }

  it('a batch that the server loses is done once, by the same worker, when the server is there again', async () => {
    const { address, db: early } = await newStore()
    const owners = [await addOwner(early), await addOwner(early)] as const
    const starts = DESTINATIONS.flatMap((destinationAsset) =>
      Array.from({ length: BATCH }, (_, index) => newOrchestration(owners[index % 2] as Owner, { destinationAsset })),
    )
    const ids = await startAll(early, starts)
    await early.close()
    const options = { url: address, connectionsMax: 3, log: createLog('silent'), random: () => 0 }
    const db = openPostgres({ ...options, clock: createSlowClock(SLOWNESS) })
    const { runner } = createRunner(db)
    await withClient(address, async (holder) => {
      // The batch has written, and waits for a balance, when the server stops.
      await holder.query('begin')
      await holder.query('select from balances where profile_id = $1 for update', [owners[1].profileId])
      runner.start()
      const waiting = async () => (await holder.query('select from pg_locks where not granted')).rowCount
      await expect.poll(waiting).toBeGreaterThan(0)
      await server.stop('immediate')
    }).catch(() => undefined)
    await server.start()
    const late = openStore(address)
    await expect.poll(() => statusesOf(late, ids)).toEqual({ COMPLETED: ids.length })
    await runner.stop()
    await db.close()
    expect((await sql`select from conversions`.execute(late.tables())).rows).toHaveLength(2 * BATCH)
    expect(await violationsOf(late)).toEqual([])
    await late.close()
  })

  it('a claim reads no more than before while an old transaction keeps finished work from being removed', async () => {
    const { address, db } = await newStore()
    const owner = await addOwner(db)
    const clock = new VirtualClock()
    const search = new DueSearch(clock)
    const claim = () =>
      search.claim((isRecent) => claimWork(db, { kinds: [CONVERT_KIND], limit: 50, claimSeconds: 60 }, isRecent))
    const startOne = async () => (await startAll(db, [newOrchestration(owner)]))[0] as string
    await withClient(address, async (old) => {
      await old.query('begin isolation level repeatable read')
      await old.query('select 1')
      await finishMany(address)
      const first = await startOne()
      const before = await blocksRead(db, 'orchestration_queue')
      expect(await claim()).toMatchObject([{ orchestrationId: first }])
      const everything = (await blocksRead(db, 'orchestration_queue')) - before
      const second = await startOne()
      const between = await blocksRead(db, 'orchestration_queue')
      expect(await claim()).toMatchObject([{ orchestrationId: second }])
      const recent = (await blocksRead(db, 'orchestration_queue')) - between
      expect(everything).toBeGreaterThan(10 * recent)
      // What became due long ago without having been seen is found when everything is looked at.
      const late = await startOne()
      await sql`
        update orchestration_queue set next_attempt_at = next_attempt_at - interval '1 hour'
        where orchestration_id = ${late}
      `.execute(db.tables())
      expect(await claim()).toEqual([])
      clock.advance(10_000)
      expect(await claim()).toMatchObject([{ orchestrationId: late }])
      await old.query('rollback')
    })
    await db.close()
  })

  it('a claim of deliveries reads no more than before while an old transaction keeps finished work from being removed', async () => {
    const { address, db } = await newStore()
    const owner = await addOwner(db)
    const clock = new VirtualClock()
    const search = new DueSearch(clock)
    const request = { executor: 'treasury', limit: 50, lease_seconds: 60 }
    const claim = () =>
      search.claim((isRecent) =>
        db.transaction((transaction) =>
          claimDeliveries(transaction, DELIVERY_OWNERS, 'operator', request, false, isRecent),
        ),
      )
    const blocksOfClaim = async (expected: readonly string[]) => {
      const before = await blocksRead(db, 'deliveries')
      const claimed = await claim()
      expect(claimed.map(({ text }) => JSON.parse(text).id)).toEqual(expected)
      return (await blocksRead(db, 'deliveries')) - before
    }
    await withClient(address, async (old) => {
      await old.query('begin isolation level repeatable read')
      await old.query('select 1')
      await settleMany(address, owner)
      const everything = await blocksOfClaim(await addDeliveries(db, owner, 1))
      const recent = await blocksOfClaim(await addDeliveries(db, owner, 1))
      expect(everything).toBeGreaterThan(10 * recent)
      const late = await addDeliveries(db, owner, 1)
      await sql`update deliveries set next_attempt_at = next_attempt_at - interval '1 hour' where id = ${late[0]}`.execute(
        db.tables(),
      )
      await blocksOfClaim([])
      clock.advance(10_000)
      await blocksOfClaim(late)
      await old.query('rollback')
    })
    await db.close()
  })
})

function openStore(url: string): Db {
  const options = { url, connectionsMax: 1, log: createLog('error'), random: Math.random }
  return openPostgres({ ...options, clock: createSlowClock() })
}

/** Leaves the rows of work that was due in the last hour, and is finished. */
async function finishMany(address: string): Promise<void> {
  await writeMany(address, [
    `insert into orchestration_queue (orchestration_id, kind, next_attempt_at)
     select gen_random_uuid(), '${CONVERT_KIND}', now() - random() * interval '1 hour' - interval '1 minute'
     from generate_series(1, ${FINISHED})`,
    'delete from orchestration_queue',
  ])
}

/** Leaves deliveries that were due in the last hour, and are settled. */
async function settleMany(address: string, { customerId, profileId }: Owner): Promise<void> {
  await writeMany(address, [
    `insert into deliveries (id, customer_id, profile_id, orchestration_id, asset, amount, destination, fails_to, metadata,
       status, next_attempt_at, created_at, updated_at)
     select gen_random_uuid(), '${customerId}', '${profileId}', gen_random_uuid(), 'USDC', 1, '{}', 'available', '{}',
       'WAITING', now() - random() * interval '1 hour' - interval '1 minute', now(), now()
     from generate_series(1, ${FINISHED})`,
    "update deliveries set status = 'SETTLED', next_attempt_at = null, reference = id::text",
  ])
}

/** Not through the store: its limit for a statement is that of the program, which writes no such numbers of rows. */
async function writeMany(address: string, statements: readonly string[]): Promise<void> {
  await withClient(address, async (client) => {
    for (const text of statements) await client.query(text)
  })
}

/** Blocks of a table and its indexes that were read so far, by the counters of the server. */
async function blocksRead(db: Db, table: 'orchestration_queue' | 'deliveries'): Promise<number> {
  await sql`select pg_stat_force_next_flush()`.execute(db.tables())
  const { rows } = await sql<{ blocks: number }>`
    select (heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::integer as blocks
    from pg_statio_user_tables where relname = ${table}
  `.execute(db.tables())
  return rows[0]?.blocks ?? 0
}

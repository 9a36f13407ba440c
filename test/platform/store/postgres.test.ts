/** The PostgreSQL store: the conformance suite, and its own guarantees while its server works. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '../../../src/platform/base/clock.ts'
import { createLog } from '../../../src/platform/base/log.ts'
import { type Db, type Kysely, STATEMENT_MILLISECONDS_MAX, StoreUnavailable } from '../../../src/platform/store/db.ts'
import { HEARTBEAT_MILLISECONDS, TRANSACTION_IDLE_MILLISECONDS_MAX } from '../../../src/platform/store/limits.ts'
import { migrate } from '../../../src/platform/store/migrate.ts'
import { openPostgres } from '../../../src/platform/store/postgres.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { hasPostgres, PostgresServer, sharedDatabase, withClient } from '../../support/postgres.ts'
import { createSlowClock } from '../../support/slow-clock.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'
import { describeStore } from './conformance.ts'

const silent = createLog('silent')

function open(
  url: string,
  { clock = createSlowClock(), connectionsMax = 10 }: { clock?: Clock; connectionsMax?: number } = {},
): Db {
  return openPostgres({ url, connectionsMax, log: silent, clock, random: () => 0.5 })
}

/** Time for the callers, while the server cancels their statements when it does so for the product. */
const CANCELLING = { ...createSlowClock(), slowness: 1 }

const failure = (promise: Promise<unknown>) => promise.then(() => undefined).catch((error: unknown) => error)

/** A promise with its resolve function. */
function signal() {
  let give: () => void = () => undefined
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { give, given }
}

describe.skipIf(!hasPostgres)('with a PostgreSQL server (needs PostgreSQL)', () => {
  describeStore('PostgreSQL', async () => ({ db: open(await sharedDatabase()) }))

  describe('the PostgreSQL store', () => {
    let server: PostgresServer
    const opened: Db[] = []

    beforeAll(async () => {
      server = PostgresServer.create({ settings: { deadlock_timeout: '50ms' } })
      await server.start()
    })
    afterAll(() => server?.remove())
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((db) => db.close()))
    })

    async function openedOn(address: string, options: Parameters<typeof open>[1] = {}): Promise<Db> {
      const db = open(address, options)
      opened.push(db)
      await sql`drop table if exists mark; create table mark (n int primary key)`.execute(db.tables())
      return db
    }
    const mark1 = (transaction: Kysely<unknown>) => sql`insert into mark values (1)`.execute(transaction)
    const mark = (db: Db, n: number) => sql`insert into mark values (${n})`.execute(db.tables())
    const marks = async (db: Db) =>
      (await sql<{ n: number }>`select n from mark order by n`.execute(db.tables())).rows.map(({ n }) => n)

    it('the PostgreSQL store reports a deadlock as the failure of one statement, and the other transaction continues', async () => {
      const db = await openedOn(await server.createDatabase())
      await sql`insert into mark values (1), (2)`.execute(db.tables())
      const [leftHas, rightHas] = [signal(), signal()]
      const cross = (first: number, second: number, mine: () => void, other: Promise<void>) =>
        failure(
          db.transaction(async (transaction) => {
            await sql`select n from mark where n = ${first} for update`.execute(transaction)
            mine()
            await other
            await sql`select n from mark where n = ${second} for update`.execute(transaction)
          }),
        )
      const outcomes = await Promise.all([
        cross(1, 2, leftHas.give, rightHas.given),
        cross(2, 1, rightHas.give, leftHas.given),
      ])
      const failures = outcomes.filter((outcome) => outcome !== undefined)
      expect(failures).toMatchObject([{ name: 'StatementFailed', sqlState: '40P01' }])
    })

    it('the PostgreSQL store applies each migration once when eight processes start at the same moment', async () => {
      const address = await server.createDatabase()
      const migrations = ['first', 'second', 'third'].map((name, index) => ({
        name: `20260101000${index}-${name}`,
        text: `create table ${name} (n int); insert into ${name} values (1)`,
      }))
      const stores = Array.from({ length: 8 }, () => open(address, { connectionsMax: 1 }))
      opened.push(...stores)
      const results = await Promise.all(stores.map((db) => migrate(db, silent, migrations)))
      expect(results.flatMap(({ applied }) => applied).sort()).toEqual(migrations.map(({ name }) => name))
      const { rows } = await sql`select (select count(*) from first) as n`.execute((stores[0] as Db).tables())
      expect(rows).toEqual([{ n: '1' }])
    })

    it('the PostgreSQL store answers callers in time while a migration waits for a long transaction', async () => {
      const address = await server.createDatabase()
      const db = await openedOn(address, { clock: CANCELLING })
      const widened = { name: '202601010000-widened', text: 'alter table mark add column m int' }
      await withClient(address, async (backup) => {
        await backup.query('begin')
        await backup.query('select from mark')
        const migrated = migrate(db, silent, [widened])
        const end = performance.now() + STATEMENT_MILLISECONDS_MAX * 2
        let n = 0
        while (performance.now() < end) {
          await mark(db, n++)
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
        await backup.query('commit')
        expect(await migrated).toEqual({ applied: [widened.name] })
      })
    })

    it('the PostgreSQL store has the server cancel a statement that takes too long, and keeps the connection', async () => {
      const db = await openedOn(await server.createDatabase(), { clock: CANCELLING, connectionsMax: 1 })
      const backend = () => sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db.tables())
      const before = (await backend()).rows
      const slow = await failure(sql`select pg_sleep(30)`.execute(db.tables()))
      expect(slow).toBeInstanceOf(StoreUnavailable)
      expect((slow as Error).message).toContain('57014')
      expect((await backend()).rows).toEqual(before)
      const inside = await failure(
        db.transaction(async (transaction) => {
          await sql`insert into mark values (1)`.execute(transaction)
          await sql`select pg_sleep(30)`.execute(transaction)
        }),
      )
      expect(inside).toBeInstanceOf(StoreUnavailable)
      expect(await marks(db)).toEqual([])
      const patient = db.transaction(
        async (transaction) => {
          await sql`insert into mark values (2)`.execute(transaction)
          await sql`select pg_sleep(2.1)`.execute(transaction)
        },
        { statementMillisecondsMax: 30_000 },
      )
      await patient
      // A longer timeout that was granted to a transaction ends with it.
      expect((await sql`show statement_timeout`.execute(db.tables())).rows).toEqual([{ statement_timeout: '1800ms' }])
      expect(await marks(db)).toEqual([2])
    })

    it('the PostgreSQL store answers a caller on time that waited for a connection, and lets its statement end', async () => {
      const clock = new VirtualClock()
      const address = await server.createDatabase()
      const db = await openedOn(address, { clock, connectionsMax: 1 })
      await sql`set statement_timeout = 0`.execute(db.tables())
      const [begun, finish] = [signal(), signal()]
      const holding = db.transaction(
        async (transaction) => {
          await sql`select 1`.execute(transaction)
          begun.give()
          await finish.given
        },
        { statementMillisecondsMax: 60_000 },
      )
      await begun.given
      const refused = failure(mark(db, 1))
      await advance(clock, STATEMENT_MILLISECONDS_MAX)
      expect(await refused).toBeInstanceOf(StoreUnavailable)
      await withGate(address, async (gate) => {
        const late = failure(sql`insert into mark values (2) returning ${PASS_GATE}`.execute(db.tables()))
        await advance(clock, STATEMENT_MILLISECONDS_MAX - 1)
        finish.give()
        await holding
        await gate.reached()
        clock.advance(1)
        expect(await late).toBeInstanceOf(StoreUnavailable)
      })
      expect(await marks(db)).toEqual([2])
    })

    it('the PostgreSQL store has the server cancel a transaction at the end of its total time', async () => {
      const clock = new VirtualClock()
      const db = await openedOn(await server.createDatabase(), { clock, connectionsMax: 1 })
      const limits: unknown[] = []
      const limitIn = async (transaction: Kysely<unknown>) => {
        const { rows } = await sql<{ statement_timeout: string }>`show statement_timeout`.execute(transaction)
        limits.push(rows[0]?.statement_timeout)
      }
      await db.transaction(async (transaction) => {
        await mark1(transaction)
        await limitIn(transaction)
        await advance(clock, 1_000)
        await limitIn(transaction)
        await advance(clock, 500)
        await limitIn(transaction)
      })
      const slow = await failure(
        db.transaction(async (transaction) => {
          await sql`insert into mark values (2)`.execute(transaction)
          await advance(clock, 1_500)
          await sql`select pg_sleep(600)`.execute(transaction)
        }),
      )
      expect(slow).toBeInstanceOf(StoreUnavailable)
      expect((slow as Error).message).toContain('57014')
      await limitIn(db.tables())
      expect(limits).toEqual(['1800ms', '800ms', '300ms', '1800ms'])
      expect(await marks(db)).toEqual([1])
    })

    it('the PostgreSQL store rolls back a transaction that is not committed in time', async () => {
      const clock = new VirtualClock()
      const db = await openedOn(await server.createDatabase(), { clock, connectionsMax: 1 })
      const [stalling, resume] = [signal(), signal()]
      const stalled = failure(
        db.transaction(async (transaction) => {
          await mark1(transaction)
          stalling.give()
          await resume.given
        }),
      )
      await stalling.given
      await advance(clock, STATEMENT_MILLISECONDS_MAX)
      await mark(db, 3)
      resume.give()
      expect(await stalled).toBeInstanceOf(StoreUnavailable)
      expect(await marks(db)).toEqual([3])
    })

    it('the PostgreSQL store rolls back a transaction that waits for something else', async () => {
      const clock = new VirtualClock()
      const db = await openedOn(await server.createDatabase(), { clock, connectionsMax: 1 })
      const [stalling, resume] = [signal(), signal()]
      const stalled = failure(
        db.transaction(
          async (transaction) => {
            await mark1(transaction)
            stalling.give()
            await resume.given
            await sql`insert into mark values (2)`.execute(transaction)
          },
          { statementMillisecondsMax: 60_000 },
        ),
      )
      await stalling.given
      await advance(clock, TRANSACTION_IDLE_MILLISECONDS_MAX)
      await mark(db, 3)
      resume.give()
      expect(await stalled).toBeInstanceOf(StoreUnavailable)
      expect(await marks(db)).toEqual([3])
    })

    it('the PostgreSQL store closes in order: refuses waiting and new callers after the running call has ended', async () => {
      const address = await server.createDatabase()
      const db = await openedOn(address, { connectionsMax: 1 })
      await sql`set statement_timeout = 0`.execute(db.tables())
      const { running, waiting, closing } = await withGate(address, async (gate) => {
        const running = sql`insert into mark values (1) returning ${PASS_GATE}`.execute(db.tables())
        const waiting = failure(mark(db, 2))
        await gate.reached()
        const closing = db.close()
        expect(await failure(mark(db, 3))).toBeInstanceOf(StoreUnavailable)
        return { running, waiting, closing }
      })
      await running
      expect(await waiting).toBeInstanceOf(StoreUnavailable)
      await closing
      expect(db.available).toBe(false)
      const left = 'select count(*)::int as n from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()'
      await withClient(address, async (client) => {
        const { rows } = await client.query(left, [new URL(address.replace('@/', '@host/')).pathname.slice(1)])
        expect(rows).toEqual([{ n: 0 }])
      })
    })

    it('the PostgreSQL store has the server enforce by its own clock the limits that a slow clock would miss', async () => {
      const db = await openedOn(await server.createDatabase(), { clock: createSlowClock(10) })
      const limits = sql`
        select current_setting('statement_timeout') as statement,
          current_setting('idle_in_transaction_session_timeout') as idle`
      expect((await limits.execute(db.tables())).rows).toEqual([{ statement: '18s', idle: '100s' }])
      const inTransaction = await db.transaction((transaction) => limits.execute(transaction), {
        statementMillisecondsMax: 60_200,
      })
      expect(inTransaction.rows).toEqual([{ statement: '10min', idle: '100s' }])
    })

    it('the PostgreSQL store sets its application name and its session settings whatever the server’s settings are', async () => {
      const address = await server.createDatabase()
      await withClient(address, async (client) => {
        const name = (await client.query('select current_database() as name')).rows[0].name
        for (const setting of ["timezone to 'Asia/Tokyo'", "datestyle to 'German'", "bytea_output to 'escape'"]) {
          await client.query(`alter database ${name} set ${setting}`)
        }
      })
      const db = await openedOn(address)
      const { rows } = await sql`
        select timestamptz '2026-01-01 00:00:00Z' as at, date '2026-01-31' as day, '\\x00ff'::bytea as bytes,
          current_setting('application_name') as name`.execute(db.tables())
      expect(rows).toEqual([
        { at: '2026-01-01T00:00:00.000Z', day: '2026-01-31', bytes: Buffer.from([0, 255]), name: 'tidegate' },
      ])
    })
  })
})

/** Advances time, and gives the server the real time that it needs to answer each heartbeat on the way. */
async function advance(clock: VirtualClock, milliseconds: number): Promise<void> {
  for (let left = milliseconds; left > 0; left -= HEARTBEAT_MILLISECONDS) {
    clock.advance(Math.min(left, HEARTBEAT_MILLISECONDS))
    while (left >= HEARTBEAT_MILLISECONDS && !clock.isDueIn(HEARTBEAT_MILLISECONDS)) {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

const PASS_GATE = sql`pg_advisory_lock_shared(1)`

/**
 * A gate in the server that is closed while `work` runs: a statement with `PASS_GATE` waits at it. Its connection must
 * have no `statement_timeout`, because the server's own limit runs in real time.
 */
async function withGate<Result>(
  address: string,
  work: (gate: { reached(): Promise<void> }) => Promise<Result>,
): Promise<Result> {
  return await withClient(address, async (client) => {
    await client.query('select pg_advisory_lock(1)')
    const query = `select count(*)::int as n from pg_locks where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`
    return await work({
      async reached() {
        for (let waiting = 0; waiting === 0; ) waiting = (await client.query(query)).rows[0].n
      },
    })
  })
}

/** What PostgreSQL reads for pages of events and for the next events after a sequence, of a customer that has very many. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getEvent, listEvents, readEvents } from '../../../src/access/events/read.ts'
import { startEventRetention } from '../../../src/access/events/retention.ts'
import { claimEndpoints } from '../../../src/access/webhook-endpoints/claims.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import { createLog } from '../../../src/platform/base/log.ts'
import type { Db, Transaction } from '../../../src/platform/store/db.ts'
import { migrate } from '../../../src/platform/store/migrate.ts'
import { openPostgres } from '../../../src/platform/store/postgres.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { type ExplainedStatements, explainStatements, summaryOf } from '../../support/explained.ts'
import { analyze } from '../../support/many-records.ts'
import { hasPostgres, PostgresServer } from '../../support/postgres.ts'
import { createSlowClock } from '../../support/slow-clock.ts'

const COUNT = process.env.TIDEGATE_LONG === '1' ? 1_000_000 : 20_000
const LIMIT = 100
/** One page examines at most this many events. */
const EXAMINED_MAX = 5_000
const ROWS_OF_AN_ITEM_MAX = 4
/** The events that one deletion looks at per customer. */
const EVENTS_READ = 1_000

describe.skipIf(!hasPostgres)('events on PostgreSQL, explained (needs PostgreSQL)', () => {
  const reader = { customerId: newId(), scopes: undefined }
  const log = createLog('error')
  const clock = createSlowClock()
  let server: PostgresServer
  let db: Db
  let plans: ExplainedStatements

  beforeAll(async () => {
    server = PostgresServer.create({ settings: { autovacuum: 'off' } })
    await server.start()
    db = openPostgres({ url: await server.createDatabase(), connectionsMax: 2, log, clock, random: () => 0.5 })
    await migrate(db, log)
    for (const [customerId, count] of [
      [reader.customerId, COUNT],
      [newId(), 10_000],
    ] as const)
      await fill(customerId, count)
    await analyze(db)
    plans = explainStatements(/\b(events|webhook_endpoints)\b/)
  })
  afterAll(async () => {
    plans?.stop()
    await db?.close()
    await server?.remove()
  })

  /** Every ten thousandth event is about an account, the others about transfers. A millisecond has ten. */
  async function fill(customerId: string, count: number): Promise<void> {
    const isRare = sql`i % 10000 = 5000`
    await db.transaction(
      async (transaction) => {
        await sql`
          insert into events (customer_id, sequence, type, object_type, object_id, status, changed_at, created_at)
          select ${customerId}::uuid, i, case when ${isRare} then 'identity.account.approved' else 'transfer.deposit.completed' end,
            case when ${isRare} then 'account' else 'transfer' end, gen_random_uuid(), 'COMPLETED', now, now
          from generate_series(1, ${count}::int) as i,
            lateral (select timestamptz '2026-11-01' + i / 10 * interval '1 millisecond' as now) as times
        `.execute(transaction)
        await sql`
          insert into event_counters (customer_id, last_sequence, last_created_at) values (${customerId}, ${count}, '2026-11-02')
        `.execute(transaction)
      },
      { statementMillisecondsMax: 900_000 },
    )
  }

  async function rowsOf(name: string, work: () => Promise<unknown>): Promise<number> {
    const { found } = await plans.during(work)
    const sums = found.map(({ plan, milliseconds }) => ({ ...summaryOf(plan), milliseconds }))
    if (process.env.TIDEGATE_LONG === '1') console.info(JSON.stringify({ name, sums }))
    expect(sums.flatMap(({ scans }) => scans).filter((scan) => scan.startsWith('Seq Scan events'))).toEqual([])
    return sums.reduce((sum, { rows }) => sum + rows, 0)
  }

  const page = (filters: object, after: bigint | undefined, order: 'ASC' | 'DESC', scopes?: ReadonlySet<string>) =>
    listEvents(db, { ...reader, scopes }, { filters, binding: {}, limit: LIMIT, order, ignored: [] } as never, after)

  it.each([0, 0.5, 0.999])('a page after a sequence costs the same at every place: %s', async (share) => {
    const after = BigInt(Math.floor(COUNT * share))
    for (const order of ['ASC', 'DESC'] as const) {
      // When few events follow, all of them are read and sorted.
      expect(await rowsOf(`page ${share} ${order}`, () => page({}, after, order))).toBeLessThan(2_000)
    }
    expect(await rowsOf(`next events ${share}`, () => readEvents(db, reader, after, { limit: LIMIT }))).toBeLessThan(
      LIMIT + 5,
    )
  })

  it('a page of a range of times costs the same at every place', async () => {
    for (const share of [0, 0.5, 0.999]) {
      const from = new Date(Date.UTC(2026, 10, 1) + Math.floor((COUNT / 10) * share)).toISOString()
      const created_at = { from, until: '2026-11-02T00:00:00.000Z', isEmpty: false }
      for (const order of ['ASC', 'DESC'] as const) {
        const rows = await rowsOf(`from ${share} ${order}`, () => page({ created_at }, undefined, order))
        expect(rows).toBeLessThan(2_000)
      }
    }
  })

  it('a page of a rare type, and one for a reader who may see little, examines a bounded number', async () => {
    const filters = { types: ['identity.account.approved'] }
    const max = EXAMINED_MAX + ROWS_OF_AN_ITEM_MAX * (LIMIT + 1)
    expect(await rowsOf('rare type', () => page(filters, undefined, 'ASC'))).toBeLessThan(max)
    const accounts = new Set(['identity:read_account'])
    expect(await rowsOf('few visible', () => page({}, 100n, 'DESC', accounts))).toBeLessThan(max)
  })

  it('claiming an endpoint reads no events, and its next ones cost the same at every place', async () => {
    const tables = db.tables()
    const [clientId, endpointId] = [newId(), newId()]
    await sql`insert into customers (id, name, streaming) values (${reader.customerId}, 'many events', false)`.execute(
      tables,
    )
    await sql`
      insert into clients (id, customer_id, name, scopes) values (${clientId}, ${reader.customerId}, 'events', '{}')
    `.execute(tables)
    await sql`
      insert into webhook_endpoints (id, customer_id, client_id, url, types, secrets, passed_sequence, created_at)
      values (${endpointId}, ${reader.customerId}, ${clientId}, 'https://example.com/', '{}', '[]', 0, '2026-11-01')
    `.execute(tables)
    for (const share of [0, 0.5, 0.999]) {
      const passed = Math.floor(COUNT * share)
      await sql`update webhook_endpoints set passed_sequence = ${passed}, leased_until = '-infinity'`.execute(tables)
      const wanted = { limit: 10, isRecent: sql<boolean>`true`, customerIds: [reader.customerId], isFull: true }
      const claim = () => db.transaction((transaction: Transaction<object>) => claimEndpoints(transaction, wanted))
      expect(await rowsOf(`claim ${share}`, claim)).toBeLessThan(20)
    }
  })

  it('one event is found by its id alone', async () => {
    const { events } = await readEvents(db, reader, BigInt(COUNT - 1))
    const rows = await rowsOf('one event', () => getEvent(db, reader, events[0]?.id ?? ''))
    expect(rows).toBeLessThan(3)
  })

  it('deleting reads a row of each customer, and what it deletes', async () => {
    const runOnce = async (days: number) => {
      const retention = startEventRetention({ db, clock, log, days: () => days })
      await retention.settled()
      await retention.stop()
    }
    expect(await rowsOf('nothing old', () => runOnce(3_650))).toBeLessThan(20)
    await sql`
      update events set created_at = created_at - interval '20 years' where customer_id = ${reader.customerId} and sequence <= 500
    `.execute(db.tables())
    // Explained first, so a statement runs twice.
    expect(await rowsOf('500 old', () => runOnce(3_650))).toBeLessThan(8 * EVENTS_READ)
    const { rows } =
      await sql`select min(sequence) as oldest from events where customer_id = ${reader.customerId}`.execute(
        db.tables(),
      )
    expect(rows).toEqual([{ oldest: '501' }])
  })
})

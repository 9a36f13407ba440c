/** An account is created in full or not at all, whichever of its tables fails, and when a crash occurs. */
import type { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type Db, StoreUnavailable } from '../../../src/platform/store/db.ts'
import { openEmbedded } from '../../../src/platform/store/embedded.ts'
import { migrate } from '../../../src/platform/store/migrate.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { captureLog } from '../../support/captured-log.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'
import { temporaryFolder } from '../../support/running-service.ts'
import { createSlowClock } from '../../support/slow-clock.ts'
import { openTestStore } from '../../support/test-store.ts'
import { NodeClock } from '../../support/virtual-clock.ts'

const PATH = '/v2/identity/accounts'
/** The tables that creating an account with all members writes to, in this order. */
const TABLES = ['customer_clocks', 'account_ref_ids', 'profiles', 'accounts', 'audit'] as const
const isEmbedded = inject('engine') === 'embedded'

const { log } = captureLog()
const folder = temporaryFolder()
const threads: Worker[] = []
let db: Db
let node: RestNode
let customer: RestCustomer
let statements = 0
/** The thread of the embedded store ends after this many more statements. */
let killAfter: number | undefined

beforeAll(async () => {
  process.on('worker', remember)
  db = isEmbedded
    ? await openEmbedded({ folder: folder.path, log, clock: createSlowClock() })
    : await openTestStore({ log })
  if (isEmbedded) await migrate(db, log)
  db.observeStatements(() => {
    statements++
    if (killAfter !== undefined && --killAfter === 0) void threads.at(-1)?.terminate()
  })
  // Its time does not pass: the directory reads on timers, and those statements would count too.
  node = await RestNode.open({ db, clock: new NodeClock(Date.now()) })
})
afterAll(async () => {
  process.off('worker', remember)
  await node?.close()
  await db?.close()
  folder.remove()
})

function remember(thread: Worker): void {
  threads.push(thread)
}

const create = (who: RestCustomer) =>
  who.call('POST', PATH, { account: { identity_id: 'alice', ref_id: 'one' }, create_profile: true })

/** Rows of the customer in each table; of the audit trail, those about an account. */
async function rowsOf({ customerId, clientId }: RestCustomer): Promise<number[]> {
  const counts: number[] = []
  for (const table of TABLES) {
    const owner = table === 'audit' ? sql`actor = ${`client:${clientId}`}` : sql`customer_id = ${customerId}`
    const { rows } = await sql<{ count: string }>`select count(*) from ${sql.table(table)} where ${owner}`.execute(
      db.tables(),
    )
    counts.push(Number(rows[0]?.count))
  }
  return counts
}

/** Resolves when the store answers again; each attempt fails within the time of a statement. */
async function untilBack(): Promise<void> {
  for (let attempt = 0; attempt < 30; attempt++) {
    const isBack = await sql`select 1`.execute(db.tables()).then(
      () => true,
      (error: unknown) => {
        if (error instanceof StoreUnavailable) return false
        throw error
      },
    )
    if (isBack) return
  }
  expect.unreachable('the store did not come back')
}

async function trip(table: string, action: string): Promise<void> {
  await sql
    .raw(`create function trip() returns trigger language plpgsql as $$ begin ${action}; return new; end $$`)
    .execute(db.tables())
  await sql
    .raw(`create trigger trip before insert on ${table} for each row execute function trip()`)
    .execute(db.tables())
}

async function clear(table: string): Promise<void> {
  await sql.raw(`drop trigger trip on ${table}`).execute(db.tables())
  await sql.raw('drop function trip').execute(db.tables())
}

describe.each(TABLES)('when writing to %s', (table) => {
  it('a failure during a creation stores nothing, and the same request succeeds afterwards', async () => {
    customer = await node.newCustomer()
    await trip(table, 'raise exception using message = $x$no$x$')
    const failed = await create(customer)
    await clear(table)
    expect([failed.status, failed.body.code]).toEqual([500, 'internal'])
    expect(await rowsOf(customer)).toEqual([0, 0, 0, 0, 0])
    expect((await create(customer)).status).toBe(200)
    expect(await rowsOf(customer)).toEqual([1, 1, 1, 1, 1])
    expect((await create(customer)).status).toBe(409)
  })

  it.skipIf(isEmbedded)('a lost connection during a creation stores nothing', async () => {
    customer = await node.newCustomer()
    await trip(table, 'perform pg_terminate_backend(pg_backend_pid())')
    const failed = await create(customer)
    await clear(table)
    expect([failed.status, failed.body.code]).toEqual([503, 'unavailable'])
    expect(await rowsOf(customer)).toEqual([0, 0, 0, 0, 0])
    expect((await create(customer)).status).toBe(200)
  })
})

describe.runIf(isEmbedded)('when the store crashes', () => {
  it('creating an account takes one statement, so that no other creation waits for this process', async () => {
    customer = await node.newCustomer()
    const before = statements
    await create(customer)
    expect(statements - before).toBe(1)
  })

  it('an account is stored completely or not at all when the store crashes', async () => {
    customer = await node.newCustomer()
    killAfter = 1
    const cut = await create(customer)
    expect([200, 503]).toContain(cut.status)
    await untilBack()
    const rows = await rowsOf(customer)
    expect(rows).toEqual(Array(5).fill(rows[0]))
    if (cut.status === 200) expect(rows[0]).toBe(1)
    const again = await create(customer)
    expect(again.status).toBe(rows[0] === 0 ? 200 : 409)
    expect(await rowsOf(customer)).toEqual([1, 1, 1, 1, 1])
  })
})

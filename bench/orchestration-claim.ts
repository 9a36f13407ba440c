/**
 * The cost of a claim for 50: with 100,000 due orchestrations and a growing number of finished ones, and with finished
 * ones whose rows cannot be removed because an older transaction is open. The rows are created by SQL. As for a worker,
 * claimed orchestrations are no longer due.
 */
import { claimWork } from '../src/money/orchestrations/queue.ts'
import { CONVERT_KIND } from '../src/money/orchestrations/start.ts'
import { createSystemClock } from '../src/platform/base/clock.ts'
import type { Db } from '../src/platform/store/db.ts'
import { DueSearch } from '../src/platform/store/due-search.ts'
import { sql } from '../src/platform/store/sql.ts'
import { ALL_DUE } from '../test/support/all-due.ts'
import { withClient } from '../test/support/postgres.ts'
import type { BenchResult } from './result.ts'

const DUE = 100_000
const CLAIMS = 100
const LIMIT = 50
/** Rows per statement, so that none takes long. */
const SLICE = 250_000
const FILL_MILLISECONDS_MAX = 600_000
/** Deposits per second, which spreads the finished work over the preceding time. */
const PACE = 300
/** Claims with an old open transaction. */
const CLAIMS_BESIDE = 30

const REQUEST = { kinds: [CONVERT_KIND], limit: LIMIT, claimSeconds: 60 }

/** A claim by a worker that has just started, which searches all due work. */
const claimAllDue = (db: Db) => claimWork(db, REQUEST, ALL_DUE)

/** @param sizes numbers of finished orchestrations, ascending */
export async function measureClaims(db: Db, sizes: readonly number[]): Promise<BenchResult[]> {
  const results: BenchResult[] = []
  let filled = 0
  await fill(db, DUE, true)
  for (const size of sizes) {
    for (; filled < size; filled += SLICE) await fill(db, Math.min(SLICE, size - filled), false)
    await db.transaction((transaction) => sql`analyze`.execute(transaction), {
      statementMillisecondsMax: FILL_MILLISECONDS_MAX,
    })
    await claimAllDue(db)
    const runs: number[] = []
    for (let claim = 0; claim < CLAIMS; claim++) {
      const start = performance.now()
      const claims = await claimAllDue(db)
      runs.push(performance.now() - start)
      if (claims.length !== LIMIT) throw new Error(`${claims.length} were claimed`)
    }
    results.push({
      name: `claim of ${LIMIT}, ${DUE.toLocaleString('en')} due, ${size.toLocaleString('en')} finished`,
      unit: 'ms',
      runs,
    })
  }
  return results
}

/**
 * @param address the store's, for the session that keeps its transaction open
 * @param finished orchestrations whose work was due, claimed and finished since the transaction began
 */
export async function measureClaimsBesideOldTransaction(
  db: Db,
  address: string,
  finished: number,
): Promise<BenchResult[]> {
  const search = new DueSearch(createSystemClock())
  return await withClient(address, async (old) => {
    await old.query('begin isolation level repeatable read')
    await old.query('select 1')
    await finish(db, finished)
    const runs: Record<'everything' | 'since the last claim', number[]> = { everything: [], 'since the last claim': [] }
    for (let claim = 0; claim <= CLAIMS_BESIDE; claim++) {
      await fill(db, LIMIT, true, 0)
      const before = await timed(() => claimAllDue(db))
      await fill(db, LIMIT, true, 0)
      const after = await timed(() => search.claim((isRecent) => claimWork(db, REQUEST, isRecent)))
      // A worker's first claim includes everything due.
      if (claim === 0) continue
      runs.everything.push(before)
      runs['since the last claim'].push(after)
    }
    await old.query('rollback')
    return Object.entries(runs).map(([what, times]) => ({
      name: `claim of ${LIMIT} of ${what}, ${finished.toLocaleString('en')} finished since an open transaction began`,
      unit: 'ms',
      runs: times,
    }))
  })
}

async function timed(claim: () => Promise<readonly unknown[]>): Promise<number> {
  const start = performance.now()
  const claims = await claim()
  const milliseconds = performance.now() - start
  if (claims.length !== LIMIT) throw new Error(`${claims.length} were claimed`)
  return milliseconds
}

/** Work that was due, claimed and finished one after the other, up to now. */
async function finish(db: Db, count: number): Promise<void> {
  for (const statement of [
    sql`
      insert into orchestration_queue (orchestration_id, kind, next_attempt_at)
      select gen_random_uuid(), ${CONVERT_KIND}, now() - n * interval '1 second' / ${PACE}
      from generate_series(1, ${count}::integer) as n
    `,
    sql`update orchestration_queue set attempt = 1, next_attempt_at = next_attempt_at + interval '60 seconds'`,
    sql`delete from orchestration_queue`,
  ]) {
    await db.transaction((transaction) => statement.execute(transaction), {
      statementMillisecondsMax: FILL_MILLISECONDS_MAX,
    })
  }
}

/** @param secondsMax how long ago it may have become due, at most */
async function fill(db: Db, count: number, isDue: boolean, secondsMax = 3_600): Promise<void> {
  const status = isDue ? sql`'PROCESSING', 'convert'` : sql`'COMPLETED', null`
  await db.transaction(
    async (transaction) => {
      await sql`
        with made as (
          insert into orchestrations (id, customer_id, profile_id, source_asset, source_amount, destination_asset, status,
            step, expires_at, source, destination, metadata, created_at, updated_at)
          select gen_random_uuid(), md5('customer ' || n % 1000)::uuid, md5('profile ' || n % 1000)::uuid, 'USDC', n,
            'USDG', ${status}, now() + interval '1 day', '{"crypto": {"network": "ETHEREUM"}}',
            '{"profile": {"profile_id": "00000000-0000-0000-0000-000000000000"}}', '{}',
            date_trunc('milliseconds', now()), date_trunc('milliseconds', now())
          from generate_series(1, ${count}::integer) as n
          returning id, status
        )
        insert into orchestration_queue (orchestration_id, kind, next_attempt_at)
        select id, ${CONVERT_KIND}, now() - random() * ${secondsMax} * interval '1 second' from made where status = 'PROCESSING'
      `.execute(transaction)
    },
    { statementMillisecondsMax: FILL_MILLISECONDS_MAX },
  )
}

/**
 * What a claim of 50 costs with 100,000 orchestrations due, beside ever more that are finished. Rows are written by the
 * store itself. Each claim is rolled forward as a worker's is: what was claimed is not due any more.
 */

import { claimWork } from '../src/orchestrations/queue.ts'
import { CONVERT_KIND } from '../src/orchestrations/start.ts'
import type { Db } from '../src/store/db.ts'
import { sql } from '../src/store/sql.ts'
import type { BenchResult } from './result.ts'

const DUE = 100_000
const CLAIMS = 100
const LIMIT = 50
/** Rows of one statement, so that none takes long. */
const SLICE = 250_000
const FILL_MILLISECONDS_MAX = 600_000

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
    await claimWork(db, { kinds: [CONVERT_KIND], limit: LIMIT, claimSeconds: 60 })
    const runs: number[] = []
    for (let claim = 0; claim < CLAIMS; claim++) {
      const start = performance.now()
      const claims = await claimWork(db, { kinds: [CONVERT_KIND], limit: LIMIT, claimSeconds: 60 })
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

async function fill(db: Db, count: number, isDue: boolean): Promise<void> {
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
        select id, ${CONVERT_KIND}, now() - random() * interval '1 hour' from made where status = 'PROCESSING'
      `.execute(transaction)
    },
    { statementMillisecondsMax: FILL_MILLISECONDS_MAX },
  )
}

/**
 * What PostgreSQL reads for a page of transfers and of orchestrations, of a customer that has very many: a filter that
 * hardly any record matches, beside one that nearly all do, must not have everything read.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listAllOrchestrations, listOrchestrations } from '../../../src/money/orchestrations/lists.ts'
import { listTransfers } from '../../../src/money/transfers/lists.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import { createLog } from '../../../src/platform/base/log.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { migrate } from '../../../src/platform/store/migrate.ts'
import { openPostgres } from '../../../src/platform/store/postgres.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { type ExplainedStatements, explainStatements, summaryOf } from '../../support/explained.ts'
import { addAssets, addOwner, type Owner } from '../../support/ledger.ts'
import { analyze } from '../../support/many-records.ts'
import { hasPostgres, PostgresServer } from '../../support/postgres.ts'
import { createSlowClock } from '../../support/slow-clock.ts'

const COUNT = process.env.TIDEGATE_LONG === '1' ? 300_000 : 20_000
const LIMIT = 100
/** What one page looks at, of one value. */
const LOOKED_AT_MAX = 5_000
/** Beside the record: its assets, and the transfers that it names. */
const ROWS_OF_AN_ITEM_MAX = 12

type Range = { readonly from?: string; readonly until?: string; readonly isEmpty: boolean }
type Filters = Readonly<Record<string, readonly string[] | Range>>

/** The last records, fewer than one page looks at by their index of changes; and nearly all. */
const FEW_CHANGED = { from: new Date(Date.UTC(2026, 0, 1) + COUNT - 1_000).toISOString(), isEmpty: false }
const MOST_CHANGED = { from: new Date(Date.UTC(2026, 0, 1) + 100).toISOString(), isEmpty: false }

describe.skipIf(!hasPostgres)('pages about money on PostgreSQL, explained (needs PostgreSQL)', () => {
  const [commonRule, rareRule] = [newId(), newId()]
  let server: PostgresServer
  let db: Db
  let owner: Owner
  let other: Owner
  let plans: ExplainedStatements

  beforeAll(async () => {
    server = PostgresServer.create({ settings: { autovacuum: 'off' } })
    await server.start()
    const log = createLog('error')
    const clock = createSlowClock()
    db = openPostgres({ url: await server.createDatabase(), connectionsMax: 2, log, clock, random: () => 0.5 })
    await migrate(db, log)
    await addAssets(db, { USDC: 6, USD: 2, BTC: 8 })
    owner = await addOwner(db)
    other = await addOwner(db)
    await fill(owner, COUNT)
    await fill(other, 1_000)
    await analyze(db)
    plans = explainStatements(/\b(transfers|orchestrations)\b/)
  })
  afterAll(async () => {
    plans?.stop()
    await db?.close()
    await server?.remove()
  })

  /** All but the oldest hundredth is alike. */
  async function fill({ customerId, profileId }: Owner, count: number): Promise<void> {
    const isCommon = sql`i > ${count}::int / 100`
    const rows = sql`from generate_series(1, ${count}::int) as i`
    const time = sql`timestamptz '2026-01-01' + i * interval '1 millisecond'`
    const profile = sql`case when ${isCommon} then ${profileId}::uuid else ${other.profileId}::uuid end`
    const write = (statement: ReturnType<typeof sql>) =>
      db.transaction((transaction) => statement.execute(transaction), { statementMillisecondsMax: 900_000 })
    await write(sql`
      insert into transfers (id, customer_id, profile_id, asset, amount, direction, type, status, group_id, metadata,
        created_at, updated_at)
      select gen_random_uuid(), ${customerId}::uuid, ${profile}, case when ${isCommon} then 'USDC' else 'BTC' end, 1, 'CREDIT',
        case when ${isCommon} then 'CRYPTO_DEPOSIT' else 'CONVERSION' end,
        case when ${isCommon} then 'COMPLETED' else 'FAILED' end, gen_random_uuid(), '{}', ${time}, ${time}
      ${rows}`)
    await write(sql`
      insert into orchestrations (id, customer_id, profile_id, rule_id, source_asset, source_amount, destination_asset, status,
        fail_code, source, destination, metadata, expires_at, created_at, updated_at)
      select gen_random_uuid(), ${customerId}::uuid, ${profile},
        case when ${isCommon} then ${commonRule}::uuid else ${rareRule}::uuid end,
        case when ${isCommon} then 'USDC' else 'BTC' end, 1, 'USD', case when ${isCommon} then 'COMPLETED' else 'FAILED' end,
        case when not ${isCommon} then 'EXPIRED' end, '{}', '{}', '{}', ${time}, ${time}, ${time}
      ${rows}`)
  }

  // A type of what a query string gives is the business of the routes.
  const query = (filters: Filters, order: 'ASC' | 'DESC', pageCursor?: string) =>
    ({
      filters,
      binding: filters,
      limit: LIMIT,
      order,
      ignored: [],
      ...(pageCursor === undefined ? {} : { pageCursor }),
    }) as never
  const lists = {
    transfers: (filters: Filters, order: 'ASC' | 'DESC', cursor?: string) =>
      listTransfers(db, owner.customerId, query(filters, order, cursor)),
    orchestrations: (filters: Filters, order: 'ASC' | 'DESC', cursor?: string) =>
      listOrchestrations(db, owner.customerId, query(filters, order, cursor)),
    'orchestrations of all': (filters: Filters, order: 'ASC' | 'DESC', cursor?: string) =>
      listAllOrchestrations(db, query(filters, order, cursor)),
  }

  it.each<[keyof typeof lists, () => Filters]>([
    ['transfers', () => ({})],
    ['transfers', () => ({ profile_id: [owner.profileId] })],
    ['transfers', () => ({ status: ['FAILED'] })],
    ['transfers', () => ({ status: ['COMPLETED'] })],
    ['transfers', () => ({ asset: ['BTC'] })],
    ['transfers', () => ({ type: ['CONVERSION'] })],
    ['transfers', () => ({ asset: ['BTC'], type: ['CONVERSION'] })],
    ['transfers', () => ({ profile_id: [owner.profileId], status: ['FAILED'] })],
    ['transfers', () => ({ status: ['COMPLETED'], asset: ['BTC'] })],
    ['transfers', () => ({ status: ['COMPLETED', 'PENDING'], type: ['CONVERSION'], asset: ['USDC'] })],
    ['transfers', () => ({ updated_at: FEW_CHANGED })],
    ['transfers', () => ({ updated_at: MOST_CHANGED })],
    ['transfers', () => ({ updated_at: FEW_CHANGED, asset: ['USDC'] })],
    ['transfers', () => ({ updated_at: MOST_CHANGED, profile_id: [owner.profileId], asset: ['BTC'] })],
    ['orchestrations', () => ({ updated_at: FEW_CHANGED })],
    ['orchestrations', () => ({ updated_at: MOST_CHANGED })],
    ['orchestrations', () => ({ updated_at: FEW_CHANGED, status: ['FAILED'] })],
    ['orchestrations', () => ({})],
    ['orchestrations', () => ({ orchestration_rule_id: [commonRule], status: ['FAILED'] })],
    ['orchestrations', () => ({ profile_id: [owner.profileId], source_asset: ['BTC'] })],
    ['orchestrations', () => ({ status: ['COMPLETED'], source_asset: ['BTC'] })],
    ['orchestrations', () => ({ source_asset: ['BTC'] })],
    ['orchestrations', () => ({ destination_asset: ['BTC'] })],
    ['orchestrations of all', () => ({})],
    ['orchestrations of all', () => ({ customer_id: [owner.customerId] })],
    ['orchestrations of all', () => ({ customer_id: [owner.customerId], status: ['FAILED'] })],
    ['orchestrations of all', () => ({ status: ['COMPLETED'] })],
    ['orchestrations of all', () => ({ waiting_for: ['HOLD'] })],
  ])('%s, filters %#', async (name, filtersOf) => {
    const filters = filtersOf()
    const unindexed = ['source_asset', 'destination_asset', 'asset', 'type', 'updated_at']
    const isUnindexed = unindexed.some((filter) => filter in filters)
    const isCommon = Array.isArray(filters.status) && filters.status.includes('COMPLETED')
    const isBounded = Object.keys(filters).length > 1 || isUnindexed || isCommon
    for (const order of ['ASC', 'DESC'] as const) {
      const { found } = await plans.during(() => lists[name](filters, order))
      const sums = found.map(({ plan, milliseconds }) => ({ ...summaryOf(plan), milliseconds }))
      const rows = sums.reduce((sum, one) => sum + one.rows, 0)
      const what = JSON.stringify({ name, filters: Object.keys(filters), order, sums })
      if (process.env.TIDEGATE_LONG === '1') console.info(what)
      expect(rows, what).toBeLessThanOrEqual((isBounded ? LOOKED_AT_MAX : 0) + ROWS_OF_AN_ITEM_MAX * (LIMIT + 1))
      const scans = sums.flatMap((one) => one.scans)
      expect(scans.filter((scan) => /^Seq Scan (transfers|orchestrations)/.test(scan))).toEqual([])
    }
  })

  it('pages with few items lead to all of them', async () => {
    const filters = { profile_id: [other.profileId], status: ['FAILED'] }
    for (const order of ['ASC', 'DESC'] as const) {
      let [count, pages] = [0, 0]
      let cursor: string | undefined
      do {
        const page = await lists.transfers({ type: ['CONVERSION', 'CRYPTO_DEPOSIT'], asset: ['BTC'] }, order, cursor)
        count += (JSON.parse(`[${page.itemTexts.join('')}]`) as unknown[]).length
        cursor = page.next_page_cursor
        pages++
      } while (cursor !== undefined)
      expect(count).toBe(COUNT / 100)
      expect(pages).toBeGreaterThan(COUNT / LOOKED_AT_MAX)
    }
    expect((await lists.transfers(filters, 'DESC')).itemTexts).not.toEqual([])
  })
})

/**
 * What PostgreSQL reads for a page of a list: the statements that the routes send are explained on the connection that
 * runs them, with the least favourable distribution of records. A page costs the same at any position of a list of any
 * length.
 */
import { afterEach, describe, expect, it } from 'vitest'
import { CRYPTO_NETWORK_NAMES } from '../../src/contract/crypto-networks.ts'
import { createLog } from '../../src/platform/base/log.ts'
import type { Db } from '../../src/platform/store/db.ts'
import { migrate } from '../../src/platform/store/migrate.ts'
import { openPostgres } from '../../src/platform/store/postgres.ts'
import { sql } from '../../src/platform/store/sql.ts'
import { type Explained, type ExplainedStatements, explainStatements, summaryOf } from '../support/explained.ts'
import { ACCOUNTS_A_PROFILE, analyze, fill, fillAccounts, idOf } from '../support/many-records.ts'
import { hasPostgres, PostgresServer } from '../support/postgres.ts'
import { type RestCustomer, RestNode } from '../support/rest.ts'
import { createSlowClock } from '../support/slow-clock.ts'

const isLong = process.env.TIDEGATE_LONG === '1'
const COUNT = isLong ? 1_000_000 : 20_000
const LIMIT = 100
/** Customers with almost no records. */
const OTHERS = 20
const FIRST_MILLISECONDS = Date.parse('2026-01-01T00:00:00Z')
/** The pages examined after the first, as fractions of the length of the list. */
const PLACES = isLong ? [0.5, 0.99] : [0.99]
/** Blocks per index descent, and for the records: generous, and far below the size of a list. */
const BLOCKS_A_PROBE = 8

type Parameters = readonly (readonly [name: string, value: string])[]

interface ListCase {
  readonly name: string
  readonly path: string
  readonly parameters: Parameters
  /** Index descents: the entries of the array filter, or their pairs. */
  readonly probes?: number
  /**
   * Two filters of rules, one of which has an index: the blocks of a page are printed, and are bounded only by the
   * customer's records.
   */
  readonly isMeasured?: boolean
}

const ACCOUNTS = '/v2/identity/accounts'
const ADDRESSES = '/v2/transfer/deposit-addresses'
const RULES = '/v2/orchestration/rules'

const timeAfter = (milliseconds: number) => new Date(FIRST_MILLISECONDS + milliseconds).toISOString()
/** Records that a page with a filter by changes examines: by the index of changes, and in the order of the list. */
const EXAMINED_MAX = 5_000
/** Three accounts per millisecond; an hour later the changes. */
const CHANGES_COUNT = isLong ? 300_000 : 6_000
const HOUR_MILLISECONDS = 3_600_000
const CHANGES_FILTERS = [
  `updated_at.gte=${timeAfter(HOUR_MILLISECONDS + 33)}&updated_at.lt=${timeAfter(HOUR_MILLISECONDS + 1_057)}`,
  `updated_at.gte=${timeAfter(0)}`,
  `updated_at.gte=${timeAfter(HOUR_MILLISECONDS)}`,
  `updated_at.gt=${timeAfter(HOUR_MILLISECONDS + 701)}`,
  `updated_at.gte=${timeAfter(HOUR_MILLISECONDS + CHANGES_COUNT / 4)}`,
  `updated_at.gte=${timeAfter(HOUR_MILLISECONDS)}&identity_id=common`,
  `updated_at.gte=${timeAfter(0)}&identity_id=common`,
  `updated_at.gte=${timeAfter(0)}&identity_id=identity%203`,
  `updated_at.gte=${timeAfter(HOUR_MILLISECONDS)}&created_at.gte=${timeAfter(CHANGES_COUNT / 4)}`,
  `updated_at.lt=${timeAfter(HOUR_MILLISECONDS)}`,
  `updated_at.lt=${timeAfter(HOUR_MILLISECONDS + CHANGES_COUNT / 4)}`,
  `updated_at.lte=${timeAfter(CHANGES_COUNT / 4)}&identity_id=common`,
  `updated_at.eq=${timeAfter(HOUR_MILLISECONDS)}`,
  `updated_at.eq=${timeAfter(0)}`,
  `updated_at.gte=${timeAfter(HOUR_MILLISECONDS + 33)}&updated_at.lt=${timeAfter(HOUR_MILLISECONDS + CHANGES_COUNT / 4)}`,
  `updated_at.gte=${timeAfter(33)}&updated_at.lt=${timeAfter(HOUR_MILLISECONDS + CHANGES_COUNT / 4)}&created_at.lt=${timeAfter(CHANGES_COUNT / 5)}`,
]

/** The directory reads other tables when it is notified of a change. */
const A_LIST = /^\s*(select|with)\b.*\b(accounts|deposit_addresses|rules)\b/s

let plans: ExplainedStatements | undefined

describe.skipIf(!hasPostgres)('pages of lists on PostgreSQL, explained (needs PostgreSQL)', () => {
  let server: PostgresServer
  let db: Db
  let node: RestNode
  let big: RestCustomer
  let later: RestCustomer
  let small: RestCustomer

  async function open(): Promise<void> {
    server = PostgresServer.create({ settings: { autovacuum: 'off' } })
    await server.start()
    const log = createLog('error')
    const clock = createSlowClock()
    db = openPostgres({ url: await server.createDatabase(), connectionsMax: 2, log, clock, random: () => 0.5 })
    await migrate(db, log)
    node = await RestNode.open({ db })
  }

  async function prepare(arePlannedFor: boolean): Promise<void> {
    await open()
    big = await node.newCustomer()
    later = await node.newCustomer()
    small = await node.newCustomer()
    for (let others = 0; others < OTHERS; others++) {
      const { customerId } = await node.newCustomer()
      await fill(db, { customerId, count: 20, firstMilliseconds: FIRST_MILLISECONDS })
    }
    await analyze(db)
    await fill(db, { customerId: big.customerId, count: COUNT * 0.88, firstMilliseconds: FIRST_MILLISECONDS })
    await fill(db, { customerId: later.customerId, count: COUNT * 0.1, firstMilliseconds: FIRST_MILLISECONDS + COUNT })
    await fill(db, { customerId: small.customerId, count: COUNT * 0.02, firstMilliseconds: FIRST_MILLISECONDS })
    if (arePlannedFor) await analyze(db)
    plans = explainStatements(A_LIST)
  }

  afterEach(async () => {
    plans?.stop()
    await node?.close()
    await db?.close()
    await server?.remove()
  })

  async function explainPage(call: () => Promise<{ status: number; text: string }>): Promise<Explained> {
    const found = await explainStatementsOf(call)
    expect(found).toHaveLength(1)
    return found[0] as Explained
  }

  async function explainStatementsOf(call: () => Promise<{ status: number; text: string }>) {
    const { answer, found } = await (plans as ExplainedStatements).during(call)
    expect(answer.status, answer.text).toBe(200)
    return found
  }

  /** The totals of the statements of a page. */
  async function readOf(call: () => Promise<{ status: number; text: string }>) {
    const summaries = (await explainStatementsOf(call)).map(({ plan }) => summaryOf(plan))
    const sum = (value: (summary: (typeof summaries)[number]) => number) =>
      summaries.reduce((total, summary) => total + value(summary), 0)
    return {
      rows: sum(({ rows }) => rows),
      blocks: sum(({ blocks }) => blocks),
      scans: summaries.flatMap(({ scans }) => scans),
    }
  }

  const cases = async (customer: RestCustomer): Promise<ListCase[]> => {
    const { customerId } = customer
    const profile = (index: number) => idOf(db, 'profile', customerId, index * ACCOUNTS_A_PROFILE)
    const account = (index: number) => idOf(db, 'account', customerId, index * ACCOUNTS_A_PROFILE)
    const [common, rare, rareAccount] = [await profile(0), await profile(7), await account(7)]
    const hundred = Array.from({ length: 100 }, (_, index) => index)
    const profiles = await Promise.all(hundred.map(profile))
    const accounts = await Promise.all(hundred.map(account))
    const addressIds = await Promise.all(hundred.map((index) => idOf(db, 'address', customerId, index * 3)))
    const ruleIds = await Promise.all(hundred.map((index) => idOf(db, 'rule', customerId, index * 3)))
    const each = (name: string, values: readonly string[]): Parameters => values.map((value) => [name, value])
    const [refs, identities] = [hundred.map((index) => `ref ${index}`), hundred.map((index) => `identity ${index}`)]
    const range: Parameters = [
      ['created_at.gte', new Date(FIRST_MILLISECONDS + 100).toISOString()],
      ['created_at.lt', new Date(FIRST_MILLISECONDS + 2 * COUNT).toISOString()],
    ]
    const list = (path: string, name: string, parameters: Parameters, probes = 1): ListCase => ({
      path,
      name,
      parameters,
      probes,
    })
    return [
      list(ACCOUNTS, 'accounts', []),
      list(ACCOUNTS, 'accounts, identity_id of most', [['identity_id', 'common']]),
      list(ACCOUNTS, 'accounts, identity_id of few', [['identity_id', 'identity 3']]),
      list(ACCOUNTS, 'accounts, identity_id of none', [['identity_id', 'nobody']]),
      list(ACCOUNTS, 'accounts, created_at', range),
      list(ACCOUNTS, 'accounts, identity_id and created_at', [['identity_id', 'common'], ...range]),
      list(ADDRESSES, 'addresses', []),
      list(ADDRESSES, 'addresses, created_at', range),
      list(ADDRESSES, 'addresses, ids', each('ids', addressIds), 100),
      list(ADDRESSES, 'addresses, ids and created_at', [...each('ids', addressIds), ...range], 100),
      list(ADDRESSES, 'addresses, ref_ids', each('ref_ids', refs), 100),
      list(ADDRESSES, 'addresses, profile_ids of most', [['profile_ids', common]]),
      list(ADDRESSES, 'addresses, profile_ids of few', [['profile_ids', rare]]),
      list(ADDRESSES, 'addresses, 100 profile_ids', each('profile_ids', profiles), 100),
      list(ADDRESSES, 'addresses, account_ids of few', [['account_ids', rareAccount]]),
      list(ADDRESSES, 'addresses, 100 account_ids', each('account_ids', accounts), 100),
      list(ADDRESSES, 'addresses, identity_ids of most', [['identity_ids', 'common']]),
      list(ADDRESSES, 'addresses, 100 identity_ids', each('identity_ids', identities), 100),
      list(ADDRESSES, 'addresses, profile_ids and created_at', [['profile_ids', common], ...range]),
      list(ADDRESSES, 'addresses, profile_ids and identity_ids', [
        ['profile_ids', common],
        ['identity_ids', 'identity 3'],
      ]),
      list(ADDRESSES, 'addresses, profile_ids and account_ids', [
        ['profile_ids', common],
        ['account_ids', rareAccount],
      ]),
      list(ADDRESSES, 'addresses, account_ids and identity_ids', [
        ['account_ids', accounts[0]!],
        ['identity_ids', 'identity 3'],
      ]),
      list(
        ADDRESSES,
        'addresses, 100 profile_ids and 100 identity_ids',
        [...each('profile_ids', profiles), ...each('identity_ids', identities)],
        10_000,
      ),
      list(ADDRESSES, 'addresses, network of most', [['networks', 'ETHEREUM']]),
      list(ADDRESSES, 'addresses, network of none', [['networks', 'BITCOIN']]),
      list(ADDRESSES, 'addresses, every network', each('crypto_networks', CRYPTO_NETWORK_NAMES), 12),
      list(
        ADDRESSES,
        'addresses, five arrays of 100',
        [
          ...each('ids', addressIds),
          ...each('ref_ids', refs),
          ...each('profile_ids', profiles),
          ...each('account_ids', accounts),
          ...each('identity_ids', identities),
        ],
        100,
      ),
      list(RULES, 'rules', []),
      list(RULES, 'rules, ids', each('ids', ruleIds), 100),
      list(RULES, 'rules, ids and status', [...each('ids', ruleIds), ['status', 'DELETED']], 100),
      ...['DELETED', 'ACTIVE', 'PENDING', 'REJECTED'].map((status) =>
        list(RULES, `rules, status ${status}`, [['status', status]]),
      ),
      list(RULES, 'rules, four statuses', each('status', ['DELETED', 'ACTIVE', 'PENDING', 'REJECTED']), 4),
      list(RULES, 'rules, profile_id of most', [['profile_id', common]]),
      list(RULES, 'rules, profile_id of few', [['profile_id', rare]]),
      list(RULES, 'rules, source_asset of most', [['source_asset', 'USDC']]),
      list(RULES, 'rules, source_asset of none', [['source_asset', 'DOGE']]),
      list(RULES, 'rules, destination_asset of most', [['destination_asset', 'USD']]),
      ...[
        ['profile_id of most and status', { profile_id: common, status: 'PENDING' }],
        ['profile_id of most and source_asset', { profile_id: common, source_asset: 'USDC' }],
        ['profile_id of most and source_asset of none', { profile_id: common, source_asset: 'DOGE' }],
        ['profile_id of few and destination_asset', { profile_id: rare, destination_asset: 'USD' }],
        ['profile_id of most and destination_asset of none', { profile_id: common, destination_asset: 'ETH' }],
        ['source_asset and status', { source_asset: 'USDC', status: 'PENDING' }],
        ['destination_asset and status', { destination_asset: 'USD', status: 'PENDING' }],
        ['both assets of most', { source_asset: 'USDC', destination_asset: 'USD' }],
        ['both assets of none', { source_asset: 'USDC', destination_asset: 'ETH' }],
      ].map(([name, parameters]) => ({
        ...list(RULES, `rules, ${name}`, Object.entries(parameters as Record<string, string>)),
        isMeasured: true,
      })),
    ]
  }

  it.each([
    { when: 'as they are', arePlannedFor: true },
    { when: 'as they were before nearly all of them came', arePlannedFor: false },
  ])(
    'a list page reads no more than a page for each entry of an array, with statistics of the records $when',
    async ({ arePlannedFor }) => {
      await prepare(arePlannedFor)
      const problems: string[] = []
      for (const [owner, customer] of Object.entries({ big, later, small })) {
        for (const { name, path, parameters, probes = 1, isMeasured = false } of await cases(customer)) {
          for (const order of ['DESC', 'ASC']) {
            const target = (cursor?: string) => {
              const query = new URLSearchParams(parameters.map(([key, value]): [string, string] => [key, value]))
              query.append('order', order)
              if (cursor !== undefined) query.append('page_cursor', cursor)
              return `${path}?${query}`
            }
            const first = await customer.call('GET', target())
            const pages = [target()]
            const next: string | undefined = first.body.next_page_cursor
            const places = next === undefined ? [] : PLACES
            for (const place of places) pages.push(target(cursorAt(next as string, order, owner, place)))
            for (const [page, url] of pages.entries()) {
              const { plan, text } = await explainPage(() => customer.call('GET', url))
              const { rows, blocks, scans } = summaryOf(plan)
              const what = `${owner}: ${name}, ${order}, page ${page}: ${rows} rows, ${blocks} blocks, ${scans.join(' ')}`
              if (scans.some((scan) => scan.startsWith('Seq Scan'))) problems.push(`seq scan: ${what}`)
              if (/\boffset\b/i.test(text)) problems.push(`offset: ${what}`)
              if (isMeasured) {
                console.info(what)
                continue
              }
              if (rows > probes * (LIMIT + 1)) problems.push(`rows: ${what}`)
              if (blocks > BLOCKS_A_PROBE * probes + 2 * rows + 20) problems.push(`blocks: ${what}`)
            }
          }
        }
      }
      expect(problems).toEqual([])
    },
  )

  it.each([
    { when: 'as they are', arePlannedFor: true },
    { when: 'as they were before nearly all of them came', arePlannedFor: false },
  ])(
    'a list filtered by changes reads a bounded number of records, with statistics of the records $when',
    async ({ arePlannedFor }) => {
      await open()
      const customers: [changed: 'every hundredth' | 'newest fiftieth' | 'all', customer: RestCustomer][] = [
        ['every hundredth', await node.newCustomer()],
        ['newest fiftieth', await node.newCustomer()],
        ['all', await node.newCustomer()],
      ]
      await analyze(db)
      for (const [changed, { customerId }] of customers) {
        await fillAccounts(db, { customerId, changed, count: CHANGES_COUNT, firstMilliseconds: FIRST_MILLISECONDS })
      }
      if (arePlannedFor) await analyze(db)
      plans = explainStatements(A_LIST)
      const problems: string[] = []
      for (const [changed, customer] of customers) {
        for (const filter of CHANGES_FILTERS) {
          for (const order of ['ASC', 'DESC']) {
            const target = `${ACCOUNTS}?${filter}&order=${order}`
            const first = await customer.call('GET', target)
            const next: string | undefined = first.body.next_page_cursor
            const pages = [target]
            if (next !== undefined) {
              for (const place of PLACES) {
                pages.push(`${target}&page_cursor=${cursorBetween(next, order, 0, CHANGES_COUNT, place)}`)
              }
            }
            for (const [page, url] of pages.entries()) {
              const { rows, blocks, scans } = await readOf(() => customer.call('GET', url))
              const what = `${changed}: ${filter} ${order}, page ${page}: ${rows} rows, ${blocks} blocks, ${scans.join(' ')}`
              if (scans.some((scan) => scan.startsWith('Seq Scan'))) problems.push(`seq scan: ${what}`)
              // With outdated statistics both parts of a page sort the accounts of a customer that they take for a small one.
              const sorted = arePlannedFor ? 0 : 2 * CHANGES_COUNT
              if (rows > sorted + EXAMINED_MAX + 2 * (LIMIT + 1)) problems.push(`rows: ${what}`)
              if (blocks > 2 * rows + BLOCKS_A_PROBE * LIMIT) problems.push(`blocks: ${what}`)
            }
          }
        }
      }
      expect(problems).toEqual([])
    },
  )

  it('a page of large records reads little more than the bytes of the page, whatever its limit', async () => {
    await open()
    const customer = await node.newCustomer()
    const { customerId } = customer
    await fillAccounts(db, { customerId, count: 400, firstMilliseconds: FIRST_MILLISECONDS })
    // 110 KB each, half of it in a form that would be compressed to almost nothing.
    const members = JSON.stringify(
      Array.from({ length: 100 }, (_, n) => ({ id: `${n}`, identity_id: 'x'.repeat(1_000), roles: [] })),
    )
    await db.transaction(
      (transaction) =>
        sql`update accounts set members = ${members}::jsonb,
          metadata = '{"a":"' || (select string_agg(md5(accounts.id::text || n), '') from generate_series(1, 400) as n) || '"}'
          where customer_id = ${customerId}`.execute(transaction),
      { statementMillisecondsMax: 600_000 },
    )
    plans = explainStatements(A_LIST)
    // 2 MiB are 256 blocks; reading all values would take 6,000 more. With a filter by changes, every record is read by its id.
    for (const [query, blocksMax] of [
      ['limit=1000', 2_000],
      ['limit=1000&identity_id=common', 2_000],
      ['limit=1000&updated_at.gte=2026-01-01T00:00:00Z', 4_500],
    ] as const) {
      const { blocks } = await readOf(() => customer.call('GET', `${ACCOUNTS}?${query}`))
      expect(blocks, query).toBeLessThan(blocksMax)
    }
  })

  /** A cursor of the same list at another position, as after many pages. */
  function cursorAt(cursor: string, order: string, owner: string, share: number): string {
    const count = { big: 0.88, later: 0.1, small: 0.02 }[owner]! * COUNT
    return cursorBetween(cursor, order, owner === 'later' ? COUNT : 0, count, share)
  }

  function cursorBetween(cursor: string, order: string, offset: number, count: number, share: number): string {
    const [digest, , id] = Buffer.from(cursor, 'base64url').toString().split('|')
    const along = order === 'ASC' ? share : 1 - share
    const time = new Date(FIRST_MILLISECONDS + offset + Math.floor((count * along) / 3)).toISOString()
    return Buffer.from([digest, time, id].join('|')).toString('base64url')
  }
})

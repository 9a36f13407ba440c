/**
 * Many records for a customer, inserted by SQL: accounts, every twentieth with a profile, addresses and rules. Their
 * distribution is the least favourable for the planner: nine in ten share their values and are the oldest, so a value's
 * frequency does not predict its position. Three records share each timestamp.
 */
import { CRYPTO_NETWORKS } from '../../src/contract/crypto-networks.ts'
import type { Db } from '../../src/platform/store/db.ts'
import { type RawBuilder, sql } from '../../src/platform/store/sql.ts'

const FILL_MILLISECONDS_MAX = 900_000
/** How many accounts there are per profile. */
export const ACCOUNTS_A_PROFILE = 20

export interface Fill {
  readonly customerId: string
  /** The number of accounts, of addresses and of rules; a multiple of 20. */
  readonly count: number
  /** The oldest records' time. The next three follow a millisecond later, and so on. */
  readonly firstMilliseconds: number
  /** Accounts changed an hour after their creation: every hundredth, the newest fiftieth, the newest half, or all. */
  readonly changed?: keyof typeof IS_CHANGED
}

const IS_CHANGED = {
  'every hundredth': sql`i % 100 = 0`,
  'newest fiftieth': sql`i >= n * 0.98`,
  'newest half': sql`i >= n * 0.5`,
  all: sql`true`,
} as const

/** The value that nine tenths share, and the distribution of the others. */
const isCommon = sql`i < ${sql.ref('n')} * 0.9`

/** Accounts, addresses and rules. */
export async function fill(db: Db, wanted: Fill): Promise<void> {
  await runEach(db, statementsFor(wanted))
}

/** Only accounts and profiles. */
export async function fillAccounts(db: Db, wanted: Fill): Promise<void> {
  await runEach(db, statementsFor(wanted).slice(0, 2))
}

function statementsFor(wanted: Fill): readonly RawBuilder<unknown>[] {
  const { customerId, count, firstMilliseconds, changed = 'every hundredth' } = wanted
  const c = sql`${customerId}::uuid`
  const series = sql`
    (select i, ${count}::int as n, ${firstMilliseconds / 1000}::float8 as first
     from generate_series(0, ${count - 1}::int) as i) as row`
  const time = sql`date_trunc('milliseconds', to_timestamp(first + (i / 3) / 1000.0))`
  const id = (kind: string, index: unknown) => sql`md5(${`${kind} ${customerId} `} || ${index})::uuid`
  const every = sql.lit(ACCOUNTS_A_PROFILE)
  const account = sql`(case when ${isCommon} then 0 else (i % (n / ${every})) * ${every} end)`
  return [
    sql`insert into profiles (id, customer_id, type, created_at)
      select ${id('profile', sql`i`)}, ${c}, 'NORMAL', ${time} from ${series} where i % ${every} = 0`,
    sql`insert into accounts
      select ${id('account', sql`i`)}, ${c}, case when ${isCommon} then 'common' else 'identity ' || (i % 50) end,
        'ref ' || i, 'made for a measurement', '{"number":' || i || '}', '[]', 'BROKERAGE', 'PENDING', false, false,
        case when i % ${every} = 0 then ${id('profile', sql`i`)} end, ${time},
        case when ${IS_CHANGED[changed]} then ${time} + interval '1 hour' else ${time} end
      from ${series}`,
    sql`insert into deposit_addresses
      select ${id('address', sql`i`)}, ${c}, ${id('profile', account)}, ${id('account', account)},
        case when ${isCommon} then 'common' else 'identity ' || (i % 50) end, 'ref ' || i,
        'ETHEREUM', ${CRYPTO_NETWORKS.ETHEREUM}, 'address ' || ${customerId} || i, 'NO_CONVERSION', '{}', ${time}
      from ${series}`,
    sql`insert into rules
      select ${id('rule', sql`i`)}, ${c}, 'ref ' || i, null, ${id('profile', account)}, ${id('account', account)}, null,
        case when i < 3 then 'PENDING' when ${isCommon} then 'DELETED' else 'ACTIVE' end,
        case when ${isCommon} then 'USDC' else 'BTC' end, case when ${isCommon} then 'USD' else 'ETH' end,
        jsonb_build_object('profile', jsonb_build_object('profile_id', ${id('profile', account)})),
        jsonb_build_object('profile', jsonb_build_object('profile_id', ${id('profile', account)})),
        null, null, null, ${time}
      from ${series}`,
  ]
}

async function runEach(db: Db, statements: readonly RawBuilder<unknown>[]): Promise<void> {
  for (const statement of statements) {
    await db.transaction((transaction) => statement.execute(transaction), {
      statementMillisecondsMax: FILL_MILLISECONDS_MAX,
    })
  }
}

/** Updates the planner statistics, as autovacuum does from time to time. */
export async function analyze(db: Db): Promise<void> {
  await db.transaction((transaction) => sql`analyze`.execute(transaction), {
    statementMillisecondsMax: FILL_MILLISECONDS_MAX,
  })
}

/** The id given by `fill` to a record by its kind and index. */
export async function idOf(
  db: Db,
  kind: 'account' | 'profile' | 'address' | 'rule',
  customerId: string,
  index: number,
) {
  const text = `${kind} ${customerId} ${index}`
  const { rows } = await sql<{ id: string }>`select md5(${text})::uuid as id`.execute(db.tables())
  return rows[0]!.id
}

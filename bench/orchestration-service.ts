/**
 * The deposits service and the worker of one process on a store that is given, with customers, profiles, addresses and
 * rules that convert USDC into USDG at par for the same profile. Reports come as the operator API hands them in.
 */
import { randomBytes } from 'node:crypto'
import { createSystemClock } from '../src/base/clock.ts'
import { newId } from '../src/base/ids.ts'
import { createLog } from '../src/base/log.ts'
import { createMetricsRegistry } from '../src/base/metrics.ts'
import { CRYPTO_NETWORKS } from '../src/contract/crypto-networks.ts'
import { isReport, type Report, readReport } from '../src/deposits/report.ts'
import { DepositReporter } from '../src/deposits/reporter.ts'
import { createStepMetrics } from '../src/orchestrations/metrics.ts'
import { OrchestrationRunner } from '../src/orchestrations/runner.ts'
import type { Db } from '../src/store/db.ts'
import { sql } from '../src/store/sql.ts'
import { configOf } from '../test/support/rest.ts'

export interface OrchestrationService {
  /** Reports a deposit at each of these addresses; resolves when all of them are stored, throws when one is not. */
  report(addresses: readonly string[]): Promise<void>
  /**
   * Milliseconds from the moment at which a deposit was accepted to that at which its orchestration was COMPLETED, by the
   * clock of the store, of all deposits since the last call.
   */
  delays(): Promise<readonly number[]>
  /** Until no orchestration has anything due. */
  settled(): Promise<void>
  stop(): Promise<void>
}

const config = configOf({})

const CONVERT_SETTINGS = {
  feeBps: 0,
  pricing: {
    assets: config.assets,
    parAssets: config['conversion.par_assets'],
    markets: [],
    settings: {
      pegBpsMax: 50,
      slippageBpsMax: 100,
      depthSeconds: 10,
      bookAgeSecondsMax: 5,
      notionalMax: new Map(),
      deskLimits: new Map(),
    },
    isSandbox: false,
    bookOf: () => undefined,
  },
}

/** The addresses of as many customers as asked for, each with one profile, one address and one rule. */
export async function createReceivers(db: Db, count: number): Promise<readonly string[]> {
  // Digits alone: the same in every form of an address.
  const addresses = Array.from({ length: count }, () => {
    const digits = Array.from({ length: 40 }, () => Math.floor(Math.random() * 10)).join('')
    return `0x${digits}`
  })
  const ids = () => addresses.map(() => newId())
  const [customers, profiles, accounts, deposits, rules] = [ids(), ids(), ids(), ids(), ids()]
  await db.transaction(async (transaction) => {
    await sql`
      insert into ledger_assets (symbol, decimals)
      select * from unnest(${config.assets.map(({ symbol }) => symbol)}::text[],
        ${config.assets.map(({ decimals }) => decimals)}::integer[]) on conflict do nothing
    `.execute(transaction)
    await sql`
      with made as (
        select * from unnest(${customers}::uuid[], ${profiles}::uuid[], ${accounts}::uuid[], ${deposits}::uuid[],
          ${rules}::uuid[], ${addresses}::text[]) as made (customer, profile, account, address_id, rule, address)
      ), customers as (
        insert into customers (id, name, streaming) select customer, customer::text, false from made
      ), profiles as (
        insert into profiles (id, customer_id, type, created_at) select profile, customer, 'NORMAL', now() from made
      ), accounts as (
        insert into accounts (id, customer_id, identity_id, metadata, members, type, review_status, admin_disabled,
          user_disabled, profile_id, created_at, updated_at)
        select account, customer, 'receiver', '{}', '[]', 'BROKERAGE', 'APPROVED', false, false, profile, now(), now()
        from made
      ), addresses as (
        insert into deposit_addresses (id, customer_id, profile_id, account_id, crypto_network, family, address,
          conversion_target_asset, metadata, created_at)
        select address_id, customer, profile, account, 'ETHEREUM', ${CRYPTO_NETWORKS.ETHEREUM}, address, 'NO_CONVERSION', '{}', now() from made
      )
      insert into rules (id, customer_id, ref_id, profile_id, account_id, status, source_asset, destination_asset, source,
        destination, deposit_address_id, created_at)
      select rule, customer, rule::text, profile, account, 'ACTIVE', 'USDC', 'USDG',
        jsonb_build_object('crypto', jsonb_build_object('network', 'ETHEREUM', 'address_id', address_id, 'address', address)),
        jsonb_build_object('profile', jsonb_build_object('profile_id', profile)), address_id, now() from made
    `.execute(transaction)
  })
  return addresses
}

/** Both start working at once. */
export function startOrchestrationService(db: Db): OrchestrationService {
  const [clock, log, metrics] = [createSystemClock(), createLog('error'), createMetricsRegistry()]
  const depositSettings = {
    conversions: { assets: config.assets, parAssets: config['conversion.par_assets'], markets: [] },
    minimumOf: () => undefined,
    isSandbox: false,
    start: { convertSecondsMax: 86_400 },
  }
  const reporter = new DepositReporter({ db, clock, log, metrics, settings: () => depositSettings })
  const runner = new OrchestrationRunner({
    db,
    clock,
    log,
    metrics: createStepMetrics(metrics),
    settings: () => CONVERT_SETTINGS,
  })
  runner.start()
  let since = '00000000-0000-0000-0000-000000000000'
  return {
    async delays() {
      const { rows } = await sql<{ delay: number; last: string }>`
        select (extract(epoch from orchestrations.updated_at - deposits.created_at) * 1000)::float8 as delay,
          max(deposits.id::text) over () as last
        from deposits join orchestrations on deposit_id = deposits.id
        where deposits.id > ${since} and orchestrations.status = 'COMPLETED'
      `.execute(db.tables())
      since = rows[0]?.last ?? since
      return rows.map(({ delay }) => delay)
    },
    async report(addresses) {
      const results = await reporter.report(addresses.map(newReport))
      for (const result of results) {
        if (!('deposit' in result)) throw 'problem' in result ? result.problem : result.error
      }
    },
    async settled() {
      const isBusy = async () =>
        (await sql`select from orchestration_queue limit 1`.execute(db.tables())).rows.length > 0
      while (await isBusy()) await new Promise((resolve) => setTimeout(resolve, 5))
    },
    stop: () => runner.stop(),
  }
}

/** What `report` does before it hands a deposit to the service; measured alone, it is the cost of making load. */
export function newReport(address: string): Report {
  const report = readReport(
    {
      source: 'bench',
      external_id: newId(),
      asset: 'USDC',
      amount: '12.345678',
      crypto: { network: 'ETHEREUM', address, tx_hash: `0x${randomBytes(32).toString('hex')}`, tx_index: 0 },
      occurred_at: '2026-11-22T12:00:00.000Z',
    },
    config.assets,
  )
  if (!isReport(report)) throw new Error(JSON.stringify(report))
  return report
}

/** Orchestrations in a store without a service: starting, pricing and inspecting them. */
import type { GateSettings } from '../../src/money/controls/gates.ts'
import type { ConvertSettings } from '../../src/money/orchestrations/convert.ts'
import { createStepMetrics } from '../../src/money/orchestrations/metrics.ts'
import type { PricingBook, PricingContext } from '../../src/money/orchestrations/pricing/context.ts'
import { OrchestrationRunner } from '../../src/money/orchestrations/runner.ts'
import { type NewOrchestration, startOrchestrations } from '../../src/money/orchestrations/start.ts'
import { type Clock, createSystemClock } from '../../src/platform/base/clock.ts'
import { newId } from '../../src/platform/base/ids.ts'
import { createMetricsRegistry } from '../../src/platform/base/metrics.ts'
import { nextCreationTimes } from '../../src/platform/store/creation-time.ts'
import type { Db } from '../../src/platform/store/db.ts'
import { sql } from '../../src/platform/store/sql.ts'
import { captureLog } from './captured-log.ts'
import { OPEN_GATES } from './gates.ts'
import { bookedAsEntries, credit, ledgerDifferences, type Owner } from './ledger.ts'
import { moneyViolations } from './money-oracles.ts'

/** Registered by `addAssets(db, ORCHESTRATED_ASSETS)`. */
export const ORCHESTRATED_ASSETS = { BTC: 8, USD: 2, USDC: 6, USDG: 6 } as const

/** Settings that convert USD, USDC and USDG at par, and BTC at BTCUSD by the given book. */
export function convertSettings(
  changes: {
    readonly feeBps?: number
    readonly book?: () => PricingBook | undefined
    readonly gates?: GateSettings
  } = {},
): ConvertSettings {
  const pricing: PricingContext = {
    assets: Object.entries(ORCHESTRATED_ASSETS).map(([symbol, decimals]) => ({ symbol, decimals })),
    parAssets: ['USD', 'USDC', 'USDG'],
    markets: [{ symbol: 'BTCUSD', baseAsset: 'BTC', quoteAsset: 'USD', priceDecimals: 2 }],
    settings: {
      pegBpsMax: 50,
      slippageBpsMax: 100,
      depthSeconds: 10,
      bookAgeSecondsMax: 5,
      notionalMax: new Map(),
      deskLimits: new Map(),
    },
    isSandbox: false,
    bookOf: () => changes.book?.(),
  }
  return { feeBps: changes.feeBps ?? 0, pricing, gates: changes.gates ?? OPEN_GATES }
}

/** A live BTCUSD book with one level per side: `amount` at 50,000.00, and the same at 50,000.01. */
export function bookOf(amount: bigint): PricingBook {
  return {
    cursor: 'dGVzdA.1',
    time: '2026-11-22T10:00:00.000Z',
    ageMilliseconds: 0,
    isLive: true,
    isSimulated: false,
    bids: [{ price: 5_000_000n, amount }],
    asks: [{ price: 5_000_001n, amount }],
  }
}

export function newOrchestration(owner: Owner, changes: Partial<NewOrchestration> = {}): NewOrchestration {
  return {
    customerId: owner.customerId,
    profileId: owner.profileId,
    accountId: owner.accountId,
    id: newId(),
    identityId: 'alice',
    refId: null,
    ruleId: null,
    depositId: null,
    retryOf: null,
    sourceAsset: 'USDC',
    sourceAmount: 5_000_000n,
    destinationAsset: 'USDG',
    source: { profile: { profile_id: owner.profileId } },
    destination: { profile: { profile_id: owner.profileId } },
    metadata: {},
    createdAt: '',
    ...changes,
  }
}

/** Starts orchestrations with their amounts in `in_transit`. Returns their ids. */
export async function startAll(
  db: Db,
  starts: readonly NewOrchestration[],
  convertSecondsMax = 86_400,
): Promise<readonly string[]> {
  for (const { profileId, sourceAsset, sourceAmount } of starts) {
    await credit(db, profileId, sourceAsset, sourceAmount, 'in_transit')
  }
  await db.transaction(async (transaction) => {
    const times = await nextCreationTimes(
      transaction,
      starts.map(({ customerId }) => customerId),
    )
    const stamped = starts.map((start) => ({ ...start, createdAt: times.get(start.customerId) as string }))
    await startOrchestrations(transaction, stamped, { convertSecondsMax })
  })
  return starts.map(({ id }) => id)
}

/** An orchestration with its queue row, as stored. */
export async function orchestrationRow(db: Db, id: string): Promise<Record<string, unknown>> {
  const { rows } = await sql<Record<string, unknown>>`
    select orchestrations.*, kind, attempt, next_attempt_at from orchestrations
    left join orchestration_queue on orchestration_id = id where id = ${id}
  `.execute(db.tables())
  return rows[0] as Record<string, unknown>
}

/** Violations of the money rules in a store whose orchestrations `startAll` has funded, without deposits. */
export async function violationsOf(db: Db): Promise<readonly string[]> {
  await bookedAsEntries(db)
  return [...(await moneyViolations(db)), ...(await ledgerDifferences(db))]
}

/** How many of these orchestrations each status has. */
export async function statusesOf(db: Db, ids: readonly string[]): Promise<Readonly<Record<string, number>>> {
  const { rows } = await sql<{ status: string; count: number }>`
    select status, count(*)::integer as count from orchestrations where id = any(${[...ids]}::uuid[]) group by status
  `.execute(db.tables())
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

/** A worker, and its log lines. */
export function createRunner(
  db: Db,
  settings: () => ConvertSettings = () => convertSettings(),
  clock: Clock = createSystemClock(),
) {
  const { log, lines } = captureLog()
  const metrics = createStepMetrics(createMetricsRegistry())
  const runner = new OrchestrationRunner({ db, clock, log, metrics, settings })
  const countOf = async (result: string) =>
    (await metrics.steps.get()).values.find(({ labels }) => labels.result === result)?.value
  return { runner, lines, countOf }
}

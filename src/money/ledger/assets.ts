/**
 * The ledger's assets with their decimals. An asset is registered when the service first starts with it in the
 * configuration, or after a reload. Its decimals can change until the first amount is stored in them. A process whose
 * configuration has others stores no amount in the asset.
 */
import { Problem } from '../../platform/http/problem.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { type Kysely, type RawBuilder, sql } from '../../platform/store/sql.ts'

/** The table `ledger_assets`, as the query builder sees it. The migration `ledger` defines it. */
interface LedgerAssetsTables {
  ledger_assets: { symbol: string; decimals: number }
}

export interface LedgerAsset {
  readonly symbol: string
  /** Fraction digits in its amounts. */
  readonly decimals: number
}

/**
 * Registers the configured assets, and updates the decimals of those without stored amounts.
 * @returns one text for each asset with stored amounts whose decimals differ, with both values. Then nothing is
 * registered.
 */
export async function ensureLedgerAssets<Tables>(
  transaction: Transaction<Tables>,
  assets: readonly LedgerAsset[],
): Promise<readonly string[]> {
  const faults = await decimalsFaults(transaction, assets)
  if (faults.length > 0) return faults
  if ((await otherDecimals(transaction, assets)).length > 0) {
    // Whoever stores the first amount reads the decimals after writing it, so either side sees the other. What was stored
    // since the faults were read is found by an index: other writers wait meanwhile.
    await sql`lock table deposits, balances, limit_overrides in share mode`.execute(transaction)
    const late = await faultsWhere(transaction, assets, HAS_NEW_AMOUNTS)
    if (late.length > 0) return late
  }
  await sql`
    insert into ledger_assets (symbol, decimals)
    select symbol, decimals from ${listed(assets)}
    order by symbol collate "C"
    on conflict (symbol) do update set decimals = excluded.decimals
      where ledger_assets.decimals <> excluded.decimals
  `.execute(transaction)
  return []
}

/** The faults that `ensureLedgerAssets` would return. Read-only. */
export function decimalsFaults<Tables>(
  tables: Kysely<Tables>,
  assets: readonly LedgerAsset[],
): Promise<readonly string[]> {
  return faultsWhere(tables, assets, HAS_AMOUNTS)
}

/** A pending deposit without a profile has an amount, but no balance, posting or transfer. */
const HAS_AMOUNTS = sql<boolean>`(
  exists (select from balances where asset = symbol)
  or exists (select from transfers where asset = symbol)
  or exists (select from deposits where asset = symbol)
  or exists (select from postings where asset = symbol)
  or exists (select from limit_overrides where asset = symbol)
)`
/** A deposit without a profile has no creation time. */
const HAS_NEW_AMOUNTS = sql<boolean>`(
  exists (select from balances where asset = symbol)
  or exists (select from limit_overrides where asset = symbol)
  or exists (select from deposits where asset = symbol and created_at is null)
  or exists (select from deposits where asset = symbol and created_at > statement_timestamp() - interval '1 minute')
)`

async function faultsWhere<Tables>(
  tables: Kysely<Tables>,
  assets: readonly LedgerAsset[],
  hasAmounts: RawBuilder<boolean>,
): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly symbol: string; readonly wanted: number; readonly known: number }>`
    select symbol, wanted.decimals as wanted, known.decimals as known
    from ledger_assets as known join ${listed(assets)} using (symbol)
    where known.decimals <> wanted.decimals and ${hasAmounts}
    order by symbol collate "C"
  `.execute(tables)
  return rows.map(
    ({ symbol, wanted, known }) =>
      `${symbol} has ${wanted} decimals, but its amounts in the ledger have ${known}. Decimals cannot change`,
  )
}

/**
 * Throws 503 when the ledger has other decimals for one of these assets: amounts in this process's units would be
 * wrong. Call it after the amounts are written.
 */
export async function refuseOtherDecimals<Tables>(
  transaction: Transaction<Tables>,
  assets: readonly LedgerAsset[],
): Promise<void> {
  const [other] = assets.length === 0 ? [] : await otherDecimals(transaction, assets)
  if (other === undefined) return
  const { symbol, wanted, known } = other
  const detail = `${symbol} has ${wanted} decimals in this process’s configuration, and ${known} in the ledger`
  throw new Problem('unavailable', detail, { headers: { 'retry-after': '60' } })
}

async function otherDecimals<Tables>(tables: Kysely<Tables>, assets: readonly LedgerAsset[]) {
  const { rows } = await sql<{ readonly symbol: string; readonly wanted: number; readonly known: number }>`
    select symbol, wanted.decimals as wanted, known.decimals as known
    from ledger_assets as known join ${listed(assets)} using (symbol) where known.decimals <> wanted.decimals
  `.execute(tables)
  return rows
}

/** The decimals of all assets in the ledger, by symbol. */
export async function readDecimals<Tables>(tables: Kysely<Tables>): Promise<ReadonlyMap<string, number>> {
  const ours = tables as unknown as Kysely<LedgerAssetsTables>
  const rows = await ours.selectFrom('ledger_assets').select(['symbol', 'decimals']).execute()
  return new Map(rows.map(({ symbol, decimals }) => [symbol, decimals]))
}

function listed(assets: readonly LedgerAsset[]) {
  const symbols = assets.map(({ symbol }) => symbol)
  const decimals = assets.map((asset) => asset.decimals)
  return sql`unnest(${symbols}::text[], ${decimals}::integer[]) as wanted (symbol, decimals)`
}

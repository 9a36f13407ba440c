/**
 * The assets of the ledger with their decimals. An asset is registered at the first start with it in the configuration. Its
 * decimals can change until the first amount is stored in them.
 */
import type { Transaction } from '../../platform/store/db.ts'
import { type Kysely, sql } from '../../platform/store/sql.ts'

/** The table `ledger_assets`, as the query builder sees it; the migration `ledger` defines it. */
interface LedgerAssetsTables {
  ledger_assets: { symbol: string; decimals: number }
}

export interface LedgerAsset {
  readonly symbol: string
  /** Fraction digits of its amounts. */
  readonly decimals: number
}

/**
 * Registers assets of the configuration, and updates the decimals of those without stored amounts.
 * @returns one text for each asset with stored amounts whose decimals differ, with both values; then nothing is registered
 */
export async function ensureLedgerAssets<Tables>(
  transaction: Transaction<Tables>,
  assets: readonly LedgerAsset[],
): Promise<readonly string[]> {
  const faults = await decimalsFaults(transaction, assets)
  if (faults.length > 0) return faults
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
export async function decimalsFaults<Tables>(
  tables: Kysely<Tables>,
  assets: readonly LedgerAsset[],
): Promise<readonly string[]> {
  // A pending deposit without a profile has an amount, and neither a balance, a posting nor a transfer.
  const { rows } = await sql<{ readonly symbol: string; readonly wanted: number; readonly known: number }>`
    select symbol, wanted.decimals as wanted, known.decimals as known
    from ledger_assets as known join ${listed(assets)} using (symbol)
    where known.decimals <> wanted.decimals and (
      exists (select from balances where asset = symbol)
      or exists (select from transfers where asset = symbol)
      or exists (select from deposits where asset = symbol)
      or exists (select from postings where asset = symbol)
    )
    order by symbol collate "C"
  `.execute(tables)
  return rows.map(
    ({ symbol, wanted, known }) =>
      `${symbol} has ${wanted} decimals, but its amounts in the ledger have ${known}; the decimals of amounts cannot change`,
  )
}

/** The decimals of all assets of the ledger, by symbol. */
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

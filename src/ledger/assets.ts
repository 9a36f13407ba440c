/**
 * The assets that the ledger knows, with the decimals that its amounts are counted in. An asset is known from the first
 * start with it in the configuration; its decimals are frozen as soon as anything is counted in them.
 */
import type { Transaction } from '../store/db.ts'
import { type Kysely, sql } from '../store/sql.ts'
import type { LedgerTables } from './tables.ts'

export interface LedgerAsset {
  readonly symbol: string
  /** Digits behind the point of its amounts. */
  readonly decimals: number
}

/**
 * Registers assets of the configuration, and gives new decimals to those that nothing is counted in yet.
 * @returns one text for each asset whose decimals are frozen and differ, naming the asset and both values; nothing is registered then
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

/** What `ensureLedgerAssets` would return; writes nothing. */
export async function decimalsFaults<Tables>(
  tables: Kysely<Tables>,
  assets: readonly LedgerAsset[],
): Promise<readonly string[]> {
  // What counts as use: a balance, a posting, an entry of a statement, or a deposit that is neither yet.
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
      `${symbol} has ${wanted} decimals, and its amounts in the ledger have ${known}: decimals of amounts cannot change`,
  )
}

/** Decimals of every asset that the ledger knows, by symbol. */
export async function readDecimals<Tables>(tables: Kysely<Tables>): Promise<ReadonlyMap<string, number>> {
  const ours = tables as unknown as Kysely<LedgerTables>
  const rows = await ours.selectFrom('ledger_assets').select(['symbol', 'decimals']).execute()
  return new Map(rows.map(({ symbol, decimals }) => [symbol, decimals]))
}

function listed(assets: readonly LedgerAsset[]) {
  const symbols = assets.map(({ symbol }) => symbol)
  const decimals = assets.map((asset) => asset.decimals)
  return sql`unnest(${symbols}::text[], ${decimals}::integer[]) as wanted (symbol, decimals)`
}

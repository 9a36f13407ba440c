/** Writes amounts in SQL as JSON text: decimal text, equal to the result of `formatAmount`. */
import { type RawBuilder, sql } from '../../platform/store/sql.ts'

/**
 * The JSON text of an item's amount (see `platform/store/page-text`): a string such as "12.5", or null when the column
 * is null.
 * @param column the record's column in units of 10^-decimals, or an expression over such columns
 * @param assetColumn the record's column with the amount's asset
 */
export function amountText(column: string | RawBuilder<unknown>, assetColumn = 'asset'): RawBuilder<string> {
  const units = typeof column === 'string' ? sql.ref(`record.${column}`) : column
  const decimals = sql`(select decimals from ledger_assets where symbol = ${sql.ref(`record.${assetColumn}`)})`
  return sql`'"' || trim_scale(${units} * ('1e-' || ${decimals})::numeric)::text || '"'`
}

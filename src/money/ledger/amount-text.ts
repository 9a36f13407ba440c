/** Amounts in JSON text that SQL writes: decimal text, equal to the result of `formatAmount`. */
import { type RawBuilder, sql } from '../../platform/store/sql.ts'

/**
 * The JSON text of an amount of an item (see `platform/store/page-text`): a string such as "12.5"; null when the column is
 * null.
 * @param column a column of the record in units of 10^-decimals, or an expression over such columns
 * @param assetColumn the column of the record that has the asset of the amount
 */
export function amountText(column: string | RawBuilder<unknown>, assetColumn = 'asset'): RawBuilder<string> {
  const units = typeof column === 'string' ? sql.ref(`record.${column}`) : column
  const decimals = sql`(select decimals from ledger_assets where symbol = ${sql.ref(`record.${assetColumn}`)})`
  return sql`'"' || trim_scale(${units} * ('1e-' || ${decimals})::numeric)::text || '"'`
}

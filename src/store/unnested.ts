/** Records as a table in a statement, with one array per column, so the text does not depend on the number of records. */
import { type RawBuilder, sql } from './sql.ts'

type Column<Item> = readonly [name: string, type: string, read: (item: Item, index: number) => unknown]

/** A table `wanted` with these columns and a row per item. */
export function unnested<Item>(items: readonly Item[], columns: readonly Column<Item>[]): RawBuilder<unknown> {
  const arrays = columns.map(([, type, read]) => sql`${items.map(read)}::${sql.raw(type)}[]`)
  return sql`unnest(${sql.join(arrays)}) as wanted (${sql.raw(columns.map(([name]) => name).join(', '))})`
}

/**
 * Records as a table in a statement, with one array per column; a column with the same value in all records is one scalar,
 * which is sent and parsed once. Columns are listed once, each with its name, its type and its value.
 */
import { type RawBuilder, sql } from './sql.ts'

export type Column<Item> = readonly [name: string, type: string, read: (item: Item, index: number) => unknown]

/** A table `wanted` with these columns and a row per item. The first column is always an array. */
export function unnested<Item>(items: readonly Item[], columns: readonly Column<Item>[]): RawBuilder<unknown> {
  const arrays: RawBuilder<unknown>[] = []
  const names: string[] = []
  const selected = columns.map(([name, type, read], index) => {
    const values = items.map(read)
    if (index > 0 && values.length > 1 && values.every((value) => value === values[0])) {
      return sql`${values[0]}::${sql.raw(`${type} as ${name}`)}`
    }
    arrays.push(sql`${values}::${sql.raw(type)}[]`)
    names.push(name)
    return sql.raw(name)
  })
  return sql`(
    select ${sql.join(selected)} from unnest(${sql.join(arrays)}) as listed (${sql.raw(names.join(', '))})
  ) as wanted`
}

/**
 * An `insert` of a row per item.
 *
 * @param computed further columns, or others' values, as expressions over the table `wanted`
 */
export function inserting<Item>(
  table: string,
  items: readonly Item[],
  columns: readonly Column<Item>[],
  computed: Readonly<Record<string, RawBuilder<unknown>>> = {},
): RawBuilder<unknown> {
  const names = [...new Set([...columns.map(([name]) => name), ...Object.keys(computed)])]
  const values = sql.join(names.map((name) => computed[name] ?? sql.raw(name)))
  return sql`
    insert into ${sql.raw(table)} (${sql.raw(names.join(', '))}) select ${values} from ${unnested(items, columns)}`
}

/** The columns' names, as a list in a statement. */
export function namesOf(columns: readonly Column<never>[]): string {
  return columns.map(([name]) => name).join(', ')
}

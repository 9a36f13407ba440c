/** Reads the defaults that a store keeps, and writes those of its first start. */
import type { Db } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import type { StoreDefault } from '../config/store-defaults.ts'

export async function readStoreDefaults(db: Db): Promise<readonly StoreDefault[]> {
  const { rows } = await sql<{ key: string; value: unknown; is_earlier: boolean }>`
    select key, value, is_earlier from setting_defaults order by key
  `.execute(db.tables())
  return rows.map(({ key, value, is_earlier: isEarlier }) => ({ key, value, isEarlier }))
}

/** Returns all defaults of the store. Of several first starts at once, the first one decides. */
export async function keepStoreDefaults(db: Db, wanted: readonly StoreDefault[]): Promise<readonly StoreDefault[]> {
  const present = await readStoreDefaults(db)
  const missing = wanted.filter(({ key }) => present.every((each) => each.key !== key))
  if (missing.length === 0) return present
  await sql`
    insert into setting_defaults (key, value, is_earlier)
    select key, value::jsonb, false from unnest(
      ${missing.map(({ key }) => key)}::text[],
      ${missing.map(({ value }) => JSON.stringify(value))}::text[]
    ) as missing (key, value)
    on conflict (key) do nothing
  `.execute(db.tables())
  return await readStoreDefaults(db)
}

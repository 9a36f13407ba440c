/** Counts the ACTIVE rules with a fiat source, by the needed bank details. Read-only. */
import type { FiatAccountType, FiatNetwork } from '../../contract/assets.ts'
import type { Kysely } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'

export interface FiatSources {
  readonly network: FiatNetwork
  readonly account_type: FiatAccountType | null
  readonly rules: number
  /** The oldest one's id. */
  readonly first_id: string
}

export async function activeFiatSources<Tables>(tables: Kysely<Tables>): Promise<readonly FiatSources[]> {
  const { rows } = await sql<FiatSources>`
    select source #>> '{fiat,network}' as network, source #>> '{fiat,account_type}' as account_type,
      count(*)::integer as rules, (array_agg(id order by created_at, id))[1] as first_id
    from rules where status = 'ACTIVE' and source -> 'fiat' is not null
    group by 1, 2 order by 1, 2
  `.execute(tables)
  return rows
}

/** What has happened in a simulated world, so that a simulation in which nothing happens does not pass as a proof. */
import { sql } from '../../../../src/platform/store/sql.ts'
import type { World } from './world.ts'

/** Numbers of records by their results. */
export async function coverage({ db }: World): Promise<Readonly<Record<string, number>>> {
  const { rows } = await sql<{ what: string; count: number }>`
    select 'deposit ' || coalesce(secondary_status, disposition, status) as what, count(*)::int from deposits group by 1
    union all select 'orchestration ' || coalesce(fail_code, waiting_for, status), count(*)::int from orchestrations group by 1
    union all select 'orchestration at once', count(*)::int from orchestrations
      where status = 'COMPLETED' and updated_at = created_at having count(*) > 0
    union all select 'delivery ' || case when late then 'late' else status end, count(*)::int from deliveries group by 1
    union all select 'conversion ' || kind, count(*)::int from conversions group by 1
    union all select 'receivable', count(*)::int from postings where debit_bucket = 'receivable'
    union all select 'attempt ' || outcome, count(*)::int from delivery_attempts where executor = 'webhook' group by 1
    union all select action, count(*)::int from audit where action ~ '^(deposit|delivery|orchestration)[.]' group by 1
  `.execute(db.tables())
  return Object.fromEntries(rows.map(({ what, count }) => [what, count]))
}

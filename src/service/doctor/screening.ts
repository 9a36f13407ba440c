/** Reports movements that wait because the screening hook does not answer, or because a person must decide. */
import type { Db } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import type { Config } from '../config/settings.ts'
import { bad, type Finding, ok, warn } from './finding.ts'

const NAME = 'screening'
/** A question that has waited longer was asked several times. */
const UNANSWERED_SECONDS = 60

interface OpenScreenings {
  readonly unanswered: number
  /** Seconds for which the oldest unanswered question has waited. */
  readonly seconds: number
  /** Why its last request has no answer. */
  readonly fault: string | null
}

/** None while `screening.url` is empty and nothing waits for an answer. */
export async function examineScreening(db: Db, config: Config): Promise<Finding[]> {
  const { rows } = await sql<OpenScreenings>`
    select count(*)::integer as unanswered,
      coalesce(extract(epoch from clock_timestamp() - min(asked_at)), 0)::float8 as seconds,
      (array_agg(fault order by asked_at))[1] as fault
    from (select asked_at, fault from screenings where status = 'PENDING' order by asked_at limit 10000) as pending
  `.execute(db.tables())
  const { unanswered, seconds, fault } = rows[0] as OpenScreenings
  const waiting = `${unanswered} deposits and payments have no answer, the oldest for ${Math.round(seconds)} s`
  if (config['screening.url'] === '') {
    if (unanswered === 0) return []
    return [warn(NAME, `${waiting}, and screening.url is empty`, 'release or settle them, or set screening.url')]
  }
  if (seconds < UNANSWERED_SECONDS) return [ok(NAME, `${unanswered} questions to the hook are waiting for an answer`)]
  const reason = fault === null ? 'no request was sent: see the service’s log' : fault
  return [bad(NAME, `${waiting}: ${reason}`, 'correct the hook, then run tidegate check-screening')]
}

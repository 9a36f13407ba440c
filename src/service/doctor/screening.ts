/** Reports movements that wait because the screening hook does not answer. */
import type { Db } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import type { Config } from '../config/settings.ts'
import { bad, type Finding, ok, warn } from './finding.ts'

const NAME = 'screening'
/** A question that has waited longer was asked several times. */
const UNANSWERED_SECONDS = 60
/** Counting stops here, so a finding's cost is limited. */
const COUNTED_MAX = 10_000

interface OpenScreenings {
  readonly unanswered: number
  /** Seconds for which the oldest unanswered question has waited. */
  readonly seconds: number
  /** Why its last request has no answer. */
  readonly fault: string | null
}

/** Without the hook, payments leave, and deposits that it was asked about stay held. */
const IS_HELD_DEPOSIT = sql<boolean>`kind = 'deposit' and exists (
  select from deposits where deposits.id = movement_id and secondary_status = 'HELD'
)`

/** None while `screening.url` is empty and nothing waits for an answer. */
export async function examineScreening(db: Db, config: Config): Promise<Finding[]> {
  const hasHook = config['screening.url'] !== ''
  const { rows } = await sql<OpenScreenings>`
    select count(*)::integer as unanswered,
      coalesce(extract(epoch from clock_timestamp() - min(asked_at)), 0)::float8 as seconds,
      (array_agg(fault order by asked_at))[1] as fault
    from (
      select asked_at, fault from screenings where status = 'PENDING' and ${hasHook ? sql`true` : IS_HELD_DEPOSIT}
      order by asked_at limit ${COUNTED_MAX}
    ) as pending
  `.execute(db.tables())
  const { unanswered, seconds, fault } = rows[0] as OpenScreenings
  if (!hasHook) {
    if (unanswered === 0) return []
    const detail = `screening.url is empty, and deposits are held for an answer: ${unanswered}`
    return [warn(NAME, detail, 'decide about them (tidegate admin screening list), or set screening.url')]
  }
  if (seconds < UNANSWERED_SECONDS) return [ok(NAME, `questions that wait for the hook’s answer: ${unanswered}`)]
  const reason = fault === null ? 'no request was sent: see the service’s log' : fault
  const waiting = `deposits and payments without an answer: ${unanswered}, the oldest for ${Math.round(seconds)} s`
  return [bad(NAME, `${waiting}: ${reason}`, 'correct the hook, then run tidegate check-screening')]
}

/**
 * Records a round and ends its claim, in one transaction. When the sender stops before that, the round is repeated: its
 * events are sent again, with the same ids. A round whose claim has ended changes nothing.
 */
import { newId } from '../../platform/base/ids.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { queueNotice } from '../notices/queue.ts'
import { type Claim, LEASE_SECONDS } from './claims.ts'
import type { ChangedBacklog, RoundResult, SentRequest } from './round.ts'
import type { EndpointStatus } from './tables.ts'

export interface Round extends RoundResult {
  readonly requests: readonly SentRequest[]
  /** The test that was sent. */
  readonly testId: string | null
  /** Why the endpoint must be disabled. */
  readonly disabled?: string
}

/**
 * An object refused this often keeps its delay when its endpoint recovers: its event may be refused for good, and would
 * be repeated with each recovery.
 */
const RECOVERED_ATTEMPTS_MAX = 10

/** Returns whether the endpoint was disabled. */
export async function recordRound<Tables>(
  transaction: Transaction<Tables>,
  claim: Pick<Claim, 'id' | 'attempt' | 'customerId' | 'url'>,
  round: Round,
): Promise<boolean> {
  const { id, attempt } = claim
  const { rows } = await sql<{ readonly status: EndpointStatus; readonly isRestarted: boolean }>`
    select status, coalesce(restarted_at > leased_until - ${LEASE_SECONDS} * interval '1 second', false) as "isRestarted"
    from webhook_endpoints where id = ${id} and attempt = ${attempt} for update
  `.execute(transaction)
  const [row] = rows
  if (row === undefined) return false
  if (row.status !== 'DELETED') {
    await changeBacklogs(transaction, id, row.isRestarted ? withoutFailures(round) : round)
    await insertRequests(transaction, id, round.requests)
  }
  await release(transaction, claim, round, row.isRestarted)
  if (round.disabled === undefined || row.status !== 'ACTIVE' || row.isRestarted) return false
  await disable(transaction, claim, round.disabled)
  return true
}

/** Everything is due: the endpoint was restarted during the round, which sent to it as it was before. */
function withoutFailures({ backlogs, isRecovered }: Round): Pick<Round, 'backlogs' | 'isRecovered'> {
  const forgiven = { attempts: 0, is_first_failure: false, seconds: 0 }
  return { backlogs: backlogs.map((backlog) => ({ ...backlog, ...forgiven })), isRecovered }
}

async function release<Tables>(
  transaction: Transaction<Tables>,
  { id }: Pick<Claim, 'id'>,
  { passedSequence, failures, waits, seconds, testId }: Round,
  isRestarted: boolean,
): Promise<void> {
  await sql`
    update webhook_endpoints set
      passed_sequence = ${passedSequence}::bigint,
      failures = ${isRestarted ? 0 : failures},
      waits = ${waits && !isRestarted},
      leased_until = clock_timestamp(),
      test_id = nullif(test_id, ${testId}::uuid),
      next_attempt_at = case
        when test_id <> ${testId}::uuid or test_id is not null and ${testId}::uuid is null then clock_timestamp()
        when status <> 'ACTIVE' then null
        when ${isRestarted} or replay_after is not null then clock_timestamp()
        when ${seconds ?? null}::float8 is not null then clock_timestamp() + ${seconds ?? 0} * interval '1 second'
        else (select min(next_attempt_at) from webhook_backlogs where endpoint_id = ${id})
      end
    where id = ${id}
  `.execute(transaction)
}

async function changeBacklogs<Tables>(
  transaction: Transaction<Tables>,
  id: string,
  { backlogs, isRecovered }: Pick<RoundResult, 'backlogs' | 'isRecovered'>,
): Promise<void> {
  const isDone = ({ sequences }: ChangedBacklog) => sequences.length === 0
  const done = backlogs.filter(isDone)
  const left = backlogs.filter((backlog) => !isDone(backlog))
  if (done.length > 0) {
    await sql`
      delete from webhook_backlogs as backlog
      using json_to_recordset(${JSON.stringify(done)}::json) as done (object_type text, object_id uuid)
      where endpoint_id = ${id} and backlog.object_type = done.object_type and backlog.object_id = done.object_id
    `.execute(transaction)
  }
  if (left.length > 0) {
    await sql`
      insert into webhook_backlogs as backlog (endpoint_id, object_type, object_id, sequences, attempts,
        first_failed_at, next_attempt_at)
      select ${id}::uuid, object_type, object_id,
        array(select value::bigint from json_array_elements_text(sequences) with ordinality as each (value, place)
          order by place),
        attempts, case when is_first_failure then clock_timestamp() end,
        coalesce(clock_timestamp() + seconds * interval '1 second', '-infinity')
      from json_to_recordset(${JSON.stringify(left)}::json) as changed (object_type text, object_id uuid,
        sequences json, attempts integer, is_first_failure boolean, seconds float8)
      on conflict (endpoint_id, object_type, object_id) do update set
        sequences = excluded.sequences,
        attempts = excluded.attempts,
        first_failed_at = case when excluded.attempts > 0
          then coalesce(excluded.first_failed_at, backlog.first_failed_at) end,
        next_attempt_at = case when excluded.next_attempt_at = '-infinity' then backlog.next_attempt_at
          else excluded.next_attempt_at end
    `.execute(transaction)
  }
  if (isRecovered) {
    await sql`
      update webhook_backlogs set next_attempt_at = clock_timestamp()
      where endpoint_id = ${id} and attempts < ${RECOVERED_ATTEMPTS_MAX}
    `.execute(transaction)
  }
}

async function insertRequests<Tables>(
  transaction: Transaction<Tables>,
  id: string,
  requests: readonly SentRequest[],
): Promise<void> {
  if (requests.length === 0) return
  const rows = requests.map((request) => ({ ...request, id: newId() }))
  await sql`
    insert into webhook_requests (id, endpoint_id, event_id, sequence, attempt, status, error, milliseconds, created_at)
    select id, ${id}::uuid, event_id, sequence, attempt, status, error, milliseconds,
      date_trunc('milliseconds', clock_timestamp() - milliseconds_ago * interval '1 millisecond')
    from json_to_recordset(${JSON.stringify(rows)}::json) as request (id uuid, event_id uuid, sequence bigint,
      attempt integer, status integer, error text, milliseconds integer, milliseconds_ago float8)
  `.execute(transaction)
}

async function disable<Tables>(
  transaction: Transaction<Tables>,
  { id, customerId, url }: Pick<Claim, 'id' | 'customerId' | 'url'>,
  reason: string,
): Promise<void> {
  await sql`
    update webhook_endpoints set status = 'DISABLED', disabled_reason = ${reason}, next_attempt_at =
      case when test_id is not null then next_attempt_at end
    where id = ${id}
  `.execute(transaction)
  const facts = { url: new URL(url).host, reason }
  await queueNotice(transaction, { customerId, type: 'webhook_endpoint.disabled', subject: id, facts })
  const entry = { actor: 'worker', action: 'webhook_endpoint.disable', subject: id }
  await writeAudit(transaction, { ...entry, detail: { customer_id: customerId, reason } })
}

/** Requests kept for the log. */
const KEPT_DAYS = 14
/** One statement's share: its transaction stays short. */
const DELETED_MAX = 5_000

/** Deletes a part of the old requests, and returns whether there are more. */
export async function deleteOldRequests<Tables>(transaction: Transaction<Tables>): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    delete from webhook_requests where (endpoint_id, created_at, id) in (
      select endpoint_id, created_at, id from webhook_requests
      where created_at < clock_timestamp() - ${KEPT_DAYS} * interval '1 day' order by created_at limit ${DELETED_MAX}
    )
  `.execute(transaction)
  return Number(numAffectedRows) === DELETED_MAX
}

/**
 * The sender's claims in the store. A claim has a lease and a fencing number: what a sender records after another claim
 * changes nothing. An endpoint has a position in its customer's events instead of a row for each. Only objects whose
 * first event failed, or was not sent yet, have a row: their backlog.
 */
import type { Transaction } from '../../platform/store/db.ts'
import { unlessLocked } from '../../platform/store/lock-order.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import type { StoredSecret } from './secrets.ts'
import type { EndpointStatus } from './tables.ts'

/** Longer than a round takes. A sender without a recorded round by then has stopped. */
export const LEASE_SECONDS = 60
/**
 * Failed objects in a row after which the endpoint as a whole is retried with one request at a time, whatever waits
 * for it.
 */
export const FAILURES_MAX = 5
/** An event that failed this long disables its endpoint. */
export const FAILING_HOURS_MAX = 72

/** One object's waiting events. */
export interface Backlog {
  readonly objectType: string
  readonly objectId: string
  /** Ascending, and never empty. */
  readonly sequences: readonly number[]
  /** Failed requests for the first one. */
  readonly attempts: number
  readonly isDue: boolean
  /** Whether the first one has failed for FAILING_HOURS_MAX. */
  readonly isOverdue: boolean
}

/** An endpoint that this sender alone sends to until its lease ends. */
export interface Claim {
  readonly id: string
  readonly customerId: string
  /** Whether its client is enabled, and its customer. Like the scopes from the store: this node's directory may lag. */
  readonly isClientEnabled: boolean
  readonly isCustomerEnabled: boolean
  /** Its client's. */
  readonly scopes: readonly string[]
  readonly url: string
  readonly types: readonly string[]
  readonly status: EndpointStatus
  readonly secrets: readonly StoredSecret[]
  readonly passedSequence: number
  /** The customer's last event at the time of the claim. */
  readonly lastSequence: number
  readonly testId: string | null
  /** Failed objects since the last success, and failed probes. */
  readonly failures: number
  /** The fencing number. */
  readonly attempt: number
  readonly dueAt: string
  /** In the order of their first sequences. */
  readonly backlogs: readonly Backlog[]
}

export interface ClaimRequest {
  readonly limit: number
  /** The condition for endpoints with work apart from new events, unless all are searched. */
  readonly isRecent: RawBuilder<boolean>
  /** Customers with new events. */
  readonly customerIds: readonly string[]
  /** Whether new events of all customers are searched: notifications can be lost. */
  readonly isFull: boolean
}

type ClaimedRow = Omit<Claim, 'backlogs' | 'passedSequence' | 'lastSequence' | 'attempt'> &
  Readonly<Record<'passedSequence' | 'lastSequence' | 'attempt', string>>

/** Claims up to `limit` endpoints with work, those claimed longest ago first. */
export async function claimEndpoints<Tables>(
  transaction: Transaction<Tables>,
  { limit, isRecent, customerIds, isFull }: ClaimRequest,
): Promise<readonly Claim[]> {
  const hasNewEvents = sql<boolean>`status = 'ACTIVE' and not waits and passed_sequence < last_sequence`
  const ofCustomers = isFull ? sql<boolean>`true` : sql<boolean>`customer_id = any(${[...customerIds]}::uuid[])`
  const { rows } = await sql<ClaimedRow>`
    with wanted as materialized (
      select id from webhook_endpoints where next_attempt_at <= statement_timestamp() and ${isRecent}
        and (status = 'ACTIVE' or test_id is not null)
      union
      select id from webhook_endpoints join event_counters using (customer_id) where ${ofCustomers} and ${hasNewEvents}
    ), due as materialized (
      select id, coalesce(next_attempt_at, statement_timestamp()) as due_at from webhook_endpoints
      where id in (select id from wanted) and leased_until <= statement_timestamp()
      order by leased_until, id limit ${limit} ${unlessLocked}
    ), taken as (
      update webhook_endpoints as endpoint set attempt = attempt + 1,
        leased_until = clock_timestamp() + ${LEASE_SECONDS} * interval '1 second',
        next_attempt_at = clock_timestamp() + ${LEASE_SECONDS} * interval '1 second',
        passed_sequence = coalesce(replay_after, passed_sequence),
        replay_after = null
      from due where endpoint.id = due.id
      returning endpoint.*, due_at
    ), cleared as (
      delete from webhook_backlogs using webhook_endpoints as before, due
      where endpoint_id = before.id and before.id = due.id and before.replay_after is not null
    )
    select taken.id, taken.customer_id as "customerId", clients.enabled as "isClientEnabled",
      customers.enabled as "isCustomerEnabled", scopes, url, types, status, secrets,
      passed_sequence as "passedSequence", coalesce(last_sequence, 0) as "lastSequence", test_id as "testId", failures,
      attempt, due_at as "dueAt"
    from taken join clients on clients.id = client_id join customers on customers.id = taken.customer_id
      left join event_counters on event_counters.customer_id = taken.customer_id
    order by due_at, taken.id
  `.execute(transaction)
  if (rows.length === 0) return []
  const backlogs = await backlogsOf(
    transaction,
    rows.map(({ id }) => id),
  )
  return rows.map(({ passedSequence, lastSequence, attempt, ...row }) => ({
    ...row,
    passedSequence: Number(passedSequence),
    lastSequence: Number(lastSequence),
    attempt: Number(attempt),
    backlogs: backlogs.get(row.id) ?? [],
  }))
}

async function backlogsOf<Tables>(
  transaction: Transaction<Tables>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly Backlog[]>> {
  const { rows } = await sql<
    Omit<Backlog, 'sequences'> & { readonly endpointId: string; readonly sequences: string[] }
  >`
    select endpoint_id as "endpointId", object_type as "objectType", object_id as "objectId", sequences, attempts,
      next_attempt_at <= statement_timestamp() as "isDue",
      coalesce(first_failed_at <= statement_timestamp() - ${FAILING_HOURS_MAX} * interval '1 hour', false) as "isOverdue"
    from webhook_backlogs where endpoint_id = any(${[...ids]}::uuid[])
    order by endpoint_id, sequences[1]
  `.execute(transaction)
  const found = new Map<string, Backlog[]>()
  for (const { endpointId, ...row } of rows) {
    const list = found.get(endpointId) ?? []
    list.push({ ...row, sequences: row.sequences.map(Number) })
    found.set(endpointId, list)
  }
  return found
}

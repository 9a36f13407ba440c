/**
 * Starts orchestrations: inserts their rows and their work, and notifies the workers. In the same transaction, the
 * caller reserves each amount in its profile's `in_transit`.
 */
import type { Transaction } from '../../platform/store/db.ts'
import { forUpdate, unlessLocked } from '../../platform/store/lock-order.ts'
import { sql } from '../../platform/store/sql.ts'
import { type Column, inserting } from '../../platform/store/unnested.ts'
import { isOf, type Waiter, wakeLimitedDeliveries } from '../deliveries/create.ts'
import type { GateWait } from '../gates/model.ts'
import type { MinorUnits } from '../ledger/posting.ts'
import type { RuleDestination, RuleSource } from '../rules/model.ts'
import type { Done } from './done.ts'

/** Notified when work is due. The payload is empty. */
export const WORK_CHANNEL = 'orchestration_work'

/** The kind of work that converts an orchestration: the name of its step. */
export const CONVERT_KIND = 'convert'

export interface NewOrchestration {
  readonly id: string
  readonly customerId: string
  readonly profileId: string
  readonly accountId: string | null
  readonly identityId: string | null
  /** The customer's own id for a requested orchestration, unique within the customer. */
  readonly refId: string | null
  readonly ruleId: string | null
  readonly depositId: string | null
  /**
   * How many corrections the deposit had before the credit that starts this. A credit starts at most one orchestration.
   */
  readonly depositRevision?: number
  /** That credit's transfer. */
  readonly sourceTransferId?: string
  readonly retryOf: string | null
  readonly sourceAsset: string
  readonly sourceAmount: MinorUnits
  readonly destinationAsset: string
  readonly source: RuleSource
  readonly destination: RuleDestination
  readonly metadata: Readonly<Record<string, unknown>>
  /** From `nextCreationTimes` for the customer. */
  readonly createdAt: string
  /** Set when the transaction that starts it also completes it. */
  readonly done?: Done
}

export interface StartSettings {
  /** The setting `orchestrations.convert_seconds_max`. */
  readonly convertSecondsMax: number
}

/** The columns set by the caller. The others follow from them. */
const COLUMNS = [
  ['id', 'uuid', ({ id }) => id],
  ['customer_id', 'uuid', ({ customerId }) => customerId],
  ['profile_id', 'uuid', ({ profileId }) => profileId],
  ['account_id', 'uuid', ({ accountId }) => accountId],
  ['identity_id', 'text', ({ identityId }) => identityId],
  ['ref_id', 'text', ({ refId }) => refId],
  ['rule_id', 'uuid', ({ ruleId }) => ruleId],
  ['deposit_id', 'uuid', ({ depositId }) => depositId],
  ['deposit_revision', 'integer', ({ depositRevision }) => depositRevision ?? 0],
  ['source_transfer_id', 'uuid', ({ sourceTransferId, depositId }) => sourceTransferId ?? depositId],
  ['retry_of', 'uuid', ({ retryOf }) => retryOf],
  ['source_asset', 'text', ({ sourceAsset }) => sourceAsset],
  ['source_amount', 'numeric', ({ sourceAmount }) => sourceAmount],
  ['destination_asset', 'text', ({ destinationAsset }) => destinationAsset],
  ['source', 'jsonb', ({ source }) => JSON.stringify(source)],
  ['destination', 'jsonb', ({ destination }) => JSON.stringify(destination)],
  ['metadata', 'jsonb', ({ metadata }) => JSON.stringify(metadata)],
  ['status', 'text', ({ done }) => (done === undefined ? 'PROCESSING' : 'COMPLETED')],
  ['step', 'text', ({ done }) => (done === undefined ? 'convert' : null)],
  ['fee_amount', 'numeric', ({ done }) => done?.amounts.fee ?? null],
  ['converted_amount', 'numeric', ({ done }) => done?.amounts.converted ?? null],
  ['destination_amount', 'numeric', ({ done }) => done?.amounts.outgoing ?? null],
  ['price', 'text', ({ done }) => done?.price ?? null],
  ['price_source', 'text', ({ done }) => done?.priceSource ?? null],
  ['destination_transfer_id', 'uuid', ({ done }) => done?.ids.destination ?? null],
  ['created_at', 'timestamptz', ({ createdAt }) => createdAt],
] as const satisfies readonly Column<NewOrchestration>[]

/**
 * Inserts orchestrations. Those without a result are PROCESSING at step `convert`, with work due at once. For the
 * others, the caller writes postings, transfers and audit rows.
 */
export async function startOrchestrations<Tables>(
  transaction: Transaction<Tables>,
  starts: readonly NewOrchestration[],
  { convertSecondsMax }: StartSettings,
): Promise<void> {
  if (starts.length === 0) return
  const started = inserting('orchestrations', starts, COLUMNS, {
    updated_at: sql`created_at`,
    expires_at: sql`created_at + make_interval(secs => ${convertSecondsMax}::double precision)`,
  })
  await sql`
    with started as (${started} returning id, step)
    insert into orchestration_queue (orchestration_id, kind, next_attempt_at)
    select id, step, clock_timestamp() from started where step is not null
  `.execute(transaction)
  if (starts.some(({ done }) => done === undefined)) await notifyWork(transaction)
}

/** Wakes the workers on all nodes when the transaction commits. */
export async function notifyWork<Tables>(transaction: Transaction<Tables>): Promise<void> {
  await sql`select pg_notify(${WORK_CHANNEL}, '')`.execute(transaction)
}

/** Makes due whatever waits for these customers' limits, except records held by another transaction. */
export async function wakeLimited<Tables>(
  transaction: Transaction<Tables>,
  customerIds: readonly string[],
): Promise<void> {
  await wakeLimitedDeliveries(transaction, customerIds)
  await sql`
    with limited as (
      select orchestration_id from orchestration_queue where orchestration_id in (
        select id from orchestrations where customer_id = any(${[...customerIds]}::uuid[]) and waiting_for = 'LIMIT'
      ) ${unlessLocked}
    )
    update orchestration_queue as queue set next_attempt_at = least(next_attempt_at, clock_timestamp())
    from limited where queue.orchestration_id = limited.orchestration_id
  `.execute(transaction)
  await notifyWork(transaction)
}

/**
 * Makes the work of orchestrations that wait for this reason due at once.
 * @param of whose. Absent: all
 */
export async function wakeWaiting<Tables>(
  transaction: Transaction<Tables>,
  reason: GateWait,
  of?: Waiter,
): Promise<void> {
  await sql`
    with waiting as (
      select id from orchestrations where waiting_for = ${reason} and step = 'convert'
        and ${isOf(of)} order by id
      ${forUpdate(transaction, 'orchestration', ['every waiting one'])}
    )
    update orchestration_queue set next_attempt_at = clock_timestamp() from waiting where orchestration_id = waiting.id
  `.execute(transaction)
  await notifyWork(transaction)
}

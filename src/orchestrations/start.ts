/**
 * Starts orchestrations: inserts their rows and their work, and notifies the workers. The caller reserves the amount of
 * each, in `in_transit` of its profile, in the same transaction.
 */
import type { MinorUnits } from '../ledger/posting.ts'
import type { RuleDestination, RuleSource } from '../rules/model.ts'
import type { Transaction } from '../store/db.ts'
import { sql } from '../store/sql.ts'

/** Notified when work is due; the payload is empty. */
export const WORK_CHANNEL = 'orchestration_work'

/** The kind of work that converts an orchestration. */
export const CONVERT_KIND = 'convert'

export interface NewOrchestration {
  readonly id: string
  readonly customerId: string
  readonly profileId: string
  readonly accountId: string | null
  readonly identityId: string | null
  /** The customer's own id of an orchestration that it requested; unique within the customer. */
  readonly refId: string | null
  readonly ruleId: string | null
  readonly depositId: string | null
  readonly retryOf: string | null
  readonly sourceAsset: string
  readonly sourceAmount: MinorUnits
  readonly destinationAsset: string
  readonly source: RuleSource
  readonly destination: RuleDestination
  readonly metadata: Readonly<Record<string, unknown>>
  /** From `nextCreationTimes` of the customer. */
  readonly createdAt: string
}

export interface StartSettings {
  /** The setting `orchestrations.convert_seconds_max`. */
  readonly convertSecondsMax: number
}

/** Inserts orchestrations as PROCESSING at step `convert`, with work that is due at once. */
export async function startOrchestrations<Tables>(
  transaction: Transaction<Tables>,
  starts: readonly NewOrchestration[],
  { convertSecondsMax }: StartSettings,
): Promise<void> {
  if (starts.length === 0) return
  const column = (textOf: (start: NewOrchestration) => string | null) => starts.map(textOf)
  await sql`
    with started as (
      insert into orchestrations (id, customer_id, profile_id, account_id, identity_id, ref_id, rule_id, deposit_id,
        retry_of, source_asset, source_amount, destination_asset, source, destination, metadata, status, step,
        source_transfer_id, expires_at, created_at, updated_at)
      select id, customer_id, profile_id, account_id, identity_id, ref_id, rule_id, deposit_id, retry_of, source_asset,
        source_amount, destination_asset, source, destination, metadata, 'PROCESSING', 'convert', deposit_id,
        created_at + make_interval(secs => ${convertSecondsMax}::double precision), created_at, created_at
      from unnest(
        ${column(({ id }) => id)}::uuid[],
        ${column(({ customerId }) => customerId)}::uuid[],
        ${column(({ profileId }) => profileId)}::uuid[],
        ${column(({ accountId }) => accountId)}::uuid[],
        ${column(({ identityId }) => identityId)}::text[],
        ${column(({ refId }) => refId)}::text[],
        ${column(({ ruleId }) => ruleId)}::uuid[],
        ${column(({ depositId }) => depositId)}::uuid[],
        ${column(({ retryOf }) => retryOf)}::uuid[],
        ${column(({ sourceAsset }) => sourceAsset)}::text[],
        ${column(({ sourceAmount }) => String(sourceAmount))}::numeric[],
        ${column(({ destinationAsset }) => destinationAsset)}::text[],
        ${column(({ source }) => JSON.stringify(source))}::jsonb[],
        ${column(({ destination }) => JSON.stringify(destination))}::jsonb[],
        ${column(({ metadata }) => JSON.stringify(metadata))}::jsonb[],
        ${column(({ createdAt }) => createdAt)}::timestamptz[]
      ) as wanted (id, customer_id, profile_id, account_id, identity_id, ref_id, rule_id, deposit_id, retry_of,
        source_asset, source_amount, destination_asset, source, destination, metadata, created_at)
      returning id
    )
    insert into orchestration_queue (orchestration_id, kind, next_attempt_at)
    select id, ${CONVERT_KIND}, clock_timestamp() from started
  `.execute(transaction)
  await notifyWork(transaction)
}

/** Wakes the workers of all nodes when the transaction commits. */
export async function notifyWork<Tables>(transaction: Transaction<Tables>): Promise<void> {
  await sql`select pg_notify(${WORK_CHANNEL}, '')`.execute(transaction)
}

/** Makes the work of paused orchestrations due at once. As everywhere, orchestrations are locked before their work. */
export async function wakePaused<Tables>(transaction: Transaction<Tables>): Promise<void> {
  await sql`
    with paused as (
      select id from orchestrations where waiting_for = 'PAUSED' and step = 'convert' order by id for update
    )
    update orchestration_queue set next_attempt_at = clock_timestamp() from paused where orchestration_id = paused.id
  `.execute(transaction)
  await notifyWork(transaction)
}

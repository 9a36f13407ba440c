/**
 * Reads and writes orchestrations for the worker, for delivery results and for the operator's actions: many rows per
 * statement. It decides nothing. Every change writes one audit row, except when an unconverted orchestration still
 * waits for the same reason. A failure gives back what the movement has used of its limits.
 */
import type { Transaction } from '../../platform/store/db.ts'
import { forUpdate } from '../../platform/store/lock-order.ts'
import { sql } from '../../platform/store/sql.ts'
import { type Column, unnested } from '../../platform/store/unnested.ts'
import { type GateCode, type GateFinding, gatesText } from '../gates/model.ts'
import type { Release } from '../gates/release.ts'
import type { RuleSource } from '../rules/model.ts'
import { CLOCK_STOPPING, type FailCode, type OrchestrationStatus, type Step, type WaitingFor } from './model.ts'
import type { Amounts, Convertible } from './movements.ts'
import { type Claim, listed } from './queue.ts'
import { wakeLimited } from './start.ts'

/** An orchestration at step `convert`, locked for the worker that holds its claim. */
export interface ClaimedOrchestration extends Convertible {
  readonly source: RuleSource
  /** Whether a fee is charged. A retry with the amount left after the fee is free, and so are its own retries. */
  readonly isCharged: boolean
  /** Whether `expires_at`, extended by the time at closed gates, has passed. */
  readonly isExpired: boolean
  /** The gates that a release has opened for it. */
  readonly openedGates: readonly GateCode[]
  /** Whether the customer has limits of its own. */
  readonly hasLimits: boolean
}

/** An orchestration's new state. Without `waitingFor` a wait ends. Other absent members keep their values. */
export interface StepChange {
  readonly id: string
  /** The action in the audit row: noun and verb, such as `orchestration.fail`. */
  readonly action: string
  readonly status: OrchestrationStatus
  readonly step: Step | null
  readonly waitingFor?: WaitingFor
  readonly waitingDetail?: string
  /** The closed gates that it waits for. */
  readonly gates?: readonly GateFinding[] | undefined
  /** What the operator has released. */
  readonly released?: Pick<Release, 'gates' | 'reason'>
  readonly failCode?: FailCode
  readonly failDetail?: string
  readonly conversion?: Amounts & { readonly price: string; readonly priceSource: string }
  readonly sourceTransferId?: string
  readonly destinationTransferId?: string
}

interface ClaimedRow extends Omit<ClaimedOrchestration, 'sourceAmount'> {
  readonly sourceAmount: string
}

/** The current wait's time that extends `expires_at`. */
const STOPPED_TIME = sql`case when orchestrations.waiting_for = any(${[...CLOCK_STOPPING]}::text[])
  then clock_timestamp() - orchestrations.waiting_since else interval '0' end`

/** The orchestrations whose claims are not lost, locked until the transaction ends, in id order. */
export async function lockClaimed<Tables>(
  transaction: Transaction<Tables>,
  claims: readonly Claim[],
): Promise<readonly ClaimedOrchestration[]> {
  const ids = claims.map(({ orchestrationId }) => orchestrationId)
  // The state is checked after the rows are locked. In the inner query the planner would begin with all rows in this
  // state.
  const { rows } = await sql<ClaimedRow>`
    with locked as materialized (
      select orchestrations.id, orchestrations.customer_id as "customerId", orchestrations.profile_id as "profileId",
        orchestrations.account_id as "accountId", source_asset as "sourceAsset", source_amount as "sourceAmount",
        destination_asset as "destinationAsset", source, destination, target.id as "destinationAccountId",
        orchestrations.metadata, expires_at + ${STOPPED_TIME} <= clock_timestamp() as "isExpired",
        orchestrations.retry_of is null or not exists (
          with recursive tried as (
            select failed.* from orchestrations as failed where failed.id = orchestrations.retry_of
            union all
            select failed.* from tried join orchestrations as failed on failed.id = tried.retry_of
          )
          select from tried where tried.destination_asset = orchestrations.source_asset
            and tried.destination_amount = orchestrations.source_amount
        ) as "isCharged", orchestrations.opened_gates as "openedGates",
        exists (
          select from limit_overrides where limit_overrides.customer_id = orchestrations.customer_id
        ) as "hasLimits", orchestrations.status, orchestrations.step
      from ${listed(claims)}
      join orchestration_queue as queue
        on queue.orchestration_id = claims.orchestration_id and queue.attempt = claims.attempt
      join orchestrations on orchestrations.id = claims.orchestration_id
      left join accounts as target on target.profile_id = (destination -> 'profile' ->> 'profile_id')::uuid
      order by orchestrations.id
      ${forUpdate(transaction, 'orchestration', ids)} of orchestrations
    )
    select id, "customerId", "profileId", "accountId", "sourceAsset", "sourceAmount", "destinationAsset", source,
      destination, "destinationAccountId", metadata, "isExpired", "isCharged", "openedGates",
      "hasLimits"
    from locked where status = 'PROCESSING' and step = 'convert' order by id
  `.execute(transaction)
  return rows.map(({ sourceAmount, ...row }) => ({ ...row, sourceAmount: BigInt(sourceAmount) }))
}

const STEP_COLUMNS: readonly Column<StepChange>[] = [
  ['id', 'uuid', ({ id }) => id],
  ['status', 'text', ({ status }) => status],
  ['step', 'text', ({ step }) => step],
  ['waiting_for', 'text', ({ waitingFor }) => waitingFor ?? null],
  ['waiting_detail', 'text', ({ waitingDetail }) => waitingDetail ?? null],
  ['gates', 'jsonb', ({ gates }) => (gates === undefined ? null : gatesText({ gates }))],
  ['fail_code', 'text', ({ failCode }) => failCode ?? null],
  ['fail_detail', 'text', ({ failDetail }) => failDetail ?? null],
  ['fee_amount', 'numeric', ({ conversion }) => conversion?.fee ?? null],
  ['converted_amount', 'numeric', ({ conversion }) => conversion?.converted ?? null],
  ['destination_amount', 'numeric', ({ conversion }) => conversion?.outgoing ?? null],
  ['price', 'text', ({ conversion }) => conversion?.price ?? null],
  ['price_source', 'text', ({ conversion }) => conversion?.priceSource ?? null],
  ['source_transfer_id', 'uuid', ({ sourceTransferId }) => sourceTransferId ?? null],
  ['destination_transfer_id', 'uuid', ({ destinationTransferId }) => destinationTransferId ?? null],
  ['released', 'jsonb', ({ released }) => (released === undefined ? null : JSON.stringify(released))],
  ['action', 'text', ({ action }) => action],
]

export async function writeSteps<Tables>(
  transaction: Transaction<Tables>,
  changes: readonly StepChange[],
  actor = 'worker',
): Promise<void> {
  if (changes.length === 0) return
  const { rows } = await sql<{ readonly customer_id: string }>`
    with wanted as (
      select * from ${unnested(changes, STEP_COLUMNS)}
    ), before as (
      select orchestrations.id, orchestrations.waiting_for,
        orchestrations.waiting_for is distinct from wanted.waiting_for as is_new_wait,
        case when orchestrations.waiting_for is distinct from wanted.waiting_for then ${STOPPED_TIME}
          else interval '0' end as stopped_time
      from orchestrations join wanted on wanted.id = orchestrations.id
    ), changed as (
      update orchestrations set
        status = wanted.status, step = wanted.step,
        waiting_for = wanted.waiting_for, waiting_detail = wanted.waiting_detail,
        gates = wanted.gates,
        waiting_since = case
          when wanted.waiting_for is null then null
          when is_new_wait then date_trunc('milliseconds', clock_timestamp())
          else orchestrations.waiting_since end,
        expires_at = orchestrations.expires_at + stopped_time,
        fail_code = wanted.fail_code,
        fail_detail = wanted.fail_detail,
        fee_amount = coalesce(wanted.fee_amount, orchestrations.fee_amount),
        converted_amount = coalesce(wanted.converted_amount, orchestrations.converted_amount),
        destination_amount = coalesce(wanted.destination_amount, orchestrations.destination_amount),
        price = coalesce(wanted.price, orchestrations.price),
        price_source = coalesce(wanted.price_source, orchestrations.price_source),
        source_transfer_id = coalesce(orchestrations.source_transfer_id, wanted.source_transfer_id),
        destination_transfer_id = coalesce(wanted.destination_transfer_id, orchestrations.destination_transfer_id),
        updated_at = greatest(
          date_trunc('milliseconds', clock_timestamp()), orchestrations.updated_at + interval '1 millisecond')
      from wanted join before on before.id = wanted.id
      where orchestrations.id = wanted.id and (wanted.status <> 'PROCESSING' or wanted.step <> 'convert'
        or released is not null or is_new_wait or orchestrations.waiting_detail is distinct from wanted.waiting_detail
          or orchestrations.gates is distinct from wanted.gates)
      returning orchestrations.id, orchestrations.status, orchestrations.step, orchestrations.waiting_for, is_new_wait, action, released,
        orchestrations.waiting_detail, orchestrations.fail_code, orchestrations.fail_detail, orchestrations.price
    ), uses as (
      -- A late settlement counts again what the failure gave back.
      update limit_uses set returned = wanted.status = 'FAILED' from wanted
      where movement_id = wanted.id and wanted.status <> 'PROCESSING' and returned <> (wanted.status = 'FAILED')
      returning customer_id, returned
    ), audited as (
      insert into audit (actor, action, subject, detail)
      select ${actor}, action,
        id::text,
        jsonb_strip_nulls(jsonb_build_object('waiting_for', waiting_for, 'fail_code', fail_code,
          'detail', coalesce(waiting_detail, fail_detail), 'price', price)) || coalesce(released, '{}')
      from changed
      where status <> 'PROCESSING' or step <> 'convert' or is_new_wait or released is not null
      order by id
    )
    select distinct customer_id from uses where returned
  `.execute(transaction)
  const customers = rows.map(({ customer_id }) => customer_id)
  if (customers.length > 0) await wakeLimited(transaction, customers)
}

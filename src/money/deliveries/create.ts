/**
 * Creates deliveries in the caller's transaction, releases them for the operator, and wakes paused ones. The caller has
 * moved their amounts to the profile's `in_transit`. Nothing is sent here. Executors are notified when the transaction
 * commits.
 */
import type { Transaction } from '../../platform/store/db.ts'
import { forUpdate, locking, unlessLocked } from '../../platform/store/lock-order.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { type Column, inserting } from '../../platform/store/unnested.ts'
import { type GateCode, type GatesWait, type GateWait, gatesText } from '../gates/model.ts'
import type { MinorUnits } from '../ledger/posting.ts'
import { insertTransfers, type NewTransfer } from '../transfers/store.ts'
import type { DeliveryDestination, DeliverySubject } from './model.ts'
import { type DeliveryRow, rowColumns } from './store.ts'

/** The store's notification channel for due deliveries. */
export const DELIVERIES_CHANNEL = 'tidegate_deliveries'

export interface NewDelivery {
  readonly id: string
  readonly customerId: string
  readonly profileId: string
  readonly accountId: string | null
  readonly owner: DeliverySubject
  readonly asset: string
  /** Above zero, in the profile's `in_transit`. */
  readonly amount: MinorUnits
  /** The fee charged for this payment alone, shown by its transfer. Absent: none. */
  readonly fee?: MinorUnits
  readonly destination: DeliveryDestination
  /** The profile's bucket to which the amount returns when the delivery fails. */
  readonly failsTo: 'available' | 'held'
  /** The group of the customer's transfer. */
  readonly groupId: string
  /** RFC 3339, from `nextCreationTimes` for the customer. */
  readonly createdAt: string
  /** Copied to the transfer, and sent to the executor. */
  readonly metadata: Readonly<Record<string, unknown>>
  /** The gates that it passes. Absent: none. */
  readonly openedGates?: readonly GateCode[]
  /** Why it waits from the beginning. Absent: it is due at once. The next hand-out reads the gates again. */
  readonly wait?: GatesWait | undefined
}

const COLUMNS: readonly Column<NewDelivery>[] = [
  ['id', 'uuid', ({ id }) => id],
  ['customer_id', 'uuid', ({ customerId }) => customerId],
  ['profile_id', 'uuid', ({ profileId }) => profileId],
  ['account_id', 'uuid', ({ accountId }) => accountId],
  ['orchestration_id', 'uuid', ({ owner }) => ('orchestrationId' in owner ? owner.orchestrationId : null)],
  ['deposit_id', 'uuid', ({ owner }) => ('depositId' in owner ? owner.depositId : null)],
  ['asset', 'text', ({ asset }) => asset],
  ['amount', 'numeric', ({ amount }) => amount],
  ['destination', 'jsonb', ({ destination }) => JSON.stringify(destination)],
  ['fails_to', 'text', ({ failsTo }) => failsTo],
  ['metadata', 'jsonb', ({ metadata }) => JSON.stringify(metadata)],
  ['status', 'text', () => 'WAITING'],
  ['waiting_for', 'text', ({ wait }) => wait?.waitingFor ?? null],
  ['waiting_detail', 'text', ({ wait }) => wait?.detail ?? null],
  ['gates', 'jsonb', ({ wait }) => (wait === undefined ? null : gatesText(wait))],
  ['opened_gates', 'text', ({ openedGates = [] }) => `{${openedGates.join(',')}}`],
  ['created_at', 'timestamptz', ({ createdAt }) => createdAt],
]

/** Inserts WAITING deliveries, each with the customer's PENDING transfer under the same id. */
export async function createDeliveries<Tables>(
  transaction: Transaction<Tables>,
  deliveries: readonly NewDelivery[],
): Promise<void> {
  if (deliveries.length === 0) return
  const computed = {
    opened_gates: sql`opened_gates::text[]`,
    next_attempt_at: sql`clock_timestamp()`,
    updated_at: sql`created_at`,
  }
  await inserting('deliveries', deliveries, COLUMNS, computed).execute(transaction)
  await insertTransfers(transaction, deliveries.map(transferOf))
  await sql`select pg_notify(${DELIVERIES_CHANNEL}, '')`.execute(transaction)
}

/** An orchestration's delivery, locked until the transaction ends. */
export async function lockDeliveryOf<Tables>(
  transaction: Transaction<Tables>,
  orchestrationId: string,
): Promise<DeliveryRow | undefined> {
  const { rows } = await sql<DeliveryRow>`
    select ${rowColumns} from deliveries where orchestration_id = ${orchestrationId}
    ${forUpdate(transaction, 'delivery', [orchestrationId])}
  `.execute(transaction)
  return rows[0]
}

/**
 * Sets the opened gates of a waiting, locked delivery, and makes it due.
 *
 * @param wait at the gates that are still closed. Undefined: none
 */
export async function releaseDelivery<Tables>(
  transaction: Transaction<Tables>,
  { id }: Pick<DeliveryRow, 'id'>,
  openedGates: readonly GateCode[],
  wait: GatesWait | undefined,
): Promise<void> {
  await sql`
    update deliveries set opened_gates = ${[...openedGates]}::text[], next_attempt_at = clock_timestamp(),
      waiting_for = ${wait?.waitingFor ?? null}, waiting_detail = ${wait?.detail ?? null},
      gates = ${wait === undefined ? null : gatesText(wait)}::jsonb
    where id = ${id}
  `.execute(transaction)
  await sql`select pg_notify(${DELIVERIES_CHANNEL}, '')`.execute(transaction)
}

/**
 * Makes deliveries that wait for this reason due at once.
 * @param of whose. Absent: all
 */
export async function wakeWaitingDeliveries<Tables>(
  transaction: Transaction<Tables>,
  reason: GateWait,
  of?: Waiter,
): Promise<void> {
  locking(transaction, 'delivery', ['every waiting one'])
  await sql`
    update deliveries set next_attempt_at = least(next_attempt_at, clock_timestamp())
    where next_attempt_at is not null and waiting_for = ${reason}
      and ${isOf(of)}
  `.execute(transaction)
  await sql`select pg_notify(${DELIVERIES_CHANNEL}, '')`.execute(transaction)
}

/** A profile's or a customer's movements. */
export type Waiter = { readonly profileId: string } | { readonly customerId: string }

export function isOf(of: Waiter | undefined): RawBuilder<boolean> {
  if (of === undefined) return sql`true`
  return 'profileId' in of ? sql`profile_id = ${of.profileId}` : sql`customer_id = ${of.customerId}`
}

/** Makes due whatever waits for these customers' limits, except deliveries held by another transaction. */
export async function wakeLimitedDeliveries<Tables>(
  transaction: Transaction<Tables>,
  customerIds: readonly string[],
): Promise<void> {
  await sql`
    with limited as (
      select id from deliveries
      where customer_id = any(${[...customerIds]}::uuid[]) and waiting_for = 'LIMIT' and next_attempt_at is not null
      ${unlessLocked}
    )
    update deliveries set next_attempt_at = least(next_attempt_at, clock_timestamp())
    from limited where deliveries.id = limited.id
  `.execute(transaction)
  await sql`select pg_notify(${DELIVERIES_CHANNEL}, '')`.execute(transaction)
}

function transferOf({ destination, owner, failsTo, wait, openedGates, ...delivery }: NewDelivery): NewTransfer {
  const common = { ...delivery, direction: 'DEBIT', status: 'PENDING' } as const
  if ('crypto' in destination) {
    const { address, network, memo } = destination.crypto
    const paid = { cryptoNetwork: network, destinationAddress: address, ...(memo === undefined ? {} : { memo }) }
    return { ...common, type: 'CRYPTO_WITHDRAWAL', ...paid }
  }
  const { network = 'WIRE', memo } = destination.fiat
  return { ...common, type: `${network}_WITHDRAWAL`, ...(memo === undefined ? {} : { memo }) }
}

/**
 * Makes deliveries: their amounts are in `in_transit` of the profile already, in the caller's transaction. Nothing is
 * sent here; whoever executes payments is notified when the transaction commits.
 */
import type { MinorUnits } from '../ledger/posting.ts'
import type { Transaction } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import { insertTransfers, type NewTransfer } from '../transfers/store.ts'
import type { DeliveryDestination, DeliverySubject } from './model.ts'

/** The notification channel on which a commit announces that a delivery is due. */
export const DELIVERIES_CHANNEL = 'tidegate_deliveries'

export interface NewDelivery {
  readonly id: string
  readonly customerId: string
  readonly profileId: string
  readonly accountId: string | null
  readonly owner: DeliverySubject
  readonly asset: string
  /** Above zero; in `in_transit` of the profile. */
  readonly amount: MinorUnits
  readonly destination: DeliveryDestination
  /** The bucket of the profile that the amount goes back to when the delivery fails. */
  readonly failsTo: 'available' | 'held'
  /** Of the transfer that the customer sees. */
  readonly groupId: string
  /** RFC 3339, from the clock of the customer. */
  readonly createdAt: string
  /** Copied to the transfer, and sent to the executor. */
  readonly metadata: Readonly<Record<string, unknown>>
}

/** Writes the deliveries, WAITING, and the entry of the customer's statement that each has, PENDING, with its id. */
export async function createDeliveries<Tables>(
  transaction: Transaction<Tables>,
  deliveries: readonly NewDelivery[],
): Promise<void> {
  if (deliveries.length === 0) return
  const orchestrationOf = ({ owner }: NewDelivery) => ('orchestrationId' in owner ? owner.orchestrationId : null)
  const depositOf = ({ owner }: NewDelivery) => ('depositId' in owner ? owner.depositId : null)
  await sql`
    insert into deliveries (id, customer_id, profile_id, account_id, orchestration_id, deposit_id, asset, amount,
      destination, fails_to, metadata, status, hold_released, next_attempt_at, created_at, updated_at)
    select id, customer_id, profile_id, account_id, orchestration_id, deposit_id, asset, amount,
      destination, fails_to, metadata, 'WAITING', deposit_id is not null, clock_timestamp(), created_at, created_at
    from unnest(
      ${deliveries.map(({ id }) => id)}::uuid[],
      ${deliveries.map(({ customerId }) => customerId)}::uuid[],
      ${deliveries.map(({ profileId }) => profileId)}::uuid[],
      ${deliveries.map(({ accountId }) => accountId)}::uuid[],
      ${deliveries.map(orchestrationOf)}::uuid[],
      ${deliveries.map(depositOf)}::uuid[],
      ${deliveries.map(({ asset }) => asset)}::text[],
      ${deliveries.map(({ amount }) => String(amount))}::numeric[],
      ${deliveries.map(({ destination }) => JSON.stringify(destination))}::jsonb[],
      ${deliveries.map(({ failsTo }) => failsTo)}::text[],
      ${deliveries.map(({ metadata }) => JSON.stringify(metadata))}::jsonb[],
      ${deliveries.map(({ createdAt }) => createdAt)}::timestamptz[]
    ) as wanted (id, customer_id, profile_id, account_id, orchestration_id, deposit_id, asset, amount, destination,
      fails_to, metadata, created_at)
  `.execute(transaction)
  await insertTransfers(transaction, deliveries.map(transferOf))
  await sql`select pg_notify(${DELIVERIES_CHANNEL}, '')`.execute(transaction)
}

/**
 * Holds the delivery of an orchestration until the transaction ends. Whoever reports the result of a delivery holds that
 * before its orchestration, so whoever decides about the orchestration asks for this first.
 */
export async function lockDeliveryOf<Tables>(transaction: Transaction<Tables>, orchestrationId: string): Promise<void> {
  await sql`select from deliveries where orchestration_id = ${orchestrationId} for update`.execute(transaction)
}

/**
 * The operator decided that the delivery of an orchestration leaves whatever the state of its account: it is handed out
 * next time, unless something is paused.
 * @returns whether it has one that is not handed out yet
 */
export async function releaseDelivery<Tables>(
  transaction: Transaction<Tables>,
  orchestrationId: string,
): Promise<boolean> {
  const { rows } = await sql`
    update deliveries set hold_released = true, next_attempt_at = clock_timestamp()
    where orchestration_id = ${orchestrationId} and status = 'WAITING'
    returning id
  `.execute(transaction)
  if (rows.length > 0) await sql`select pg_notify(${DELIVERIES_CHANNEL}, '')`.execute(transaction)
  return rows.length > 0
}

/** Something is no longer paused: what waited for it is looked at again. */
export async function wakePausedDeliveries<Tables>(transaction: Transaction<Tables>): Promise<void> {
  await sql`
    update deliveries set next_attempt_at = least(next_attempt_at, clock_timestamp())
    where next_attempt_at is not null and waiting_for = 'PAUSED'
  `.execute(transaction)
  await sql`select pg_notify(${DELIVERIES_CHANNEL}, '')`.execute(transaction)
}

function transferOf({ destination, owner, failsTo, ...delivery }: NewDelivery): NewTransfer {
  const common = { ...delivery, direction: 'DEBIT', status: 'PENDING' } as const
  if ('crypto' in destination) {
    const { address, network } = destination.crypto
    return { ...common, type: 'CRYPTO_WITHDRAWAL', cryptoNetwork: network, destinationAddress: address }
  }
  const { network = 'WIRE', memo } = destination.fiat
  return { ...common, type: `${network}_WITHDRAWAL`, ...(memo === undefined ? {} : { memo }) }
}

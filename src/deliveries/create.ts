/**
 * Makes deliveries: their amounts are in `in_transit` of the profile already, in the caller's transaction. Nothing is
 * sent here; whoever executes payments is notified when the transaction commits.
 */
import type { MinorUnits } from '../ledger/posting.ts'
import type { Transaction } from '../store/db.ts'
import { sql } from '../store/sql.ts'
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

/** Writes the deliveries, WAITING, in one statement. */
export async function createDeliveries<Tables>(
  transaction: Transaction<Tables>,
  deliveries: readonly NewDelivery[],
): Promise<void> {
  if (deliveries.length === 0) return
  const orchestrationOf = ({ owner }: NewDelivery) => ('orchestrationId' in owner ? owner.orchestrationId : null)
  const depositOf = ({ owner }: NewDelivery) => ('depositId' in owner ? owner.depositId : null)
  await sql`
    insert into deliveries (id, customer_id, profile_id, account_id, orchestration_id, deposit_id, asset, amount,
      destination, fails_to, metadata, status, next_attempt_at, created_at, updated_at)
    select id, customer_id, profile_id, account_id, orchestration_id, deposit_id, asset, amount,
      destination, fails_to, metadata, 'WAITING', clock_timestamp(), created_at, created_at
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
  await sql`select pg_notify(${DELIVERIES_CHANNEL}, '')`.execute(transaction)
}

/**
 * Writes transfers to the store. The module that moves money writes and changes its transfers in the same transaction, and
 * holds the lock of the deposit, delivery or orchestration that a transfer belongs to, so transfers need no locks.
 */
import { assert } from '../base/assert.ts'
import type { MinorUnits } from '../ledger/posting.ts'
import type { Transaction } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import { unnested } from '../store/unnested.ts'
import type { TransferDirection, TransferSecondaryStatus, TransferStatus, TransferType } from './model.ts'

export interface NewTransfer {
  /** The id of the deposit or the delivery when the transfer belongs to one. */
  readonly id: string
  readonly customerId: string
  readonly profileId: string
  readonly accountId: string | null
  readonly asset: string
  /** Greater than zero, without the fee. */
  readonly amount: MinorUnits
  /** Default 0. */
  readonly fee?: MinorUnits
  readonly direction: TransferDirection
  readonly type: TransferType
  readonly status: TransferStatus
  readonly secondaryStatus?: TransferSecondaryStatus
  readonly disposition?: string
  readonly cryptoNetwork?: string
  readonly cryptoTxHash?: string
  readonly cryptoTxIndex?: number
  readonly confirmations?: number
  readonly destinationAddress?: string
  readonly memo?: string
  readonly groupId: string
  readonly metadata?: Readonly<Record<string, unknown>>
  /** From the customer's clock (`store/creation-time`). */
  readonly createdAt: string
}

/** The changed members of one transfer; absent members keep their values. */
export interface TransferChange {
  readonly id: string
  readonly status?: TransferStatus
  /** Null removes it. */
  readonly secondaryStatus?: TransferSecondaryStatus | null
  readonly disposition?: string
  readonly confirmations?: number
  readonly fee?: MinorUnits
  readonly cryptoTxHash?: string
}

/** Inserts transfers, in one statement. */
export async function insertTransfers<Tables>(
  transaction: Transaction<Tables>,
  transfers: readonly NewTransfer[],
): Promise<void> {
  if (transfers.length === 0) return
  await sql`
    insert into transfers (id, customer_id, profile_id, account_id, asset, amount, fee, direction, type, status,
      secondary_status, disposition, crypto_network, crypto_tx_hash, crypto_tx_index, confirmations, destination_address,
      memo, group_id, metadata, created_at, updated_at)
    select *, created_at from ${unnested(transfers, [
      ['id', 'uuid', ({ id }) => id],
      ['customer_id', 'uuid', ({ customerId }) => customerId],
      ['profile_id', 'uuid', ({ profileId }) => profileId],
      ['account_id', 'uuid', ({ accountId }) => accountId],
      ['asset', 'text', ({ asset }) => asset],
      ['amount', 'numeric', ({ amount }) => amount],
      ['fee', 'numeric', ({ fee }) => fee ?? 0n],
      ['direction', 'text', ({ direction }) => direction],
      ['type', 'text', ({ type }) => type],
      ['status', 'text', ({ status }) => status],
      ['secondary_status', 'text', ({ secondaryStatus }) => secondaryStatus ?? null],
      ['disposition', 'text', ({ disposition }) => disposition ?? null],
      ['crypto_network', 'text', ({ cryptoNetwork }) => cryptoNetwork ?? null],
      ['crypto_tx_hash', 'text', ({ cryptoTxHash }) => cryptoTxHash ?? null],
      ['crypto_tx_index', 'integer', ({ cryptoTxIndex }) => cryptoTxIndex ?? null],
      ['confirmations', 'integer', ({ confirmations }) => confirmations ?? null],
      ['destination_address', 'text', ({ destinationAddress }) => destinationAddress ?? null],
      ['memo', 'text', ({ memo }) => memo ?? null],
      ['group_id', 'uuid', ({ groupId }) => groupId],
      ['metadata', 'jsonb', ({ metadata }) => JSON.stringify(metadata ?? {})],
      ['created_at', 'timestamptz', ({ createdAt }) => createdAt],
    ])}
  `.execute(transaction)
}

/** Changes transfers, in one statement. Each id may occur once; ids without a transfer are ignored. */
export async function changeTransfers<Tables>(
  transaction: Transaction<Tables>,
  changes: readonly TransferChange[],
): Promise<void> {
  if (changes.length === 0) return
  assert(new Set(changes.map(({ id }) => id)).size === changes.length, 'a call changes each transfer once')
  await sql`
    update transfers set
      status = coalesce(changed.status, transfers.status),
      secondary_status =
        case when changed.has_secondary_status then changed.secondary_status else transfers.secondary_status end,
      disposition = coalesce(changed.disposition, transfers.disposition),
      confirmations = coalesce(changed.confirmations, transfers.confirmations),
      fee = coalesce(changed.fee, transfers.fee),
      crypto_tx_hash = coalesce(changed.crypto_tx_hash, transfers.crypto_tx_hash),
      updated_at = greatest(
        date_trunc('milliseconds', clock_timestamp()), transfers.updated_at + interval '1 millisecond')
    from unnest(
      ${changes.map(({ id }) => id)}::uuid[],
      ${changes.map(({ status }) => status ?? null)}::text[],
      ${changes.map(({ secondaryStatus }) => secondaryStatus !== undefined)}::boolean[],
      ${changes.map(({ secondaryStatus }) => secondaryStatus ?? null)}::text[],
      ${changes.map(({ disposition }) => disposition ?? null)}::text[],
      ${changes.map(({ confirmations }) => confirmations ?? null)}::integer[],
      ${changes.map(({ fee }) => (fee === undefined ? null : String(fee)))}::numeric[],
      ${changes.map(({ cryptoTxHash }) => cryptoTxHash ?? null)}::text[]
    ) as changed (
      id, status, has_secondary_status, secondary_status, disposition, confirmations, fee, crypto_tx_hash)
    where transfers.id = changed.id
  `.execute(transaction)
}

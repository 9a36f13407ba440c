/**
 * Writes transfers to the store. The module that moves money writes its transfers in the same transaction. It holds the
 * lock on the deposit, delivery or orchestration that a transfer belongs to, so transfers need no locks.
 */
import { assert } from '../../platform/base/assert.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { type Column, inserting, unnested } from '../../platform/store/unnested.ts'
import type { MinorUnits } from '../ledger/posting.ts'
import type { TransferDirection, TransferSecondaryStatus, TransferStatus, TransferType } from './model.ts'

export interface NewTransfer {
  /** The id of the deposit or delivery, when the transfer belongs to one. */
  readonly id: string
  readonly customerId: string
  readonly profileId: string
  readonly accountId: string | null
  readonly asset: string
  /** Greater than zero, without the fee. */
  readonly amount: MinorUnits
  /** The fee charged for it. It never changes; default 0. */
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
  /** From the customer's clock (`platform/store/creation-time`). */
  readonly createdAt: string
}

/** A transfer's changed members. Absent members keep their values. */
export interface TransferChange
  extends Partial<
    Pick<
      NewTransfer,
      | 'asset'
      | 'amount'
      | 'type'
      | 'status'
      | 'disposition'
      | 'cryptoNetwork'
      | 'cryptoTxHash'
      | 'cryptoTxIndex'
      | 'confirmations'
      | 'destinationAddress'
      | 'memo'
    >
  > {
  readonly id: string
  /** Null removes it. */
  readonly secondaryStatus?: TransferSecondaryStatus | null
}

/** Columns that a change may set. */
const CHANGING: readonly Column<TransferChange>[] = [
  ['asset', 'text', ({ asset }) => asset ?? null],
  ['amount', 'numeric', ({ amount }) => amount ?? null],
  ['type', 'text', ({ type }) => type ?? null],
  ['status', 'text', ({ status }) => status ?? null],
  ['disposition', 'text', ({ disposition }) => disposition ?? null],
  ['crypto_network', 'text', ({ cryptoNetwork }) => cryptoNetwork ?? null],
  ['crypto_tx_hash', 'text', ({ cryptoTxHash }) => cryptoTxHash ?? null],
  ['crypto_tx_index', 'integer', ({ cryptoTxIndex }) => cryptoTxIndex ?? null],
  ['confirmations', 'integer', ({ confirmations }) => confirmations ?? null],
  ['destination_address', 'text', ({ destinationAddress }) => destinationAddress ?? null],
  ['memo', 'text', ({ memo }) => memo ?? null],
]

const SECONDARY_STATUS: Column<TransferChange> = [
  'secondary_status',
  'text',
  ({ secondaryStatus }) => secondaryStatus ?? null,
]

const COLUMNS: readonly Column<NewTransfer>[] = [
  ['id', 'uuid', ({ id }) => id],
  ['customer_id', 'uuid', ({ customerId }) => customerId],
  ['profile_id', 'uuid', ({ profileId }) => profileId],
  ['account_id', 'uuid', ({ accountId }) => accountId],
  ['direction', 'text', ({ direction }) => direction],
  ['group_id', 'uuid', ({ groupId }) => groupId],
  ['fee', 'numeric', ({ fee }) => fee ?? 0n],
  ['metadata', 'jsonb', ({ metadata }) => JSON.stringify(metadata ?? {})],
  ['created_at', 'timestamptz', ({ createdAt }) => createdAt],
  ['updated_at', 'timestamptz', ({ createdAt }) => createdAt],
  SECONDARY_STATUS,
  ...CHANGING,
]

/** Inserts transfers in one statement. */
export async function insertTransfers<Tables>(
  transaction: Transaction<Tables>,
  transfers: readonly NewTransfer[],
): Promise<void> {
  if (transfers.length === 0) return
  await inserting('transfers', transfers, COLUMNS).execute(transaction)
}

/** Changes transfers in one statement. Each id may occur once. Ids without a transfer are ignored. */
export async function changeTransfers<Tables>(
  transaction: Transaction<Tables>,
  changes: readonly TransferChange[],
): Promise<void> {
  if (changes.length === 0) return
  assert(new Set(changes.map(({ id }) => id)).size === changes.length, 'a call changes each transfer once')
  await sql`
    update transfers set
      ${sql.join(CHANGING.map(([name]) => sql.raw(`${name} = coalesce(wanted.${name}, transfers.${name})`)))},
      secondary_status =
        case when has_secondary_status then wanted.secondary_status else transfers.secondary_status end,
      updated_at = greatest(
        date_trunc('milliseconds', clock_timestamp()), transfers.updated_at + interval '1 millisecond')
    from ${unnested(changes, [
      ['id', 'uuid', ({ id }) => id],
      ['has_secondary_status', 'boolean', ({ secondaryStatus }) => secondaryStatus !== undefined],
      SECONDARY_STATUS,
      ...CHANGING,
    ])}
    where transfers.id = wanted.id
  `.execute(transaction)
}

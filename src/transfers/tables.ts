/** The table `transfers`, as the query builder sees it; the migration `ledger` defines it. */
import type { ColumnType } from '../store/sql.ts'
import type { TransferDirection, TransferSecondaryStatus, TransferStatus, TransferType } from './model.ts'

interface TransfersTable {
  id: string
  customer_id: string
  profile_id: string
  account_id: string | null
  asset: string
  amount: string
  fee: string
  direction: TransferDirection
  type: TransferType
  status: TransferStatus
  secondary_status: TransferSecondaryStatus | null
  disposition: string | null
  crypto_network: string | null
  crypto_tx_hash: string | null
  crypto_tx_index: number | null
  confirmations: number | null
  destination_address: string | null
  memo: string | null
  group_id: string
  metadata: ColumnType<Readonly<Record<string, unknown>>, string, never>
  created_at: string
  updated_at: string
}

export interface TransferTables {
  transfers: TransfersTable
}

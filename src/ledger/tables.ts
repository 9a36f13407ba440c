/** The tables of the ledger, as the query builder sees them; the migration `ledger` defines them. */
import type { Generated } from '../store/sql.ts'
import type { ProfileBucket, ServiceBucket } from './posting.ts'

interface LedgerAssetsTable {
  symbol: string
  decimals: number
  created_at: Generated<string>
}

interface BalancesTable {
  profile_id: string
  asset: string
  available: Generated<string>
  in_transit: Generated<string>
  held: Generated<string>
  receivable: Generated<string>
  version: Generated<string>
  last_posting_id: Generated<string>
}

interface PostingsTable {
  id: Generated<string>
  group_id: string
  asset: string
  amount: string
  debit_bucket: ProfileBucket | ServiceBucket
  debit_profile_id: string | null
  credit_bucket: ProfileBucket | ServiceBucket
  credit_profile_id: string | null
  effective_at: string
  created_at: string
}

interface LedgerCheckpointsTable {
  bucket: ServiceBucket
  asset: string
  last_posting_id: string
  debits: string
  credits: string
}

export interface LedgerTables {
  ledger_assets: LedgerAssetsTable
  balances: BalancesTable
  postings: PostingsTable
  ledger_checkpoints: LedgerCheckpointsTable
}

/** This module's tables for the query builder. The migration `accounts` defines them. */
import type { ColumnType } from '../../platform/store/sql.ts'
import type { AccountMember, AccountType, ReviewStatus } from './model.ts'

interface ProfilesTable {
  id: string
  customer_id: string
  /** Null when the profile was created with an account. */
  nickname: string | null
  type: 'NORMAL'
  created_at: string
}

interface AccountsTable {
  id: string
  customer_id: string
  identity_id: string
  ref_id: string | null
  description: string | null
  /** A JSON object's compact text. */
  metadata: string
  /** Written as text, because the driver would convert an array to a PostgreSQL array. */
  members: ColumnType<readonly AccountMember[], string, string>
  type: AccountType
  review_status: ReviewStatus
  admin_disabled: boolean
  user_disabled: boolean
  profile_id: string | null
  created_at: string
  updated_at: string
}

interface AccountRefIdsTable {
  customer_id: string
  ref_id: string
  account_id: string
}

export interface AccountTables {
  profiles: ProfilesTable
  accounts: AccountsTable
  account_ref_ids: AccountRefIdsTable
}

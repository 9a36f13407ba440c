/** This folder's table for the query builder. The migration `destinations` defines it. */
import type { DestinationKind, DestinationStatus } from './model.ts'

export interface DestinationsTable {
  id: string
  kind: DestinationKind
  customer_id: string
  profile_id: string | null
  ref_id: string
  nickname: string
  network: string
  address: string | null
  address_key: string | null
  details: string | null
  parties: string | null
  memos: readonly string[]
  status: DestinationStatus
  usable_at: string
  reject_reason: string | null
  from_rules: boolean
  unverified: boolean
  created_at: string
  updated_at: string
}

export interface DestinationTables {
  destinations: DestinationsTable
}

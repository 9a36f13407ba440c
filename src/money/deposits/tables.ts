/** The table `deposits` for the query builder. The migration `deposits` defines it. */
import type { GateCode, StoredGate } from '../gates/model.ts'
import type { Disposition } from './dispositions.ts'
import type { DepositSecondaryStatus, DepositStatus } from './transitions.ts'

export interface DepositsTable {
  id: string
  customer_id: string | null
  profile_id: string | null
  account_id: string | null
  asset: string
  amount: string
  status: DepositStatus
  secondary_status: DepositSecondaryStatus | null
  disposition: Disposition | null
  network: string
  address: string | null
  tx_hash: string | null
  tx_index: number | null
  memo_id: string | null
  remittance: string | null
  bank_reference: string | null
  sender: string | null
  deposit_address_id: string | null
  fiat_instructions_id: string | null
  rule_id: string | null
  orchestration_id: string | null
  skips_rules: boolean
  delivery_id: string | null
  returned_from: 'HELD' | 'REJECTED' | null
  confirmations: number | null
  reason: string | null
  /** The closed gates that hold it. Null: none, or it was held by the release before. */
  gates: readonly StoredGate[] | null
  /** The gates that a release has opened for it. */
  opened_gates: readonly GateCode[]
  occurred_at: string
  created_at: string
  updated_at: string
  completed_at: string | null
  corrections: readonly Correction[]
  /** The customer's transfer with these terms. Null: the transfer with the deposit's id. */
  transfer_id: string | null
}

/** The wrong terms, and the reason for the correction. */
export interface Correction {
  readonly at: string
  readonly before: {
    readonly asset: string
    /** Decimal text. */
    readonly amount: string
    readonly profile_id?: string
    readonly secondary_status?: DepositSecondaryStatus
    readonly orchestration_id?: string
  }
  readonly reason: string
}

/** A deposit without the times that the store sets. */
export type DepositValues = Omit<DepositsTable, 'created_at' | 'updated_at' | 'completed_at'>

export interface DepositTables {
  deposits: DepositsTable
}

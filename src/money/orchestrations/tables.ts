/** This folder's tables, as the query builder sees them. The migration `orchestrations` defines them. */
import type { GateCode, StoredGate } from '../gates/model.ts'
import type { RuleDestination, RuleSource } from '../rules/model.ts'
import type { FailCode, OrchestrationStatus, Step, WaitingFor } from './model.ts'

interface OrchestrationsTable {
  id: string
  customer_id: string
  profile_id: string
  identity_id: string | null
  account_id: string | null
  ref_id: string | null
  rule_id: string | null
  deposit_id: string | null
  retry_of: string | null
  source_asset: string
  source_amount: string
  destination_asset: string
  destination_amount: string | null
  fee_amount: string | null
  converted_amount: string | null
  price: string | null
  price_source: string | null
  status: OrchestrationStatus
  step: Step | null
  waiting_for: WaitingFor | null
  /** Why it waits, for the operator. */
  waiting_detail: string | null
  /** The closed gates at the last look. */
  gates: readonly StoredGate[] | null
  /** The gates that a release has opened for it. */
  opened_gates: readonly GateCode[]
  waiting_since: string | null
  expires_at: string
  fail_code: FailCode | null
  fail_detail: string | null
  source: RuleSource
  destination: RuleDestination
  source_transfer_id: string | null
  destination_transfer_id: string | null
  metadata: Readonly<Record<string, unknown>>
  created_at: string
  updated_at: string
}

interface OrchestrationQueueTable {
  orchestration_id: string
  kind: string
  next_attempt_at: string
  attempt: string
}

export interface OrchestrationTables {
  orchestrations: OrchestrationsTable
  orchestration_queue: OrchestrationQueueTable
}

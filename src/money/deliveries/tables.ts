/** This folder's tables for the query builder. The migration `deliveries` defines them. */
import type { GateCode, GateWait, StoredGate } from '../gates/model.ts'
import type { DeliveryChannel, DeliveryDestination, DeliveryStatus } from './model.ts'

export interface DeliveriesTable {
  id: string
  customer_id: string
  profile_id: string
  account_id: string | null
  orchestration_id: string | null
  deposit_id: string | null
  asset: string
  amount: string
  fee: string | null
  destination: DeliveryDestination
  fails_to: 'available' | 'held'
  metadata: Readonly<Record<string, unknown>>
  status: DeliveryStatus
  channel: DeliveryChannel | null
  attempt: number
  executor: string | null
  next_attempt_at: string | null
  first_attempt_at: string | null
  waiting_for: GateWait | null
  waiting_detail: string | null
  /** The closed gates at the last look. */
  gates: readonly StoredGate[] | null
  /** The gates that a release has opened for it. */
  opened_gates: readonly GateCode[]
  request_body: string | null
  reference: string | null
  late: boolean
  fail_code: string | null
  fail_detail: string | null
  created_at: string
  updated_at: string
}

/** An attempt's result. STARTED: no result yet. */
export const ATTEMPT_OUTCOMES = ['STARTED', 'ACCEPTED', 'REFUSED', 'SETTLED', 'FAILED', 'UNKNOWN'] as const

export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number]

interface DeliveryAttemptsTable {
  delivery_id: string
  attempt: number
  executor: string
  started_at: string
  ended_at: string | null
  outcome: AttemptOutcome
  detail: string | null
}

export interface DeliveryTables {
  deliveries: DeliveriesTable
  delivery_attempts: DeliveryAttemptsTable
}

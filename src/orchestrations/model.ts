/**
 * What an orchestration is, and how it goes from state to state. Pure.
 *
 * It is created PROCESSING at step `convert`, with its amount reserved. A conversion leads to step `deliver` when the
 * destination is outside the service, and to COMPLETED when it is a profile. COMPLETED and FAILED are final. A PROCESSING
 * one that cannot proceed has a `waiting_for`; it ends with its cause. HOLD and PAUSED stop the clock of `expires_at`.
 *
 * | from | event | to |
 * |---|---|---|
 * | convert | converted, destination is a profile | COMPLETED |
 * | convert | converted, destination is outside | deliver |
 * | convert | a closed gate, no price | convert, with waiting_for |
 * | convert | expired, own address, not convertible, rejected, reversed | FAILED; the amount is available again |
 * | deliver | settled | COMPLETED |
 * | deliver | refused, failed by the operator | FAILED; the delivery has put its amount back |
 * | deliver | the outcome is not known | deliver, waiting for OPERATOR |
 */
import type { GateCode } from '../controls/gates.ts'

export const ORCHESTRATION_STATUSES = ['PROCESSING', 'COMPLETED', 'FAILED'] as const

export type OrchestrationStatus = (typeof ORCHESTRATION_STATUSES)[number]

/** What a PROCESSING orchestration does next. */
export type Step = 'convert' | 'deliver'

export const WAITING_REASONS = ['PRICE', 'PEG', 'SLIPPAGE', 'DESK_LIMIT', 'HOLD', 'PAUSED', 'OPERATOR'] as const

/** Why a PROCESSING orchestration does not proceed. */
export type WaitingFor = (typeof WAITING_REASONS)[number]

export type FailCode =
  | 'EXPIRED'
  | 'REFUSED'
  | 'OPERATOR_FAILED'
  | 'OWN_ADDRESS'
  | 'REVERSED'
  | 'NOT_CONVERTIBLE'
  | 'REJECTED'

/** What an orchestration with a closed gate waits for: the operator, or the end of the pause. */
export function waitingForGate(code: GateCode): 'HOLD' | 'PAUSED' {
  return code === 'PAUSED' ? 'PAUSED' : 'HOLD'
}

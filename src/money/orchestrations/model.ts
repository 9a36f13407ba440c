/**
 * An orchestration's state machine. It is created PROCESSING at step `convert`, with its amount reserved. While it
 * cannot proceed, `waiting_for` has the reason, and a worker tries again. Time at closed gates extends `expires_at`. The table contains every
 * transition:
 *
 * | from | event | to |
 * |---|---|---|
 * | convert | converted, the destination is a profile | COMPLETED |
 * | convert | converted, the destination is outside the service | deliver, with `waiting_for` if a gate is closed for the amount |
 * | convert | a closed gate, no price | convert, with `waiting_for` |
 * | convert | expired, own address, not convertible, rejected, reversed, cancelled | FAILED, the amount is available again |
 * | deliver | settled | COMPLETED |
 * | deliver | refused, failed by the operator, own address, cancelled, rejected by its screening | FAILED, the delivery has returned its amount |
 * | deliver | the delivery waits | deliver, with `waiting_for` |
 * | FAILED at deliver | settled late | COMPLETED |
 */
import { GATE_WAITS, type GateFinding, waitingForOf } from '../gates/model.ts'
import type { MinorUnits } from '../ledger/posting.ts'
import type { RuleDestination, RuleSource } from '../rules/model.ts'

export const ORCHESTRATION_STATUSES = ['PROCESSING', 'COMPLETED', 'FAILED'] as const

export type OrchestrationStatus = (typeof ORCHESTRATION_STATUSES)[number]

/** A PROCESSING orchestration's next step. */
export type Step = 'convert' | 'deliver'

export const WAITING_REASONS = ['PRICE', 'PEG', 'SLIPPAGE', 'DESK_LIMIT', ...GATE_WAITS, 'OPERATOR'] as const

/** Why a PROCESSING orchestration does not proceed. */
export type WaitingFor = (typeof WAITING_REASONS)[number]

/** Waiting for these extends `expires_at`: every closed gate does. */
export const CLOCK_STOPPING: readonly WaitingFor[] = GATE_WAITS

export type FailCode =
  | 'EXPIRED'
  | 'REFUSED'
  | 'OPERATOR_FAILED'
  | 'OWN_ADDRESS'
  | 'REVERSED'
  | 'NOT_CONVERTIBLE'
  | 'REJECTED'
  | 'CANCELLED'
  | 'screening_rejected'

export interface Wait {
  readonly kind: 'wait'
  readonly waitingFor: WaitingFor
  /** For the operator. */
  readonly detail: string
  /** The closed gates that it waits for. Absent: it waits for something else. */
  readonly gates?: readonly GateFinding[]
}

export interface Failure {
  readonly kind: 'fail'
  readonly code: FailCode
  readonly detail: string
}

/** The conditions checked before a price is made. */
export interface Circumstances {
  /** The closed gates. */
  readonly findings: readonly GateFinding[]
  /** Whether the destination is this service's own deposit address. */
  readonly isOwnAddress: boolean
  /** Whether `expires_at`, extended by the time at closed gates, has passed. */
  readonly isExpired: boolean
  /** Whether the store is not the confirmed one: it may lack a payment’s records. */
  readonly isRestored: boolean
}

const RESTORED: GateFinding = {
  code: 'PAUSED',
  detail: 'it would fail, but it may have been paid before the store was restored or promoted',
}

/**
 * Why no price may be made: a wait or a failure. Undefined when a price may be made. A closed gate takes precedence
 * over the expiry, because waiting at a gate extends it.
 */
export function beforePrice({
  findings,
  isOwnAddress,
  isExpired,
  isRestored,
}: Circumstances): Wait | Failure | undefined {
  const wait = waitingForOf(findings)
  if (wait !== undefined) return { kind: 'wait', ...wait }
  if (!isOwnAddress && !isExpired) return undefined
  if (isRestored) return { kind: 'wait', waitingFor: 'PAUSED', detail: RESTORED.detail, gates: [RESTORED] }
  if (isOwnAddress) {
    return { kind: 'fail', code: 'OWN_ADDRESS', detail: 'the destination is a deposit address of this service' }
  }
  return { kind: 'fail', code: 'EXPIRED', detail: 'it could not be converted before expires_at' }
}

/** The fee: `feeBps` hundredths of a percent of the source amount, rounded down. */
export function feeOf(amount: MinorUnits, feeBps: number): MinorUnits {
  return (amount * BigInt(feeBps)) / 10_000n
}

/** The network on which the money arrived, and the crypto network on which it leaves. */
export function networksOf(source: RuleSource, destination: RuleDestination): readonly string[] {
  const networks: string[] = []
  if ('crypto' in source) networks.push(source.crypto.network)
  if ('fiat' in source) networks.push(source.fiat.network)
  if ('crypto' in destination) networks.push(destination.crypto.network)
  return networks
}

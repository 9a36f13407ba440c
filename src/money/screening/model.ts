/**
 * The model of screening: the operator's hook is asked about every deposit that is credited and every payment that
 * leaves. No answer is no decision. A decision is about the terms that were asked: other terms are asked again. Pure.
 */

import type { MovementDestination } from '../gates/model.ts'
import type { MinorUnits } from '../ledger/posting.ts'

/** ALLOW opens the gate for a time, HOLD waits for a person. REJECT fails a payment and keeps a deposit held. */
export const SCREENING_DECISIONS = ['ALLOW', 'HOLD', 'REJECT'] as const

export type ScreeningDecision = (typeof SCREENING_DECISIONS)[number]

/** PENDING: not answered yet. CLOSED: the movement ended without a decision, or after a rejected deposit was handled. */
export const SCREENING_STATUSES = ['PENDING', 'ALLOWED', 'HELD', 'REJECTED', 'CLOSED'] as const

export type ScreeningStatus = (typeof SCREENING_STATUSES)[number]

export const STATUS_AFTER: Readonly<Record<ScreeningDecision, ScreeningStatus>> = {
  ALLOW: 'ALLOWED',
  HOLD: 'HELD',
  REJECT: 'REJECTED',
}

/** A deposit that is credited, or an orchestration's payment. */
export const SCREENING_KINDS = ['deposit', 'payment'] as const

export type ScreeningKind = (typeof SCREENING_KINDS)[number]

export interface ScreeningSettings {
  /** The setting `screening.valid_hours`. */
  readonly validHours: number
}

/** A movement as it is asked about. */
export interface ScreenedMovement {
  readonly kind: ScreeningKind
  /** The deposit's id, or that of the payment's orchestration. */
  readonly id: string
  readonly customerId: string
  readonly profileId: string
  readonly asset: string
  readonly amount: MinorUnits
  /** A payment's. */
  readonly destination?: MovementDestination | undefined
  /** The destination's registration. Absent: none. */
  readonly registrationId?: string | undefined
}

/** Why the gate is closed, for the operator. */
export const CLOSED_DETAILS: Readonly<Record<Exclude<ScreeningStatus, 'ALLOWED'>, string>> = {
  PENDING: 'its screening has not been answered',
  HELD: 'its screening waits for a person’s decision',
  REJECTED: 'its screening was answered with REJECT',
  CLOSED: 'its screening has not been answered',
}

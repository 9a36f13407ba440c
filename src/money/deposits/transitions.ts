/**
 * A deposit's state machine. The tables below contain the transitions by reports and by the operator's actions. The
 * secondary status also changes when a deposit is recorded or credited (`record`, `credit`), corrected (`correct`), or
 * returned and its payment fails or is made late (`returns`).
 *
 * - PENDING: seen, not final, not in the ledger.
 * - COMPLETED: credited and final.
 * - FAILED: dropped or replaced before it was credited.
 *
 * The secondary status is the operator's:
 *
 * - HELD: the profile cannot use the money.
 * - REJECTED: held until it is returned or reversed.
 * - REVERSED: taken back by the bank.
 * - RETURNED: sent back by the service.
 */

import type { StoredGate } from '../gates/model.ts'

export const DEPOSIT_STATUSES = ['PENDING', 'COMPLETED', 'FAILED'] as const

export type DepositStatus = (typeof DEPOSIT_STATUSES)[number]

export const DEPOSIT_SECONDARY_STATUSES = ['HELD', 'REJECTED', 'REVERSED', 'RETURNED'] as const

export type DepositSecondaryStatus = (typeof DEPOSIT_SECONDARY_STATUSES)[number]

/** A report's effect on a known deposit. */
export type ReportEffect = 'unchanged' | 'complete' | 'fail' | 'reopen' | 'conflict'

/**
 * By current status, then by reported status. PENDING after COMPLETED is a late report and changes nothing. A dropped
 * payment may be mined again, and nothing was credited for it, so FAILED is not final. FAILED after COMPLETED is a
 * conflict: the money may be gone, and the operator decides whether to reverse the deposit.
 */
const EFFECTS: Readonly<Record<DepositStatus, Readonly<Record<DepositStatus, ReportEffect>>>> = {
  PENDING: { PENDING: 'unchanged', COMPLETED: 'complete', FAILED: 'fail' },
  COMPLETED: { PENDING: 'unchanged', COMPLETED: 'unchanged', FAILED: 'conflict' },
  FAILED: { PENDING: 'reopen', COMPLETED: 'complete', FAILED: 'unchanged' },
}

export function reportEffect(present: DepositStatus, reported: DepositStatus): ReportEffect {
  return EFFECTS[present][reported]
}

/** The operator's actions, except assignment, which changes no state. */
export type DepositAction = 'hold' | 'release' | 'reject' | 'reverse' | 'return'

export interface DepositState {
  readonly status: DepositStatus
  readonly secondary: DepositSecondaryStatus | null
}

type StateName = DepositStatus | `${DepositStatus}/${DepositSecondaryStatus}`

/** The next secondary status by action and state. `null` clears it. */
const STEPS: Readonly<Record<DepositAction, Partial<Readonly<Record<StateName, DepositSecondaryStatus | null>>>>> = {
  hold: { PENDING: 'HELD', COMPLETED: 'HELD' },
  release: { 'PENDING/HELD': null, 'COMPLETED/HELD': null },
  reject: { 'COMPLETED/HELD': 'REJECTED' },
  reverse: { COMPLETED: 'REVERSED', 'COMPLETED/HELD': 'REVERSED', 'COMPLETED/REJECTED': 'REVERSED' },
  return: { COMPLETED: 'RETURNED', 'COMPLETED/HELD': 'RETURNED', 'COMPLETED/REJECTED': 'RETURNED' },
}

/** The states after each action. In these states, repeating the action changes nothing. */
const REACHED: Readonly<Record<DepositAction, readonly StateName[]>> = {
  hold: ['PENDING/HELD', 'COMPLETED/HELD', 'FAILED/HELD'],
  release: ['PENDING', 'COMPLETED'],
  reject: ['COMPLETED/REJECTED'],
  reverse: ['COMPLETED/REVERSED'],
  return: ['COMPLETED/RETURNED'],
}

export type ActionEffect =
  | { readonly kind: 'step'; readonly secondary: DepositSecondaryStatus | null }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'impossible' }

export function actionEffect(action: DepositAction, { status, secondary }: DepositState): ActionEffect {
  const name: StateName = secondary === null ? status : `${status}/${secondary}`
  const next = STEPS[action][name]
  if (next !== undefined) return { kind: 'step', secondary: next }
  return { kind: REACHED[action].includes(name) ? 'unchanged' : 'impossible' }
}

/** Whether money credited to a profile in this state goes to `held`. */
export function isHeldBack(secondary: DepositSecondaryStatus | null): boolean {
  return secondary === 'HELD' || secondary === 'REJECTED'
}

/** The gate that an operator's hold closes. */
export function operatorHold(reason: string | null): StoredGate {
  return { code: 'OPERATOR_HOLD', detail: reason ?? 'the operator holds it' }
}

/** The state in one word, as in `meta.current` of a 409. */
export function stateName({ status, secondary }: DepositState): string {
  return secondary ?? status
}

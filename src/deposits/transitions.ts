/**
 * How a deposit goes from state to state, by reports and by the operator: the whole of it is in the tables below. Pure.
 *
 * PENDING: seen, not final, nothing in the ledger. COMPLETED: credited, for ever. FAILED: dropped or replaced before it
 * was credited. The secondary status says what the operator did: HELD keeps the money from its profile, REJECTED keeps
 * it until it is returned, REVERSED took it back, RETURNED sent it back.
 */

export const DEPOSIT_STATUSES = ['PENDING', 'COMPLETED', 'FAILED'] as const

export type DepositStatus = (typeof DEPOSIT_STATUSES)[number]

export const DEPOSIT_SECONDARY_STATUSES = ['HELD', 'REJECTED', 'REVERSED', 'RETURNED'] as const

export type DepositSecondaryStatus = (typeof DEPOSIT_SECONDARY_STATUSES)[number]

/** What a report does to a deposit that is known. */
export type ReportEffect = 'unchanged' | 'complete' | 'fail' | 'reopen' | 'conflict'

/**
 * By present status, then by reported status. A report of less than is known is late and changes nothing. A payment that
 * was dropped may be mined again: nothing was credited, so FAILED is left again. FAILED after COMPLETED is a conflict:
 * the money may be gone, and the operator decides whether to reverse it.
 */
const EFFECTS: Readonly<Record<DepositStatus, Readonly<Record<DepositStatus, ReportEffect>>>> = {
  PENDING: { PENDING: 'unchanged', COMPLETED: 'complete', FAILED: 'fail' },
  COMPLETED: { PENDING: 'unchanged', COMPLETED: 'unchanged', FAILED: 'conflict' },
  FAILED: { PENDING: 'reopen', COMPLETED: 'complete', FAILED: 'unchanged' },
}

export function reportEffect(present: DepositStatus, reported: DepositStatus): ReportEffect {
  return EFFECTS[present][reported]
}

/** What the operator asks for, but for assignment, which changes no state. */
export type DepositAction = 'hold' | 'release' | 'reject' | 'reverse' | 'return'

export interface DepositState {
  readonly status: DepositStatus
  readonly secondary: DepositSecondaryStatus | null
}

type StateName = DepositStatus | `${DepositStatus}/${DepositSecondaryStatus}`

/** From each state to the next secondary status; `null`: none any more. */
const STEPS: Readonly<Record<DepositAction, Partial<Readonly<Record<StateName, DepositSecondaryStatus | null>>>>> = {
  hold: { PENDING: 'HELD', COMPLETED: 'HELD' },
  release: { 'PENDING/HELD': null, 'COMPLETED/HELD': null },
  reject: { 'COMPLETED/HELD': 'REJECTED' },
  reverse: { COMPLETED: 'REVERSED', 'COMPLETED/HELD': 'REVERSED', 'COMPLETED/REJECTED': 'REVERSED' },
  return: { COMPLETED: 'RETURNED', 'COMPLETED/HELD': 'RETURNED', 'COMPLETED/REJECTED': 'RETURNED' },
}

/** The states that an action leads to: asking again changes nothing. */
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

/** Whether the money of a deposit that is credited in this state goes to `held`. */
export function isHeldBack(secondary: DepositSecondaryStatus | null): boolean {
  return secondary === 'HELD' || secondary === 'REJECTED'
}

/** The state in one word, as `meta.current` of a 409 names it. */
export function stateName({ status, secondary }: DepositState): string {
  return secondary ?? status
}

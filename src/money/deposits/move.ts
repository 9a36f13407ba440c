/** A report's effect on its deposit, step by step: as reported, with its place and owner, and with its credit. Pure. */
import type { Arrived, Owner } from './attribution.ts'
import type { Credit } from './credit.ts'
import type { DepositRow } from './known.ts'
import type { Report } from './report.ts'
import type { DepositValues } from './tables.ts'
import type { ReportEffect } from './transitions.ts'

/** A report, with its deposit before and after it. */
export interface Step {
  readonly report: Report
  /** Undefined: this is the payment's first report. */
  readonly before: DepositRow | undefined
  readonly after: DepositValues
  readonly effect: 'create' | ReportEffect
  /** The members that conflict with the known payment. Empty without a conflict. */
  readonly fields: readonly string[]
  /** The deposit was not completed yet, and this report completes it with other terms, which replace the known ones. */
  readonly isReplacing: boolean
}

export interface PlacedStep extends Step {
  readonly owner: Owner | undefined
  readonly arrived: Arrived
}

/** A step without a conflict. */
export interface Move extends PlacedStep {
  /** Set when the deposit has a profile and becomes COMPLETED. */
  readonly credit: Credit | undefined
}

export function isFirst({ before }: Step): boolean {
  return before === undefined
}

/** Whether the step's deposit gets the place at which its payment arrived. */
export function isPlacing({ effect }: Pick<Step, 'effect'>): boolean {
  return effect === 'create' || effect === 'complete'
}

export function becomesCompleted({ effect, report }: Pick<Step, 'effect' | 'report'>): boolean {
  return effect === 'complete' || (effect === 'create' && report.status === 'COMPLETED')
}

export function isChanged({ before, after }: Step): boolean {
  return (Object.keys(after) as (keyof DepositValues)[]).some((name) => after[name] !== before?.[name])
}

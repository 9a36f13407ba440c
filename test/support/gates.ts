/** Gates for tests in a store without a service. */
import type { GateSettings } from '../../src/money/controls/gates.ts'

/** No setting closes a gate. */
export const OPEN_GATES: GateSettings = {
  reviewAbove: { deposits: new Map(), payments: new Map() },
  needsAccountApproval: false,
  limits: [],
  destinations: { isRequired: false, isSandbox: false },
}

/** With the setting `review_above.payments`. */
export function reviewPayments(payments: ReadonlyMap<string, bigint>): GateSettings {
  return { ...OPEN_GATES, reviewAbove: { ...OPEN_GATES.reviewAbove, payments } }
}

/** Gates for tests in a store without a service. */
import type { GateSettings } from '../../src/money/controls/gates.ts'

/** No setting closes a gate. */
export const OPEN_GATES: GateSettings = { reviewAbove: new Map() }

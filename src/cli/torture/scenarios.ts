/** All scenarios, in the order in which they are played: those that end the client come last. */
import { DELIVERY_SCENARIOS } from './delivery-scenarios.ts'
import { MARKET_SCENARIOS } from './market-scenarios.ts'
import { RECONNECT_SCENARIOS } from './reconnect-scenarios.ts'
import { RESUME_SCENARIOS } from './resume-scenarios.ts'
import type { Scenario } from './scenario.ts'
import { STOP_SCENARIOS } from './stop-scenarios.ts'

export const SCENARIOS: readonly Scenario[] = [
  ...RECONNECT_SCENARIOS,
  ...DELIVERY_SCENARIOS,
  ...RESUME_SCENARIOS,
  ...MARKET_SCENARIOS,
  ...STOP_SCENARIOS,
]

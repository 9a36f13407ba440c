/** `demo`'s three simulated markets and its test bank, for other verbs, which have no defaults for them. */
import { DEMO_DEFAULTS } from '../../src/service/config/markets.ts'

/** As flags by key. */
export const SIMULATED_FLAGS = {
  markets: JSON.stringify(DEMO_DEFAULTS.markets),
  'banking.instructions': JSON.stringify(DEMO_DEFAULTS['banking.instructions']),
  'simulator.allowed': String(DEMO_DEFAULTS['simulator.allowed']),
}

/** What `serve` has in a new store and most tests are not about: whatever needs a person first. */
export const UNGUARDED_FLAGS = {
  'accounts.approval': 'auto',
  'destinations.required': 'false',
  'destinations.approval': 'auto',
  'destinations.cooling_hours': '0',
}

/** As command-line arguments. */
export const SIMULATED_ARGS: readonly string[] = Object.entries(SIMULATED_FLAGS).flatMap(([key, value]) => [
  `--${key}`,
  value,
])

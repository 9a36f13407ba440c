/** `demo`'s three simulated markets, for other verbs, which have no default markets. */
import { DEMO_DEFAULTS } from '../../src/service/config/markets.ts'

/** As flags by key. */
export const SIMULATED_FLAGS = {
  markets: JSON.stringify(DEMO_DEFAULTS.markets),
  'simulator.allowed': String(DEMO_DEFAULTS['simulator.allowed']),
}

/** As command-line arguments. */
export const SIMULATED_ARGS: readonly string[] = Object.entries(SIMULATED_FLAGS).flatMap(([key, value]) => [
  `--${key}`,
  value,
])

/**
 * The simulator's scenarios: schedules with phases to observe the service's guarantees
 * (docs/how-to/test-your-client.md). A scenario is the same for every market, begins when the market starts, and
 * repeats. The phases depend only on the clock. The orders depend on the seed, as without a scenario. Pure.
 */
import type { Instrument } from '../../market/event.ts'

/** `none`: the market trades without interruption. `deep` has no phases: its book is deep from the start. */
export const SCENARIOS = ['none', 'halt', 'outage', 'crossing', 'deep', 'storm'] as const

export type Scenario = (typeof SCENARIOS)[number]

/**
 * - `trading`: as without a scenario.
 * - `halted`, `auction`: the instrument is in this state. The book is kept and does not change.
 * - `lost`: the source has lost the book.
 * - `crossed`: the second venue's prices are higher, so its bids cross the first one's asks.
 * - `storm`: `STORM_FACTOR` - 1 more events follow each scheduled event.
 */
export type PhaseKind = 'trading' | 'halted' | 'auction' | 'lost' | 'crossed' | 'storm'

export interface Phase {
  readonly kind: PhaseKind
  readonly seconds: number
}

/** The update rate in a storm, as a multiple of the normal rate. */
export const STORM_FACTOR = 50

/** The lost phase is twice the default for `stream.stale_seconds`, so the book is withdrawn for half the phase. */
export const SCENARIO_PHASES: Readonly<Record<Scenario, readonly Phase[]>> = {
  none: [],
  halt: [
    { kind: 'trading', seconds: 15 },
    { kind: 'halted', seconds: 15 },
    { kind: 'auction', seconds: 10 },
  ],
  outage: [
    { kind: 'trading', seconds: 20 },
    { kind: 'lost', seconds: 20 },
  ],
  crossing: [
    { kind: 'trading', seconds: 10 },
    { kind: 'crossed', seconds: 10 },
  ],
  deep: [],
  storm: [
    { kind: 'trading', seconds: 15 },
    { kind: 'storm', seconds: 5 },
  ],
}

/** Whether scheduled events are suspended. */
export function isPaused(kind: PhaseKind): boolean {
  return kind === 'halted' || kind === 'auction' || kind === 'lost'
}

/** A simulated market's instrument in this phase. */
export function instrumentIn(kind: PhaseKind): Instrument {
  if (kind === 'halted') return { state: 'HALTED', reason: 'halted by the scenario', simulated: true }
  if (kind === 'auction') return { state: 'AUCTION', reason: 'auction of the scenario', simulated: true }
  return { state: 'OPEN', reason: '', simulated: true }
}

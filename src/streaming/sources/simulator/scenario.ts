/**
 * The scenarios of the simulator: schedules of phases that let a person or an integrator observe what the service
 * guarantees (docs/how-to/test-your-client.md). A scenario is the same for every market, begins when the market starts,
 * and repeats. The phases depend on nothing but the clock; the orders depend on the seed, as without a scenario. Pure.
 */
import type { Instrument } from '../../market/event.ts'

/** `none`: the market trades without interruption. `deep` has no phases: its book is deep from the start. */
export const SCENARIOS = ['none', 'halt', 'outage', 'crossing', 'deep', 'storm'] as const

export type Scenario = (typeof SCENARIOS)[number]

/**
 * - `trading`: as without a scenario.
 * - `halted`, `auction`: the instrument is in this state; the book is kept and does not change.
 * - `lost`: the source has lost the book.
 * - `crossed`: the prices of the second venue are higher, so that its bids cross the asks of the first.
 * - `storm`: each event of the schedule is followed by `STORM_FACTOR` - 1 more.
 */
export type PhaseKind = 'trading' | 'halted' | 'auction' | 'lost' | 'crossed' | 'storm'

export interface Phase {
  readonly kind: PhaseKind
  readonly seconds: number
}

/** Updates in a storm, as a multiple of those outside it. */
export const STORM_FACTOR = 50

/** The lost phase is twice the default of `stream.stale_seconds`, so the book is withdrawn for half of it. */
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

/** Whether no event of the schedule takes place. */
export function isPaused(kind: PhaseKind): boolean {
  return kind === 'halted' || kind === 'auction' || kind === 'lost'
}

/** The instrument of a simulated market in this phase. */
export function instrumentIn(kind: PhaseKind): Instrument {
  if (kind === 'halted') return { state: 'HALTED', reason: 'halted by the scenario', simulated: true }
  if (kind === 'auction') return { state: 'AUCTION', reason: 'auction of the scenario', simulated: true }
  return { state: 'OPEN', reason: '', simulated: true }
}

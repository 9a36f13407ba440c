/** Runs the simulation of a seed, repeats it, and shrinks a run that fails to the fewest events that still fail. */
import { Violation } from './frame-checker.ts'
import { CLIENTS, type Event, plan } from './plan.ts'
import { World, type WorldReport } from './world.ts'

/** Events of one run: a world that has run for long hides what began it. */
export const EVENTS_PER_RUN = 6_000

/** Processor time that shrinking may take. */
const SHRINKING_SECONDS_MAX = 120

export class SimulationFailure extends Error {
  readonly seed: number
  /** What was broken: a rule of the checker, or the name of the error. */
  readonly rule: string
  /** The events up to the one at which the checker found something. */
  readonly events: readonly Event[]

  constructor(seed: number, events: readonly Event[], cause: unknown) {
    super(`seed ${seed}, event ${events.length}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    this.seed = seed
    this.rule = cause instanceof Violation ? cause.rule : cause instanceof Error ? cause.name : ''
    this.events = events
  }
}

/** What to run: as many events as the seed determines, or these. */
export interface Script {
  readonly count?: number
  readonly events?: readonly Event[]
}

/** Runs a world to the end of its events. Throws what the checker finds, as a SimulationFailure. */
export function simulate(seed: number, script: Script = {}): WorldReport {
  const events = script.events ?? plan(seed, script.count ?? EVENTS_PER_RUN)
  const world = new World(seed)
  for (const [place, event] of events.entries()) {
    try {
      world.run(event)
    } catch (error) {
      throw new SimulationFailure(seed, events.slice(0, place + 1), error)
    }
  }
  return world.report()
}

function failureOf(seed: number, events: readonly Event[]): SimulationFailure | undefined {
  try {
    simulate(seed, { events })
    return undefined
  } catch (error) {
    if (error instanceof SimulationFailure) return error
    throw error
  }
}

/** Removes what is not needed as long as the same rule is broken: all events of a client or a kind, then smaller pieces. */
export function shrink(failure: SimulationFailure): SimulationFailure {
  const begin = process.cpuUsage()
  const isOver = () => process.cpuUsage(begin).user > SHRINKING_SECONDS_MAX * 1_000_000
  let best = failure
  const keep = (isKept: (event: Event, place: number) => boolean): boolean => {
    const fewer = best.events.filter(isKept)
    if (isOver() || fewer.length === best.events.length) return false
    const found = failureOf(best.seed, fewer)
    if (found?.rule !== best.rule) return false
    best = found
    return true
  }
  for (let client = 0; client < CLIENTS; client++) keep((event) => !('client' in event) || event.client !== client)
  for (const kind of new Set(best.events.map((event) => event.kind))) keep((event) => event.kind !== kind)
  for (let size = Math.ceil(best.events.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < best.events.length && !isOver(); ) {
      const [from, to] = [start, start + size]
      if (!keep((_event, place) => place < from || place >= to)) start += size
    }
  }
  return best
}

/** A test that repeats a failing run, for `simulation.test.ts`. */
export function testOf({ seed, events, message }: SimulationFailure): string {
  const lines = events.map((event) => `    ${JSON.stringify(event)},`)
  return [
    `// ${message}`,
    `it('the run of seed ${seed} is right', () => {`,
    `  simulate(${seed}, { events: [`,
    ...lines,
    '  ] })',
    '})',
  ].join('\n')
}

/** What `npm run simulate` does with its arguments: seeds one after the other for a time, and a report. */
import { performance } from 'node:perf_hooks'
import { SimulationFailure, shrink, simulate, testOf } from './simulate.ts'
import type { WorldReport } from './world.ts'

export interface Totals extends Omit<WorldReport, 'digest'> {
  readonly runs: number
  readonly processorSeconds: number
  /** Simulated hours per hour of processor time. */
  readonly speed: number
}

export interface SimulationOptions {
  readonly seed: number
  /** Of processor time; at least one run is made. */
  readonly minutes: number
  readonly onProgress: (runs: number, totals: Totals) => void
}

/** Runs seeds from the first one on. Throws the first failure as it was found. */
export function runSeeds({ seed, minutes, onProgress }: SimulationOptions): Totals {
  const begin = process.cpuUsage()
  const sum: Record<string, number> = {}
  for (let runs = 1; ; runs++) {
    for (const [name, count] of Object.entries(simulate(seed + runs - 1))) {
      if (typeof count === 'number') sum[name] = (sum[name] ?? 0) + count
    }
    const { user, system } = process.cpuUsage(begin)
    const processorSeconds = (user + system) / 1_000_000
    const speed = (sum.virtualSeconds ?? 0) / processorSeconds
    const totals = { ...sum, runs, processorSeconds, speed } as unknown as Totals
    if (processorSeconds >= minutes * 60) return totals
    onProgress(runs, totals)
  }
}

/** The text about a failure: where it was, and the shortest test that repeats it. */
export function explain(failure: SimulationFailure): string {
  const began = performance.now()
  const shortest = shrink(failure)
  const seconds = Math.round((performance.now() - began) / 1_000)
  return [
    failure.message,
    `repeat: npm run simulate -- --seed ${failure.seed}`,
    `in ${shortest.events.length} instead of ${failure.events.length} events, found in ${seconds} s:`,
    testOf(shortest),
  ].join('\n')
}

export { SimulationFailure }

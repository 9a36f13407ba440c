/** The simulation on fixed seeds: `npm run simulate` runs it on any seed, for any time. */

import { describe, expect, it } from 'vitest'
import { note } from '../support/note.ts'
import { seedOf } from '../support/property.ts'
import { explain, runSeeds, SimulationFailure } from './run.ts'
import { simulate } from './simulate.ts'

const SEEDS = [1, 11, 20_261_128]
const EVENTS = 3_000
/** Failed once, and only as a whole. */
const LONG_SEEDS = [20_261_205, 408_448_714]

/** Of processor time. */
const MINUTES = Number(process.env.TIDEGATE_SIMULATION_MINUTES ?? 10)

describe('the simulation of the streaming service', () => {
  it('the simulation of the streaming service runs of fixed seeds have every book, execution, cursor and digest right', () => {
    const sums = new Map<string, number>()
    for (const seed of SEEDS) {
      for (const [name, count] of Object.entries(simulate(seed, { count: EVENTS }))) {
        if (typeof count === 'number') sums.set(name, (sums.get(name) ?? 0) + count)
      }
    }
    // What did not happen proves nothing.
    for (const [name, count] of sums) expect(count, name).toBeGreaterThan(10)
    expect(sums.get('faults')).toBeGreaterThan(300)
    expect(sums.get('frames')).toBeGreaterThan(50_000)
  })

  it.skipIf(process.env.TIDEGATE_LONG !== '1')(
    `runs that once failed, and ${MINUTES} minutes of the simulation with fresh seeds, have everything right`,
    () => {
      try {
        for (const seed of LONG_SEEDS) simulate(seed)
        const totals = runSeeds({ seed: seedOf(0), minutes: MINUTES, onProgress: () => undefined })
        note(JSON.stringify(totals))
      } catch (error) {
        throw error instanceof SimulationFailure ? new Error(explain(error)) : error
      }
    },
  )

  it('two simulation runs of one seed write the same bytes', () => {
    expect(simulate(7, { count: 800 })).toEqual(simulate(7, { count: 800 }))
  })
})

describe('runs that once failed, in as few events as fail', () => {
  it('a heartbeat names no cursor of an earlier epoch while a throttled SNAPSHOT waits', () => {
    simulate(1, {
      events: [
        { kind: 'pass', milliseconds: 3.3 },
        { kind: 'restartGateway', gateway: 0 },
        { kind: 'pass', milliseconds: 2 },
        { kind: 'connect', client: 11, gateway: 0, kernelBytes: 8_192, seed: 1 },
        { kind: 'pass', milliseconds: 15 },
        { kind: 'link', gateway: 0, loss: 1, repetition: 0, delayMilliseconds: 0 },
        { kind: 'pass', milliseconds: 30_000 },
      ],
    })
  })

  it('times of a market rise on a connection over a reload, a failover and a wall clock that was set back', () => {
    simulate(11, {
      events: [
        { kind: 'connect', client: 3, gateway: 0, kernelBytes: 1_024, seed: 490_601_904 },
        { kind: 'tick' },
        { kind: 'reload', market: 1, depth: 25, seed: 851_240_137 },
        { kind: 'wallStep', milliseconds: -635 },
        { kind: 'failover', keepsEarlier: false, seed: 1_849_703_613 },
        { kind: 'tick' },
        { kind: 'tick' },
        { kind: 'tick' },
        { kind: 'subscribe', client: 3, seed: 1_024_500_240 },
        { kind: 'rest' },
      ],
    })
  })

  it('a client resumes from what it held when no reply was under way, although a reload ended a subscription', () => {
    simulate(42_000_109, {
      events: [
        { kind: 'connect', client: 1, gateway: 0, kernelBytes: 16_384, seed: 66_763_232 },
        { kind: 'subscribe', client: 1, seed: 473_022_927 },
        { kind: 'pass', milliseconds: 0.254 },
        { kind: 'reload', market: 0, depth: 10, seed: 1_923_741_255 },
        { kind: 'pass', milliseconds: 5.291 },
        { kind: 'mood', client: 1, mood: 'paused' },
        { kind: 'update', market: 1, seed: 1_033_995_822, count: 2 },
        { kind: 'pass', milliseconds: 0.091 },
        { kind: 'unsubscribe', client: 1, seed: 1_210_836_831 },
        { kind: 'subscribe', client: 1, seed: 857_969_802 },
        { kind: 'pass', milliseconds: 0.445 },
        { kind: 'pass', milliseconds: 0.211 },
        { kind: 'mood', client: 1, mood: 'fast' },
      ],
    })
  })
})

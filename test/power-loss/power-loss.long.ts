/**
 * Many losses of power, and the defects that the simulation must detect: `TIDEGATE_LONG=1 npx vitest run --project
 * embedded test/power-loss`. `TIDEGATE_SEED` repeats a run.
 */

import { describe, expect, it } from 'vitest'
import { seedOf } from '../support/property.ts'
import { hasCompiler, type Simulation, simulate } from './simulation.ts'

const SEED = seedOf(20_261_123)
/** Of 100 disks. */
const RUNS = Number(process.env.TIDEGATE_POWER_LOSS_RUNS ?? 1)
const MISTAKE_DISKS = 40

const MISTAKES: Readonly<Record<string, Partial<Simulation>>> = {
  'nothing synced': { setUp: 'unsynced' },
  'no full-page writes': { setUp: 'no-page-images' },
  'answers before the sync': { isAnsweredEarly: true },
  'folders not synced': { countsSync: (_, isFolder) => !isFolder },
  'only the log synced': { countsSync: (path) => path.includes('/pg_wal') },
  'only the data synced': { countsSync: (path) => !path.includes('/pg_wal') },
}

describe.skipIf(!hasCompiler)(`losses of power (needs a C compiler; seed ${SEED})`, () => {
  for (let run = 0; run < RUNS; run++) {
    it(`a loss of power leaves the store consistent: run ${run + 1} of ${RUNS}, 100 disks`, async () => {
      expect(await simulate({ seed: SEED + run, disks: 100, transactions: 300 })).toEqual([])
    })
  }

  for (const [name, mistake] of Object.entries(MISTAKES)) {
    it(`the power-loss test detects a store with this defect: ${name}`, async () => {
      const bad = await simulate({ seed: SEED, disks: MISTAKE_DISKS, transactions: 200, ...mistake })
      console.info(`${name}: ${bad.length} of ${MISTAKE_DISKS} disks bad, such as: ${bad[0]?.[0]}`)
      expect(bad.length).toBeGreaterThan(0)
    })
  }
})

/**
 * The soak of the venues: `TIDEGATE_LONG=1 TIDEGATE_SOAK_MINUTES=30 npx vitest run --project embedded test/soak`; three
 * minutes when nothing is said. `TIDEGATE_SEED` repeats the faults of a run, `TIDEGATE_SOAK_LOG` names a file that is
 * notified of every event as it happens.
 */

import { appendFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { capturesMissing } from '../support/captures.ts'
import { seedOf } from '../support/property.ts'
import { krakenRecordingsMissing } from '../support/recordings.ts'
import { ensureBuilt, temporaryFolder } from '../support/running-service.ts'
import { BINANCE_CAPTURES } from '../support/venues/binance.ts'
import { COINBASE_CAPTURES } from '../support/venues/coinbase.ts'
import { OKX_CAPTURES } from '../support/venues/okx.ts'
import { runVenueSoak } from './venue-soak.ts'

const minutes = Number(process.env.TIDEGATE_SOAK_MINUTES ?? 3)
const seed = seedOf(20_261_123)
const logFile = process.env.TIDEGATE_SOAK_LOG
const isMissing = krakenRecordingsMissing || capturesMissing(...BINANCE_CAPTURES, ...COINBASE_CAPTURES, ...OKX_CAPTURES)

const folder = temporaryFolder()
beforeAll(ensureBuilt)
afterAll(() => folder.remove())

describe.skipIf(isMissing)('venues that fail for a long time (needs venue recordings)', () => {
  it(`venues that fail for a long time leave no wrong book in ${minutes} minutes, seed ${seed}`, async () => {
    const result = await runVenueSoak({
      folder: folder.path,
      seconds: minutes * 60,
      secondsPerFault: 20,
      secondsPerRest: 60,
      seed,
      log(event) {
        const line = JSON.stringify({ at: new Date().toISOString(), ...event })
        if (logFile === undefined) console.log(line)
        else appendFileSync(logFile, `${line}\n`)
      },
    })
    expect(result.problems).toEqual([])
    expect(result.exitCode).toBe(0)
    expect(result.rests).toBeGreaterThan(minutes / 3)
  })
})

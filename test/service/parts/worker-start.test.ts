/** How the workers of a process start while the store cannot be reached. */
import { expect, it } from 'vitest'
import { createLog } from '../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { type Db, StoreUnavailable } from '../../../src/platform/store/db.ts'
import { type ScreeningParts, startScreening } from '../../../src/service/parts/money/screening.ts'
import { Lifecycle } from '../../../src/service/process/lifecycle.ts'
import { configOf } from '../../support/rest.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const tick = () => new Promise(setImmediate)

it('the start of a worker waits for a store that is lost meanwhile, and does not fail', async () => {
  const clock = new VirtualClock()
  const log = createLog('silent')
  let isLost = true
  let listens = 0
  const db = {
    available: true,
    async listen() {
      listens += 1
      if (isLost) throw new StoreUnavailable('the store did not answer in time')
      return async () => undefined
    },
    transaction: () => Promise.resolve([]),
  }
  const parts: ScreeningParts = {
    clock,
    log,
    signal: new AbortController().signal,
    db: db as unknown as Db,
    metrics: createMetricsRegistry(),
    lifecycle: new Lifecycle(log),
    current: { config: configOf({}) },
    encryptionKey: undefined,
    random: () => 0,
  }
  let isStarted = false
  const started = startScreening(parts).then(() => {
    isStarted = true
  })
  for (let attempts = 1; attempts <= 3; attempts++) {
    await tick()
    expect([listens, isStarted]).toEqual([attempts, false])
    clock.advance(5_000)
  }
  isLost = false
  clock.advance(5_000)
  await tick()
  await started
  await parts.lifecycle.stop()
})

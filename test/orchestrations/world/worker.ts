/**
 * A worker of a simulated world, which does what is due when it is asked to and dies when its store does. Its clock is
 * its own, and may be wrong.
 */
import { type Clock, createSystemClock } from '../../../src/base/clock.ts'
import { createLog } from '../../../src/base/log.ts'
import { createMetricsRegistry } from '../../../src/base/metrics.ts'
import { createStepMetrics } from '../../../src/orchestrations/metrics.ts'
import { OrchestrationRunner, type RunnerOptions } from '../../../src/orchestrations/runner.ts'
import type { FaultyStore } from '../../support/store-faults.ts'

export interface Worker {
  readonly store: FaultyStore
  /** Does everything that is due now, as a new process if the one before it died. */
  step(): Promise<void>
}

/** @param skewMilliseconds how far its clock is ahead */
export function createWorker(
  store: FaultyStore,
  settings: RunnerOptions['settings'],
  skewMilliseconds: number,
): Worker {
  const log = createLog('silent')
  const metrics = createStepMetrics(createMetricsRegistry())
  const system = createSystemClock()
  const wallInstant = () => {
    const { milliseconds, nanoseconds } = system.wallInstant()
    return { milliseconds: milliseconds + skewMilliseconds, nanoseconds }
  }
  return {
    store,
    async step() {
      if (store.diedAt !== undefined) store.restart()
      let idle: (() => void) | undefined
      const isIdle = new Promise<void>((resolve) => {
        idle = resolve
      })
      // It waits when there is nothing left to do, or the store is gone.
      const schedule = () => {
        idle?.()
        return { cancel: () => undefined }
      }
      const clock: Clock = { ...system, wallInstant, schedule }
      const runner = new OrchestrationRunner({ db: store.db, clock, log, metrics, settings })
      runner.start()
      await isIdle
      await runner.stop()
    },
  }
}

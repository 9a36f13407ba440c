/**
 * The processes of a simulated world that work by themselves: they do what is due when they are asked to, and die when
 * their stores do. The clock of a worker is its own, and may be wrong.
 */
import { createRequestCounter } from '../../../../src/money/deliveries/metrics.ts'
import { createWebhookSender } from '../../../../src/money/deliveries/webhook-sender.ts'
import { createStepMetrics } from '../../../../src/money/orchestrations/metrics.ts'
import { OrchestrationRunner, type RunnerOptions } from '../../../../src/money/orchestrations/runner.ts'
import { type Clock, createSystemClock } from '../../../../src/platform/base/clock.ts'
import { createLog } from '../../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../../src/platform/base/metrics.ts'
import { DELIVERY_OWNERS } from '../../../support/delivery-owners.ts'
import type { FaultyStore } from '../../../support/store-faults.ts'
import { VirtualClock } from '../../../support/virtual-clock.ts'
import type { Executor } from './executor.ts'

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

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`

/** Sends what is due to the executor; when there is no address, what is overdue is given up. */
export function createSender(store: FaultyStore, executor: Executor, url: () => string): Worker {
  const log = createLog('silent')
  const requests = createRequestCounter(createMetricsRegistry())
  const settings = () => ({ url: url(), secrets: [SECRET], allowPrivate: false })
  return {
    store,
    async step() {
      if (store.diedAt !== undefined) store.restart()
      const clock = new VirtualClock()
      const common = { db: store.db, owners: DELIVERY_OWNERS, clock, log, requests, random: () => 0.5 }
      const sender = createWebhookSender({ ...common, settings })
      executor.clocks.add(clock)
      await sender.start()
      await sender.settled()
      await sender.stop()
      executor.clocks.delete(clock)
    },
  }
}

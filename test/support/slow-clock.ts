/**
 * The clock for a store under test: thirty times slower than real time, except for the wall clock. A store's timeouts
 * (two seconds for a statement) detect a store that hangs, but must not fire on a busy machine or a suspended process.
 * It states its slowness, so that the limits enforced by a PostgreSQL server are longer as well. Tests of the timeouts
 * themselves use a `VirtualClock`.
 */
import { type Clock, createSystemClock } from '../../src/platform/base/clock.ts'

const SLOWNESS = 30

export function createSlowClock(slowness = SLOWNESS): Clock {
  const clock = createSystemClock()
  return {
    ...clock,
    slowness,
    monotonicMilliseconds: () => clock.monotonicMilliseconds() / slowness,
    schedule: (delayMilliseconds, callback) => clock.schedule(delayMilliseconds * slowness, callback),
  }
}

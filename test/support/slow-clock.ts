/**
 * The clock of a store under test: thirty times slower than real time, except for the wall clock. The timeouts of a
 * store (two seconds for a statement) detect a store that hangs; a busy machine, or a suspended process, must not look
 * like one. It states its slowness, so that the limits that a PostgreSQL server enforces are longer as well. Tests of the
 * timeouts themselves use a `VirtualClock`.
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

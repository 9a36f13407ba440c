/**
 * Time as a store under test knows it: thirty times slower than it is, the wall clock apart. The limits of a store
 * (two seconds for a statement) tell one that is out of order from one that works; a machine that has other things to
 * do, or a process that stood still for a while, must not look like the former. Who tests the limits themselves takes a
 * `VirtualClock`.
 */
import { type Clock, createSystemClock } from '../../src/base/clock.ts'

const SLOWNESS = 30

export function createSlowClock(slowness = SLOWNESS): Clock {
  const clock = createSystemClock()
  return {
    ...clock,
    monotonicMilliseconds: () => clock.monotonicMilliseconds() / slowness,
    schedule: (delayMilliseconds, callback) => clock.schedule(delayMilliseconds * slowness, callback),
  }
}

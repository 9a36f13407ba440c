import { expect, it } from 'vitest'
import { LogLimit } from '../../../src/platform/base/log-limit.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

it('the log limit lets a burst of each kind pass, then ten a second, with the number that was suppressed', () => {
  const clock = new VirtualClock()
  const limit = new LogLimit(clock)
  const passed = (kind: number, count: number) =>
    Array.from({ length: count }, () => limit.admit(kind)).filter((fields) => fields !== undefined)
  expect(passed(401, 1_000)).toEqual(Array.from({ length: 100 }, () => ({})))
  expect(passed(404, 1)).toEqual([{}])
  clock.advance(100)
  expect(passed(401, 50)).toEqual([{ suppressed: 900 }])
  clock.advance(1_000)
  expect(passed(401, 50)).toEqual([{ suppressed: 49 }, ...Array.from({ length: 9 }, () => ({}))])
})

/** A clock that counts no time in which the process did not run. */
import { expect, it } from 'vitest'
import { RunningClock } from '../../../src/platform/base/running-clock.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

function started() {
  const clock = new VirtualClock()
  const running = new RunningClock(clock)
  running.start()
  return { clock, running, now: () => running.monotonicMilliseconds() }
}

it('the time of a running process is counted exactly', () => {
  const { clock, now, running } = started()
  const fired: number[] = []
  running.schedule(1_234, () => fired.push(clock.monotonicMilliseconds()))
  for (let step = 0; step < 30; step++) clock.advance(99)
  expect([now(), fired]).toEqual([2_970, [1_234]])
})

it('the running clock counts one interval of a suspension, and no timer ends by it', () => {
  const { clock, now, running } = started()
  let isFired = false
  running.schedule(10_000, () => {
    isFired = true
  })
  clock.advance(5_000)
  clock.standStill(60_000)
  expect([now(), isFired]).toEqual([5_500, false])
  clock.advance(4_499)
  expect(isFired).toBe(false)
  clock.advance(1)
  expect(isFired).toBe(true)
})

it('a process that runs for a moment every two seconds counts a quarter of the time, and it never goes back', () => {
  const { clock, now } = started()
  let before = 0
  for (let second = 0; second < 60; second += 2) {
    clock.standStill(2_000)
    expect(now()).toBeGreaterThanOrEqual(before)
    before = now()
  }
  expect(now()).toBe(15_000)
})

it('a cancelled timer does not fire, also after it was postponed', () => {
  const { clock, running } = started()
  let fired = 0
  const timer = running.schedule(1_000, () => fired++)
  clock.standStill(5_000)
  timer.cancel()
  clock.advance(5_000)
  running.stop()
  expect(fired).toBe(0)
})

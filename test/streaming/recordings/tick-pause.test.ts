import { expect, it } from 'vitest'
import type { Timer } from '../../../src/platform/base/clock.ts'
import { TickPause } from '../../../src/streaming/recordings/tick-pause.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

/** Its timers come before their time, as those of a process do by its monotonic clock. */
class HastyClock extends VirtualClock {
  override schedule(delayMilliseconds: number, callback: () => void): Timer {
    return super.schedule(delayMilliseconds * 0.75, callback)
  }
}

function pauseOn(clock: VirtualClock, milliseconds: number) {
  const over: number[] = []
  const pause = new TickPause(clock, milliseconds, () => over.push(clock.monotonicMilliseconds()))
  return { pause, over }
}

it('the pause between ticks lasts a millisecond from the end of the tick at least, however early timers come', () => {
  const clock = new HastyClock()
  const { over } = pauseOn(clock, 0)
  clock.advance(10)
  expect(over).toHaveLength(1)
  expect(over[0]).toBeGreaterThanOrEqual(1)
  expect(over[0]).toBeLessThan(2)
})

it('the pause between ticks lasts as long as it was meant to unless it is cut short, to no less than a millisecond', () => {
  const clock = new VirtualClock()
  const long = pauseOn(clock, 1_000_000)
  const cut = pauseOn(clock, 1_000_000)
  const cutWithin = pauseOn(clock, 1_000_000)
  cutWithin.pause.cutShort()
  clock.advance(50)
  cut.pause.cutShort()
  clock.advance(50)
  expect([long.over, cut.over, cutWithin.over]).toEqual([[], [51], [1]])
})

it('the pause between ticks is over at once when it is ended, and only once', () => {
  const clock = new VirtualClock()
  const within = pauseOn(clock, 5)
  within.pause.end()
  const { pause, over } = pauseOn(clock, 5)
  clock.advance(2)
  pause.end()
  pause.end()
  clock.advance(100)
  expect([within.over, over]).toEqual([[0], [2]])
})

import { expect, test } from 'vitest'
import { Ticker } from '../../../src/streaming/gateway/throttle.ts'
import { WorkingClock } from './live-stream.ts'

function start(clock: WorkingClock, isWanted: () => boolean = () => true) {
  const ticks: [at: number, intervals: readonly number[]][] = []
  const ticker = new Ticker(clock, (intervals) => {
    ticks.push([clock.monotonicMilliseconds(), [...intervals]])
    return isWanted()
  })
  ticker.start()
  return { ticker, ticks }
}

test('every interval ends on its own multiples of one grid, whenever it was wanted first', () => {
  const clock = new WorkingClock()
  clock.advance(30)
  const { ticks } = start(clock)
  clock.advance(1_000)
  expect(ticks).toHaveLength(20)
  expect(ticks.map(([at]) => at)).toEqual(Array.from({ length: 20 }, (_, index) => 50 * (index + 1)))
  const of = (interval: number) => ticks.filter(([, over]) => over.includes(interval)).map(([at]) => at)
  expect(of(100)).toEqual([100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000])
  expect(of(250)).toEqual([250, 500, 750, 1_000])
  expect(of(500)).toEqual([500, 1_000])
  expect(of(1_000)).toEqual([1_000])
})

test('each interval that is over after a stall ends once, and the grid is where it was', () => {
  const clock = new WorkingClock()
  const { ticks } = start(clock)
  clock.advance(60)
  clock.stall(420)
  clock.advance(90)
  expect(ticks.map(([, over]) => over)).toEqual([[50], [50, 100, 250, 500], [50]].slice(0, ticks.length))
  expect(ticks.length).toBeGreaterThan(1)
})

test('the ticker stops when no more is wanted, and starts again', () => {
  const clock = new WorkingClock()
  let isWanted = false
  const { ticker, ticks } = start(clock, () => isWanted)
  clock.advance(500)
  expect(ticks).toHaveLength(1)
  isWanted = true
  ticker.start()
  ticker.start()
  clock.advance(100)
  expect(ticks).toHaveLength(3)
  ticker.stop()
  clock.advance(500)
  expect(ticks).toHaveLength(3)
})

import { describe, expect, test } from 'vitest'
import { Wheel } from '../../../src/streaming/gateway/wheel.ts'
import { WorkingClock } from './live-stream.ts'

interface Visit {
  readonly at: number
  readonly members: readonly string[]
}

function wheelOf(periodMilliseconds: number): { clock: WorkingClock; wheel: Wheel<string>; visits: Visit[] } {
  const clock = new WorkingClock()
  const visits: Visit[] = []
  const wheel = new Wheel<string>(clock, periodMilliseconds, (members) => {
    visits.push({ at: clock.monotonicMilliseconds(), members: [...members] })
  })
  return { clock, wheel, visits }
}

const names = (count: number) => Array.from({ length: count }, (_, index) => `m${index}`)

function visitsOf(visits: readonly Visit[], name: string): number[] {
  return visits.filter(({ members }) => members.includes(name)).map(({ at }) => at)
}

describe('a wheel', () => {
  test('a wheel visits every member once a period, at equal distance', () => {
    const { clock, wheel, visits } = wheelOf(1_000)
    for (const name of names(120)) wheel.add(name)
    clock.advance(5_000)
    for (const name of names(120)) {
      const times = visitsOf(visits, name)
      expect(times).toHaveLength(5)
      for (let index = 1; index < times.length; index++) {
        expect(Number(times[index]) - Number(times[index - 1])).toBe(1_000)
      }
    }
  })

  test('a wheel spreads members that come at once evenly over the period', () => {
    const { clock, wheel, visits } = wheelOf(1_000)
    for (const name of names(5_000)) wheel.add(name)
    clock.advance(1_000)
    expect(visits).toHaveLength(50)
    expect(visits.map(({ members }) => members.length)).toEqual(new Array(50).fill(100))
  })

  test('a wheel counts a member added twice once, does not visit a removed one, and ignores an unknown one', () => {
    const { clock, wheel, visits } = wheelOf(100)
    wheel.add('a')
    wheel.add('b')
    wheel.add('a')
    wheel.remove('b')
    wheel.remove('nobody')
    expect(wheel.size).toBe(1)
    clock.advance(1_000)
    expect(visitsOf(visits, 'a')).toHaveLength(10)
    expect(visitsOf(visits, 'b')).toEqual([])
  })

  test('a wheel that was empty for a while makes nothing up for its next member', () => {
    const { clock, wheel, visits } = wheelOf(1_000)
    wheel.add('early')
    clock.advance(3_000)
    wheel.remove('early')
    clock.advance(7_777)
    wheel.add('late')
    clock.advance(3_000)
    const times = visitsOf(visits, 'late')
    expect(times).toHaveLength(3)
    expect(Number(times[1]) - Number(times[0])).toBe(1_000)
  })

  test('a wheel visits each member once after a stall, and then at its own time again', () => {
    const { clock, wheel, visits } = wheelOf(1_000)
    for (const name of names(50)) wheel.add(name)
    clock.advance(1_000)
    visits.length = 0
    clock.stall(3_500)
    clock.advance(20)
    for (const name of names(50)) expect(visitsOf(visits, name)).toHaveLength(1)
    visits.length = 0
    clock.advance(2_000)
    for (const name of names(50)) expect(visitsOf(visits, name)).toHaveLength(2)
  })

  test('a period shorter than a slot is one slot', () => {
    const { clock, wheel, visits } = wheelOf(1)
    wheel.add('a')
    clock.advance(100)
    expect(visits).toHaveLength(5)
  })

  test('a stopped wheel visits no member and leaves no timer', () => {
    const { clock, wheel, visits } = wheelOf(100)
    wheel.add('a')
    wheel.stop()
    clock.advance(1_000)
    expect(visits).toEqual([])
    expect(wheel.size).toBe(0)
  })
})

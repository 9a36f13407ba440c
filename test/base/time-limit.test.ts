import { describe, expect, it } from 'vitest'
import { wait, withTimeLimit } from '../../src/base/time-limit.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

const never = new Promise<string>(() => undefined)

describe('a time limit', () => {
  it('gives the result of a promise that settles in time, and leaves no timer', async () => {
    const clock = new VirtualClock()
    let lateCount = 0
    const onLate = () => ++lateCount
    await expect(withTimeLimit(clock, 100, Promise.resolve('answer'), onLate)).resolves.toBe('answer')
    await expect(withTimeLimit(clock, 100, Promise.reject(new Error('no')), onLate)).rejects.toThrow('no')
    clock.advance(100)
    expect(lateCount).toBe(0)
  })

  it('gives the result of onLate, or what it throws, when the time is over', async () => {
    const clock = new VirtualClock()
    const late = withTimeLimit(clock, 100, never, () => 'late')
    const failed = withTimeLimit(clock, 100, never, () => {
      throw new Error('too late')
    })
    clock.advance(100)
    await expect(late).resolves.toBe('late')
    await expect(failed).rejects.toThrow('too late')
  })
})

it('a wait resolves after the time, at once for 0', async () => {
  const clock = new VirtualClock()
  await wait(clock, 0)
  let isOver = false
  const waited = wait(clock, 5).then(() => {
    isOver = true
  })
  clock.advance(4)
  await Promise.resolve()
  expect(isOver).toBe(false)
  clock.advance(1)
  await waited
})

import { describe, expect, it } from 'vitest'
import { wait, withDeadline, withTimeLimit } from '../../../src/platform/base/time-limit.ts'
import { collectGarbage } from '../../support/garbage.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const never = new Promise<string>(() => undefined)

describe('a time limit', () => {
  it('a time limit gives the result of a promise that settles in time, and leaves no timer', async () => {
    const clock = new VirtualClock()
    let lateCount = 0
    const onLate = () => ++lateCount
    await expect(withTimeLimit(clock, 100, Promise.resolve('answer'), onLate)).resolves.toBe('answer')
    await expect(withTimeLimit(clock, 100, Promise.reject(new Error('no')), onLate)).rejects.toThrow('no')
    clock.advance(100)
    expect(lateCount).toBe(0)
  })

  it('a time limit gives the result of onLate, or what it throws, when the time is over', async () => {
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

describe('a deadline', () => {
  const late = () => new Error('too late')
  const aborts = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')))
    })

  it('a deadline ends the work, also after a garbage collection, whether the work heeds its signal or not', async () => {
    const clock = new VirtualClock()
    const stop = new AbortController().signal
    const signals: AbortSignal[] = []
    for (const work of [aborts, () => never]) {
      const deadline = { clock, milliseconds: 100, stop, late }
      const working = withDeadline(deadline, (signal) => {
        signals.push(signal)
        return work(signal)
      })
      collectGarbage()
      clock.advance(100)
      await expect(working).rejects.toThrow('too late')
    }
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
  })

  it('a deadline does not outlive work that settles or is stopped', async () => {
    const clock = new VirtualClock()
    const stop = new AbortController()
    const deadline = { clock, milliseconds: 100, stop: stop.signal, late }
    await expect(withDeadline(deadline, () => Promise.resolve('answer'))).resolves.toBe('answer')
    await expect(withDeadline(deadline, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(clock.isDueIn(100)).toBe(false)
    const working = withDeadline(deadline, aborts)
    stop.abort()
    await expect(working).rejects.toThrow('aborted')
    await expect(withDeadline(deadline, ({ aborted }) => Promise.resolve(aborted))).resolves.toBe(true)
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

import { expect, it } from 'vitest'
import { RefreshedValue } from '../../../src/platform/base/refreshed-value.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

/** A value that is fresh for a minute, at most one fetch in 5 s, from a source whose answers the test gives. */
function openValue() {
  const clock = new VirtualClock()
  const fetches: { resolve(value: string): void; reject(error: Error): void }[] = []
  const failures: [string, boolean][] = []
  const value = new RefreshedValue<string>({
    clock,
    freshMilliseconds: 60_000,
    pauseMilliseconds: 5_000,
    fetch: () => new Promise((resolve, reject) => fetches.push({ resolve, reject })),
    onFailure: (error, kept) => failures.push([(error as Error).message, kept]),
  })
  return { clock, fetches, failures, value }
}

it('a refreshed value is fetched once for all who wait for the first one', async () => {
  const { fetches, value } = openValue()
  const asked = Promise.all([value.current(), value.current(), value.newer()])
  fetches[0]?.resolve('a')
  expect(await asked).toEqual(['a', 'a', 'a'])
  expect(await value.current()).toBe('a')
  expect(fetches.length).toBe(1)
})

it('an old refreshed value is returned while a newer one is fetched', async () => {
  const { clock, fetches, failures, value } = openValue()
  const first = value.current()
  fetches[0]?.resolve('a')
  await first
  clock.advance(59_999)
  expect(await value.current()).toBe('a')
  expect(fetches.length).toBe(1)
  clock.advance(1)
  expect(await value.current()).toBe('a')
  expect(await value.current()).toBe('a')
  fetches[1]?.resolve('b')
  expect(await value.newer()).toBe('b')
  expect([fetches.length, failures]).toEqual([2, []])
})

it('a refreshed value is kept when the source fails, which is asked again after the pause only', async () => {
  const { clock, fetches, failures, value } = openValue()
  const first = value.current()
  fetches[0]?.reject(new Error('down'))
  expect(await first).toBeUndefined()
  clock.advance(4_999)
  expect(await value.current()).toBeUndefined()
  expect(fetches.length).toBe(1)
  clock.advance(1)
  const second = value.current()
  fetches[1]?.resolve('a')
  expect(await second).toBe('a')
  expect(await value.newer()).toBeUndefined()
  clock.advance(5_000)
  const newer = value.newer()
  fetches[2]?.reject(new Error('down again'))
  expect(await newer).toBeUndefined()
  expect(await value.current()).toBe('a')
  expect(failures).toEqual([
    ['down', false],
    ['down again', true],
  ])
})

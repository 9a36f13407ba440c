/** How a failure of the store is answered: late, or unavailable. */
import { expect, it } from 'vitest'
import { StoreUnavailable } from '../../../src/platform/store/db.ts'
import { Semaphore } from '../../../src/platform/store/semaphore.ts'
import { translateStoreError } from '../../../src/service/listeners/listener.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

it('a 503 response says that the store was too slow when no connection to it was free in time', async () => {
  const clock = new VirtualClock()
  const semaphore = new Semaphore(clock)
  await semaphore.acquire(2_000)
  const late = semaphore.acquire(2_000).catch((error: unknown) => error)
  clock.advance(2_000)
  const problem = translateStoreError(await late)
  expect(problem).toMatchObject({ code: 'unavailable', extras: { headers: { 'retry-after': expect.any(String) } } })
  expect(problem?.message).toBe('the store did not answer in time: a write may or may not have been done')
})

it('a 503 response says that the store is unavailable when its connection was lost', () => {
  const problem = translateStoreError(new StoreUnavailable('the connection to the store was lost'))
  expect(problem).toMatchObject({ code: 'unavailable', extras: { headers: { 'retry-after': expect.any(String) } } })
  expect(problem?.message).toBe('the store is unavailable: a write may or may not have been done')
})

import { expect, it } from 'vitest'
import { StoreUnavailable } from '../../src/store/db.ts'
import { WAITERS_MAX } from '../../src/store/limits.ts'
import { Semaphore } from '../../src/store/semaphore.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

/** Acquires a permit and records how the wait ended. */
function taker(semaphore: Semaphore, outcomes: string[]) {
  return (name: string, milliseconds = 100) =>
    semaphore.acquire(milliseconds).then(
      () => void outcomes.push(`${name} has it`),
      (error: unknown) => void outcomes.push(`${name} ${error instanceof StoreUnavailable ? 'refused' : 'broken'}`),
    )
}

it('grants permits in the order of the requests, each when the one before is released', async () => {
  const semaphore = new Semaphore(new VirtualClock())
  const outcomes: string[] = []
  const take = taker(semaphore, outcomes)
  const all = [take('a'), take('b'), take('c')]
  await all[0]
  expect(outcomes).toEqual(['a has it'])
  semaphore.release()
  await all[1]
  semaphore.release()
  await all[2]
  expect(outcomes).toEqual(['a has it', 'b has it', 'c has it'])
  semaphore.release()
  await take('d')
  expect(outcomes.at(-1)).toBe('d has it')
})

it('rejects a request that waited too long, and grants the next one', async () => {
  const clock = new VirtualClock()
  const semaphore = new Semaphore(clock)
  const outcomes: string[] = []
  const take = taker(semaphore, outcomes)
  await take('a')
  const [b, c] = [take('b', 50), take('c', 100)]
  clock.advance(50)
  await b
  semaphore.release()
  await c
  clock.advance(100)
  expect(outcomes).toEqual(['a has it', 'b refused', 'c has it'])
})

it('rejects a request at once when too many wait', async () => {
  const semaphore = new Semaphore(new VirtualClock())
  const outcomes: string[] = []
  const take = taker(semaphore, outcomes)
  await take('holder')
  const waiting = Array.from({ length: WAITERS_MAX }, (_, index) => take(String(index)))
  await take('one more')
  expect(outcomes).toEqual(['holder has it', 'one more refused'])
  semaphore.release()
  await waiting[0]
  const again = take('after the queue has shrunk')
  void semaphore.close()
  await Promise.all([...waiting, again])
  expect(outcomes.slice(2, 4)).toEqual(['0 has it', '1 refused'])
  expect(outcomes).toHaveLength(WAITERS_MAX + 3)
})

it('rejects all requests when it is closed, and completes when the last permit is released', async () => {
  const semaphore = new Semaphore(new VirtualClock())
  const outcomes: string[] = []
  const take = taker(semaphore, outcomes)
  await take('a')
  const b = take('b')
  const closed = semaphore.close().then(() => void outcomes.push('closed'))
  await Promise.all([b, take('c')])
  expect(outcomes.sort()).toEqual(['a has it', 'b refused', 'c refused'])
  semaphore.release()
  await closed
  expect(outcomes.at(-1)).toBe('closed')
})

import { expect, it } from 'vitest'
import { runFor } from '../../../src/platform/base/caller.ts'
import { StoreUnavailable } from '../../../src/platform/store/db.ts'
import { Semaphore } from '../../../src/platform/store/semaphore.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

/** Acquires a permit and records how the wait ended. */
function taker(semaphore: Semaphore, outcomes: string[]) {
  return (name: string, milliseconds = 100) =>
    semaphore.acquire(milliseconds).then(
      () => void outcomes.push(`${name} has it`),
      (error: unknown) => void outcomes.push(`${name} ${error instanceof StoreUnavailable ? 'refused' : 'broken'}`),
    )
}

it('the semaphore grants permits in the order of the requests, each when the one before is released', async () => {
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

it('the semaphore rejects a request that waited too long, and grants the next one', async () => {
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

it('the semaphore serves the clients that wait in turn, and our own work like one of them', async () => {
  const semaphore = new Semaphore(new VirtualClock())
  const outcomes: string[] = []
  const take = taker(semaphore, outcomes)
  await take('holder')
  const waiting = [
    ...[1, 2, 3].map((count) => runFor('A', () => take(`A${count}`))),
    ...[1, 2].map((count) => runFor('B', () => take(`B${count}`))),
    take('own'),
  ]
  for (const _ of waiting) {
    semaphore.release()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.all(waiting)
  expect(outcomes.slice(1).map((outcome) => outcome.split(' ')[0])).toEqual(['A1', 'B1', 'own', 'A2', 'B2', 'A3'])
})

it('the semaphore rejects a request at once when its client has too many waiting, and accepts one of another client', async () => {
  const semaphore = new Semaphore(new VirtualClock())
  const outcomes: string[] = []
  const take = taker(semaphore, outcomes)
  await take('holder')
  const waiting = Array.from({ length: 1_000 }, (_, index) => runFor('A', () => take(String(index))))
  await runFor('A', () => take('one more'))
  expect(outcomes).toEqual(['holder has it', 'one more refused'])
  const other = runFor('B', () => take('other'))
  semaphore.release()
  semaphore.release()
  await other
  expect(outcomes.slice(2).sort()).toEqual(['0 has it', 'other has it'])
  void semaphore.close()
  await Promise.all(waiting)
})

it('the semaphore rejects a request at once when too many wait', async () => {
  const semaphore = new Semaphore(new VirtualClock())
  const outcomes: string[] = []
  const take = taker(semaphore, outcomes)
  await take('holder')
  const waiting = Array.from({ length: 3_600 }, (_, index) => take(String(index)))
  await take('one more')
  expect(outcomes).toEqual(['holder has it', 'one more refused'])
  semaphore.release()
  await waiting[0]
  const again = take('after the queue has shrunk')
  void semaphore.close()
  await Promise.all([...waiting, again])
  expect(outcomes.slice(2, 4)).toEqual(['0 has it', '1 refused'])
  expect(outcomes).toHaveLength(3_600 + 3)
})

it('the semaphore rejects all requests when it is closed, and completes when the last permit is released', async () => {
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

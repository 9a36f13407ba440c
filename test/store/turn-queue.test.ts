import { expect, it } from 'vitest'
import { StoreUnavailable } from '../../src/store/db.ts'
import { WAITERS_MAX } from '../../src/store/limits.ts'
import { TurnQueue } from '../../src/store/turn-queue.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

/** Takes a turn and records how the wait ended. */
function taker(turns: TurnQueue, outcomes: string[]) {
  return (name: string, milliseconds = 100) =>
    turns.take(milliseconds).then(
      () => void outcomes.push(`${name} has it`),
      (error: unknown) => void outcomes.push(`${name} ${error instanceof StoreUnavailable ? 'refused' : 'broken'}`),
    )
}

it('turns are granted in the order of the requests, each when the one before has ended', async () => {
  const turns = new TurnQueue(new VirtualClock())
  const outcomes: string[] = []
  const take = taker(turns, outcomes)
  const all = [take('a'), take('b'), take('c')]
  await all[0]
  expect(outcomes).toEqual(['a has it'])
  turns.pass()
  await all[1]
  turns.pass()
  await all[2]
  expect(outcomes).toEqual(['a has it', 'b has it', 'c has it'])
  turns.pass()
  await take('d')
  expect(outcomes.at(-1)).toBe('d has it')
})

it('a request that waited too long is refused, and the next one is granted', async () => {
  const clock = new VirtualClock()
  const turns = new TurnQueue(clock)
  const outcomes: string[] = []
  const take = taker(turns, outcomes)
  await take('a')
  const [b, c] = [take('b', 50), take('c', 100)]
  clock.advance(50)
  await b
  turns.pass()
  await c
  clock.advance(100)
  expect(outcomes).toEqual(['a has it', 'b refused', 'c has it'])
})

it('a request is refused at once when too many wait', async () => {
  const turns = new TurnQueue(new VirtualClock())
  const outcomes: string[] = []
  const take = taker(turns, outcomes)
  await take('holder')
  const waiting = Array.from({ length: WAITERS_MAX }, (_, index) => take(String(index)))
  await take('one more')
  expect(outcomes).toEqual(['holder has it', 'one more refused'])
  turns.pass()
  await waiting[0]
  const again = take('after the queue has shrunk')
  void turns.close()
  await Promise.all([...waiting, again])
  expect(outcomes.slice(2, 4)).toEqual(['0 has it', '1 refused'])
  expect(outcomes).toHaveLength(WAITERS_MAX + 3)
})

it('closing refuses all requests, and completes when the last turn has ended', async () => {
  const turns = new TurnQueue(new VirtualClock())
  const outcomes: string[] = []
  const take = taker(turns, outcomes)
  await take('a')
  const b = take('b')
  const closed = turns.close().then(() => void outcomes.push('closed'))
  await Promise.all([b, take('c')])
  expect(outcomes.sort()).toEqual(['a has it', 'b refused', 'c refused'])
  turns.pass()
  await closed
  expect(outcomes.at(-1)).toBe('closed')
})

/** Group commit: which caller waits for which flush, and what happens to waiting callers when the thread is lost. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, it } from 'vitest'
import { StoreUnavailable } from '../../../src/platform/store/db.ts'
import { GroupCommit } from '../../../src/platform/store/group-commit.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

function started() {
  const clock = new VirtualClock()
  return { clock, group: new GroupCommit(clock) }
}

/** The state of a wait once all work that is ready has run. */
async function state(wait: Promise<void>): Promise<string> {
  const settled = wait.then(
    () => 'durable',
    (error: unknown) => (error instanceof StoreUnavailable ? 'unknown' : 'other'),
  )
  return Promise.race([settled, new Promise<string>((resolve) => setImmediate(resolve, 'waiting'))])
}

it('a caller that writes alone does not wait', async () => {
  const { group } = started()
  group.begin(false)
  expect(group.end(true, 0)).toBe(false)
  expect(await state(group.settled())).toBe('durable')
})

it('callers with others queued after them are answered with the flush of the last', async () => {
  const { group } = started()
  const waits: Promise<void>[] = []
  for (const waiting of [2, 1]) {
    group.begin(true)
    expect(group.end(true, waiting)).toBe(false)
    waits.push(group.settled())
  }
  group.begin(false)
  expect(group.end(true, 0)).toBe(true)
  expect(await Promise.all(waits.map(state))).toEqual(['waiting', 'waiting'])
  group.flushed()
  expect(await Promise.all(waits.map(state))).toEqual(['durable', 'durable'])
  expect(group.isOpen).toBe(false)
})

it('a read after a commit that is not yet durable waits with it; any other read does not', async () => {
  const { group } = started()
  group.begin(true)
  expect(group.end(false, 1)).toBe(false)
  expect(await state(group.settled())).toBe('durable')
  group.begin(true)
  group.end(true, 2)
  group.begin(true)
  expect(group.end(false, 1)).toBe(false)
  const reader = group.settled()
  expect(await state(reader)).toBe('waiting')
  group.flushed()
  expect(await state(reader)).toBe('durable')
})

it('a flush is due after 64 commits or 5 ms, however many callers wait', () => {
  const { clock, group } = started()
  for (let commit = 1; commit <= 64; commit++) {
    group.begin(true)
    expect(group.end(true, 100)).toBe(commit === 64)
  }
  group.flushed()
  group.begin(true)
  expect(group.end(true, 100)).toBe(false)
  clock.advance(5)
  group.begin(true)
  expect(group.end(true, 100)).toBe(true)
})

it('no listener receives a notification before its commit is durable, and the order is kept', () => {
  const { group } = started()
  const heard: number[] = []
  const say = (number: number) => group.notify(() => heard.push(number))
  group.begin(false)
  say(1)
  expect(heard).toEqual([1])
  group.end(true, 0)
  group.begin(true)
  say(2)
  group.end(true, 1)
  group.begin(false)
  say(3)
  expect(group.end(true, 0)).toBe(true)
  expect(heard).toEqual([1])
  group.flushed()
  expect(heard).toEqual([1, 2, 3])
})

it('a notification of a session that wrote nothing is delivered at its end', () => {
  const { group } = started()
  const heard: number[] = []
  group.begin(true)
  group.notify(() => heard.push(1))
  group.end(false, 3)
  expect(heard).toEqual([1])
})

it('when the thread is lost, every waiting caller fails and held notifications are dropped', async () => {
  const { group } = started()
  const heard: number[] = []
  group.begin(true)
  group.notify(() => heard.push(1))
  group.end(true, 1)
  const wait = group.settled()
  group.lost('a test')
  expect(await state(wait)).toBe('unknown')
  group.begin(false)
  expect(group.end(true, 0)).toBe(false)
  expect(heard).toEqual([])
})

it('a held notification is delivered outside of the transaction that releases it', () => {
  const { group } = started()
  const transactions = new AsyncLocalStorage<string>()
  const heard: (string | undefined)[] = []
  group.begin(true)
  group.notify(() => heard.push(transactions.getStore()))
  transactions.run('a transaction', () => group.end(false, 1))
  expect(heard).toEqual([undefined])
})

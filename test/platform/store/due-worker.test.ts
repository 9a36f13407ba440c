/** How long a worker's stop waits for work under way. */
import { expect, it } from 'vitest'
import { createLog } from '../../../src/platform/base/log.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { DueWorker } from '../../../src/platform/store/due-worker.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

/** A request to an outside service may take this long, and the record of its outcome two seconds. */
const WORK_MILLISECONDS = 12_000

const tick = () => new Promise(setImmediate)

/** A worker with one item, whose work ends when `finish` is called. */
async function startWorker() {
  const clock = new VirtualClock()
  const items = [{ attempt: 1, dueAt: '2026-01-01T00:00:00Z' }]
  let finish: () => void = () => undefined
  const work = new Promise<void>((resolve) => {
    finish = resolve
  })
  const db = {
    available: true,
    listen: async () => async () => undefined,
    transaction: (run: (transaction: object) => Promise<unknown>) => run({}),
  }
  const worker = new DueWorker({
    db: db as unknown as Db,
    clock,
    log: createLog('silent'),
    channel: 'work',
    parallelMax: 2,
    random: () => 0,
    repeatSeconds: { first: 1, longest: 1 },
    failures: { take: 'not read', carryOut: 'not recorded' },
    take: async () => items.splice(0),
    carryOut: () => work,
  })
  await worker.start()
  await tick()
  let isStopped = false
  const stop = async (): Promise<void> => {
    await worker.stop()
    isStopped = true
  }
  return { clock, finish, stop, isStopped: () => isStopped }
}

it('a worker that is stopped waits for the work under way', async () => {
  const { clock, finish, stop, isStopped } = await startWorker()
  const stopped = stop()
  await tick()
  clock.advance(WORK_MILLISECONDS - 1)
  await tick()
  expect(isStopped()).toBe(false)
  finish()
  await stopped
})

it('a worker that is stopped does not wait for ever: work that takes longer is carried out again later', async () => {
  const { clock, stop, isStopped } = await startWorker()
  void stop()
  await tick()
  clock.advance(WORK_MILLISECONDS)
  await tick()
  expect(isStopped()).toBe(true)
})

/** The queue of a customer's account creations. */
import { expect, it } from 'vitest'
import { CreationQueue } from '../../../src/money/accounts/creation-queue.ts'
import { StoreUnavailable } from '../../../src/platform/store/db.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

/** A creation that ends when the test says so. */
function creation() {
  let end: () => void = () => undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  return { run: () => ended, end }
}

it('the queue creates the accounts of one customer one at a time, and does not delay another customer', async () => {
  const queue = new CreationQueue(new VirtualClock())
  const first = creation()
  const order: string[] = []
  const done = [
    queue.run('A', async () => {
      order.push('A1')
      await first.run()
    }),
    queue.run('A', async () => void order.push('A2')),
  ]
  await queue.run('B', async () => void order.push('B'))
  expect(order).toEqual(['A1', 'B'])
  first.end()
  await Promise.all(done)
  expect(order).toEqual(['A1', 'B', 'A2'])
})

it('the queue refuses a creation at once when too many of the customer wait, and one that has waited for 2 s', async () => {
  const clock = new VirtualClock()
  const queue = new CreationQueue(clock)
  const first = creation()
  const running = queue.run('A', first.run)
  const waiting = Array.from({ length: 100 }, () => queue.run('A', async () => 'made').catch((error: unknown) => error))
  await expect(queue.run('A', async () => undefined)).rejects.toMatchObject({ code: 'unavailable' })
  await queue.run('B', async () => undefined)
  clock.advance(2_000)
  for (const outcome of await Promise.all(waiting)) expect(outcome).toBeInstanceOf(StoreUnavailable)
  first.end()
  await running
  expect(await queue.run('A', async () => 'made')).toBe('made')
})

it('the queue creates the next account after a creation that failed', async () => {
  const queue = new CreationQueue(new VirtualClock())
  const failing = queue.run('A', async () => {
    throw new Error('as asked')
  })
  const next = queue.run('A', async () => 'made')
  await expect(failing).rejects.toThrow('as asked')
  expect(await next).toBe('made')
})

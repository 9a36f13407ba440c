/** What the workers of a simulated world do: their steps, and one that stands still while it holds claims. */
import { convertBatch } from '../../../../src/money/orchestrations/convert.ts'
import { claimWork, returnWork } from '../../../../src/money/orchestrations/queue.ts'
import { CONVERT_KIND } from '../../../../src/money/orchestrations/start.ts'
import { transactionWithRetries } from '../../../../src/platform/store/retry.ts'
import { ALL_DUE } from '../../../support/all-due.ts'
import type { Action, World } from './world.ts'

export const work: Action = async (world) => {
  await world.random.pick(world.workers).step()
}

export const workTogether: Action = async (world) => {
  await Promise.all(world.workers.map((worker) => worker.step()))
}

export const claimAll = ({ db }: World) =>
  claimWork(db, { kinds: [CONVERT_KIND], limit: 50, claimSeconds: 60 }, ALL_DUE)

/** A worker that stands still until its claims have expired and belong to another worker: then it must not do anything. */
export const stall: Action = async (world) => {
  const claimed = await claimAll(world)
  if (claimed.length === 0) return
  await world.advance(61_000)
  const taken = await claimAll(world)
  const ids = new Set(taken.map(({ orchestrationId }) => orchestrationId))
  for (const lost of claimed.filter(({ orchestrationId }) => ids.has(orchestrationId))) {
    const counts = await transactionWithRetries(world.db, (transaction) =>
      convertBatch(transaction, [lost], world.settings()),
    ).catch(() => ({ completed: 0, delivering: 0, waiting: 0, failed: 0 }))
    if (Object.values(counts).some((count) => count > 0)) {
      world.wrongs.push(
        `a worker went on with a claim that was over: ${lost.orchestrationId} ${JSON.stringify(counts)}`,
      )
    }
  }
  await returnWork(world.db, taken)
}

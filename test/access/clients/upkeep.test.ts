/** When the upkeep runs, and that two runs never overlap; its effects are tested with the life of tokens and keys. */
import { expect, it } from 'vitest'
import { Upkeep, type UpkeepOptions } from '../../../src/access/clients/upkeep.ts'
import { createLog } from '../../../src/platform/base/log.ts'
import { createQueries } from '../../../src/platform/store/sql.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const MINUTE = 60_000

const { tables } = createQueries(async () => ({
  execute: async () => ({ rows: [{ now: '2026-01-10T00:00:00Z' }], affectedRows: undefined }),
  begin: async () => undefined,
  commit: async () => undefined,
  rollback: async () => undefined,
  release: async () => undefined,
}))

it('the upkeep runs once more after a run during which it became due, however often', async () => {
  const clock = new VirtualClock()
  const ends: (() => void)[] = []
  // Each run finds an expired revocation.
  const transaction = () =>
    new Promise((resolve) => {
      ends.push(() => resolve(undefined))
    })
  const revoked = { tokenId: 'token', expiresAtMilliseconds: 0 }
  const directory = { keys: [], revokedTokens: [revoked] } as unknown as UpkeepOptions['directory']
  // The store's time is the only thing this upkeep asks of the store outside a transaction.
  const db = { transaction, tables } as unknown as UpkeepOptions['db']
  const upkeep = new Upkeep({ db, directory, clock, log: createLog('silent'), signingKeyDays: 30 })
  const runs = (count: number) => expect.poll(() => ends.length).toBe(count)
  await runs(1)
  clock.advance(3 * MINUTE)
  ends[0]?.()
  await runs(2)
  ends[1]?.()
  // Had it been due again, that run would have started before the next due one.
  clock.advance(2 * MINUTE)
  await runs(3)
  const stopped = upkeep.stop()
  ends[2]?.()
  await stopped
  expect(ends).toHaveLength(3)
})

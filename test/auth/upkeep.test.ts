/** When the upkeep looks, and that it never runs twice at once; what it does is told with the lives of tokens and keys. */
import { expect, it } from 'vitest'
import { Upkeep, type UpkeepOptions } from '../../src/auth/upkeep.ts'
import { createLog } from '../../src/base/log.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

const MINUTE = 60_000

it('looks once more after a run during which it was time to look, however often that was', async () => {
  const clock = new VirtualClock()
  const ends: (() => void)[] = []
  // Each look finds a revocation that is over.
  const transaction = () =>
    new Promise((resolve) => {
      ends.push(() => resolve(undefined))
    })
  const revoked = { tokenId: 'token', expiresAtMilliseconds: 0 }
  const directory = { keys: [], revokedTokens: [revoked] } as unknown as UpkeepOptions['directory']
  const db = { transaction } as unknown as UpkeepOptions['db']
  const upkeep = new Upkeep({ db, directory, clock, log: createLog('silent'), signingKeyDays: 30 })
  const endOfRun = async (run: number) => {
    ends[run]?.()
    await new Promise(setImmediate)
  }
  expect(ends).toHaveLength(1)
  clock.advance(3 * MINUTE)
  expect(ends).toHaveLength(1)
  await endOfRun(0)
  expect(ends).toHaveLength(2)
  await endOfRun(1)
  expect(ends).toHaveLength(2)
  clock.advance(2 * MINUTE)
  const stopped = upkeep.stop()
  await endOfRun(2)
  await stopped
  expect(ends).toHaveLength(3)
})

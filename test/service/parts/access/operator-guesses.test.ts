/** Counts of failed logins that are written while an earlier period is still being written, or after that has failed. */
import { expect, it, vi } from 'vitest'
import type { Db } from '../../../../src/platform/store/db.ts'
import { OperatorGuesses } from '../../../../src/service/parts/access/operator-guesses.ts'
import { captureLog } from '../../../support/captured-log.ts'
import { VirtualClock } from '../../../support/virtual-clock.ts'

it('failed logins are written when those of the period before are, so that a login reads all of them', async () => {
  const begun: (() => void)[] = []
  const transaction = () => new Promise<void>((resolve) => begun.push(resolve))
  const db = { transaction } as unknown as Db
  const guesses = new OperatorGuesses({ db, clock: new VirtualClock(), log: captureLog().log, kind: 'login' })
  guesses.record('192.0.2.1', 'ada')
  const first = guesses.write()
  await new Promise(setImmediate)
  guesses.record('192.0.2.1', 'ada')
  let isWritten = false
  const second = guesses.write().then(() => {
    isWritten = true
  })
  await new Promise(setImmediate)
  expect([begun.length, isWritten]).toEqual([1, false])
  begun[0]?.()
  await first
  await new Promise(setImmediate)
  expect([begun.length, isWritten]).toEqual([2, false])
  begun[1]?.()
  await second
})

it('failed logins are written after a write that has failed, so that its error refuses one login alone', async () => {
  const transaction = vi.fn(() => Promise.resolve()).mockRejectedValueOnce(new Error('no such table'))
  const db = { transaction } as unknown as Db
  const guesses = new OperatorGuesses({ db, clock: new VirtualClock(), log: captureLog().log, kind: 'login' })
  guesses.record('192.0.2.1', 'ada')
  await expect(guesses.write()).rejects.toThrow('no such table')
  guesses.record('192.0.2.1', 'ada')
  await guesses.write()
  expect(transaction).toHaveBeenCalledTimes(2)
})

/** Transactions that conflict with each other are retried a bounded number of times; no other error is retried. */
import { expect, it } from 'vitest'
import { type Db, StatementFailed } from '../../../src/platform/store/db.ts'
import { transactionWithRetries } from '../../../src/platform/store/retry.ts'

/** A store whose transactions fail with these codes, one after the other, and then succeed. */
function failing(...codes: string[]) {
  let attempts = 0
  const db = {
    transaction: async (work: (transaction: never) => Promise<unknown>) => {
      const code = codes[attempts++]
      if (code !== undefined) throw new StatementFailed('failed', code)
      return await work(undefined as never)
    },
  } as unknown as Pick<Db, 'transaction'>
  return { run: () => transactionWithRetries(db, async () => 'done'), attempts: () => attempts }
}

it('serialization failures and deadlocks are retried', async () => {
  const store = failing('40001', '40P01')
  expect([await store.run(), store.attempts()]).toEqual(['done', 3])
})

it('errors other than serialization failures and deadlocks are rethrown at once', async () => {
  const store = failing('23505')
  await expect(store.run()).rejects.toMatchObject({ sqlState: '23505' })
  expect(store.attempts()).toBe(1)
})

it('a transaction is given up after five attempts', async () => {
  const store = failing(...Array.from({ length: 9 }, () => '40P01'))
  await expect(store.run()).rejects.toMatchObject({ sqlState: '40P01' })
  expect(store.attempts()).toBe(5)
})

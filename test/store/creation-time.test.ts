import { afterAll, beforeAll, expect, it } from 'vitest'
import { newId } from '../../src/base/ids.ts'
import { createLog } from '../../src/base/log.ts'
import { nextCreationTime } from '../../src/store/creation-time.ts'
import type { Db } from '../../src/store/db.ts'
import { sql } from '../../src/store/sql.ts'
import { openTestStore } from '../support/test-store.ts'

let db: Db
beforeAll(async () => {
  db = await openTestStore({ log: createLog('error') })
})
afterAll(() => db?.close())

const next = (customerId: string) => db.transaction((transaction) => nextCreationTime(transaction, customerId))

it('is now, in whole milliseconds', async () => {
  const before = Date.now()
  const time = await next(newId())
  expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  // The store's clock is the same machine's, cut to milliseconds.
  expect(Date.parse(time)).toBeGreaterThanOrEqual(before - 1)
  expect(Date.parse(time)).toBeLessThanOrEqual(Date.now() + 1)
})

it('never goes back within a customer in the order of commits, and knows no other customer', async () => {
  const customerId = newId()
  const commits: string[] = []
  const create = async () => {
    const time = await db.transaction(async (transaction) => {
      const given = await nextCreationTime(transaction, customerId)
      // Others commit in between, if they can.
      await sql`select 1`.execute(transaction)
      commits.push(given)
      return given
    })
    return time
  }
  await Promise.all(Array.from({ length: 40 }, create))
  expect(commits).toHaveLength(40)
  expect(commits).toEqual([...commits].sort())
})

it('stays where it was while the clock is behind', async () => {
  const customerId = newId()
  const ahead = '2090-01-01T00:00:00.123Z'
  await next(customerId)
  await sql`update customer_clocks set last_created_at = ${ahead} where customer_id = ${customerId}`.execute(
    db.tables(),
  )
  expect(await next(customerId)).toBe(ahead)
  expect(await next(customerId)).toBe(ahead)
  expect((await next(newId())) < ahead).toBe(true)
})

it('is given back with a transaction that fails', async () => {
  const customerId = newId()
  const failing = db.transaction(async (transaction) => {
    await nextCreationTime(transaction, customerId)
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  const { rows } = await sql`select 1 from customer_clocks where customer_id = ${customerId}`.execute(db.tables())
  expect(rows).toEqual([])
})

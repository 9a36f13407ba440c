/** The creation times and counts of a customer's records: in commit order, and exact. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../../src/platform/base/ids.ts'
import { createLog } from '../../../src/platform/base/log.ts'
import { countCreation, nextCreationTime, readCreationCounts } from '../../../src/platform/store/creation-time.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { onOneDay } from '../../support/quotas.ts'
import { openTestStore } from '../../support/test-store.ts'

let db: Db
beforeAll(async () => {
  db = await openTestStore({ log: createLog('error') })
})
afterAll(() => db?.close())

const next = (customerId: string) => db.transaction((transaction) => nextCreationTime(transaction, customerId))

it("a record's creation time is the current time in whole milliseconds", async () => {
  const before = Date.now()
  const time = await next(newId())
  expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  // The store uses the clock of the same machine, truncated to milliseconds.
  expect(Date.parse(time)).toBeGreaterThanOrEqual(before - 1)
  expect(Date.parse(time)).toBeLessThanOrEqual(Date.now() + 1)
})

it('the creation time never decreases in commit order within a customer, and is independent of other customers', async () => {
  const customerId = newId()
  const commits: string[] = []
  const create = async () => {
    const time = await db.transaction(async (transaction) => {
      const given = await nextCreationTime(transaction, customerId)
      // Other transactions commit in between, if they can.
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

it('the creation time does not change while the clock is behind it', async () => {
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

it("a record's creation time is released with a transaction that fails", async () => {
  const customerId = newId()
  const failing = db.transaction(async (transaction) => {
    await nextCreationTime(transaction, customerId)
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  const { rows } = await sql`select 1 from customer_clocks where customer_id = ${customerId}`.execute(db.tables())
  expect(rows).toEqual([])
})

describe('the counts of a customer', () => {
  const count = (customerId: string, isByCustomer = true) =>
    db.transaction((transaction) => countCreation(transaction, customerId, { records: { rules: 1 }, isByCustomer }))
  const keepDay = (customerId: string, daysFromNow: number) =>
    sql`update customer_clocks set creations_day = (clock_timestamp() at time zone 'UTC')::date + ${daysFromNow}::integer
      where customer_id = ${customerId}`.execute(db.tables())

  it('the counts of a customer increase by one with each commit, under concurrency, and not with a failed transaction', async () => {
    await onOneDay(db, async () => {
      const customerId = newId()
      const failing = (n: number) =>
        db.transaction(async (transaction) => {
          await countCreation(transaction, customerId, { records: { accounts: n }, isByCustomer: true })
          throw new Error('no')
        })
      const both = Array.from({ length: 20 }, (_, n) => [count(customerId), failing(n)]).flat()
      const results = await Promise.allSettled(both)
      const given = results.flatMap((result) =>
        result.status === 'fulfilled' ? [result.value as Awaited<ReturnType<typeof count>>] : [],
      )
      const numbers = Array.from({ length: 20 }, (_, n) => n + 1)
      expect(given.map(({ today }) => today).toSorted((a, b) => a - b)).toEqual(numbers)
      expect(given.map(({ totals }) => totals.rules).toSorted((a, b) => a - b)).toEqual(numbers)
      expect(await readCreationCounts(db, customerId)).toMatchObject({
        totals: { accounts: 0, addresses: 0, rules: 20 },
        today: 20,
      })
    })
  })

  it("a customer's counts per day contain only its own records; the totals include records of the operator", async () => {
    await onOneDay(db, async () => {
      const customerId = newId()
      await count(customerId, false)
      await count(customerId)
      await next(customerId)
      expect(await count(customerId, false)).toMatchObject({ totals: { rules: 3 }, today: 1 })
    })
  })

  it.each([
    ['yesterday', -1, 1],
    ['the day after, begun by others while this one waited for the lock', 1, 3],
    ['a later one, kept by a clock that has been set back since', 2, 1],
  ])('the counts of a customer are reset except on the same day: %s', async (_which, daysFromNow, today) => {
    await onOneDay(db, async () => {
      const customerId = newId()
      await count(customerId)
      await count(customerId)
      await keepDay(customerId, daysFromNow)
      expect(await readCreationCounts(db, customerId)).toMatchObject({ today: today - 1 })
      const counted = await count(customerId)
      expect(counted).toMatchObject({ totals: { rules: 3 }, today })
      expect(counted.secondsOfDayLeft).toBeGreaterThanOrEqual(1)
      expect(counted.secondsOfDayLeft).toBeLessThanOrEqual(daysFromNow === 1 ? 172_800 : 86_400)
    })
  })
})

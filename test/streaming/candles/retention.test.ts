/** Old candles and gaps are deleted, and no others. */
import { afterAll, beforeEach, expect, it } from 'vitest'
import { StoreUnavailable } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { HourlyUpkeep } from '../../../src/platform/store/upkeep/hourly-upkeep.ts'
import { DAY_MILLISECONDS, HOUR_MILLISECONDS, MINUTE_MILLISECONDS } from '../../../src/streaming/candles/bar.ts'
import { startCandleRetention } from '../../../src/streaming/candles/retention.ts'
import { captureLog } from '../../support/captured-log.ts'
import { openTestStore } from '../../support/test-store.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const { log, lines } = captureLog()
const db = await openTestStore({ log })
afterAll(() => db.close())

const NOW = Date.UTC(2026, 10, 28)

beforeEach(async () => {
  await sql`truncate candle_markets, candles, candle_gaps`.execute(db.tables())
  await sql`insert into candle_markets (market, lease_epoch) values ('BTCUSD', 0)`.execute(db.tables())
})

const insert = (step: number, start: number) =>
  sql`insert into candles values ('BTCUSD', ${step}, ${start}, ${start}, ${start}, 1, 1, 1, 1, 'a', 'a', 1, 1, 1, 0)`.execute(
    db.tables(),
  )

async function deleteAfter(days: number, now: number): Promise<void> {
  const upkeep = startCandleRetention({ db, clock: new VirtualClock(now), log, retentionDays: () => days })
  await upkeep.settled()
  await upkeep.stop()
}

it('minutes are deleted after 30 days, hours and gaps after the setting’s days', async () => {
  for (const [step, daysAgo] of [
    [MINUTE_MILLISECONDS, 29],
    [MINUTE_MILLISECONDS, 31],
    [HOUR_MILLISECONDS, 31],
    [HOUR_MILLISECONDS, 101],
  ] as const) {
    await insert(step, NOW - daysAgo * DAY_MILLISECONDS)
  }
  for (const daysAgo of [99, 101]) {
    const at = NOW - daysAgo * DAY_MILLISECONDS
    await sql`insert into candle_gaps values ('BTCUSD', ${at}, ${at})`.execute(db.tables())
  }
  await deleteAfter(100, NOW)
  const daysAgo = (column: string) =>
    sql`((${NOW}::bigint - ${sql.ref(column)}) / ${DAY_MILLISECONDS}::bigint)::integer`
  const { rows } = await sql`
    select step, ${daysAgo('start')} as days from candles union all select 0, ${daysAgo('from_at')} from candle_gaps
    order by 1
  `.execute(db.tables())
  expect(rows).toEqual([
    { step: 0, days: 99 },
    { step: MINUTE_MILLISECONDS, days: 29 },
    { step: HOUR_MILLISECONDS, days: 31 },
  ])
})

it('a day’s hours are deleted together, so that a longer retention never shows a part of a day', async () => {
  const day = NOW - 100 * DAY_MILLISECONDS
  for (let hour = -24; hour < 24; hour++) await insert(HOUR_MILLISECONDS, day + hour * HOUR_MILLISECONDS)
  await deleteAfter(100, NOW + 13 * HOUR_MILLISECONDS)
  const { rows } = await sql`select count(*)::integer as hours, min(start)::text as first from candles`.execute(
    db.tables(),
  )
  expect(rows).toEqual([{ hours: 24, first: String(day) }])
})

it('upkeep whose store fails is logged, and tries again in an hour', async () => {
  const clock = new VirtualClock(NOW)
  const answers = [new Error('a statement failed'), new StoreUnavailable('the store is away'), 2, 1, 0]
  const statement = () => {
    const answer = answers.shift() as Error | number
    return typeof answer === 'number' ? Promise.resolve(answer) : Promise.reject(answer)
  }
  const upkeep = new HourlyUpkeep({ clock, log, failure: 'old rows were not deleted', statements: [statement] })
  await upkeep.settled()
  expect(lines.join('')).toContain('old rows were not deleted. The next attempt is in an hour')
  clock.advance(HOUR_MILLISECONDS)
  await upkeep.settled()
  expect(answers.length).toBe(3)
  clock.advance(HOUR_MILLISECONDS)
  await upkeep.settled()
  expect(answers).toEqual([])
  await upkeep.stop()
  clock.advance(2 * HOUR_MILLISECONDS)
  expect(answers).toEqual([])
})
